# The C types of handler.py.
# Each part of the way has its type, so that one calls the next without a look at a dict; what is rare is an `object`.
# All of it runs on the loop's thread: nothing rests on the GIL.
from sprocketmq.broker.metrics.counter cimport Counter, LargeMessages
from sprocketmq.broker.send.admitted_topics cimport AdmittedTopics, TopicAdmission
from sprocketmq.broker.send.answer cimport SendAnswers
from sprocketmq.broker.send.properties cimport SentProperties, shared, stored
from sprocketmq.broker.send.waiting_answers cimport WaitingAnswers
from sprocketmq.protocol.command cimport Command
from sprocketmq.protocol.record.sysflag cimport TRANSACTION_MASK
from sprocketmq.protocol.requests.send cimport SendRequest, decode_send
from sprocketmq.store.log.append cimport Appender, PutResult

import cython

cdef int _ONEWAY
cdef long long _SMALL_BYTES


@cython.final
cdef class SendHandler:
    cdef readonly object admission
    cdef readonly object special
    cdef AdmittedTopics _admitted
    cdef object _settings
    cdef object _store
    cdef Appender _appender
    cdef object _acks
    cdef WaitingAnswers _waiting
    cdef object _unique_ids
    cdef SentProperties _found
    cdef str _id_prefix
    cdef dict _told
    cdef bytes _added
    cdef SendAnswers _answers

    @cython.locals(sent=SendRequest, admission=TopicAdmission)
    cpdef object send(self, object connection, Command request)

    @cython.locals(
        found=SentProperties, special=bint, key=bytes, added=bytes, key_at=Py_ssize_t, key_end=Py_ssize_t, waits=bint,
        result=PutResult, counter=Counter, frame=bytes,
    )
    cdef object put(self, object connection, Command request, SendRequest sent, TopicAdmission admission)

    cdef PutResult append(self, object connection, Command request, SendRequest sent, bytes added)

    @cython.locals(result=PutResult, counter=Counter, key=bytes, recall_handle=bytes, waits=bint, frame=bytes)
    cdef object put_special(self, object connection, Command request, SendRequest sent)

    cdef object when_safe(self, object connection, Command request, PutResult result, Counter counter, bytes frame)
