# The C types of answer.py.
# Commit and queue offsets have 64 bits; `opaque` and `queue_id` have 32, as on the wire. A frame is written on the
# loop's thread before anybody else has it: nothing rests on the GIL.
from sprocketmq.hot.octets cimport blank, i64, plain_end, put, put_i64_hex, put_i32, seal
from sprocketmq.protocol.command cimport Command
from sprocketmq.protocol.frame.binary_header cimport decimal, digits, put_number
from sprocketmq.store.log.append cimport PutResult

import cython


@cython.final
cdef class SendAnswers:
    cdef AnswerForm _binary
    cdef AnswerForm _json

    cpdef bytes encode(
        self, Command request, int queue_id, PutResult result, bytes key, Py_ssize_t key_at, Py_ssize_t key_end,
        bytes recall_handle,
    )


@cython.final
cdef class AnswerForm:
    cdef public bytes prefix
    cdef bytes _head
    cdef Py_ssize_t _gap
    cdef bytes _queue_name
    cdef bytes _offset_name
    cdef bytes _told
    cdef bytes _key_name
    cdef bytes _handle_name
    cdef bytes _rest
    cdef bytes _end
    cdef Py_ssize_t _fixed

    @cython.locals(
        gap=Py_ssize_t, number=bytes, ids_length=Py_ssize_t, queue_digits=Py_ssize_t, offset_digits=Py_ssize_t,
        size=Py_ssize_t, out=bytes, p=cython.p_uchar, at=Py_ssize_t,
    )
    cdef bytes encode(
        self, int opaque, int queue_id, PutResult result, bytes key, Py_ssize_t key_at, Py_ssize_t key_end,
        bytes recall_handle,
    )

    cdef void put_lengths(self, unsigned char* p, Py_ssize_t size, int opaque) noexcept

    cdef Py_ssize_t put_name(self, unsigned char* p, Py_ssize_t at, bytes name, Py_ssize_t value_length) except -1


cpdef bytes json_text(bytes value)

@cython.locals(offsets=cython.p_uchar, number=int)
cdef Py_ssize_t put_ids(unsigned char* p, Py_ssize_t at, bytes prefix, PutResult result) except -1

cdef Py_ssize_t put_id(unsigned char* p, Py_ssize_t at, bytes prefix, long long commit_offset) except -1

cdef Py_ssize_t put_piece(unsigned char* p, Py_ssize_t at, bytes piece) except -1
