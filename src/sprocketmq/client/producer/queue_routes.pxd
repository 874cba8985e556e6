# The C types of queue_routes.py.
# `turn` counts up for as long as a producer lives: 64 bits do not run over. The producer's loop alone is here, and
# nothing rests on the GIL.
from sprocketmq.protocol.requests.send_frame cimport SendFrames

import cython


@cython.final
cdef class QueueRoute:
    cdef object _transport, _connection
    cdef readonly str address, broker_name
    cdef readonly object queue
    cdef readonly SendFrames frames

    cpdef object connection(self)


@cython.final
cdef class TopicRoutes:
    cdef object _make
    cdef readonly object route
    cdef readonly list in_order
    cdef readonly dict by_queue
    cdef public Py_ssize_t turn

    cpdef QueueRoute to(self, object queue)

    cpdef QueueRoute next(self, object avoid, object is_available)


@cython.final
cdef class QueueRoutes:
    cdef object _transport, _group, _queue_count
    cdef dict _topics

    @cython.locals(routes=TopicRoutes)
    cpdef TopicRoutes of(self, object route)


@cython.locals(count=Py_ssize_t)
cpdef object in_turn(object queues, Py_ssize_t turn, object avoid=*, object is_available=*)
