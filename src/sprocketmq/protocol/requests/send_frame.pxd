# The C types of send_frame.py.
# A time has 64 bits, other numbers 32, as on the wire; `digits` and `put_number` take all of them as 64. Nothing rests
# on the GIL: a frame is written before anybody else has it.
from sprocketmq.hot.octets cimport blank, put, put_i16, put_i32, seal
from sprocketmq.protocol.frame.binary_header cimport decode_block, encode_block
from sprocketmq.protocol.requests.send cimport (
    BATCH, BORN_TIMESTAMP, BROKER_NAME, DEFAULT_TOPIC, DEFAULT_TOPIC_QUEUE_NUMS, FLAG, LETTER_A, PRODUCER_GROUP,
    MAX_RECONSUME_TIMES, PROPERTIES, QUEUE_ID, RECONSUME_TIMES, SYS_FLAG, TOPIC, UNIT_MODE,
)

import cython

cdef enum:
    FIXED_BYTES = 29

cdef int _MANY_MESSAGES, _LANGUAGE, _VERSION


@cython.final
@cython.freelist(64)
cdef class Payload:
    cdef public str topic, unique_key
    cdef public object body  # bytes, or the bytearray of a batch
    cdef public bytes properties
    cdef public int code, flag, sys_flag, reconsume_times
    cdef public object max_reconsume_times
    cdef public long long born_ms


@cython.final
cdef class SendFrames:
    cdef bytes _common
    cdef object _sign

    @cython.locals(body=bytes, extra=bytes, size=Py_ssize_t, length=Py_ssize_t, out=bytes, p=cython.p_uchar)
    cpdef bytes whole(self, Payload payload, int opaque, int flag=*)

    cpdef bytes head(self, Payload payload, int opaque, int flag=*)

    @cython.locals(size=Py_ssize_t, out=bytes, p=cython.p_uchar)
    cdef bytes _head(self, Payload payload, bytes extra, int opaque, int flag)

    @cython.locals(fields=dict)
    cdef bytes _signature(self, Payload payload)

    @cython.locals(size=Py_ssize_t)
    cdef Py_ssize_t _head_bytes(self, Payload payload, bytes extra) except -1

    @cython.locals(common=Py_ssize_t, properties=bytes, at=Py_ssize_t)
    cdef void _put_head(
        self, unsigned char* p, Py_ssize_t size, Payload payload, bytes extra, int opaque, int flag
    ) except *


cdef Py_ssize_t put_name(unsigned char* p, Py_ssize_t at, int number, Py_ssize_t length) noexcept

@cython.locals(length=Py_ssize_t)
cdef Py_ssize_t put_text(unsigned char* p, Py_ssize_t at, int number, bytes value) noexcept

@cython.locals(count=Py_ssize_t, left=cython.longlong, place=Py_ssize_t)
cdef Py_ssize_t put_number(unsigned char* p, Py_ssize_t at, int number, long long value) noexcept

@cython.locals(count=Py_ssize_t, left=cython.longlong)
cdef Py_ssize_t digits(long long value) noexcept
