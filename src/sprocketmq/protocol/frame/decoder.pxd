# The C types of decoder.py.
# Lengths are compared as Py_ssize_t: a sum of two that a peer has sent would run over in 32 bits. One connection feeds
# a decoder, so nothing rests on the GIL.
from sprocketmq.protocol.command cimport Command
from sprocketmq.protocol.frame.json_header cimport decode_json_header
from sprocketmq.hot.octets cimport blank, cut, i16, i32, is_ascii, put, put_i16, put_i32, seal, text

import cython


cdef int _MAX_FIELDS, _MAX_NAME, _LONG_BYTES


cdef class FrameDecoder:
    cdef Py_ssize_t _max_bytes
    cdef Py_ssize_t _max_header
    cdef Py_ssize_t _wanted
    cdef bytearray _pending
    cdef Command _begun
    cdef object _body
    cdef Py_ssize_t _begun_bytes
    cdef Py_ssize_t _missing
    cdef readonly str failure
    cdef readonly str passed_limit

    @cython.locals(commands=list)
    cpdef list feed(self, bytes data)

    @cython.locals(have=Py_ssize_t, used=Py_ssize_t)
    cdef void _feed(self, bytes data, list commands) except *

    @cython.locals(header_end=Py_ssize_t)
    cdef void _begin(self, const unsigned char* p, Py_ssize_t have) except *

    @cython.locals(have=Py_ssize_t, missing=Py_ssize_t, command=Command)
    cdef bytes _go_on(self, bytes data, list commands)

    @cython.locals(at=Py_ssize_t, length=Py_ssize_t)
    cdef Py_ssize_t _decode(self, const unsigned char* p, Py_ssize_t have, list commands) except -1


@cython.locals(head=int)
cdef void check_head(const unsigned char* p, Py_ssize_t at, Py_ssize_t length) except *

cpdef Command decode_frame(bytearray frame, Py_ssize_t size)

@cython.locals(head=int, header_at=Py_ssize_t, header_end=Py_ssize_t, command=Command)
cdef Command decode_at(const unsigned char* p, Py_ssize_t at, Py_ssize_t end)

@cython.locals(remark_length=Py_ssize_t, ext_at=Py_ssize_t, ext_length=Py_ssize_t, command=Command)
cdef Command decode_binary_header(const unsigned char* p, Py_ssize_t at, Py_ssize_t end)

@cython.locals(plain=bint, count=int, key_length=Py_ssize_t, value_at=Py_ssize_t, value_length=Py_ssize_t)
cdef void check_block(const unsigned char* p, Py_ssize_t at, Py_ssize_t end) except *

cdef void check_text(const unsigned char* p, Py_ssize_t at, Py_ssize_t end) except *

@cython.locals(header=bytes, body=bytes, header_length=Py_ssize_t, body_length=Py_ssize_t, out=bytes, p=cython.p_uchar)
cpdef bytes encode_frame(Command command)

@cython.locals(remark=bytes, block=bytes, remark_length=Py_ssize_t, block_length=Py_ssize_t, out=bytes, p=cython.p_uchar)
cdef bytes encode_binary_header(Command command)

@cython.locals(pairs=list)
cdef bytes encode_ext(Command command)
