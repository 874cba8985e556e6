# The C types of fields.py.
# A method of C for each field: a subclass is called through a table of C, without a look at a dict. Nothing rests on
# the GIL: a request is read on one thread.
from sprocketmq.protocol.command cimport Command
from sprocketmq.hot.octets cimport i16, i32

import cython


cdef class FieldwiseRequest:
    cdef tuple names
    cdef str title
    cdef int required
    cdef int seen
    cdef int last

    cdef int number_of(self, const unsigned char* p, Py_ssize_t at, Py_ssize_t end) except -2
    cdef void take(self, int number, const unsigned char* p, Py_ssize_t at, Py_ssize_t end) except *

    @cython.locals(all_of_them=int)
    cdef void read(self, Command command) except *

    @cython.locals(
        p=cython.p_uchar, at=Py_ssize_t, end=Py_ssize_t, name_end=Py_ssize_t, value_at=Py_ssize_t, value_end=Py_ssize_t,
    )
    cdef void read_block(self, bytes block) except *

    @cython.locals(number=int, octets=bytes)
    cdef void read_fields(self, dict fields) except *

    cdef void read_one(self, int number, const unsigned char* p, Py_ssize_t at, Py_ssize_t end) except *
