# The C types of admitted_topics.py.
# `queues` and `is_open` are read for every send, as numbers of C. The loop's thread alone fills and reads all of this:
# nothing rests on the GIL.
from sprocketmq.broker.metrics.counter cimport LargeMessages

import cython


@cython.final
cdef class TopicAdmission:
    cdef readonly int queues
    cdef readonly list counters
    cdef readonly LargeMessages large
    cdef readonly bint special
    cdef readonly bint is_new
    cdef readonly object takes


@cython.final
cdef class AdmittedTopics:
    cdef public bint is_open
    cdef public Py_ssize_t waiting_limit
    cdef readonly dict topics
