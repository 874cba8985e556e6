# The C types of straight.py.
from sprocketmq.protocol.requests.send_frame cimport SendFrames

import cython


@cython.final
cdef class Lane:
    cdef object _transport
    cdef readonly str address
    cdef readonly object queue
    cdef readonly SendFrames singles, batches


@cython.final
cdef class TopicLanes:
    cdef readonly object route
    cdef readonly list in_order
    cdef readonly dict by_queue
    cdef public Py_ssize_t turn


@cython.final
cdef class Lanes:
    cdef object _transport, _group, _settings
    cdef dict _topics

    @cython.locals(lanes=TopicLanes)
    cpdef TopicLanes of(self, object route)
