# The C types of rows.py.
# A row's places are int64 in memory, whatever the machine: the columns read them by their numbers below. `data` is a
# typed view, which holds its memory; `p` is bare. Nothing rests on the GIL: what is read and made is the caller's.
from sprocketmq.protocol.record.hashing cimport utf8_hash
from sprocketmq.hot.octets cimport blank, cut, i32, is_ascii, put_le64, same, text
from sprocketmq.protocol.record.properties cimport find_property
from sprocketmq.protocol.record.record cimport BLANK, FIXED_BYTES, WHOLE, RecordParts, Pointer

import cython

cdef enum:
    AT = 0
    STORE_TIME_AT = 8
    BODY_AT = 16
    BODY_END = 24
    TOPIC_AT = 32
    TOPIC_END = 40
    END = 48
    SYS_FLAG = 56
    ROW_BYTES = 64


cdef class Wanted:
    cdef list topics
    cdef bint any_queue
    cdef int queue_id
    cdef frozenset tags_codes
    cdef bint check_crc

    @cython.locals(tags=bytes)
    cdef bint takes(self, const unsigned char* p, RecordParts layout) except -1

    @cython.locals(topic=bytes)
    cdef bint takes_topic(self, const unsigned char* p, Py_ssize_t at, Py_ssize_t end) except -1


@cython.final
cdef class Rows:
    cdef readonly Py_ssize_t count
    cdef readonly Py_ssize_t seen
    cdef readonly Py_ssize_t seen_bytes
    cdef readonly Py_ssize_t stop
    cdef bytes places
    cdef RecordParts layout

    @cython.locals(kind=int)
    cdef Py_ssize_t walk(
        self, const unsigned char* p, Py_ssize_t at, Py_ssize_t enough, Py_ssize_t end, Wanted wanted
    ) except -1

    @cython.locals(layout=RecordParts)
    cdef void take(self, const unsigned char* p, Py_ssize_t at, int kind, Wanted wanted) except *

    @cython.locals(p=cython.p_uchar, row=Py_ssize_t)
    cdef void append(self, RecordParts layout) noexcept


cdef void check_topic(const unsigned char* p, RecordParts layout) except *

@cython.locals(rows=Rows, p=Pointer, limit=Py_ssize_t)
cpdef Rows rows_of_run(const unsigned char[::1] data, Py_ssize_t at, Py_ssize_t end, Wanted wanted, enough=*)

@cython.locals(
    rows=Rows, p=Pointer, have=Py_ssize_t, at=Py_ssize_t, offset=cython.longlong, size=Py_ssize_t, kind=int,
)
cpdef Rows rows_of_entries(const unsigned char[::1] data, list entries, Wanted wanted, long long origin=*)
