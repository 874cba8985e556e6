# The C types of send.py.
from sprocketmq.protocol.command cimport Command
from sprocketmq.protocol.extblock cimport binary_reply, integer, is_plain, json_reply
from sprocketmq.protocol.frame cimport encode_frame
from sprocketmq.protocol.octets cimport cut, i16, i32, text

import cython

cdef dict _NUMBER_OF
cdef int _LONG_NAMES
cdef int _BATCH


@cython.final
@cython.freelist(64)
cdef class SendRequest:
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
    cdef int seen

    cdef void take(self, int number, const unsigned char* p, Py_ssize_t at, Py_ssize_t end) except *


@cython.locals(request=SendRequest, long_names=bint, number=int)
cpdef SendRequest decode_send(Command command)

@cython.locals(
    p=cython.p_uchar, at=Py_ssize_t, end=Py_ssize_t, key_length=Py_ssize_t, value_at=Py_ssize_t, value_end=Py_ssize_t,
    number=int,
)
cdef void take_block(SendRequest request, bytes block, bint long_names) except *

@cython.locals(number=int, octets=bytes)
cdef void take_fields(SendRequest request, dict fields, tuple names) except *

cdef bint is_true(const unsigned char* p, Py_ssize_t at, Py_ssize_t end) except -1

@cython.locals(pairs=list)
cpdef bytes encode_send_reply(
    Command request, int code, str remark, str msg_id, int queue_id, long long queue_offset, str transaction_id=*,
    str region_id=*, bint trace_on=*, str batch_uniq_id=*, str recall_handle=*,
)

@cython.locals(fields=dict)
cpdef bytes encode_reply(Command request, int code, str remark, list pairs)
