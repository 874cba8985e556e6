# The C types of record_run.py.
# Offsets have 64 bits. One replica measures with one of these at a time: nothing rests on the GIL.
from sprocketmq.hot.memory cimport pointer
from sprocketmq.hot.octets cimport i64
from sprocketmq.protocol.record.record cimport NO_MAGIC, WHOLE, RecordParts

import cython


@cython.final
cdef class RecordRun:
    cdef readonly int kind
    cdef readonly Py_ssize_t size
    cdef readonly long long store_timestamp
    cdef RecordParts _layout

    @cython.locals(p=cython.p_uchar, layout=RecordParts, kind=int, at=Py_ssize_t, end=Py_ssize_t)
    cpdef Py_ssize_t measure(self, object data, long long commit_offset) except -1
