# The C types of traffic.py.
# What is looked at for every read or answer is a number of C. `Connection` is a subclass of Python's, so the methods
# that it may replace are `cpdef`, and those of every message are not. One loop's thread has a connection, and nothing
# rests on the GIL.
from sprocketmq.hot.memory cimport ticks_ns
from sprocketmq.protocol.command cimport Command
from sprocketmq.protocol.frame.decoder cimport FrameDecoder
from sprocketmq.remoting.pending_calls cimport PendingCalls
from sprocketmq.remoting.handlers cimport ProcessorTable

import cython

cdef int _MANY_PARTS, _LARGE_PART, _ONEWAY, _RESPONSE


@cython.final
cdef class HeldBytes:
    cdef public Py_ssize_t unfinished, strange, unread
    cdef public Py_ssize_t max_unfinished, max_strange, max_unread
    cdef readonly object turns
    cdef object _make_room

    cpdef object hold(self, Py_ssize_t grown, bint is_known)

    cpdef object write(self, Py_ssize_t grown)


cdef class Traffic:
    cdef public object peer
    cdef public object session
    cdef public int in_flight
    cdef public bint closed
    cdef public bint draining
    cdef public bint is_caller
    cdef public double last_active
    cdef public object frame_since
    cdef public object stalled_since
    cdef public bint awaits_turn
    cdef public long long cost_ns
    cdef public object _limits
    cdef int _max_in_flight
    cdef Py_ssize_t _pause_bytes
    cdef long long _share_ns, _long_ns
    cdef bint _takes_long
    cdef readonly ProcessorTable _table
    cdef public FrameDecoder _decoder
    cdef HeldBytes _held
    cdef public bint is_known
    cdef public Py_ssize_t unfinished
    cdef Py_ssize_t _unread, _max_unread
    cdef public object _loop
    cdef public PendingCalls _pending
    cdef public object _transport
    cdef public list _out
    cdef Py_ssize_t _out_bytes
    cdef bint _flush_due
    cdef public list _backlog

    @cython.locals(commands=list, now=double, pending=Py_ssize_t, grown=Py_ssize_t)
    cpdef object data_received(self, bytes data)

    @cython.locals(
        number=Py_ssize_t, last=Py_ssize_t, began=cython.longlong, before=cython.longlong, now=cython.longlong
    )
    cpdef object _handle(self, list commands)

    cdef void _take(self, Command command) except *

    cdef object _answer(self, Command request)

    cpdef object _put_frame(self, object frame)

    cpdef object _put(self, object data)

    cpdef object _flush(self)

    @cython.locals(out=list, size=Py_ssize_t, unread=Py_ssize_t, grown=Py_ssize_t)
    cpdef object _write(self)
