# The C types of dispatch.py.
# Offsets and times have 64 bits, sizes 32, as on disk; a hash becomes an int32 before it is stored as 64, with its
# sign. The store's owner alone dispatches. The thread of the checkpoint reads `store_timestamp`, which under the GIL is
# whole.
from sprocketmq.hot.octets cimport cut, i32, i64, same, text
from sprocketmq.protocol.record.hashing cimport hash_octets, positive
from sprocketmq.protocol.record.record cimport FIXED_BYTES, NO_MAGIC, WHOLE, WRONG_PARTS
from sprocketmq.protocol.record.record cimport RecordParts
from sprocketmq.protocol.record.sysflag cimport is_indexed, is_queued
from sprocketmq.store.files.bad_pages cimport BadPages
from sprocketmq.store.index.cursor cimport IndexCursor
from sprocketmq.hot.memory cimport as_int32, pointer
from sprocketmq.store.dispatch.property_scan cimport PropertyScan
from sprocketmq.store.queue.cursor cimport QueueCursor, is_tearable

import cython

cdef BadPages BAD_PAGES


cdef class Dispatcher:
    cdef readonly dict queues
    cdef public IndexCursor index
    cdef public tuple delay_level_ms
    cdef public long long dispatched_offset
    cdef public long long store_timestamp
    cdef public object on_dispatch
    cdef public object extend
    cdef public int mending
    cdef readonly dict held
    cdef public object on_hold
    cdef object _open_queue
    cdef RecordParts _layout
    cdef QueueCursor _last
    cdef PropertyScan _found
    cdef PropertyScan _shared

    @cython.locals(of_topic=dict)
    cpdef QueueCursor queue(self, str topic, int queue_id)

    @cython.locals(p=cython.p_uchar, layout=RecordParts, kind=int, cursor=QueueCursor)
    cpdef int walk(self, object view, long long base, Py_ssize_t at, Py_ssize_t end, bint check_crc) except -1

    @cython.locals(
        layout=RecordParts, queue_id=int, queue_offset=cython.longlong, last=QueueCursor, length=Py_ssize_t
    )
    cdef QueueCursor queue_of(self, unsigned char* p, long long commit_offset)

    cdef void share(self, bytes properties) noexcept

    cdef int dispatch(
        self, QueueCursor cursor, const unsigned char* p, Py_ssize_t at, Py_ssize_t own_end, Py_ssize_t end,
        long long commit_offset, int size, int sys_flag, long long queue_offset, long long store_timestamp,
    ) except -1

    @cython.locals(tags_code=cython.longlong, in_entry=cython.longlong)
    cdef int enter(
        self, QueueCursor cursor, const unsigned char* p, Py_ssize_t at, Py_ssize_t end, long long commit_offset,
        int size, long long queue_offset, long long store_timestamp,
    ) except -1

    @cython.locals(tags_code=cython.longlong, in_entry=cython.longlong)
    cdef int mend(
        self, QueueCursor cursor, const unsigned char* p, Py_ssize_t at, Py_ssize_t end, long long commit_offset,
        int size, long long queue_offset, long long store_timestamp,
    ) except -1

    cdef long long in_entry(
        self, QueueCursor cursor, const unsigned char* p, Py_ssize_t at, Py_ssize_t end, long long queue_offset,
        long long tags_code, long long store_timestamp,
    ) except? -1

    cdef bint belongs(self, QueueCursor cursor, long long queue_offset, long long record_end) except -1

    @cython.locals(wait=cython.longlong, found=PropertyScan, level=str)
    cdef long long tags_code(self, QueueCursor cursor, const unsigned char* p, long long store_timestamp) except? -1

    @cython.locals(index=IndexCursor)
    cdef int dispatch_keys(
        self, QueueCursor cursor, const unsigned char* p, long long commit_offset, long long store_timestamp
    ) except -1

    @cython.locals(found=PropertyScan, at=Py_ssize_t)
    cdef int put_keys(
        self, IndexCursor index, QueueCursor cursor, const unsigned char* p, long long commit_offset,
        long long store_timestamp,
    ) except -1

    @cython.locals(key_hash=int)
    cdef int put_key(
        self, IndexCursor index, QueueCursor cursor, const unsigned char* p, Py_ssize_t at, Py_ssize_t end,
        long long commit_offset, long long store_timestamp,
    ) except -1
