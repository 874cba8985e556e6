# The C types of batch.py.
# Sizes are Py_ssize_t before they are compared, though the wire has 32 bits: a sum of two cannot run over. Nothing
# rests on the GIL: arguments are not changed, results are new.
from sprocketmq.hot.octets cimport cut, i16, i32

import cython

cdef enum:
    ENTRY_BYTES = 22

@cython.locals(
    messages=list, p=cython.p_uchar, at=Py_ssize_t, end=Py_ssize_t, body_end=Py_ssize_t, properties_end=Py_ssize_t
)
cpdef list decode_batch(bytes body)

@cython.locals(size=Py_ssize_t, body_length=Py_ssize_t, body_end=Py_ssize_t)
cdef Py_ssize_t check_entry(const unsigned char* p, Py_ssize_t at, Py_ssize_t end) except -1
