# The C types of message.py.
# `delay_level` and `flag` have 32 bits, as on the wire: the constructor has checked that they fit. Texts and bodies
# stay objects, for a user may set them to anything before `validate` looks. Nothing rests on the GIL: a message is its
# maker's until it is sent.

import cython


@cython.freelist(64)
cdef class Message:
    cdef public object topic, body, tag, keys, properties, sharding_key, delay, deliver_at
    cdef public int delay_level, flag
    cdef public bint wait_stored

    cpdef bint _is_delayed(self) except -1

    cpdef object validate(self, Py_ssize_t max_body_bytes=*)

    cpdef str property_text(self, str unique_key, str extra=*)

    @cython.locals(text=str)
    cpdef str own_text(self)
