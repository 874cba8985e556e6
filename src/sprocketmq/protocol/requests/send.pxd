# The C types of send.py.
# A time has 64 bits, the rest 32, as on the wire. Requests come and go with every message, so the memory of 64 is kept
# for the next ones. Nothing rests on the GIL: a request is read on one thread.
from sprocketmq.hot.octets cimport cut, text
from sprocketmq.protocol.command cimport Command
from sprocketmq.protocol.frame.binary_header cimport integer
from sprocketmq.protocol.requests.fields cimport FieldwiseRequest

import cython

cdef enum:
    PRODUCER_GROUP = 0
    TOPIC = 1
    DEFAULT_TOPIC = 2
    DEFAULT_TOPIC_QUEUE_NUMS = 3
    QUEUE_ID = 4
    SYS_FLAG = 5
    BORN_TIMESTAMP = 6
    FLAG = 7
    PROPERTIES = 8
    RECONSUME_TIMES = 9
    UNIT_MODE = 10
    MAX_RECONSUME_TIMES = 11
    BATCH = 12
    BROKER_NAME = 13
    FIELD_COUNT = 14
    LETTER_A = 97

cdef dict _NUMBER_OF
cdef int _LONG_NAMES
cdef int _BATCH


@cython.freelist(64)
cdef class SendRequest(FieldwiseRequest):
    cdef public str producer_group
    cdef public str topic
    cdef public str default_topic
    cdef public int default_topic_queue_nums
    cdef public int queue_id
    cdef public int sys_flag
    cdef public long long born_timestamp
    cdef public int flag
    cdef public bytes properties
    cdef public int reconsume_times
    cdef public bint unit_mode
    cdef public object max_reconsume_times
    cdef public bint batch
    cdef public str broker_name
    cdef bint long_names

    @cython.locals(number=int)
    cdef int number_of(self, const unsigned char* p, Py_ssize_t at, Py_ssize_t end) except -2
    cdef void take(self, int number, const unsigned char* p, Py_ssize_t at, Py_ssize_t end) except *


@cython.locals(request=SendRequest)
cpdef SendRequest decode_send(Command command)

cdef bint is_true(const unsigned char* p, Py_ssize_t at, Py_ssize_t end) except -1
