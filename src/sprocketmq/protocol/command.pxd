# The C types of command.py.
from sprocketmq.protocol.octets cimport i16, i32, text

import cython

cdef class Command:
    cdef public int code
    cdef public int opaque
    cdef public int flag
    cdef public int version
    cdef public int serialize_type
    cdef public object language
    cdef public object remark
    cdef public object body
    cdef dict _ext_fields
    cdef bytes _block


@cython.locals(p=cython.p_uchar, at=Py_ssize_t, end=Py_ssize_t, value_at=Py_ssize_t, value_end=Py_ssize_t)
cpdef dict decode_block(bytes block)
