# The C types of guard.py.
# Sessions, fields and requests have their types, so that a request that was allowed before costs no look at a dict. The
# loop's thread alone is here; accounts are changed on it too, and nothing rests on the GIL.
from sprocketmq.auth.authentication.session cimport Session
from sprocketmq.auth.authentication.signed_fields cimport SignedFields
from sprocketmq.protocol.command cimport Command
from sprocketmq.remoting.handlers cimport Authority
from sprocketmq.remoting.traffic cimport Traffic

import cython

cdef int _RESPONSE, _SHORT_BODY


cdef class Guard(Authority):
    cdef readonly object realm
    cdef readonly str cluster
    cdef readonly int generation
    cdef frozenset _no_signature
    cdef frozenset _no_decision
    cdef object _hold_back
    cdef object _check_replay
    cdef SignedFields _found
    cdef dict _deciding

    @cython.locals(found=SignedFields, session=Session, cleared=Session)
    cpdef object check(self, object connection, Command request)

    @cython.locals(traffic=Traffic, session=Session, command=Command)
    cpdef object look_ahead(self, object connection, list requests)

    @cython.locals(found=SignedFields)
    cdef bint is_clear(self, Session session, Command request) except -1

    cdef bint enter(self, Traffic connection, Session session, Command request) except -1

    cdef Session identify(self, SignedFields found, Traffic connection, Command request)

    @cython.locals(session=Session, opened=Session)
    cdef Session session_of(self, SignedFields found, Traffic connection, Command request)

    cdef object admit(self, SignedFields found, Traffic connection, Session session, Command request)

    cdef bint refuse(self, object connection, Command request, object error) except -1

    cdef object check_claimed(self, object connection, Command request)

    cdef bint has_decided(self, SignedFields found, Session session) except -1

    cdef object decide(self, SignedFields found, Session session, Command request)

    cdef object ask(self, Session session, Command request)
