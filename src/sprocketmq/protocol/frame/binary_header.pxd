# The C types of binary_header.py.
# `integer` counts without a sign in 64 bits, for the least number has no positive of its own, and `decimal` turns one
# round the same way. Nothing rests on the GIL: arguments are not changed, results are new.
from sprocketmq.hot.octets cimport blank, i16, i32, put, put_i16, put_i32, seal, text

import cython

cdef int _LANGUAGE
cdef int _VERSION
cdef int _RESPONSE
cdef bytes _JSON_MIDDLE

@cython.locals(p=cython.p_uchar, at=Py_ssize_t, end=Py_ssize_t, value_at=Py_ssize_t, value_end=Py_ssize_t)
cpdef dict decode_block(bytes block)

@cython.locals(size=Py_ssize_t, index=Py_ssize_t, name_length=Py_ssize_t)
cdef Py_ssize_t block_size(list pairs) except -1

@cython.locals(
    index=Py_ssize_t, name=bytes, value=bytes, name_length=Py_ssize_t, value_length=Py_ssize_t
)
cdef void put_block(unsigned char* p, Py_ssize_t at, list pairs) except *

@cython.locals(out=bytes, p=cython.p_uchar)
cpdef bytes encode_block(list pairs)

@cython.locals(
    words=bytes, remark_length=Py_ssize_t, size=Py_ssize_t, header_length=Py_ssize_t, out=bytes, p=cython.p_uchar
)
cpdef bytes binary_reply(int opaque, int code, str remark, list pairs, Py_ssize_t body_length)

@cython.locals(
    head=bytes, tail=bytes, size=Py_ssize_t, header_length=Py_ssize_t, out=bytes, p=cython.p_uchar,
    at=Py_ssize_t,
)
cpdef bytes json_reply(int opaque, int code, list pairs, Py_ssize_t body_length)

@cython.locals(index=Py_ssize_t, name=bytes, value=bytes)
cdef void put_json_pairs(unsigned char* p, Py_ssize_t at, list pairs) except *

@cython.locals(p=cython.p_uchar, at=Py_ssize_t, end=Py_ssize_t)
cpdef bint is_plain(bytes value)

@cython.locals(negative=bint, here=Py_ssize_t, value=cython.ulonglong, limit=cython.ulonglong)
cdef long long integer(const unsigned char* p, Py_ssize_t at, Py_ssize_t end, int bits) except? -1

@cython.locals(negative=bint, magnitude=cython.ulonglong, count=Py_ssize_t, out=bytes, p=cython.p_uchar)
cdef bytes decimal(long long value)

@cython.locals(count=Py_ssize_t)
cdef Py_ssize_t digits(unsigned long long value) noexcept

@cython.locals(end=Py_ssize_t, here=Py_ssize_t)
cdef Py_ssize_t put_number(unsigned char* p, Py_ssize_t at, unsigned long long value, Py_ssize_t count) noexcept
