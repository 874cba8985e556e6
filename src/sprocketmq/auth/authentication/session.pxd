# The C types of session.py.
# `generation` is compared for every request, as a number of C. The loop's thread alone has a session: nothing rests on
# the GIL.
from sprocketmq.auth.authentication.signed_fields cimport SigningKey

import cython


@cython.final
cdef class Session:
    cdef readonly object guard
    cdef readonly bytes access_key
    cdef readonly SigningKey key
    cdef readonly object account
    cdef readonly str name
    cdef readonly str address
    cdef readonly int generation
    cdef readonly bint may_all
    cdef readonly bint unsigned
    cdef readonly bint strict
    cdef readonly bint inner
    cdef bytes last
    cdef set _allowed

    cpdef bint has(self, bytes what) except -1

    cpdef object keep(self, bytes what)
