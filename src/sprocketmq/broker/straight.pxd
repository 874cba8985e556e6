# The C types of straight.py.
from sprocketmq.broker.counters cimport Counter
from sprocketmq.protocol.command cimport Command
from sprocketmq.protocol.octets cimport blank, find, put, put_i16, put_i32, same, seal, text
from sprocketmq.protocol.send cimport SendRequest, decode_send
from sprocketmq.protocol.sysflag cimport TRANSACTION_MASK
from sprocketmq.store.append cimport Appender, PutResult

import cython

cdef bytes _DELAY, _TIMER, _TRANSACTION, _POP, _MULTI, _TRANSIENT, _NO_WAIT, _UNIQUE_KEY, _HEX
cdef int _LANGUAGE
cdef int _VERSION


cdef class Lane:
    cdef public int queues
    cdef public list counters


cdef class StraightSend:
    cdef public bint open
    cdef public dict lanes
    cdef readonly Appender appender
    cdef public object detour
    cdef public object park
    cdef public bytes suffix
    cdef tuple _binary
    cdef tuple _json
    cdef Py_ssize_t _key_at
    cdef Py_ssize_t _key_end

    @cython.locals(sent=SendRequest, lane=Lane, counter=Counter, properties=bytes, result=PutResult, answer=bytes)
    cpdef object send(self, object connection, Command request)

    cdef bint fits(self, SendRequest sent, Lane lane) except -1

    @cython.locals(at=Py_ssize_t, stop=Py_ssize_t)
    cdef bint scan(self, const unsigned char* p, Py_ssize_t end) except -1

    @cython.locals(suffix=bytes, length=Py_ssize_t, extra=Py_ssize_t, out=bytes, p=cython.p_uchar, q=cython.p_uchar)
    cdef bytes stored(self, bytes own)

    @cython.locals(
        id_name=bytes, queue_name=bytes, offset_name=bytes, tail=bytes, queue_digits=Py_ssize_t,
        offset_digits=Py_ssize_t, key_length=Py_ssize_t, block=Py_ssize_t, out=bytes, p=cython.p_uchar, at=Py_ssize_t,
    )
    cdef bytes binary_answer(self, int opaque, SendRequest sent, PutResult result)

    @cython.locals(
        id_name=bytes, queue_name=bytes, offset_name=bytes, tail=bytes, rest=bytes, end=bytes, number=bytes,
        queue_digits=Py_ssize_t, offset_digits=Py_ssize_t, key_length=Py_ssize_t, header=Py_ssize_t, out=bytes,
        p=cython.p_uchar, at=Py_ssize_t,
    )
    cdef bytes json_answer(self, int opaque, SendRequest sent, PutResult result)


@cython.locals(
    length=Py_ssize_t, count=Py_ssize_t, out=bytes, p=cython.p_uchar, at=Py_ssize_t, offset=cython.longlong
)
cpdef str join_ids(bytes prefix, list commit_offsets)

@cython.locals(first=cython.uchar)
cdef bint is_special(const unsigned char* p, Py_ssize_t at, Py_ssize_t length) noexcept

cdef bint is_plain(const unsigned char* p, Py_ssize_t at, Py_ssize_t end) noexcept

@cython.locals(count=Py_ssize_t)
cdef Py_ssize_t digits(unsigned long long value) noexcept

@cython.locals(end=Py_ssize_t, here=Py_ssize_t)
cdef Py_ssize_t put_number(unsigned char* p, Py_ssize_t at, unsigned long long value, Py_ssize_t count) noexcept

@cython.locals(here=Py_ssize_t, q=cython.p_uchar)
cdef Py_ssize_t put_hex(unsigned char* p, Py_ssize_t at, unsigned long long value) noexcept

cdef Py_ssize_t put_piece(unsigned char* p, Py_ssize_t at, bytes piece) except -1
