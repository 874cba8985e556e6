# The C types of verify_fast.py.
# `value` is an unsigned hash under way, `key_hash` what the index has of it, never below zero. A check runs on one
# thread, and only reads: nothing rests on the GIL.
from sprocketmq.hot.octets cimport cut, i32, i64, le32, put_le32, same
from sprocketmq.protocol.record.record cimport WHOLE, RecordParts
from sprocketmq.protocol.record.sysflag cimport is_indexed, is_queued
from sprocketmq.protocol.record.hashing cimport hash_octets, positive
from sprocketmq.hot.memory cimport as_int32, pointer
from sprocketmq.store.dispatch.property_scan cimport PropertyScan
from sprocketmq.store.index.cursor cimport index_seconds

import cython

cdef enum:
    ENTRY_SIZE = 20
    INDEX_ENTRY_SIZE = 20


@cython.final
cdef class QueueAgreement:
    cdef readonly str topic
    cdef readonly bytes topic_bytes
    cdef readonly int queue_id
    cdef readonly unsigned int key_hash
    cdef readonly bint is_schedule
    cdef public long long due
    cdef readonly long long first
    cdef readonly long long end
    cdef object _view
    cdef unsigned char* _p

    cpdef void place(self, object view, long long first, long long end) except *


@cython.final
cdef class IndexAgreement:
    cdef public long long begin
    cdef public int number
    cdef readonly int count
    cdef readonly long long begin_timestamp
    cdef readonly bint is_last
    cdef object _view
    cdef unsigned char* _p

    cpdef void place(self, object view, int count, long long begin_timestamp, bint is_last) except *


@cython.final
cdef class Agreement:
    cdef readonly long long newest
    cdef readonly long long records
    cdef dict _agreements
    cdef object _fetch
    cdef IndexAgreement _index
    cdef QueueAgreement _last
    cdef RecordParts _layout
    cdef PropertyScan _found
    cdef int _keys

    @cython.locals(p=cython.p_uchar, layout=RecordParts, at=Py_ssize_t, have=Py_ssize_t)
    cpdef Py_ssize_t walk(self, object data, long long origin, Py_ssize_t enough) except -1

    @cython.locals(
        layout=RecordParts, agreement=QueueAgreement, queued=bint, queue_offset=cython.longlong,
        store_timestamp=cython.longlong,
    )
    cdef bint agrees(self, const unsigned char* p, long long commit_offset) except -1

    @cython.locals(layout=RecordParts, last=QueueAgreement, queue_id=int, length=Py_ssize_t, of_topic=dict)
    cdef QueueAgreement agreement_of(self, const unsigned char* p)

    @cython.locals(q=cython.p_uchar, found=PropertyScan, at=Py_ssize_t, code=cython.longlong)
    cdef bint has_entry(
        self, QueueAgreement agreement, const unsigned char* p, long long queue_offset, long long commit_offset
    ) except -1

    @cython.locals(
        found=PropertyScan, index=IndexAgreement, seconds=cython.longlong, value=cython.uint, at=Py_ssize_t,
    )
    cdef bint has_keys(
        self, QueueAgreement agreement, const unsigned char* p, long long commit_offset, long long store_timestamp
    ) except -1

    @cython.locals(index=IndexAgreement, number=Py_ssize_t, key_hash=cython.longlong, q=cython.p_uchar, at=Py_ssize_t)
    cdef bint is_next_key(self, unsigned int value, long long commit_offset, long long seconds) noexcept

    @cython.locals(index=IndexAgreement, number=Py_ssize_t, q=cython.p_uchar)
    cdef bint has_no_more_keys(self, long long commit_offset) noexcept


@cython.locals(
    chains=list, wrong_heads=list, q=cython.p_uchar, h=cython.p_uchar, e=cython.p_uchar, used=Py_ssize_t,
    number=Py_ssize_t, at=Py_ssize_t, key_hash=int, previous=int, slot=Py_ssize_t, last=int, stored=int,
)
cpdef tuple chain_faults(object entries, Py_ssize_t count, object heads, Py_ssize_t slots)
