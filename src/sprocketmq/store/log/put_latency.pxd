# The C types of put_latency.py.
import cython


@cython.final
cdef class PutTimes:
    cdef readonly list quick
    cdef readonly list slow
    cdef readonly long long worst_ns

    @cython.locals(us=cython.longlong, bucket=Py_ssize_t)
    cpdef void note(self, long long ns) except *
