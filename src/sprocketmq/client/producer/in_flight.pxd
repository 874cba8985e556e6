# The C types of in_flight.py.
# The producer's loop alone takes and gives back: nothing rests on the GIL.
import cython


@cython.final
cdef class InFlight:
    cdef readonly Py_ssize_t free
    cdef object _line

    cpdef bint take_free(self) except -1

    cpdef object give_back(self)
