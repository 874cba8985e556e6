# The C types of scan_skim.py.
# Offsets and times have 64 bits; the typed views hold their memory, and `p` is bare. Nothing rests on the GIL: a view
# is only read, and a broker that writes meanwhile is another process.
from sprocketmq.hot.octets cimport i32, i64
from sprocketmq.protocol.record.record cimport NO_MAGIC, WHOLE, RecordParts, Pointer

import cython

cdef enum:
    ENTRY_SIZE = 20
    FILLER_SIZE = 0x7FFFFFFF

@cython.locals(at=Py_ssize_t, late=Py_ssize_t, have=Py_ssize_t, kind=int, layout=RecordParts, p=Pointer)
cpdef tuple skim(const unsigned char[::1] data, long long origin, long long limit)

@cython.locals(
    found=list, have=Py_ssize_t, at=Py_ssize_t, p=Pointer, offset=cython.longlong, size=int, code=cython.longlong,
    unit=cython.longlong,
)
cpdef list wanted_entries(const unsigned char[::1] entries, frozenset codes, long long begin, long long end)
