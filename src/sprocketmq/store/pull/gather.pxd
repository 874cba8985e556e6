# The C types of gather.py.
# Offsets have 64 bits, a size 32 as in the entry, a place in a file is a Py_ssize_t. Pulls run on the thread that
# appends, so none meets half a record: that, and not the GIL, is what `find` counts on.
from sprocketmq.hot.octets cimport blank, i32, i64, put, put_i64, same, seal
from sprocketmq.protocol.record.record cimport WHOLE
from sprocketmq.protocol.record.record cimport RecordParts
from sprocketmq.hot.memory cimport as_int32, pointer
from sprocketmq.store.files.bad_pages cimport BadPages

import cython

cdef enum:
    ENTRY_SIZE = 20
    FILLER_SIZE = 0x7FFFFFFF
    SPAN_SIZE = 24
    LOOKS = 0x40000

cdef BadPages BAD_PAGES

cpdef enum:
    FOUND = 0
    NO_MATCHED_MESSAGE = 1
    MESSAGE_WAS_REMOVING = 2


cdef class Gather:
    cdef readonly int status
    cdef readonly long long next_offset
    cdef readonly int count
    cdef readonly Py_ssize_t size
    cdef readonly long long last_commit_offset
    cdef readonly list missing
    cdef public object unit_of
    cdef public int disk_count
    cdef public Py_ssize_t disk_bytes
    cdef Py_ssize_t _looks_left
    cdef bytes _topic
    cdef int _queue_id
    cdef int _max_count
    cdef Py_ssize_t _max_bytes
    cdef long long _memory_from
    cdef long long _check_below
    cdef object _view_of
    cdef Py_ssize_t _file_size
    cdef RecordParts _layout
    cdef long long _base
    cdef object _view
    cdef unsigned char* _p
    cdef list _views
    cdef Py_ssize_t _start, _end
    cdef bytes _spans
    cdef Py_ssize_t _spans_end

    @cython.locals(p=cython.p_uchar, commit_offset=cython.longlong, size=int,
                   tags_code=cython.longlong)
    cpdef void run(
        self, object entries, Py_ssize_t at, Py_ssize_t end, long long queue_offset, object codes, object rule
    ) except *

    cdef void note_missing(self, long long commit_offset) except *

    cdef bint full(self, long long commit_offset, int size) noexcept

    cdef bint wanted(self, long long tags_code, object codes, object rule) except -1

    @cython.locals(base=cython.longlong, at=Py_ssize_t)
    cdef bint find(self, long long commit_offset, int size) except -1

    @cython.locals(layout=RecordParts)
    cdef bint locate(self, Py_ssize_t at, int size) except -1

    @cython.locals(p=cython.p_uchar, layout=RecordParts, length=Py_ssize_t)
    cdef bint belongs(self, Py_ssize_t at, long long commit_offset) except -1

    @cython.locals(layout=RecordParts)
    cdef bint matches(self, object rule, Py_ssize_t at, int size) except -1

    @cython.locals(at=Py_ssize_t)
    cdef void add(self, long long commit_offset, int size) except *

    @cython.locals(p=cython.p_uchar)
    cdef void close_span(self) except *

    @cython.locals(
        spans=cython.p_uchar, at=Py_ssize_t, length=Py_ssize_t, out=bytes, p=cython.p_uchar, start=Py_ssize_t,
        end=Py_ssize_t,
    )
    cpdef bytes behind(self, bytes head)
