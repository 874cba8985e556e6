# The C types of hashing.py.
# A hash is unsigned and has 32 bits, so that it runs over as Java's int does; signed, C leaves undefined what happens
# then. `point` holds a character of up to 21 bits. Nothing rests on the GIL: these are functions of their arguments.
from sprocketmq.hot.memory cimport as_int32, ascii_hash
from sprocketmq.hot.octets cimport cut, is_ascii

import cython

cdef unsigned int MASK

cpdef int string_hash(str text)

cpdef int tags_code(str tags)

cpdef int index_key_hash(str topic, str key)

cpdef int utf8_hash(bytes data)

@cython.locals(char=Py_UCS4, point=cython.uint)
cdef unsigned int hash_text(unsigned int value, str text)

cdef unsigned int hash_octets(unsigned int value, const unsigned char* p, Py_ssize_t at, Py_ssize_t end)

cdef int positive(int value) noexcept
