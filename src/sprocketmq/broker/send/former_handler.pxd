# The C types of straight.py.
from sprocketmq.broker.metrics.counter cimport Counter
from sprocketmq.broker.send.former_answer cimport SendAnswers
from sprocketmq.protocol.command cimport Command
from sprocketmq.hot.octets cimport blank, cut, find, put, same, seal
from sprocketmq.protocol.requests.send cimport SendRequest, decode_send
from sprocketmq.protocol.record.sysflag cimport TRANSACTION_MASK
from sprocketmq.store.log.append cimport Appender, PutResult

import cython

cdef bytes _DELAY, _TIMER, _TRANSACTION, _POP, _MULTI, _TRANSIENT, _NO_WAIT, _UNIQUE_KEY


cdef class Lane:
    cdef public int queues
    cdef public list counters


cdef class StraightSend:
    cdef public bint open
    cdef public dict lanes
    cdef readonly Appender appender
    cdef public object detour
    cdef public object refuse
    cdef public object park
    cdef public bytes suffix
    cdef readonly SendAnswers answers
    cdef Py_ssize_t _key_at
    cdef Py_ssize_t _key_end

    @cython.locals(sent=SendRequest, lane=Lane, counter=Counter, result=PutResult, answer=bytes)
    cpdef object send(self, object connection, Command request)

    cdef PutResult put(self, object connection, Command request, SendRequest sent)

    cdef PutResult put_batch(self, object connection, Command request, SendRequest sent)

    cdef bint fits(self, SendRequest sent, Lane lane) except -1

    @cython.locals(at=Py_ssize_t, stop=Py_ssize_t)
    cdef bint scan(self, const unsigned char* p, Py_ssize_t end) except -1

    @cython.locals(suffix=bytes, length=Py_ssize_t, extra=Py_ssize_t, out=bytes, p=cython.p_uchar, q=cython.p_uchar)
    cdef bytes stored(self, bytes own)

    @cython.locals(
        suffix=bytes, q=cython.p_uchar, out=bytes, p=cython.p_uchar, at=Py_ssize_t, end=Py_ssize_t, length=Py_ssize_t,
        stop=Py_ssize_t, middle=Py_ssize_t,
    )
    cdef bytes shared(self, bytes own)


@cython.locals(first=cython.uchar)
cdef bint is_special(const unsigned char* p, Py_ssize_t at, Py_ssize_t length) noexcept

cdef bint is_plain(const unsigned char* p, Py_ssize_t at, Py_ssize_t end) noexcept
