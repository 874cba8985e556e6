# The C types of header_shape.py.
# Places are Py_ssize_t, and heads, masks and tails eight bytes as one number of 64 bits, in C arrays within the object:
# a field costs two comparisons. The server's loop alone is here: nothing rests on the GIL.
from sprocketmq.hot.octets cimport compared, i16, i32, i64, is_ascii, same

import cython

cdef enum:
    MAX_FIELDS = 256
    MAX_DECIDING = 16

cdef int _IN_HEAD
cdef bytes _ACCESS_KEY, _SIGNATURE, _SECURITY_TOKEN, _UNIQUE_KEY_QUERY


@cython.final
cdef class HeaderShape:
    cdef long long[256] head
    cdef long long[256] mask
    cdef long long[256] tail
    cdef Py_ssize_t[256] key_at
    cdef Py_ssize_t[256] key_length
    cdef int[256] order
    cdef int[256] twin
    cdef int[256] first
    cdef int[16] deciding
    cdef int code
    cdef int count, signed, twins, decides
    cdef int access, signature, token, unique
    cdef bytes block

    @cython.locals(at=Py_ssize_t, here=Py_ssize_t, number=int)
    cdef bint fits(
        self, int code, const unsigned char* p, Py_ssize_t end, Py_ssize_t* key_end, Py_ssize_t* value_end
    ) noexcept

    @cython.locals(length=Py_ssize_t)
    cdef bint has_tail(self, const unsigned char* p, Py_ssize_t key_end, int number) noexcept

    @cython.locals(at=Py_ssize_t, end=Py_ssize_t)
    cdef int learn(self, int code, bytes block, list names) except -1

    @cython.locals(number=int, length=Py_ssize_t, key_end=Py_ssize_t)
    cdef Py_ssize_t add(self, const unsigned char* p, Py_ssize_t at, Py_ssize_t end) except -1

    @cython.locals(low=int, high=int, middle=int, moving=int, order=Py_ssize_t)
    cdef void insert(self, const unsigned char* p, int number) noexcept

    @cython.locals(length=Py_ssize_t, other_length=Py_ssize_t, shorter=Py_ssize_t, order=int)
    cdef Py_ssize_t compare(self, const unsigned char* p, int one, int other) noexcept

    @cython.locals(number=int)
    cdef bint is_plain(self, const unsigned char* p) noexcept

    cdef int sort_by_unit(self) except -1

    @cython.locals(place=int)
    cdef int note_names(self, list names) except -1

    @cython.locals(number=int)
    cdef int find(self, bytes name) except -2

    @cython.locals(place=int, kept=int)
    cdef int leave_out(self, int number) except -1


@cython.locals(value=cython.longlong, shift=int)
cdef long long head_of(const unsigned char* p, Py_ssize_t at, Py_ssize_t end) noexcept

@cython.locals(unused=int, mask=cython.longlong)
cdef long long mask_of(Py_ssize_t length) noexcept
