# The C types of traffic.py.
from sprocketmq.protocol.command cimport Command
from sprocketmq.protocol.frame.decoder cimport FrameDecoder
from sprocketmq.remoting.calls cimport PendingCalls
from sprocketmq.remoting.handlers cimport ProcessorTable

import cython

cdef int _MANY_PARTS, _LARGE_PART, _ONEWAY, _RESPONSE


cdef class Traffic:
    cdef public object peer
    cdef public int in_flight
    cdef public bint closed
    cdef public bint is_caller
    cdef public double last_active
    cdef public object frame_since
    cdef public object stalled_since
    cdef public object _limits
    cdef int _max_in_flight
    cdef Py_ssize_t _pause_bytes
    cdef ProcessorTable _table
    cdef FrameDecoder _decoder
    cdef public object _loop
    cdef public PendingCalls _pending
    cdef public object _transport
    cdef public list _out
    cdef Py_ssize_t _out_bytes
    cdef bint _flush_due
    cdef public list _backlog

    @cython.locals(commands=list, now=double)
    cpdef object data_received(self, bytes data)

    @cython.locals(number=Py_ssize_t)
    cpdef object _handle(self, list commands)

    cdef void _take(self, Command command) except *

    cdef object _answer(self, Command request)

    cpdef object _put_frame(self, object frame)

    cpdef object _put(self, object data)

    cpdef object _flush(self)

    @cython.locals(out=list, size=Py_ssize_t)
    cpdef object _write(self)
