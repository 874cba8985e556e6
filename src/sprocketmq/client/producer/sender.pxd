# The C types of sender.py.
# Times are doubles, as the loop's clock gives them; an attempt is made for every message, so the memory of 64 is kept
# for the next ones. The producer's loop alone sends: nothing rests on the GIL.
from sprocketmq.client.producer.in_flight cimport InFlight
from sprocketmq.client.producer.queue_routes cimport QueueRoute, QueueRoutes, TopicRoutes, in_turn
from sprocketmq.client.producer.send_answer cimport receipt_of
from sprocketmq.protocol.requests.send_frame cimport Payload

import cython

cdef int _BATCH, _REPLY, _NO_ANSWER


@cython.final
@cython.freelist(64)
cdef class PendingSend:
    cdef readonly QueueRoute route
    cdef readonly double started, deadline
    cdef readonly object answer


@cython.final
cdef class Sender:
    cdef readonly object instance, group, hooks, faults
    cdef readonly bint is_observed
    cdef bint _is_watching
    cdef object _is_available, _known, _loop, _topic_queues
    cdef InFlight _in_flight
    cdef QueueRoutes _routes
    cdef int _retries
    cdef bint _retry_when_not_ok
    cdef double _send_timeout

    @cython.locals(routes=TopicRoutes)
    cpdef object next_queue(self, object route, object free)

    @cython.locals(routes=TopicRoutes)
    cpdef QueueRoute choose(self, object route, object queue=*, object avoid=*)

    @cython.locals(started=double)
    cpdef PendingSend launch(self, Payload payload, QueueRoute route, double deadline)

    cpdef object landed(self, Payload payload, PendingSend pending)

    @cython.locals(pending=PendingSend)
    cdef PendingSend _write(
        self, Payload payload, QueueRoute route, object connection, double started, double deadline
    )

    cpdef double deadline(self, object timeout=*) except? -1
