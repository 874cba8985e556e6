# The C types of batching.py.
from sprocketmq.client.accumulator cimport Accumulator
from sprocketmq.client.message cimport Message

import cython


cdef class _Batch:
    cdef public double deadline
    cdef public object queue, timer
    cdef public Accumulator content


cdef class _Topic:
    cdef public str name
    cdef public object route, ready
    cdef public dict open
    cdef public set busy
    cdef public list unrouted


cdef class Batcher:
    cdef object _sender, _encoder, _settings, _limits, _send_alone, _loop, _tasks, _idle, _roomy
    cdef Py_ssize_t _most_messages, _most_bytes, _batch_messages, _batch_bytes, _alone_over, _max_message_bytes
    cdef Py_ssize_t _count, _bytes
    cdef bint _is_observed, _closed
    cdef dict _topics

    @cython.locals(size=Py_ssize_t, topic=_Topic)
    cpdef object submit(self, Message message)

    @cython.locals(batch=_Batch, content=Accumulator)
    cdef object _add(self, _Topic topic, object queue, Message message, object future, str extra)

    cpdef object _close(self, _Topic topic, _Batch batch)
