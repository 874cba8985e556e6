# The C types of straightpull.py.
from sprocketmq.broker.metrics.counter cimport Counter
from sprocketmq.protocol.command cimport Command
from sprocketmq.protocol.requests.pull cimport COMMIT_OFFSET, SUBSCRIPTION, PullRequest, decode_pull, encode_pull_reply_head
from sprocketmq.store.pull.get cimport GetResult, Getter
from sprocketmq.hot.memory cimport ticks_ns

import cython

cdef int _LITE
cdef object _FOUND


cdef class PullLane:
    cdef readonly object wanted
    cdef readonly str offsets_key
    cdef readonly list counters
    cdef public bint takes_lite
    cdef public int topic_sys_flag
    cdef public int group_sys_flag
    cdef public long long broker_id
    cdef public long long slow_broker_id
    cdef public long long sub_version
    cdef int _carried
    cdef str _subscription
    cdef str _expression_type

    cdef bint fits(self, Command request, PullRequest pull) except -1


cdef class StraightPull:
    cdef readonly dict lanes
    cdef Getter _getter
    cdef object _offsets
    cdef object _stats
    cdef object _detour

    @cython.locals(groups=dict)
    cdef PullLane lane_of(self, PullRequest pull)

    @cython.locals(
        pull=PullRequest, lane=PullLane, began=cython.longlong, max_bytes=cython.longlong, result=GetResult,
        counter=Counter, head=bytes,
    )
    cpdef object pull(self, object connection, Command request)
