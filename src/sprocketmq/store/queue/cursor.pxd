# The C types of cursor.py.
# Offsets have 64 bits; `key_hash` is unsigned, to be gone on with (hashing.py). What rests on the GIL is said at `put`:
# the thread that flushes reads offsets here, and clears `dirty`.
from sprocketmq.hot.octets cimport i32, i64, put_i32, put_i64
from sprocketmq.hot.memory cimport pointer

import cython

cdef enum:
    ENTRY_SIZE = 20
    SECTOR = 512


cdef class QueueCursor:
    cdef readonly str topic
    cdef readonly bytes topic_bytes
    cdef readonly int queue_id
    cdef public object owner
    cdef readonly unsigned int key_hash
    cdef readonly bint is_retry
    cdef readonly bint is_schedule
    cdef public long long next_offset
    cdef public long long max_offset
    cdef public long long max_commit_offset
    cdef public long long store_timestamp
    cdef public long long deleted_below
    cdef public long long deleted_until
    cdef public bint watched
    cdef public bint dirty
    cdef public bint used
    cdef public bint held
    cdef readonly Py_ssize_t position
    cdef readonly Py_ssize_t limit
    cdef object _view
    cdef unsigned char* _p

    cpdef void place(self, object view, Py_ssize_t position, Py_ssize_t limit) except *

    cpdef void reset(self, long long max_offset, long long max_commit_offset) except *

    cdef object view_of(self, long long base)

    @cython.locals(p=cython.p_uchar)
    cpdef int put(self, long long commit_offset, int size, long long tags_code) except -1


@cython.locals(p=cython.p_uchar)
cpdef Py_ssize_t written_until(object view, Py_ssize_t at, Py_ssize_t end) except -1

cpdef bint is_tearable(long long queue_offset, long long file_size) except -1
