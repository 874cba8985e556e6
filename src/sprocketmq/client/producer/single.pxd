# The C types of single.py.
from sprocketmq.client.producer.send_answer cimport receipt_of
from sprocketmq.client.message cimport Message
from sprocketmq.client.producer.straight cimport Lane, Lanes, TopicLanes

import cython


@cython.final
@cython.freelist(64)
cdef class Flight:
    cdef readonly Message message
    cdef readonly Lane lane
    cdef readonly str key, properties
    cdef readonly long long born_ms
    cdef readonly double started, deadline
    cdef readonly object answer


@cython.final
cdef class SingleSends:
    cdef object _sender, _encoder, _known, _transport, _loop
    cdef Lanes _lanes
    cdef double _timeout, _ids_until
    cdef Py_ssize_t _max_message_bytes, _compress_over
    cdef bint _watches
    cdef str _extra, _ids_head
    cdef int _first_id, _ids_left

    @cython.locals(lane=Lane, flight=Flight, body=bytes, seconds=double)
    cpdef Flight launch(self, Message message, object timeout)

    @cython.locals(lane=Lane)
    cpdef object landed(self, Flight flight, object answer)

    @cython.locals(lanes=TopicLanes)
    cdef Lane _next_lane(self, str topic)

    @cython.locals(counter=int)
    cdef str _next_key(self, double now)
