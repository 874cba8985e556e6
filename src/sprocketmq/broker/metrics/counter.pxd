# The C types of counter.py.
# All of them have 64 bits: a busy topic passes 32 with its bytes within minutes, with its microseconds within hours.

cdef class Counter:
    cdef public long long count
    cdef public long long size
    cdef public long long micros
    cdef public object history


cdef class LargeMessages:
    cdef long long _to_4_kib, _to_512_kib, _to_1_mib, _to_2_mib, _to_4_mib, _above

    cpdef object note(self, long long size, long long count)
