# The C types of pull.py.
# Offsets and times have 64 bits, the rest 32, as on the wire; what may be missing is an object, None then. Nothing
# rests on the GIL: a request is read on one thread.
from sprocketmq.protocol.command cimport Command
from sprocketmq.protocol.frame.binary_header cimport binary_reply, decimal, integer, json_reply
from sprocketmq.protocol.requests.fields cimport FieldwiseRequest
from sprocketmq.hot.octets cimport cut, text

import cython

cpdef enum:
    COMMIT_OFFSET = 1
    SUSPEND = 2
    SUBSCRIPTION = 4

cdef dict _NUMBER_OF


@cython.freelist(64)
cdef class PullRequest(FieldwiseRequest):
    cdef public str consumer_group
    cdef public str topic
    cdef public int queue_id
    cdef public long long queue_offset
    cdef public int max_msg_nums
    cdef public int sys_flag
    cdef public long long commit_offset
    cdef public long long suspend_timeout_millis
    cdef public long long sub_version
    cdef public str subscription
    cdef public str expression_type
    cdef public object max_msg_bytes
    cdef public object request_source
    cdef public str proxy_froward_client_id
    cdef public object bulk

    cdef int number_of(self, const unsigned char* p, Py_ssize_t at, Py_ssize_t end) except -2
    cdef void take(self, int number, const unsigned char* p, Py_ssize_t at, Py_ssize_t end) except *


@cython.locals(request=PullRequest)
cpdef PullRequest decode_pull(Command command)

@cython.locals(pairs=list, fields=dict, header=bytes)
cpdef bytes encode_pull_reply_head(
    Command request, int code, str remark, long long suggest_which_broker_id, long long next_begin_offset,
    long long min_offset, long long max_offset, Py_ssize_t body_length, int topic_sys_flag=*, int group_sys_flag=*,
    forbidden_type=*,
)
