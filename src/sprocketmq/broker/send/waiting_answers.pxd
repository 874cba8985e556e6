# The C types of waiting_answers.py.
# Offsets have 64 bits, times are doubles as the loop's clock gives them. Answers come and go with every message, so the
# memory of 64 is kept for the next ones. The loop's thread alone is here: a flush only wakes it, and nothing rests on
# the GIL.
from sprocketmq.broker.metrics.counter cimport Counter
from sprocketmq.hot.memory cimport nanoseconds
from sprocketmq.protocol.command cimport Command

import cython


@cython.final
@cython.freelist(64)
cdef class WaitingAnswer:
    cdef readonly long long end_offset
    cdef long long change
    cdef readonly double since
    cdef object connection
    cdef Command request
    cdef bytes success
    cdef Counter counter

    cdef void succeed(self, double now) except *

    cdef void fail(self, int code, str remark) except *

    cdef void reply(self, object answer) except *


@cython.final
cdef class WaitingAnswers:
    cdef public object time
    cdef object _topics
    cdef list _waiting
    cdef list _unsaved

    @cython.locals(answer=WaitingAnswer)
    cpdef Py_ssize_t add(
        self, long long end_offset, object connection, Command request, bytes success, Counter counter
    ) except -1

    @cython.locals(last=WaitingAnswer)
    cpdef object wait_for_topic(self, long long change)

    @cython.locals(waiting=list, saved=cython.longlong, answered=Py_ssize_t, answer=WaitingAnswer)
    cpdef object succeed(self, long long safe, double now)

    @cython.locals(saved=cython.longlong, answer=WaitingAnswer)
    cpdef object succeed_saved(self, double now)

    @cython.locals(answer=WaitingAnswer)
    cpdef object fail_first(self, int code, str remark)

    @cython.locals(answer=WaitingAnswer)
    cpdef object fail_first_unsaved(self, int code, str remark)
