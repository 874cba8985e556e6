# The C types of batches.py.
# Sizes are Py_ssize_t; `reserve` gives a bare address, which the next call of it may make worthless. Nothing rests on
# the GIL: a task has its own batches.
from sprocketmq.hot.octets cimport cut, resize

import cython


@cython.final
cdef class QueueBatch:
    cdef readonly object topic, queue
    cdef public Py_ssize_t size, rows
    cdef bytearray _room

    cdef unsigned char* reserve(self, Py_ssize_t size) except NULL

    @cython.locals(size=Py_ssize_t)
    cpdef bytes take(self)


@cython.final
cdef class TopicBatches:
    cdef readonly QueueBatch any
    cdef list _of_queues
    cdef dict _by_id

    cpdef QueueBatch by_id(self, long long queue_id)

    cpdef QueueBatch by_hash(self, long long value)

    cpdef list held(self)
