# The C types of put_latency.py.
# Nanoseconds pass 32 bits after four seconds. The store's owner counts, and the figures are read on the same loop:
# nothing rests on the GIL.
import cython


@cython.final
cdef class PutTimes:
    cdef readonly list quick
    cdef readonly list slow
    cdef readonly long long worst_ns

    @cython.locals(us=cython.longlong, bucket=Py_ssize_t)
    cpdef void note(self, long long ns) except *
