# The C types of batcher.py.
# What `submit` compares for every message are numbers of C. `given` is an object, for users pass anything; `message` is
# typed when it was found to be one. The producer's loop alone is here, also for the synchronous client: nothing rests
# on the GIL.
from sprocketmq.client.producer.accumulator cimport Accumulator
from sprocketmq.client.message cimport Message
from sprocketmq.client.producer.receipts cimport BatchOutcome, ReceiptFuture, future_of

import cython


@cython.final
cdef class _Batch:
    cdef public double deadline
    cdef public object queue, timer, single
    cdef public Py_ssize_t single_bytes
    cdef public Accumulator content
    cdef public BatchOutcome outcome


@cython.final
cdef class _Topic:
    cdef public str name
    cdef public object route, ready
    cdef public dict open
    cdef public set busy
    cdef public list unrouted


@cython.final
cdef class Batcher:
    cdef object _sender, _encoder, _settings, _limits, _send_alone, _loop, _tasks, _delivery, _idle, _roomy
    cdef Py_ssize_t _most_messages, _most_bytes, _batch_messages, _batch_bytes, _alone_over, _max_message_bytes
    cdef Py_ssize_t _count, _bytes
    cdef bint _is_observed, _closed
    cdef dict _topics

    @cython.locals(topic=_Topic, message=Message)
    cpdef ReceiptFuture submit(self, object given)

    cpdef bint submit_some(self, object messages, list futures) except -1

    cdef ReceiptFuture _add_keyed(self, _Topic topic, Message message, str extra, ReceiptFuture future)

    @cython.locals(batch=_Batch, content=Accumulator, index=Py_ssize_t, size=Py_ssize_t)
    cdef ReceiptFuture _add(
        self, _Topic topic, object queue, Message message, str extra, ReceiptFuture future
    )

    @cython.locals(before=_Batch, batch=_Batch)
    cdef ReceiptFuture _add_single(
        self, _Topic topic, object queue, Message message, str extra, ReceiptFuture future
    )

    cdef _Batch _open_batch(self, _Topic topic, object queue)

    cpdef object _close(self, _Topic topic, _Batch batch)
