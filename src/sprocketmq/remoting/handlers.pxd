# The C types of handlers.py.
from sprocketmq.protocol.command cimport Command
from sprocketmq.protocol.frame.decoder cimport encode_frame

import cython


@cython.final
cdef class ProcessorTable:
    cdef public object authorize
    cdef dict _handlers
    cdef int _max_slow
    cdef set _slow

    cpdef object process(self, object connection, Command request)

    cpdef object handle(self, object connection, Command request)

    cdef object _answer(self, object connection, Command request, object authorize)
