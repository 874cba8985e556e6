# The C form of octets.py. Hot modules cimport these; each is inlined where it is used.
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport memchr, memcmp, memcpy


cdef inline int i16(const unsigned char* p, Py_ssize_t at) noexcept:
    return <short>((p[at] << 8) | p[at + 1])


cdef inline int i32(const unsigned char* p, Py_ssize_t at) noexcept:
    return <int>((<unsigned int>p[at] << 24) | (p[at + 1] << 16) | (p[at + 2] << 8) | p[at + 3])


cdef inline long long i64(const unsigned char* p, Py_ssize_t at) noexcept:
    return <long long>(
        (<unsigned long long><unsigned int>i32(p, at) << 32) | <unsigned long long><unsigned int>i32(p, at + 4)
    )


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


cdef inline bytes blank(Py_ssize_t size):
    return PyBytes_FromStringAndSize(NULL, size)


cdef inline bytes seal(bytes filled):
    return filled


cdef inline void put_i16(unsigned char* p, Py_ssize_t at, int value) noexcept:
    p[at] = <unsigned char>(value >> 8)
    p[at + 1] = <unsigned char>value


cdef inline void put_i32(unsigned char* p, Py_ssize_t at, int value) noexcept:
    p[at] = <unsigned char>(value >> 24)
    p[at + 1] = <unsigned char>(value >> 16)
    p[at + 2] = <unsigned char>(value >> 8)
    p[at + 3] = <unsigned char>value


cdef inline void put_i64(unsigned char* p, Py_ssize_t at, long long value) noexcept:
    put_i32(p, at, <int>(value >> 32))
    put_i32(p, at + 4, <int>value)


cdef inline void put(
    unsigned char* p, Py_ssize_t at, const unsigned char* q, Py_ssize_t q_at, Py_ssize_t length
) noexcept:
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
