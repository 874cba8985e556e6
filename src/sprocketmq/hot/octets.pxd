# The C form of octets.py. Hot modules cimport these; each is inlined where it is used.
from cpython.buffer cimport PyBUF_READ
from cpython.bytearray cimport PyByteArray_Resize
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport memchr, memcmp, memcpy

cdef extern from *:
    """
    #if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define SPROCKETMQ_BIG32(word) (word)
    #define SPROCKETMQ_BIG64(word) (word)
    #else
    #define SPROCKETMQ_BIG32 __builtin_bswap32
    #define SPROCKETMQ_BIG64 __builtin_bswap64
    #endif
    """
    void all_stored "__atomic_thread_fence"(int order) noexcept
    int RELEASE "__ATOMIC_RELEASE"
    int trailing_zeros "__builtin_ctzll"(unsigned long long word) noexcept
    unsigned int big32 "SPROCKETMQ_BIG32"(unsigned int word) noexcept
    unsigned long long big64 "SPROCKETMQ_BIG64"(unsigned long long word) noexcept


cdef inline int i16(const unsigned char* p, Py_ssize_t at) noexcept:
    return <short>((p[at] << 8) | p[at + 1])


cdef inline int i32(const unsigned char* p, Py_ssize_t at) noexcept:
    cdef unsigned int word
    memcpy(&word, p + at, 4)
    return <int>big32(word)


cdef inline long long i64(const unsigned char* p, Py_ssize_t at) noexcept:
    cdef unsigned long long word
    memcpy(&word, p + at, 8)
    return <long long>big64(word)


cdef inline object window(const unsigned char* p, Py_ssize_t at, Py_ssize_t end):
    return PyMemoryView_FromMemory(<char*>p + at, end - at, PyBUF_READ)


cdef inline bytes cut(const unsigned char* p, Py_ssize_t at, Py_ssize_t end):
    return PyBytes_FromStringAndSize(<const char*>p + at, end - at)


cdef inline str text(const unsigned char* p, Py_ssize_t at, Py_ssize_t end):
    return PyUnicode_DecodeUTF8(<const char*>p + at, end - at, NULL)


cdef inline bint is_ascii(const unsigned char* p, Py_ssize_t at, Py_ssize_t end) noexcept:
    cdef unsigned long long word, bits = 0
    while end - at >= 8:
        memcpy(&word, p + at, 8)
        bits |= word
        at += 8
    while at < end:
        bits |= p[at]
        at += 1
    return (bits & 0x8080808080808080ULL) == 0


cdef inline bint is_utf8(const unsigned char* p, Py_ssize_t at, Py_ssize_t end):
    if is_ascii(p, at, end):
        return True
    try:
        text(p, at, end)
    except ValueError:
        return False
    return True


cdef inline Py_ssize_t plain_end(const unsigned char* p, Py_ssize_t at, Py_ssize_t end) noexcept:
    # Eight bytes at a step: the lowest of the high bits that comes out is that of the first quote, backslash or
    # byte below a space.
    cdef unsigned long long word, ones = 0x0101010101010101ULL, highs = 0x8080808080808080ULL, quotes, slashes
    while end - at >= 8:
        memcpy(&word, p + at, 8)
        quotes = word ^ (ones * 0x22)
        slashes = word ^ (ones * 0x5C)
        word = (((word - ones * 0x20) & ~word) | ((quotes - ones) & ~quotes) | ((slashes - ones) & ~slashes)) & highs
        if word != 0:
            return at + (trailing_zeros(word) >> 3)
        at += 8
    while at < end and p[at] >= 0x20 and p[at] != 0x22 and p[at] != 0x5C:
        at += 1
    return at


cdef inline Py_ssize_t find(const unsigned char* p, unsigned char byte, Py_ssize_t at, Py_ssize_t end) noexcept:
    cdef const unsigned char* found
    if at >= end:
        return -1
    found = <const unsigned char*>memchr(p + at, byte, end - at)
    return -1 if found == NULL else found - p


cdef inline bint same(
    const unsigned char* p, Py_ssize_t at, const unsigned char* q, Py_ssize_t q_at, Py_ssize_t length
) noexcept:
    return memcmp(p + at, q + q_at, length) == 0


