# The C types of handlers.py.
# `Authority` and `Processor` are classes of C, so that no request costs a look at a dict. The loop's thread alone is
# here, and nothing rests on the GIL.
from sprocketmq.protocol.command cimport Command
from sprocketmq.protocol.frame.decoder cimport encode_frame

from sprocketmq.remoting.answer_times cimport AnswerTimes

import cython

cdef int _ONEWAY


cdef class Authority:
    cpdef object look_ahead(self, object connection, list requests)

    cpdef object check(self, object connection, Command request)


@cython.final
cdef class Processor:
    cdef public object handler
    cdef public Py_ssize_t max_body


@cython.final
cdef class ProcessorTable:
    cdef public Authority authority
    cdef readonly AnswerTimes times
    cdef int _response
    cdef public object refused
    cdef dict _processors
    cdef int _max_slow
    cdef set _slow
    cdef object _use

    @cython.locals(code=int)
    cpdef object process(self, object connection, Command request)

    cpdef object handle(self, object connection, Command request)

    cpdef object answered_late(self, Command request, object reply, double seconds, bint waited)

    cdef int _known(self, Command request) except? -2

    @cython.locals(refused=Command, processor=Processor)
    cdef object _answer(self, object connection, Command request, Authority authority)

    cdef object _call(self, Processor processor, object connection, Command request)
