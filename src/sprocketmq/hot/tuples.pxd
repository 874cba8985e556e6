# The C form of tuples.py: what tuple.__new__ does in the end, without the tuples of arguments on the way.
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_SET_ITEM

cdef extern from "Python.h":
    object PyType_GenericAlloc(type cls, Py_ssize_t size)


cdef inline object tuple_of(type cls, tuple fields):
    cdef Py_ssize_t at, size = PyTuple_GET_SIZE(fields)
    cdef object field, made = PyType_GenericAlloc(cls, size)
    for at in range(size):
        field = <object>PyTuple_GET_ITEM(fields, at)
        Py_INCREF(field)  # the place takes a reference of its own
        PyTuple_SET_ITEM(made, at, field)
    return made
