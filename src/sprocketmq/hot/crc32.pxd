# The C form of crc32.py.
cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>

    #if defined(__x86_64__) && defined(__GNUC__)
    #include <cpuid.h>
    #include <immintrin.h>

    /* What is 128 or 512 bits ahead of `data`, brought to it: both halves of `ahead` times their powers of x. */
    #define SPROCKETMQ_FOLD(ahead, powers, data) _mm_xor_si128(data, _mm_xor_si128( \
        _mm_clmulepi64_si128(ahead, powers, 0x00), _mm_clmulepi64_si128(ahead, powers, 0x11)))
    #define SPROCKETMQ_BLOCK(at) _mm_loadu_si128((const __m128i *)(at))

    /* `length` is a multiple of 16, and not 0. */
    __attribute__((target("pclmul,sse4.1")))
    static uint32_t sprocketmq_crc32_x86(uint32_t before, const unsigned char *p, size_t length) {
        /* Powers of x modulo the polynomial, all with their bits turned round: 544 and 480, 160 and 96, 64; then the
           polynomial itself, and its quotient for Barrett's reduction. */
        const __m128i by_512 = _mm_set_epi64x(0x1c6e41596LL, 0x154442bd4LL);
        const __m128i by_128 = _mm_set_epi64x(0x0ccaa009eLL, 0x1751997d0LL);
        const __m128i by_64 = _mm_set_epi64x(0, 0x163cd6124LL);
        const __m128i barrett = _mm_set_epi64x(0x1f7011641LL, 0x1db710641LL);
        const __m128i low_words = _mm_set_epi32(0, -1, 0, -1);
        const unsigned char *end = p + length;
        __m128i a = _mm_xor_si128(SPROCKETMQ_BLOCK(p), _mm_cvtsi32_si128((int)~before)), b, c, d;
        if (length >= 64) {  /* four runs side by side: a product takes longer than the next one waits to begin */
            b = SPROCKETMQ_BLOCK(p + 16);
            c = SPROCKETMQ_BLOCK(p + 32);
            d = SPROCKETMQ_BLOCK(p + 48);
            for (p += 64; end - p >= 64; p += 64) {
                a = SPROCKETMQ_FOLD(a, by_512, SPROCKETMQ_BLOCK(p));
                b = SPROCKETMQ_FOLD(b, by_512, SPROCKETMQ_BLOCK(p + 16));
                c = SPROCKETMQ_FOLD(c, by_512, SPROCKETMQ_BLOCK(p + 32));
                d = SPROCKETMQ_FOLD(d, by_512, SPROCKETMQ_BLOCK(p + 48));
            }
            a = SPROCKETMQ_FOLD(a, by_128, b);
            a = SPROCKETMQ_FOLD(a, by_128, c);
            a = SPROCKETMQ_FOLD(a, by_128, d);
        } else
            p += 16;
        for (; p < end; p += 16) a = SPROCKETMQ_FOLD(a, by_128, SPROCKETMQ_BLOCK(p));
        a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, by_128, 0x10));
        a = _mm_xor_si128(_mm_srli_si128(a, 4), _mm_clmulepi64_si128(_mm_and_si128(a, low_words), by_64, 0x00));
        b = _mm_clmulepi64_si128(_mm_and_si128(a, low_words), barrett, 0x10);
        b = _mm_clmulepi64_si128(_mm_and_si128(b, low_words), barrett, 0x00);
        return ~(uint32_t)_mm_extract_epi32(_mm_xor_si128(a, b), 1);
    }

    /* Asked once, as in sha1.pxd. */
    static int sprocketmq_has_clmul(void) {
        static int known = -1;
        unsigned int a, b, c = 0, d;
        if (known < 0) known = __get_cpuid(1, &a, &b, &c, &d) && c >> 1 & 1 && c >> 19 & 1;
        return known;
    }
    #else
    static uint32_t sprocketmq_crc32_x86(uint32_t before, const unsigned char *p, size_t length) { return before; }
    static int sprocketmq_has_clmul(void) { return 0; }
    #endif
    """
    unsigned int crc32_x86 "sprocketmq_crc32_x86"(unsigned int before, const unsigned char* p, size_t length) noexcept
    bint has_clmul "sprocketmq_has_clmul"() noexcept


cdef inline bint can_fold() noexcept:
    return has_clmul()


cdef inline unsigned int folded_blocks(
    unsigned int before, const unsigned char* p, Py_ssize_t at, Py_ssize_t length
) noexcept:
    return crc32_x86(before, p + at, length)
