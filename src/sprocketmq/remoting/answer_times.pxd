# The C types of answer_times.py.
# Nanoseconds pass 32 bits after four seconds. The loop's thread counts, and the figures are read on it, too: nothing
# rests on the GIL.
from sprocketmq.hot.memory cimport nanoseconds

import cython

cdef long long _MS_NS


@cython.final
cdef class AnswerKind:
    cdef readonly int code, response
    cdef readonly bint oneway, waited
    cdef readonly long long total_ns
    cdef long long _fresh, _quick
    cdef list _slow

    cpdef object settle(self, long long took_ns)

    cpdef object add(self, long long took_ns, long long count)


@cython.final
cdef class AnswerTimes:
    cdef readonly dict kinds
    cdef AnswerKind _kind
    cdef list _others
    cdef AnswerKind _late

    @cython.locals(kind=AnswerKind)
    cpdef object note(self, int code, int response, bint oneway)

    @cython.locals(kind=AnswerKind, other=AnswerKind)
    cpdef object settle(self, long long took_ns)

    @cython.locals(kind=AnswerKind, took_ns=cython.longlong)
    cpdef object late(self, int code, int response, double took_s, bint waited)

    cdef AnswerKind _change(self, int code, int response, bint oneway)

    @cython.locals(kind=AnswerKind)
    cdef AnswerKind _of(self, int code, int response, bint oneway, bint waited)


@cython.locals(place=int, bound=cython.longlong)
cdef int _place(long long took_ns) except -1
