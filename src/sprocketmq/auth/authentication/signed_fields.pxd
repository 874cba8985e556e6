# The C types of signed_fields.py.
# The states of SHA-1 are structs, in arrays of one so that they are passed by address; `room` has sixteen bytes more
# than ROOM, for `put_near`. One object serves all requests, on the loop's thread alone: nothing rests on the GIL.
from sprocketmq.auth.authentication.header_shape cimport MAX_FIELDS, HeaderShape
from sprocketmq.hot.octets cimport blank, i32, put, put_i32, put_near, same, seal
from sprocketmq.hot.sha1 cimport Sha1, is_same_secret, sha1_copy, sha1_feed, sha1_finish, sha1_start
from sprocketmq.protocol.command cimport Command

import cython

cdef enum:
    ROOM = 1024

cdef int _BINARY, _LEFT_OUT_TO, _READINGS
cdef bytes _NULL, _LETTERS


@cython.final
cdef class SigningKey:
    cdef Sha1[1] inner
    cdef Sha1[1] outer

    cdef void begin(self, bytes inner_pad, bytes outer_pad) except *


@cython.final
cdef class SignedFields:
    cdef Py_ssize_t[256] key_end
    cdef Py_ssize_t[256] value_end
    cdef Sha1[1] state
    cdef unsigned char[21] digest
    cdef unsigned char[28] text
    cdef unsigned char[1040] room
    cdef Py_ssize_t used
    cdef dict _deciding
    cdef list _shapes
    cdef HeaderShape shape
    cdef bytes block
    cdef bytes body
    cdef bint is_binary
    cdef bint has_empty
    cdef bint signs_unique_key_query

    cpdef object read(self, Command request)

    cdef bint find_fields(self, int code, bytes block) except -1

    @cython.locals(place=int, one=int, other=int, length=Py_ssize_t, is_long=bint)
    cdef int check_twins(self, const unsigned char* p) except -1

    cpdef bint is_decided_by_fields(self) except -1

    @cython.locals(size=Py_ssize_t, place=int, number=int, out=bytes)
    cpdef bytes deciding_values(self)

    @cython.locals(at=Py_ssize_t, place=int, number=int, length=Py_ssize_t)
    cdef int put_values(self, unsigned char* out) except -1

    @cython.locals(
        p=cython.p_uchar, q=cython.p_uchar, at=Py_ssize_t, end=Py_ssize_t, place=int, number=int, length=Py_ssize_t
    )
    cpdef bint has_deciding_values(self, bytes values) except -1

    @cython.locals(number=int, at=Py_ssize_t, length=Py_ssize_t)
    cpdef bint is_from(self, bytes access_key) except -1

    @cython.locals(reading=int)
    cpdef bint is_signed_with(self, SigningKey key) except -1

    @cython.locals(number=int)
    cdef bint begin(self, SigningKey key, int reading) except -1

    @cython.locals(
        used=Py_ssize_t, shape=HeaderShape, unsigned=int, left_out=int, place=int, number=int, at=Py_ssize_t,
        length=Py_ssize_t,
    )
    cdef Py_ssize_t feed_fields(
        self, const unsigned char* p, Py_ssize_t end, bint empty_is_null, bint with_token
    ) noexcept

    cdef void feed_body(self, Py_ssize_t at, Py_ssize_t length) noexcept

    cdef Py_ssize_t feed(
        self, Py_ssize_t used, const unsigned char* p, Py_ssize_t at, Py_ssize_t length, Py_ssize_t end
    ) noexcept

    cdef bint agrees(self, SigningKey key) except -1


cdef bytes block_of(Command request)

@cython.locals(letters=cython.p_uchar, group=int, bits=cython.uint)
cdef void write_base64(const unsigned char* p, unsigned char* out) noexcept
