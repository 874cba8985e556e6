# The C types of jsonscan.py.
from sprocketmq.protocol.command cimport Command
from sprocketmq.protocol.octets cimport blank, cut, is_ascii, put, put_i16, put_i32, same, text

import cython

cdef bytes _CODE, _EXT_FIELDS, _FLAG, _LANGUAGE, _OPAQUE, _REMARK, _SERIALIZE, _VERSION
cdef dict _LANGUAGES
cdef dict _ESCAPES


@cython.final
@cython.freelist(8)
cdef class HeaderScan:
    cdef bytes header
    cdef const unsigned char* p
    cdef Py_ssize_t at
    cdef Py_ssize_t end
    cdef int number
    cdef int code
    cdef int flag
    cdef int opaque
    cdef int version
    cdef object language
    cdef str remark
    cdef bytes block
    cdef bint has_code

    cdef bint take(self, int byte) noexcept

    cdef bint read(self) except -1

    @cython.locals(begin=Py_ssize_t, length=Py_ssize_t)
    cdef bint member(self) except -1

    cdef bint named(self, Py_ssize_t begin, Py_ssize_t length, bytes name, Py_ssize_t name_length) except -1

    cdef bint skip_text(self) noexcept

    @cython.locals(value_at=Py_ssize_t)
    cdef bint text_member(self, Py_ssize_t begin, Py_ssize_t length) except -1

    @cython.locals(negative=bint, begin=Py_ssize_t, length=Py_ssize_t, value=cython.longlong)
    cdef bint integer(self) noexcept

    cdef bint number_member(self, Py_ssize_t begin, Py_ssize_t length) except -1

    @cython.locals(
        out=bytes, p=cython.p_uchar, used=Py_ssize_t, begin=Py_ssize_t, length=Py_ssize_t, value_at=Py_ssize_t
    )
    cdef bint ext_fields(self) except -1

    @cython.locals(byte=int)
    cdef Py_ssize_t unescape(self, unsigned char* out, Py_ssize_t to) except -2

    @cython.locals(byte=int, high=int, low=int)
    cdef int escaped(self) except -2


cdef int nibble(int byte) noexcept

@cython.locals(found=HeaderScan, command=Command)
cpdef Command scan(bytes header)
