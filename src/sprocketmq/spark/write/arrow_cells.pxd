# The C types of arrow_cells.py.
# `_b`, `_o`, `_v` and `data` are bare addresses, which `_kept` keeps good. Offsets are int32 or int64 there, and
# Py_ssize_t here. Nothing rests on the GIL: Arrow's buffers do not change.
from sprocketmq.hot.octets cimport le32, le64

import cython


@cython.final
cdef class Ranges:
    cdef object _kept
    cdef bint _has_nulls, _is_wide
    cdef Py_ssize_t _shift
    cdef const unsigned char* _b
    cdef const unsigned char* _o
    cdef const unsigned char* data
    cdef Py_ssize_t data_end

    @cython.locals(place=Py_ssize_t)
    cdef Py_ssize_t at(self, Py_ssize_t row) noexcept

    @cython.locals(place=Py_ssize_t)
    cdef Py_ssize_t length(self, Py_ssize_t row) noexcept


@cython.final
cdef class Numbers:
    cdef object _kept
    cdef bint _has_nulls
    cdef Py_ssize_t _shift
    cdef const unsigned char* _b
    cdef const unsigned char* _v

    @cython.locals(place=Py_ssize_t)
    cdef bint is_null(self, Py_ssize_t row) noexcept

    cdef long long value(self, Py_ssize_t row) noexcept


@cython.final
cdef class Field:
    cdef bytes head
    cdef Ranges texts, lists


@cython.final
cdef class Pairs:
    cdef Ranges lists, names, values


cdef const unsigned char* readable(buffer) except? NULL

cdef const unsigned char* first(const unsigned char[::1] view) noexcept
