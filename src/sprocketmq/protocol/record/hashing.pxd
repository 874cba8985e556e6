# The C types of hashing.py.
import cython

cdef unsigned int MASK

cpdef int string_hash(str text)

cpdef int tags_code(str tags)

cpdef int index_key_hash(str topic, str key)

cpdef int index_hash(str index_key)

cpdef int utf8_hash(bytes data)

@cython.locals(value=cython.uint)
cpdef int index_key_hash_of(bytes topic, bytes key)

@cython.locals(char=Py_UCS4, point=cython.uint)
cdef unsigned int hash_text(unsigned int value, str text)

@cython.locals(start=Py_ssize_t, begun=cython.uint)
cdef unsigned int hash_octets(unsigned int value, const unsigned char* p, Py_ssize_t at, Py_ssize_t end)

cdef int signed(unsigned int value) noexcept

cdef int positive(int value) noexcept
