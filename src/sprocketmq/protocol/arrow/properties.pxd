# The C types of properties.py.
# The scratch buffer has places as int32: `property_columns` takes no more bytes than those reach. Nothing rests on the
# GIL: rows and buffers are the caller's.
from sprocketmq.hot.octets cimport blank, cut, find, is_utf8, le32, le64, put_le32, same
from sprocketmq.protocol.record.record cimport Pointer
from sprocketmq.protocol.arrow.rows cimport END, ROW_BYTES, TOPIC_END, Rows
from sprocketmq.protocol.arrow.text_column cimport TextColumn

import cython

cdef enum:
    MANY_ENTRIES = 64


@cython.final
cdef class PropertyFill:
    cdef bint with_map
    cdef list names
    cdef readonly TextColumn maps
    cdef readonly TextColumn keys
    cdef readonly TextColumn values
    cdef readonly list singles
    cdef bytes scratch
    cdef Py_ssize_t before

    @cython.locals(
        places=cython.p_uchar, row=Py_ssize_t, at=Py_ssize_t, octets=bytes
    )
    cdef void fill(self, const unsigned char* source, Rows rows, dict repaired) except *

    @cython.locals(entries=Py_ssize_t, index=Py_ssize_t)
    cdef void fill_row(self, const unsigned char* q, Py_ssize_t at, Py_ssize_t end) except *

    @cython.locals(s=cython.p_uchar, n=cython.p_uchar, length=Py_ssize_t, first=int, at=Py_ssize_t, entry=Py_ssize_t)
    cdef void fill_single(self, const unsigned char* q, Py_ssize_t entries, bytes name, TextColumn column) noexcept

    @cython.locals(
        n=cython.p_uchar, length=Py_ssize_t, value_at=Py_ssize_t, value_end=Py_ssize_t, stop=Py_ssize_t
    )
    cdef void seek(
        self, const unsigned char* q, Py_ssize_t at, Py_ssize_t end, bytes name, TextColumn column
    ) noexcept

    @cython.locals(
        s=cython.p_uchar, entries=Py_ssize_t, before=Py_ssize_t, places=dict, length=Py_ssize_t, stop=Py_ssize_t,
        middle=Py_ssize_t, entry=Py_ssize_t
    )
    cdef Py_ssize_t split(self, const unsigned char* q, Py_ssize_t at, Py_ssize_t end) except -1

    @cython.locals(name_at=Py_ssize_t, length=Py_ssize_t)
    cdef Py_ssize_t name_before(
        self, const unsigned char* q, Py_ssize_t at, Py_ssize_t end, Py_ssize_t entry
    ) noexcept

    @cython.locals(s=cython.p_uchar, entry=Py_ssize_t, other=Py_ssize_t)
    cdef Py_ssize_t entry_of(
        self, const unsigned char* q, Py_ssize_t at, Py_ssize_t length, Py_ssize_t entries
    ) noexcept

    @cython.locals(s=cython.p_uchar, entry=Py_ssize_t, name_at=Py_ssize_t)
    cdef Py_ssize_t entry_among_many(
        self, const unsigned char* q, Py_ssize_t at, Py_ssize_t length, Py_ssize_t entries, dict places
    ) except -1


@cython.locals(
    repaired=dict, source=Pointer, total=Py_ssize_t, places=cython.p_uchar, row=Py_ssize_t, at=Py_ssize_t,
    end=Py_ssize_t, fill=PropertyFill,
)
cpdef PropertyFill property_columns(const unsigned char[::1] data, Rows rows, bint with_map, list names, room)
