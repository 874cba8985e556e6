# The C types of properties.py.
# `first` is a byte of C, so that most properties cost one comparison of it and no object. Nothing rests on the GIL:
# arguments and what is made of them belong to the caller.
from sprocketmq.hot.octets cimport blank, cut, find, put, same, seal

import cython

cdef bytes _DELAY, _TIMER, _TRANSACTION, _POP, _MULTI, _TRANSIENT, _UNIQUE_KEY, _WAIT, _NO_WAIT

cdef enum:
    PLAIN = 0
    SPECIAL = 1
    KEY = 2
    WAIT = 3


@cython.final
cdef class SentProperties:
    cdef readonly bint special
    cdef readonly bint waits
    cdef readonly Py_ssize_t key_at
    cdef readonly Py_ssize_t key_end

    @cython.locals(p=cython.p_uchar, at=Py_ssize_t, end=Py_ssize_t, stop=Py_ssize_t, kind=int)
    cpdef void read(self, bytes own) except *


@cython.locals(first=cython.uchar)
cdef int kind_of(const unsigned char* p, Py_ssize_t at, Py_ssize_t length) noexcept

cdef bint is_special(const unsigned char* p, Py_ssize_t at, Py_ssize_t length, unsigned char first) noexcept

@cython.locals(length=Py_ssize_t, extra=Py_ssize_t, out=bytes, p=cython.p_uchar)
cpdef bytes stored(bytes own, bytes added)

@cython.locals(
    q=cython.p_uchar, out=bytes, p=cython.p_uchar, at=Py_ssize_t, end=Py_ssize_t, length=Py_ssize_t,
    stop=Py_ssize_t, middle=Py_ssize_t,
)
cpdef bytes shared(bytes own, bytes added)
