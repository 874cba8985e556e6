# The C types of property_scan.py.
# Places in `p`, which is bare: `scan` reads up to `end`, and `note` no further than the separator. `first` is unsigned,
# as every byte. Nothing rests on the GIL: a scan belongs to whoever made it.
from sprocketmq.hot.octets cimport find, same

import cython

cdef bytes _TAGS, _KEYS, _DELAY, _UNIQUE_KEY

cdef enum:
    _PROPERTY_END = 2
    _KEY_END = 0x20


@cython.final
cdef class PropertyScan:
    cdef Py_ssize_t tags_at, tags_end, keys_at, keys_end, delay_at, delay_end, unique_at, unique_end
    cdef Py_ssize_t key_at, key_end

    @cython.locals(stop=Py_ssize_t)
    cdef void scan(self, const unsigned char* p, Py_ssize_t at, Py_ssize_t end) noexcept

    cdef void follow(self, PropertyScan shared, Py_ssize_t at) noexcept

    @cython.locals(stop=Py_ssize_t)
    cdef bint next_key(self, const unsigned char* p, Py_ssize_t at) noexcept

    @cython.locals(first=cython.uchar)
    cdef void note(self, const unsigned char* p, Py_ssize_t at, Py_ssize_t stop) noexcept
