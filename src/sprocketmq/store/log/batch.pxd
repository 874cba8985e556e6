# The C types of batch.py.
# `size` and `body_length` are compared as Py_ssize_t: in 32 bits what a peer claims could run over. A batch is written
# by the store's owner, and found by others when its first head is there: nothing rests on the GIL.
from sprocketmq.protocol.record.crc cimport crc_of
from sprocketmq.hot.octets cimport i16, i32, i64, put, put_i16, put_i32, put_i64, put_last
from sprocketmq.protocol.record.record cimport (
    BLANK_BYTES, MAX_PROPERTIES_BYTES, PROPERTY_CRC_BYTES, Pointer, put_property_crc,
)

import cython

cdef enum:
    BATCH_HEAD = 20
    END = 2


@cython.final
cdef class BatchRun:
    cdef bytes _batch
    cdef readonly bytes shared
    cdef Py_ssize_t _shared_length
    cdef readonly Py_ssize_t tail
    cdef bint _property_crc
    cdef Py_ssize_t _at
    cdef Py_ssize_t _end
    cdef Py_ssize_t _own_at
    cdef Py_ssize_t _own_length
    cdef readonly Py_ssize_t body_at
    cdef readonly Py_ssize_t body_length
    cdef readonly Py_ssize_t own_length
    cdef readonly Py_ssize_t properties_length
    cdef readonly int count
    cdef readonly int flag

    cdef void rewind(self) noexcept

    @cython.locals(total=Py_ssize_t)
    cdef Py_ssize_t size(self, Py_ssize_t bare) except -1

    @cython.locals(at=Py_ssize_t, p=Pointer, size=Py_ssize_t, body_length=Py_ssize_t)
    cdef bint step(self) except -1

    @cython.locals(p=Pointer, last=Py_ssize_t)
    cdef bint needs_end(self) noexcept

    @cython.locals(body_length=Py_ssize_t, rest=Py_ssize_t, start=Py_ssize_t)
    cdef void write(
        self, unsigned char* p, Py_ssize_t at, Py_ssize_t size, bytes prototype, Py_ssize_t middle,
        long long queue_offset, long long commit_offset,
    ) noexcept

    cdef void write_properties(self, unsigned char* p, Py_ssize_t at) noexcept


@cython.locals(number=int, start=cython.longlong)
cdef void put_heads(
    unsigned char* p, long long base, const unsigned char* offsets, int count, long long end, int magic
) noexcept
