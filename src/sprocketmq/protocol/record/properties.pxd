# The C types of properties.py.
# `p` and `q` are bare: no read passes `end`, or the separator that `find` has found. Nothing rests on the GIL.
from sprocketmq.hot.octets cimport cut, find, same, text

import cython

@cython.locals(properties=dict, data=bytes)
cpdef dict decode_properties(source)

@cython.locals(
    properties=dict, p=cython.p_uchar, at=Py_ssize_t, end=Py_ssize_t, stop=Py_ssize_t, middle=Py_ssize_t
)
cdef dict decode_octets(bytes data)

@cython.locals(
    p=cython.p_uchar, q=cython.p_uchar, at=Py_ssize_t, end=Py_ssize_t, stop=Py_ssize_t, length=Py_ssize_t,
    found_at=Py_ssize_t, found_end=Py_ssize_t,
)
cpdef bytes find_property(bytes properties, bytes name)
