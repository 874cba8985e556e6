# The C types of crc.py.
# A sum is unsigned, so that `>>` brings zeros in from above; `body_crc` gives it as a number that is never negative.
# The tables are filled while the module is imported and only read then: nothing rests on the GIL.
from sprocketmq.hot.crc32 cimport can_fold, folded_blocks
from sprocketmq.hot.octets cimport le32, window

import cython

cdef enum:
    BLOCK = 16
    LONG = 1024

cdef unsigned int POLYNOMIAL
cdef unsigned int ONES
cdef unsigned int TABLE[16][256]

@cython.locals(whole=cython.uint)
cpdef long long body_crc(bytes data, bint is_portable=*)

cdef unsigned int crc_of(const unsigned char* p, Py_ssize_t at, Py_ssize_t length) noexcept

@cython.locals(blocks=Py_ssize_t)
cdef unsigned int crc_on(unsigned int before, const unsigned char* p, Py_ssize_t at, Py_ssize_t length) noexcept

cdef unsigned int portable(unsigned int before, const unsigned char* p, Py_ssize_t at, Py_ssize_t length) noexcept

@cython.locals(end=Py_ssize_t, crc=cython.uint)
cdef unsigned int sliced(unsigned int before, const unsigned char* p, Py_ssize_t at, Py_ssize_t length) noexcept

cdef unsigned int folded(unsigned int word, int table) noexcept

@cython.locals(byte=int, step=int, crc=cython.uint)
cdef void fill_table() noexcept
