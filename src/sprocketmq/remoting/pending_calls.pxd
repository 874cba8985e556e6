# The C types of pending_calls.py.
# `_opaque` is an int that is cut to 31 bits before it runs over. The loop's thread alone is here: whoever calls from
# another one goes through the loop, and nothing rests on the GIL.
from sprocketmq.protocol.command cimport Command

import cython


@cython.final
cdef class PendingCalls:
    cdef public object peer, on_overdue
    cdef object _loop, _timer
    cdef int _opaque
    cdef dict _calls
    cdef double _rings_at

    cpdef int next_opaque(self) except -1

    @cython.locals(opaque=int, deadline=double, now=double)
    cpdef tuple add(self, double timeout, bint is_prompt=*)

    @cython.locals(call=tuple)
    cpdef object settle(self, Command response)

    cdef object _ring_at(self, double deadline)
