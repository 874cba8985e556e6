# The C types of sendanswer.py.
from sprocketmq.protocol.command cimport Command
from sprocketmq.protocol.frame.binary_header cimport digits, put_number
from sprocketmq.hot.octets cimport blank, i64, put, put_i16, put_i32, seal, text
from sprocketmq.protocol.requests.send cimport SendRequest
from sprocketmq.store.log.append cimport PutResult

import cython

cdef bytes _HEX
cdef int _LANGUAGE
cdef int _VERSION


cdef class SendAnswers:
    cdef bytes _prefix
    cdef tuple _binary
    cdef tuple _json

    cpdef bytes encode(
        self, Command request, SendRequest sent, PutResult result, Py_ssize_t key_at, Py_ssize_t key_end
    )

    @cython.locals(
        id_name=bytes, queue_name=bytes, offset_name=bytes, tail=bytes, ids_length=Py_ssize_t,
        queue_digits=Py_ssize_t, offset_digits=Py_ssize_t, block=Py_ssize_t, out=bytes, p=cython.p_uchar,
        at=Py_ssize_t,
    )
    cdef bytes binary(
        self, int opaque, SendRequest sent, PutResult result, Py_ssize_t key_at, Py_ssize_t key_length
    )

    @cython.locals(
        id_name=bytes, queue_name=bytes, offset_name=bytes, tail=bytes, rest=bytes, end=bytes, number=bytes,
        ids_length=Py_ssize_t, queue_digits=Py_ssize_t, offset_digits=Py_ssize_t, header=Py_ssize_t, out=bytes,
        p=cython.p_uchar, at=Py_ssize_t,
    )
    cdef bytes json(
        self, int opaque, SendRequest sent, PutResult result, Py_ssize_t key_at, Py_ssize_t key_length
    )


@cython.locals(out=bytes, p=cython.p_uchar)
cpdef str join_ids(bytes prefix, PutResult result)

@cython.locals(offsets=cython.p_uchar, number=int)
cdef Py_ssize_t put_ids(unsigned char* p, Py_ssize_t at, bytes prefix, PutResult result) except -1

@cython.locals(here=Py_ssize_t, q=cython.p_uchar)
cdef Py_ssize_t put_hex(unsigned char* p, Py_ssize_t at, unsigned long long value) noexcept

cdef Py_ssize_t put_piece(unsigned char* p, Py_ssize_t at, bytes piece) except -1
