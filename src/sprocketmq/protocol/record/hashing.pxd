# The C types of hashing.py.
# A hash is unsigned and has 32 bits, so that it runs over as Java's int does; signed, C leaves undefined what happens
# then. `point` holds a character of up to 21 bits. Nothing rests on the GIL: these are functions of their arguments.
from sprocketmq.hot.memory cimport as_int32, ascii_hash
from sprocketmq.hot.octets cimport cut, is_ascii

import cython

cdef unsigned int MASK

cdef enum:
    BLANK = 32
    BAR = 124

cpdef int string_hash(str text)

cpdef int tags_code(str tags)

@cython.locals(
    char=Py_UCS4, point=cython.uint, value=cython.uint, kept=cython.uint, bars=cython.int, is_begun=cython.bint
)
cpdef frozenset codes_in(str expression)

cpdef int index_key_hash(str topic, str key)

cpdef int utf8_hash(bytes data)

@cython.locals(char=Py_UCS4)
cdef unsigned int hash_text(unsigned int value, str text)

cdef unsigned int next_hash(unsigned int value, unsigned int point) noexcept

cdef unsigned int hash_octets(unsigned int value, const unsigned char* p, Py_ssize_t at, Py_ssize_t end)

cdef int positive(int value) noexcept
