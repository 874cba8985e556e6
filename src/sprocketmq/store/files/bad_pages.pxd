# The C types of bad_pages.py.
# `count` is read after every access to a map, by any thread and without a lock: a number of C costs one comparison. The
# list is changed by `append` and `remove`, each of which is whole under the GIL; the handler of the signal holds it too
# (sigbus.py).
import cython


@cython.final
cdef class BadPages:
    cdef readonly int count
    cdef list _found

    cpdef int check(self) except -1

    cpdef int check_write(self) except -1

    cdef object _take(self)
