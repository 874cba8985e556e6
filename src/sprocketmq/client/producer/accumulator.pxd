# The C types of accumulator.py.
# Sizes are Py_ssize_t and `p` is bare: `add` makes room before it writes. The producer's loop alone fills a batch, so
# nothing rests on the GIL.
from sprocketmq.client.message cimport Message
from sprocketmq.hot.octets cimport i32, put, put_hex16, put_i16, put_i32, resize
from sprocketmq.protocol.record.batch cimport ENTRY_BYTES

import cython

cdef bytes _NAME, _WAIT, _NO_WAIT
cdef Py_ssize_t _KEY_BYTES, _KEY_AT, _PLAIN_BYTES, _MOST_PROPERTIES


@cython.final
cdef class Accumulator:
    cdef readonly Py_ssize_t count, size, body_bytes
    cdef bytearray _buffer
    cdef bytes _extra
    cdef str _head
    cdef int _first_id

    @cython.locals(
        body=bytes, wait=bytes, own=bytes, text=str, length=Py_ssize_t, own_length=Py_ssize_t, wait_length=Py_ssize_t,
        properties_length=Py_ssize_t, at=Py_ssize_t, size=Py_ssize_t, p=cython.p_uchar,
    )
    cpdef object add(self, Message message, str extra=*)

    @cython.locals(
        head=bytes, head_length=Py_ssize_t, p=cython.p_uchar, at=Py_ssize_t, index=Py_ssize_t, key_at=Py_ssize_t
    )
    cpdef bytearray close(self)


cpdef Py_ssize_t entry_size(Message message) except -1
