# The C types of sendframe.py.
from sprocketmq.hot.octets cimport blank, put, put_i16, put_i32, seal

import cython

cdef Py_ssize_t _FIXED_BYTES
cdef int _LANGUAGE, _VERSION


@cython.final
cdef class SendFrames:
    cdef int _code
    cdef bytes _common

    @cython.locals(size=Py_ssize_t, length=Py_ssize_t, out=bytes, p=cython.p_uchar)
    cpdef bytes whole(self, int opaque, long long born_ms, int flag, bytes properties, bytes body)

    @cython.locals(size=Py_ssize_t, out=bytes, p=cython.p_uchar)
    cpdef bytes head(self, int opaque, long long born_ms, int flag, bytes properties, Py_ssize_t body_length)

    cdef Py_ssize_t _head_bytes(self, long long born_ms, int flag, bytes properties) except -1

    @cython.locals(common=Py_ssize_t, at=Py_ssize_t)
    cdef void _put_head(
        self, unsigned char* p, Py_ssize_t size, int opaque, long long born_ms, int flag, bytes properties,
        Py_ssize_t body_length,
    ) except *


cdef Py_ssize_t put_name(unsigned char* p, Py_ssize_t at, int letter, Py_ssize_t length) noexcept

@cython.locals(count=Py_ssize_t, left=cython.longlong, place=Py_ssize_t)
cdef Py_ssize_t put_number(unsigned char* p, Py_ssize_t at, int letter, long long value) noexcept

@cython.locals(count=Py_ssize_t, left=cython.longlong)
cdef Py_ssize_t digits(long long value) noexcept
