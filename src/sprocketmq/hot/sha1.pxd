# The C form of sha1.py: FIPS 180-4, 6.1.2.
from libc.string cimport memcpy, memset

from sprocketmq.hot.octets cimport put_i32, put_i64

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    #define SPROCKETMQ_ROTATE(word, by) ((word) << (by) | (word) >> (32 - (by)))

    static void sprocketmq_sha1_anywhere(uint32_t *words, const unsigned char *p, size_t blocks) {
        for (; blocks; blocks--, p += 64) {
            uint32_t a = words[0], b = words[1], c = words[2], d = words[3], e = words[4], w[16];
            for (int t = 0; t < 80; t++) {
                uint32_t mixed, next;
                if (t < 16)
                    next = (uint32_t)p[4 * t] << 24 | p[4 * t + 1] << 16 | p[4 * t + 2] << 8 | p[4 * t + 3];
                else {
                    next = w[(t - 3) & 15] ^ w[(t - 8) & 15] ^ w[(t - 14) & 15] ^ w[t & 15];
                    next = SPROCKETMQ_ROTATE(next, 1);
                }
                w[t & 15] = next;
                if (t < 20) mixed = (d ^ (b & (c ^ d))) + 0x5a827999u;
                else if (t < 40) mixed = (b ^ c ^ d) + 0x6ed9eba1u;
                else if (t < 60) mixed = ((b & c) | (d & (b | c))) + 0x8f1bbcdcu;
                else mixed = (b ^ c ^ d) + 0xca62c1d6u;
                mixed += SPROCKETMQ_ROTATE(a, 5) + e + next;
                e = d; d = c; c = SPROCKETMQ_ROTATE(b, 30); b = a; a = mixed;
            }
            words[0] += a; words[1] += b; words[2] += c; words[3] += d; words[4] += e;
        }
    }

    #if defined(__x86_64__) && defined(__GNUC__)
    #include <cpuid.h>
    #include <immintrin.h>

    /* Four rounds of the kind `f` with the words `w`; and the four words that follow a, b, c and d. */
    #define SPROCKETMQ_ROUNDS(w, f) \
        added = _mm_sha1nexte_epu32(before, w); before = state; state = _mm_sha1rnds4_epu32(state, added, f)
    #define SPROCKETMQ_WORDS(a, b, c, d) a = _mm_sha1msg2_epu32(_mm_xor_si128(_mm_sha1msg1_epu32(a, b), c), d)
    #define SPROCKETMQ_NEXT(a, b, c, d, f) SPROCKETMQ_WORDS(a, b, c, d); SPROCKETMQ_ROUNDS(a, f)
    #define SPROCKETMQ_LOAD(at) _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(at)), order)

    __attribute__((target("sha,sse4.1")))
    static void sprocketmq_sha1_x86(uint32_t *words, const unsigned char *p, size_t blocks) {
        const __m128i order = _mm_set_epi64x(0x0001020304050607LL, 0x08090a0b0c0d0e0fLL);
        __m128i state = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)words), 0x1b);
        __m128i last = _mm_set_epi32((int)words[4], 0, 0, 0);
        for (; blocks; blocks--, p += 64) {
            const __m128i old = state;
            __m128i before = state, added;
            __m128i a = SPROCKETMQ_LOAD(p), b = SPROCKETMQ_LOAD(p + 16);
            __m128i c = SPROCKETMQ_LOAD(p + 32), d = SPROCKETMQ_LOAD(p + 48);
            added = _mm_add_epi32(last, a);
            state = _mm_sha1rnds4_epu32(state, added, 0);
            SPROCKETMQ_ROUNDS(b, 0); SPROCKETMQ_ROUNDS(c, 0); SPROCKETMQ_ROUNDS(d, 0);
            SPROCKETMQ_NEXT(a, b, c, d, 0);
            SPROCKETMQ_NEXT(b, c, d, a, 1); SPROCKETMQ_NEXT(c, d, a, b, 1); SPROCKETMQ_NEXT(d, a, b, c, 1);
            SPROCKETMQ_NEXT(a, b, c, d, 1); SPROCKETMQ_NEXT(b, c, d, a, 1);
            SPROCKETMQ_NEXT(c, d, a, b, 2); SPROCKETMQ_NEXT(d, a, b, c, 2); SPROCKETMQ_NEXT(a, b, c, d, 2);
            SPROCKETMQ_NEXT(b, c, d, a, 2); SPROCKETMQ_NEXT(c, d, a, b, 2);
            SPROCKETMQ_NEXT(d, a, b, c, 3); SPROCKETMQ_NEXT(a, b, c, d, 3); SPROCKETMQ_NEXT(b, c, d, a, 3);
            SPROCKETMQ_NEXT(c, d, a, b, 3); SPROCKETMQ_NEXT(d, a, b, c, 3);
            last = _mm_sha1nexte_epu32(before, last);
            state = _mm_add_epi32(state, old);
        }
        _mm_storeu_si128((__m128i *)words, _mm_shuffle_epi32(state, 0x1b));
        words[4] = (uint32_t)_mm_extract_epi32(last, 3);
    }

    /* Asked once: on a virtual machine each look is a way out to its host and back, some microseconds. */
    static int sprocketmq_has_sha(void) {
        static int known = -1;
        unsigned int a, b = 0, c = 0, d;
        if (known < 0) known = __get_cpuid(1, &a, &b, &c, &d) && c >> 19 & 1 && c >> 9 & 1
            && __get_cpuid_count(7, 0, &a, &b, &c, &d) && b >> 29 & 1;
        return known;
    }
    #else
    #define sprocketmq_sha1_x86 sprocketmq_sha1_anywhere
    static int sprocketmq_has_sha(void) { return 0; }
    #endif

    static int sprocketmq_same_secret(const unsigned char *p, const unsigned char *q, size_t length) {
        volatile uint64_t differing = 0;  /* so that no compiler ends a loop early */
        size_t at = 0;
        for (; length - at >= 8; at += 8) {
            uint64_t one, other;
            memcpy(&one, p + at, 8);
            memcpy(&other, q + at, 8);
            differing |= one ^ other;
        }
        for (; at < length; at++) differing |= p[at] ^ q[at];
        return differing == 0;
    }
    """
    void compress_anywhere "sprocketmq_sha1_anywhere"(unsigned int* words, const unsigned char* p, size_t blocks) noexcept
    void compress_x86 "sprocketmq_sha1_x86"(unsigned int* words, const unsigned char* p, size_t blocks) noexcept
    bint has_sha "sprocketmq_has_sha"() noexcept
    bint same_secret "sprocketmq_same_secret"(const unsigned char* p, const unsigned char* q, size_t length) noexcept


ctypedef struct Sha1:
    unsigned int[5] words
    bint by_processor  # by its own instructions
    unsigned long long length
    unsigned char[64] rest


cdef inline void sha1_start(Sha1* state, bint is_portable) noexcept:
    state.words[0] = 0x67452301U
    state.words[1] = 0xEFCDAB89U
    state.words[2] = 0x98BADCFEU
    state.words[3] = 0x10325476U
    state.words[4] = 0xC3D2E1F0U
    state.by_processor = not is_portable and has_sha()
    state.length = 0


cdef inline void sha1_copy(Sha1* state, const Sha1* other) noexcept:
    cdef Py_ssize_t used = other.length & 63
    memcpy(state.words, other.words, sizeof(other.words))
    state.by_processor = other.by_processor
    state.length = other.length
    if used:
        memcpy(state.rest, other.rest, used)


cdef inline void sha1_blocks(Sha1* state, const unsigned char* p, Py_ssize_t at, Py_ssize_t blocks) noexcept:
    if state.by_processor:
        compress_x86(state.words, p + at, blocks)
    else:
        compress_anywhere(state.words, p + at, blocks)


cdef inline void sha1_feed(Sha1* state, const unsigned char* p, Py_ssize_t at, Py_ssize_t length) noexcept:
    cdef Py_ssize_t used = state.length & 63, free = 64 - used
    state.length += length
    if length < free:
        memcpy(state.rest + used, p + at, length)
        return
    if used:
        memcpy(state.rest + used, p + at, free)
        sha1_blocks(state, state.rest, 0, 1)
        at += free
        length -= free
    if length >= 64:
        sha1_blocks(state, p, at, length >> 6)
        at += length & ~63
    memcpy(state.rest, p + at, length & 63)


cdef inline void sha1_finish(Sha1* state, unsigned char* out) noexcept:
    cdef unsigned long long bits = state.length << 3
    cdef Py_ssize_t used = state.length & 63
    cdef int number
    state.rest[used] = 0x80
    memset(state.rest + used + 1, 0, 63 - used)
    if used >= 56:
        sha1_blocks(state, state.rest, 0, 1)
        memset(state.rest, 0, 56)
    put_i64(state.rest, 56, <long long>bits)
    sha1_blocks(state, state.rest, 0, 1)
    for number in range(5):
        put_i32(out, 4 * number, <int>state.words[number])


cdef inline bint is_same_secret(
    const unsigned char* p, Py_ssize_t at, const unsigned char* q, Py_ssize_t other_at, Py_ssize_t length
) noexcept:
    return same_secret(p + at, q + other_at, length)
