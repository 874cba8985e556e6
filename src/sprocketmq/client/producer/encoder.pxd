# The C types of encoder.py.
# Times are milliseconds since 1970, which pass 32 bits; where nothing is compressed `_compress_over` is sys.maxsize,
# the largest Py_ssize_t. The producer's loop alone counts the ids: nothing rests on the GIL.
from sprocketmq.client.message cimport Message
from sprocketmq.protocol.requests.send_frame cimport Payload

import cython

cdef int _IDS, _IDS_MS, _MESSAGE, _BATCH
cdef Py_ssize_t _MOST_PROPERTIES


@cython.final
cdef class Encoder:
    cdef str _namespace, _namespace_text, _ids_head
    cdef dict _names
    cdef object _kind, _compress_level
    cdef Py_ssize_t _max_message_bytes, _compress_over
    cdef int _first_id, _ids_left
    cdef long long _ids_ms

    cpdef object topic(self, object name)

    @cython.locals(payload=Payload, more=str)
    cpdef Payload single(self, Message message, str extra=*, int sys_flag=*)

    cdef object _compress(self, Payload payload)

    @cython.locals(counter=int)
    cdef str _next_key(self, long long now)


cpdef long long now_ms() except -1
