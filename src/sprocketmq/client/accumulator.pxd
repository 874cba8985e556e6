# The C types of accumulator.py.
from sprocketmq.client.message cimport Message
from sprocketmq.protocol.batch cimport encode_entry

import cython

cdef Py_ssize_t _PLAIN_BYTES


cdef class Accumulator:
    cdef readonly list futures, messages
    cdef readonly Py_ssize_t size, body_bytes
    cdef str _extra
    cdef list _extras, _keys

    cpdef bint has_room(self, Message message, Py_ssize_t limit) except -1

    cpdef object add(self, Message message, object future=*, str extra=*)

    @cython.locals(message=Message, keys=list, extras=list, parts=list, extra=str, own=str, properties=bytes, i=Py_ssize_t)
    cpdef bytes body(self)

    cpdef object settle(self, object receipt)

    cpdef list receipts(self, object receipt)


@cython.locals(size=Py_ssize_t)
cdef Py_ssize_t entry_size(Message message) except -1