cdef inline int compared(
    const unsigned char* p, Py_ssize_t at, const unsigned char* q, Py_ssize_t q_at, Py_ssize_t length
) noexcept:
    return memcmp(p + at, q + q_at, length)


cdef inline bytes blank(Py_ssize_t size):
    return PyBytes_FromStringAndSize(NULL, size)


cdef inline bytes seal(bytes filled):
    return filled


cdef inline int resize(bytearray room, Py_ssize_t size) except -1:
    return PyByteArray_Resize(room, size)


cdef inline void put_i16(unsigned char* p, Py_ssize_t at, int value) noexcept:
    p[at] = <unsigned char>(value >> 8)
    p[at + 1] = <unsigned char>value


cdef inline void put_i32(unsigned char* p, Py_ssize_t at, int value) noexcept:
    cdef unsigned int word = big32(<unsigned int>value)
    memcpy(p + at, &word, 4)


cdef inline void put_hex16(unsigned char* p, Py_ssize_t at, int value) noexcept:
    cdef const char* digits = "0123456789ABCDEF"
    p[at] = digits[(value >> 12) & 15]
    p[at + 1] = digits[(value >> 8) & 15]
    p[at + 2] = digits[(value >> 4) & 15]
    p[at + 3] = digits[value & 15]


cdef inline void put_i64(unsigned char* p, Py_ssize_t at, long long value) noexcept:
    cdef unsigned long long word = big64(<unsigned long long>value)
    memcpy(p + at, &word, 8)


cdef inline void put_i64_hex(unsigned char* p, Py_ssize_t at, unsigned long long value) noexcept:
    # Eight digits at once: half bytes are spread to a byte each, and those above 9 get the 7 more that lie between the
    # digits and the letters.
    cdef unsigned long long half, word
    cdef int part
    for part in range(2):
        half = value >> 32 if part == 0 else value & 0xFFFFFFFFULL
        half = (half << 16 | half) & 0x0000FFFF0000FFFFULL
        half = (half << 8 | half) & 0x00FF00FF00FF00FFULL
        half = (half << 4 | half) & 0x0F0F0F0F0F0F0F0FULL
        half += 0x3030303030303030ULL + ((half + 0x0606060606060606ULL) >> 4 & 0x0101010101010101ULL) * 7
        word = big64(half)
        memcpy(p + at + 8 * part, &word, 8)


cdef inline void put_last(unsigned char* p, Py_ssize_t at, int first, int second) noexcept:
    # To the compiler all stores here are alike, and at -O2 it may well move this one before the others. The fence holds
    # it back. A process that is killed keeps what its instructions stored, in their order, so none is needed for that
    # on the processor; for another process that reads the same memory this is the one (on x86 it costs nothing). The
    # eight bytes are one instruction, which happens as a whole or not at all, even across two pages.
    cdef unsigned long long word = big64(<unsigned long long><unsigned int>first << 32 | <unsigned int>second)
    all_stored(RELEASE)
    memcpy(p + at, &word, 8)


cdef inline void put(
    unsigned char* p, Py_ssize_t at, const unsigned char* q, Py_ssize_t q_at, Py_ssize_t length
) noexcept:
    memcpy(p + at, q + q_at, length)


cdef inline void put_near(
    unsigned char* p, Py_ssize_t at, const unsigned char* q, Py_ssize_t q_at, Py_ssize_t length, Py_ssize_t q_end
) noexcept:
    # A short text is copied as sixteen bytes whatever its length: two instructions instead of a call.
    if length <= 16 and q_end - q_at >= 16:
        memcpy(p + at, q + q_at, 16)
    else:
        memcpy(p + at, q + q_at, length)


cdef inline int le32(const unsigned char* p, Py_ssize_t at) noexcept:
    cdef int value
    memcpy(&value, p + at, 4)
    return value


cdef inline long long le64(const unsigned char* p, Py_ssize_t at) noexcept:
    cdef long long value
    memcpy(&value, p + at, 8)
    return value


cdef inline void put_le32(unsigned char* p, Py_ssize_t at, int value) noexcept:
    memcpy(p + at, &value, 4)


cdef inline void put_le64(unsigned char* p, Py_ssize_t at, long long value) noexcept:
    memcpy(p + at, &value, 8)
