# The C types of message.py.

cdef str _WAIT, _NO_WAIT


cdef class Message:
    cdef public object topic, body, tag, keys, properties, sharding_key, delay, deliver_at, delay_level, flag
    cdef public bint wait_stored

    cdef bint _is_delayed(self) except -1

    cpdef object validate(self, object max_body_bytes=*)

    cpdef str property_text(self, str unique_key, str extra=*)
