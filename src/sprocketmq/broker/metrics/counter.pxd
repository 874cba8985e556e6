# The C types of counters.py.

cdef class Counter:
    cdef public long long count
    cdef public long long size
    cdef public long long micros
    cdef public object history
