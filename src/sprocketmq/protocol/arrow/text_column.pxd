# The C types of text_column.py.
# `o`, `p` and `b` are bare addresses in the three buffers, which the attributes above them keep. Offsets are int32, so
# whoever makes a column keeps it below 2 GiB. Nothing rests on the GIL: a column has one writer.
from sprocketmq.hot.octets cimport le32, put, put_le32, put_near

import cython


@cython.final
cdef class TextColumn:
    cdef readonly Py_ssize_t count
    cdef readonly object offsets
    cdef readonly object data
    cdef readonly object bits
    cdef Py_ssize_t here
    cdef unsigned char* o
    cdef unsigned char* p
    cdef unsigned char* b

    cdef void append(self, const unsigned char* q, Py_ssize_t at, Py_ssize_t length) noexcept

    @cython.locals(here=Py_ssize_t, entry=Py_ssize_t, place=Py_ssize_t, length=Py_ssize_t)
    cdef void append_many(
        self, const unsigned char* q, Py_ssize_t q_end, const unsigned char* s, Py_ssize_t first, Py_ssize_t count
    ) noexcept

    cdef void append_null(self) noexcept
    cdef void ends(self, Py_ssize_t here) noexcept
    cpdef tuple buffers(self)


@cython.locals(view=cython.uchar[::1])
cdef unsigned char* pointer(buffer) except? NULL
