# The C types of json_header_scan.py.
# `p` is a bare pointer in an object, good for the one call of `take` that set it. `value` has 64 bits, for ten digits
# pass 32; `name_bits` is one word of 64 bits, see `has_name`. Nothing rests on the GIL: a scan is made for one header.
from sprocketmq.protocol.command cimport Command
from sprocketmq.hot.octets cimport (
    blank, cut, i16, i32, is_utf8, plain_end, put, put_i16, put_i32, same, text,
)

import cython

cdef enum:
    CODE = 0
    FLAG = 1
    OPAQUE = 2
    VERSION = 3
    LANGUAGE = 4
    REMARK = 5
    SERIALIZE_TYPE = 6
    EXT_FIELDS = 7

cdef enum:
    QUOTE = 0x22
    COMMA = 0x2C
    COLON = 0x3A
    BACKSLASH = 0x5C
    OPEN = 0x7B
    CLOSE = 0x7D
    MAX_PAIRS = 64

ctypedef const unsigned char* Pointer

cdef bytes _CODE, _FLAG, _OPAQUE, _VERSION, _LANGUAGE, _REMARK, _SERIALIZE_TYPE, _EXT_FIELDS
cdef dict _LANGUAGES


@cython.final
@cython.freelist(8)
cdef class HeaderScan:
    cdef const unsigned char* p
    cdef Py_ssize_t at
    cdef Py_ssize_t end
    cdef Py_ssize_t here
    cdef Py_ssize_t text_at
    cdef Py_ssize_t text_end
    cdef int number
    cdef int pairs
    cdef int seen
    cdef unsigned long long name_bits
    cdef bytes block

    cdef bint take(self, const unsigned char* p, Py_ssize_t at, Py_ssize_t end, Command command) except -1

    @cython.locals(p=Pointer, at=Py_ssize_t, end=Py_ssize_t)
    cdef Py_ssize_t skip(self) noexcept

    @cython.locals(at=Py_ssize_t)
    cdef bint passes(self, int byte) noexcept

    @cython.locals(number=int)
    cdef bint field(self, Command command) except -1

    cdef bint string(self) noexcept
    cdef bint word(self, Command command, int number) except -1
    cdef bint count(self, Command command, int number) noexcept

    @cython.locals(at=Py_ssize_t, end=Py_ssize_t, negative=bint, first=Py_ssize_t, value=cython.longlong)
    cdef bint integer(self) noexcept

    cdef bint ext_fields(self, Command command) except -1

    @cython.locals(name_at=Py_ssize_t, name_length=Py_ssize_t, value_at=Py_ssize_t)
    cdef bint pair(self, unsigned char* out) noexcept

    @cython.locals(bit=cython.ulonglong, known=cython.ulonglong, at=Py_ssize_t, other=Py_ssize_t)
    cdef bint has_name(self, const unsigned char* out, Py_ssize_t name_at, Py_ssize_t length) noexcept

    @cython.locals(p=Pointer, at=Py_ssize_t, end=Py_ssize_t, stop=Py_ssize_t, value=int)
    cdef bint copy(self, unsigned char* out, Py_ssize_t here) noexcept


cpdef Command scan_header(bytes header)

@cython.locals(command=Command, scan=HeaderScan)
cdef Command scan_at(const unsigned char* p, Py_ssize_t at, Py_ssize_t end)

cdef int field_number(const unsigned char* p, Py_ssize_t at, Py_ssize_t length) noexcept

@cython.locals(byte=int)
cdef int escape_value(const unsigned char* p, Py_ssize_t at, Py_ssize_t end) noexcept

@cython.locals(value=int, here=Py_ssize_t, digit=int)
cdef int hex_value(const unsigned char* p, Py_ssize_t at) noexcept

cdef Py_ssize_t put_utf8(unsigned char* out, Py_ssize_t here, int value) noexcept
