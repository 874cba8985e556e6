# The C form of memory.py.
from cpython.buffer cimport Py_buffer
from libc.string cimport memset
from posix.time cimport CLOCK_MONOTONIC, CLOCK_REALTIME, clock_gettime, timespec

cdef extern from "Python.h":
    Py_buffer* PyMemoryView_GET_BUFFER(object view)


cdef inline unsigned char* pointer(object view) noexcept:
    if view is None:
        return NULL
    return <unsigned char*>PyMemoryView_GET_BUFFER(view).buf


cdef inline void clear(unsigned char* p, Py_ssize_t at, Py_ssize_t length) noexcept:
    memset(p + at, 0, length)


cdef inline unsigned int ascii_hash(
    const unsigned char* p, Py_ssize_t at, Py_ssize_t end, unsigned int value
) noexcept:
    while end - at >= 4:  # four at once, for one multiplication must wait for the one before it
        value = value * 923521 + p[at] * 29791U + p[at + 1] * 961U + p[at + 2] * 31U + p[at + 3]
        at += 4
    while at < end:
        value = value * 31 + p[at]
        at += 1
    return value


cdef inline int as_int32(long long value) noexcept:
    return <int>value


cdef inline long long ticks_ns() noexcept:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return <long long>now.tv_sec * 1000000000 + now.tv_nsec


cdef inline long long wall_ms() noexcept:
    cdef timespec now
    clock_gettime(CLOCK_REALTIME, &now)
    return <long long>now.tv_sec * 1000 + now.tv_nsec // 1000000


cdef inline long long nanoseconds(double seconds) noexcept:
    return <long long>(seconds * 1e9)
