# The C types of bad_pages.py.
import cython


@cython.final
cdef class BadPages:
    cdef readonly int count
    cdef list _found

    cpdef int check(self) except -1

    cpdef int check_write(self) except -1

    cdef object _take(self)
