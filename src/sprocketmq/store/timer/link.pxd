# The C types of link.py.
# Times and positions have 64 bits, the numbers in a slot 32, as on disk; a time is a sum of both, taken in 64. What
# rests on the GIL is said at `link_units`.
from sprocketmq.hot.octets cimport i32, i64, put_i32, put_i64
from sprocketmq.protocol.record.record cimport Pointer

import cython

cdef enum:
    SLOT_SIZE = 32
    UNIT_SIZE = 52
    DELETE = 4
    NONE = -1

@cython.locals(
    have=Py_ssize_t, slots=Py_ssize_t, p=Pointer, w=cython.p_uchar, at=Py_ssize_t,
    time_ms=cython.longlong, time=cython.longlong, slot=Py_ssize_t, number=int,
)
cpdef void link_units(
    const unsigned char[::1] units, long long position, unsigned char[::1] wheel, long long precision_ms,
    long long from_ms,
) except *

@cython.locals(
    have=Py_ssize_t, p=Pointer, at=Py_ssize_t, topic_hash=int,
)
cpdef void tally_units(const unsigned char[::1] units, long long from_ms, dict tally) except *

@cython.locals(w=cython.p_uchar, at=Py_ssize_t)
cpdef void clear_slots(unsigned char[::1] wheel, Py_ssize_t begin, Py_ssize_t end, long long from_time) except *

@cython.locals(
    have=Py_ssize_t, count=cython.longlong, p=Pointer, at=Py_ssize_t,
)
cpdef long long timers_in(const unsigned char[::1] slots, long long from_time) except? -1

@cython.locals(
    have=Py_ssize_t, latest=cython.longlong, p=Pointer, at=Py_ssize_t,
)
cpdef long long latest_in(const unsigned char[::1] slots, long long from_time) except? -2
