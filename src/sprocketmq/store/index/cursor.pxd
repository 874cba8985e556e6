# The C types of cursor.py.
# Offsets and times have 64 bits in the file; hash, slot and count have 32, and so have seconds, which are cut to fit.
# The store's owner alone writes here, and looks up keys. Other threads sync a file when it is full, and read no field
# of this: nothing rests on the GIL.
from sprocketmq.hot.octets cimport i32, i64, put_i32, put_i64
from sprocketmq.hot.memory cimport pointer

import cython

cdef enum:
    HEADER_SIZE = 40
    SLOT_SIZE = 4
    INDEX_ENTRY_SIZE = 20
    _MAX_SECONDS = 0x7FFFFFFF


cdef class IndexCursor:
    cdef readonly int hash_slots
    cdef readonly int index_num
    cdef public object owner
    cdef readonly int limit
    cdef readonly int count
    cdef readonly long long begin_timestamp
    cdef readonly long long end_timestamp
    cdef readonly long long end_offset
    cdef object _view
    cdef unsigned char* _p

    cpdef void place(self, object view, int limit) except *

    cpdef int ready(self) except -1

    @cython.locals(p=cython.p_uchar, slot_at=Py_ssize_t, at=Py_ssize_t, previous=int)
    cpdef int put(self, int key_hash, long long commit_offset, long long store_timestamp) except -1

    @cython.locals(p=cython.p_uchar)
    cdef void count_entry(self, bint new_slot, long long commit_offset, long long store_timestamp) noexcept


@cython.locals(seconds=cython.longlong)
cpdef int index_seconds(long long store_timestamp, long long begin_timestamp) noexcept
