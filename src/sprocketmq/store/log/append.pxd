# The C types of append.py.
# Offsets in the log and times have 64 bits, positions in a file are Py_ssize_t, and what the record has is as wide as
# there. What rests on the GIL is said at `appended`; the store's owner alone appends.
from sprocketmq.hot.octets cimport blank, i32, le32, put_i64, put_le32, seal
from sprocketmq.protocol.record.record cimport (
    BLANK_BYTES, MAX_PROPERTIES_BYTES, closed, reserve_property_crc, store_size, write_at,
)
from sprocketmq.protocol.record.sysflag cimport BORN_HOST_V6, STORE_HOST_V6, is_queued
from sprocketmq.store.files.bad_pages cimport BadPages
from sprocketmq.store.log.batch cimport BatchRun, put_heads
from sprocketmq.store.dispatch.dispatch cimport Dispatcher
from sprocketmq.hot.memory cimport pointer, ticks_ns
from sprocketmq.store.log.put_latency cimport PutTimes
from sprocketmq.store.queue.cursor cimport QueueCursor

import cython

cdef BadPages BAD_PAGES

cdef enum:
    ENTRY_SIZE = 20
    BODY_AT = 88
    SERVICE_NOT_AVAILABLE = 4
    CREATE_MAPPED_FILE_FAILED = 5
    MESSAGE_ILLEGAL = 6
    PROPERTIES_SIZE_EXCEEDED = 7


@cython.freelist(64)
cdef class PutResult:
    cdef public int status
    cdef public long long commit_offset
    cdef public long long size
    cdef public long long queue_offset
    cdef public long long store_timestamp
    cdef public int count
    cdef public bytes offsets


cdef class Appender:
    cdef public object owner
    cdef readonly Dispatcher dispatcher
    cdef public object now_ms
    cdef public bytes store_host
    cdef public Py_ssize_t max_message_size
    cdef readonly Py_ssize_t max_run_size
    cdef public int max_topic_length
    cdef readonly bint property_crc
    cdef public bint inline
    cdef public object on_append
    cdef public int status
    cdef public long long put_times
    cdef public long long failed_times
    cdef readonly PutTimes times
    cdef public long long store_timestamp
    cdef long long _began
    cdef readonly long long base
    cdef readonly Py_ssize_t position
    cdef readonly Py_ssize_t limit
    cdef readonly long long wrote_offset
    cdef object _view
    cdef unsigned char* _p

    cpdef void place(self, object view, long long base, Py_ssize_t position, Py_ssize_t limit) except *

    cpdef void hold(self) except *

    @cython.locals(cursor=QueueCursor, size=Py_ssize_t, status=int, result=PutResult)
    cpdef PutResult put(
        self, str topic, int queue_id, int flag, int sys_flag, bytes body, bytes properties, long long born_timestamp,
        bytes born_host, int reconsume_times, long long prepared_offset,
    )

    @cython.locals(cursor=QueueCursor, run=BatchRun, size=Py_ssize_t, status=int, result=PutResult)
    cpdef PutResult put_batch(
        self, str topic, int queue_id, int sys_flag, bytes batch, bytes properties, long long born_timestamp,
        bytes born_host, int reconsume_times,
    )

    cdef int with_hosts(self, int sys_flag, bytes born_host) noexcept

    cdef int check(
        self, QueueCursor cursor, Py_ssize_t body_length, Py_ssize_t properties_length, Py_ssize_t size
    ) except -1

    cdef int make_room(self, QueueCursor cursor, Py_ssize_t size) except -1

    @cython.locals(now=cython.longlong, result=PutResult)
    cdef PutResult begin(self, QueueCursor cursor, Py_ssize_t size)

    @cython.locals(queue_offset=cython.longlong)
    cdef int append(
        self, QueueCursor cursor, Py_ssize_t size, int flag, int sys_flag, bytes body, bytes properties,
        long long born_timestamp, bytes born_host, int reconsume_times, long long prepared_offset,
    ) except -1

    @cython.locals(at=Py_ssize_t, commit_offset=cython.longlong)
    cdef int appended(
        self, QueueCursor cursor, Py_ssize_t size, Py_ssize_t properties_length, Py_ssize_t own_length, int sys_flag,
        long long queue_offset,
    ) except -1

    cdef int dispatch(
        self, QueueCursor cursor, Py_ssize_t properties_at, Py_ssize_t own_length, long long commit_offset,
        Py_ssize_t size, int sys_flag, long long queue_offset,
    ) except -1

    cdef int see_written(self) except -1

    @cython.locals(
        offsets=bytes, lengths=bytes, prototype=bytes, p=cython.p_uchar, q=cython.p_uchar, count=int, number=int,
        size=Py_ssize_t, own_length=Py_ssize_t, queue_offset=cython.longlong,
    )
    cdef bytes append_run(
        self, QueueCursor cursor, int sys_flag, BatchRun run, long long born_timestamp, bytes born_host,
        int reconsume_times,
    )

    @cython.locals(
        bare=Py_ssize_t, middle=Py_ssize_t, at=Py_ssize_t, size=Py_ssize_t, queue_offset=cython.longlong, step=int,
    )
    cdef void write_run(
        self, QueueCursor cursor, int sys_flag, BatchRun run, bytes prototype, Py_ssize_t born_host_length,
        unsigned char* p, unsigned char* q,
    ) except *

    @cython.locals(size=Py_ssize_t, out=bytes)
    cdef bytes prototype(
        self, QueueCursor cursor, int sys_flag, long long born_timestamp, bytes born_host, int reconsume_times
    )

    cdef PutResult done(self, PutResult result, int count)

    cdef PutResult refused(self, int status)


