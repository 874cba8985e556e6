# The C types of get.py.
# Offsets and sums of bytes have 64 bits; limits that peers may send are 64 as well before they are compared. Pulls run
# on the store's owner's thread, and nothing rests on the GIL.
from sprocketmq.store.log.append cimport Appender
from sprocketmq.store.dispatch.dispatch cimport Dispatcher
from sprocketmq.store.pull.gather cimport ENTRY_SIZE, Gather
from sprocketmq.store.queue.cursor cimport QueueCursor

import cython

cdef int _MIN_PULL_BYTES
cdef int _BULK_COUNT
cdef int _BULK_BYTES
cdef tuple _STATUSES


@cython.freelist(16)
cdef class GetResult:
    cdef public object status
    cdef public long long next_begin_offset
    cdef public long long min_offset
    cdef public long long max_offset
    cdef public int count
    cdef public Py_ssize_t size
    cdef public bint suggest_pulling_from_slave
    cdef Gather _gathered

    cdef void take(self, Gather gathered, bint is_slow) noexcept

    cpdef bytes behind(self, bytes head)


cdef class PullReader:
    cdef public object exts
    cdef public object on_missing
    cdef public long long check_below
    cdef Appender _appender
    cdef Dispatcher _dispatcher
    cdef object _view_of
    cdef Py_ssize_t _log_file_size
    cdef Py_ssize_t _queue_file_size
    cdef long long _memory
    cdef long long _max_filter_bytes
    cdef int _max_count
    cdef long long _max_bytes
    cdef int _disk_count
    cdef Py_ssize_t _disk_bytes

    @cython.locals(of_topic=dict, cursor=QueueCursor)
    cpdef long long end_of(self, str topic, int queue_id) except -1

    @cython.locals(of_topic=dict, cursor=QueueCursor, low=cython.longlong, high=cython.longlong)
    cpdef GetResult get_message(
        self, str topic, int queue_id, long long offset, int max_count, long long max_bytes, object wanted=*,
        bint bulk=*,
    )

    @cython.locals(
        at=cython.longlong, base=cython.longlong, next_file=cython.longlong, end=cython.longlong,
        log_end=cython.longlong, least_count=int, least_bytes=int, most=cython.longlong, gathered=Gather,
        result=GetResult,
    )
    cdef GetResult gather(
        self, QueueCursor cursor, long long offset, long long low, long long high, long long max_count,
        long long max_bytes, object wanted, bint bulk
    )

    @cython.locals(result=GetResult)
    cdef GetResult gather_before(
        self, long long stop, QueueCursor cursor, long long offset, long long low, long long high,
        long long max_count, long long max_bytes, object wanted, bint bulk
    )
