# The C types of handler.py.
from sprocketmq.broker.metrics.counter cimport Counter
from sprocketmq.protocol.command cimport Command
from sprocketmq.protocol.requests.pull cimport COMMIT_OFFSET, SUBSCRIPTION, PullRequest, decode_pull, encode_pull_reply_head
from sprocketmq.store.pull.get cimport GetResult, PullReader
from sprocketmq.hot.memory cimport ticks_ns

import cython

cdef int _LITE
cdef object _FOUND
cdef Py_ssize_t _ADMITTED_BYTES, _ADMISSION_BYTES


cdef class PullAdmission:
    cdef readonly object wanted
    cdef readonly str offsets_key
    cdef readonly int queue_count
    cdef public Py_ssize_t filter_bytes
    cdef public bint lasts
    cdef public long long generation
    cdef public bint takes_lite
    cdef public bint is_counted
    cdef public bint reads_cold
    cdef public long long sub_version
    cdef public int topic_sys_flag
    cdef public int group_sys_flag
    cdef public long long broker_id
    cdef public long long slow_broker_id
    cdef public int parked
    cdef list counters
    cdef readonly str subscription
    cdef int _carried
    cdef str _expression_type

    cdef bint fits(self, Command request, PullRequest pull) except -1


# A consumer that keeps up parks one for each message it gets.
@cython.freelist(64)
cdef class Parked:
    cdef readonly object connection
    cdef readonly Command request
    cdef readonly PullRequest pull
    cdef readonly PullAdmission admission
    cdef public double deadline
    cdef public bint done
    cdef public bint answered
    cdef PullHandler _handler

    cpdef object strip(self)

    cpdef Py_ssize_t serve(self) except -1


cdef class PullHandler:
    cdef readonly dict admitted
    cdef readonly long long generation
    cdef Py_ssize_t _admitted_bytes
    cdef PullReader _getter
    cdef object _offsets
    cdef object _stats
    cdef object _rules
    cdef object _without_messages

    @cython.locals(pull=PullRequest, admission=PullAdmission, began=cython.longlong, result=GetResult)
    cpdef object pull(self, object connection, Command request)

    @cython.locals(request=Command)
    cdef Py_ssize_t serve(self, Parked parked) except -1

    @cython.locals(began=cython.longlong, result=GetResult)
    cdef object look_again(self, object connection, Command request, PullRequest pull, PullAdmission admission)

    cdef bint is_there(self, PullRequest pull) except -1

    @cython.locals(groups=dict)
    cdef PullAdmission admission_of(self, PullRequest pull)

    @cython.locals(admission=PullAdmission)
    cdef PullAdmission admit(self, object connection, Command request, PullRequest pull)

    cdef object open(self, str topic, str group, PullAdmission admission)

    @cython.locals(max_bytes=cython.longlong, moved=GetResult, result=GetResult)
    cdef GetResult look(self, PullRequest pull, PullAdmission admission)

    @cython.locals(head=bytes)
    cdef bytes found(
        self, Command request, PullRequest pull, PullAdmission admission, GetResult result, long long took_ns
    )

    @cython.locals(counter=Counter)
    cdef int count(
        self, PullRequest pull, PullAdmission admission, GetResult result, long long took_ns
    ) except -1
