/* rt_one.h: one number: what the host and kernels of one element a thread call. name_1 works on f32
 * and name_1i on integers, with the meaning and the bits of a lane of name_v and name_vi.
 */
#ifndef RT_ONE_H
#define RT_ONE_H

#include "rt_base.h"

/* ---- what the text of rt_math.h stands on ------------------------------------------------------
 */

#define RT_SIGN    (INT32_MIN)
#define RT_TINY    1.17549435e-38f /* smallest normal number */
#define RT_INF     __builtin_inff()
#define RT_NAN     __builtin_nanf("")
#define RT_PI      3.14159274f
#define RT_HALF_PI 1.57079637f
#define RT_LN2     0.693147182f /* and the rest of it: */
#define RT_LN2_LO  -1.90465421e-9f

RT_BOTH RT_INLINE int32_t bits_1(float x) {
    int32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

RT_BOTH RT_INLINE float from_bits_1(int32_t b) {
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}

RT_BOTH RT_INLINE float i2f_1(int32_t x) {
    return (float)x;
}

RT_BOTH RT_INLINE int32_t f2i_1(float x) {
    return (int32_t)x;
}

/* The high word of a*b, and the low one. */
RT_BOTH RT_INLINE uint64_t rt_product(uint64_t a, uint64_t b, uint64_t *low) {
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t m = a1 * b0 + (a0 * b0 >> 32), k = a0 * b1 + (uint32_t)m;
    *low = a * b;
    return a1 * b1 + (m >> 32) + (k >> 32);
}

/* x without its last n bits, halves to even. */
RT_BOTH RT_INLINE uint64_t rt_round_bits(uint64_t x, int n) {
    return (x >> n) + (((x & (((uint64_t)1 << n) - 1)) + ((x >> n) & 1)) > (uint64_t)1 << (n - 1));
}

/* f * (pi/2 * 2^-64): rounded to 53 bits and then to 24, as in f64, but by integers, for kernels
 * in which no f64 may stand. */
RT_BOTH RT_INLINE float rt_part_of_turn(uint64_t f) {
    if (f == 0)
        return 0.0f;
    int shift = 0; /* the result is high * 2^(-63 - shift) */
    for (; !(f >> 63); f <<= 1)
        shift++;
    f = rt_round_bits(f, 11) << 11;
    if (f == 0) { /* it became a power of two */
        f = (uint64_t)1 << 63;
        shift--;
    }
    uint64_t low, high = rt_product(f, 0xc90fdaa22168c000u, &low);
    if (!(high >> 63)) {
        high = high << 1 | low >> 63;
        low <<= 1;
        shift++;
    }
    uint64_t bits = rt_round_bits(rt_round_bits(high | (low != 0), 11), 29);
    return (float)(uint32_t)bits * from_bits_1((127 - 23 - shift) << 23);
}

/* Payne and Hanek: x modulo pi/2 for any finite |x| >= 2^15, from the bits of 2/pi that matter. */
RT_BOTH RT_HOT float rt_reduce_big(float x, int32_t *quadrant) {
    static const uint32_t two_over_pi[9] = {0,           0xa2f9836eu, 0x4e441529u,
                                            0xfc2757d1u, 0xf534ddc0u, 0xdb629599u,
                                            0x3c439041u, 0xfe5163abu, 0xdebbc561u};
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    uint64_t m = (b & 0x7fffffu) | 0x800000u;
    int at = (int)((b >> 23) & 255) - 127 + 7; /* first bit whose product can stay below 4 */
    uint32_t w[3];
    for (int i = 0; i < 3; i++) {
        uint64_t two = (uint64_t)two_over_pi[at / 32 + i] << 32 | two_over_pi[at / 32 + i + 1];
        w[i] = (uint32_t)(two >> (32 - at % 32));
    }
    uint64_t p2 = m * w[2], p1 = m * w[1] + (p2 >> 32);
    uint32_t p0 = (uint32_t)(m * w[0] + (p1 >> 32));
    uint64_t fraction = (uint64_t)p0 << 34 | (uint64_t)(uint32_t)p1 << 2 | (uint32_t)p2 >> 30;
    int32_t q = (int32_t)((p0 >> 30) + (uint32_t)(fraction >> 63));
    bool below = fraction >> 63, negative = b >> 31;
    float r = rt_part_of_turn(below ? 0 - fraction : fraction);
    *quadrant = negative ? -q : q;
    return below != negative ? -r : r;
}

/* r and *q mended where x is big. */
RT_BOTH RT_INLINE float reduce_big_1(bool big, float x, float r, int32_t *q) {
    return big ? rt_reduce_big(x, q) : r;
}

/* ---- ops the table names ----------------------------------------------------------------------
 */

RT_BOTH RT_INLINE int rt_less(int a, int b) {
    return a < b ? a : b;
}

RT_BOTH RT_INLINE float sign_1(float x) {
    return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x;
}

RT_BOTH RT_INLINE float floor_1(float x) {
    return rt_floorf(x);
}

RT_BOTH RT_INLINE float ceil_1(float x) {
    return rt_ceilf(x);
}

RT_BOTH RT_INLINE float round_1(float x) {
    return rt_roundf(x);
}

RT_BOTH RT_INLINE float sqrt_1(float x) {
    return rt_sqrtf(x);
}

RT_BOTH RT_INLINE float rsqrt_1(float x) {
    return 1.0f / rt_sqrtf(x);
}

RT_BOTH RT_INLINE bool isfinite_1(float x) {
    return x - x == 0.0f;
}

RT_BOTH RT_INLINE float mul_zero_1(float x, float y) {
    return x == 0.0f ? 0.0f : x * y;
}

RT_BOTH RT_INLINE float floordiv_1(float x, float y) {
    return rt_floorf(x / y);
}

RT_BOTH RT_INLINE float min_1(float x, float y) {
    return rt_minf(x, y);
}

RT_BOTH RT_INLINE float max_1(float x, float y) {
    return rt_maxf(x, y);
}

RT_BOTH RT_INLINE float sel_1(bool c, float x, float y) {
    return c ? x : y;
}

RT_BOTH RT_INLINE float fma_1(float x, float y, float z) {
    return rt_fmaf(x, y, z);
}

RT_BOTH RT_INLINE int64_t abs_1i(int64_t x) {
    return x < 0 ? -x : x;
}

RT_BOTH RT_INLINE int64_t sign_1i(int64_t x) {
    return (x > 0) - (x < 0);
}

RT_BOTH RT_INLINE int64_t min_1i(int64_t x, int64_t y) {
    return x < y ? x : y;
}

RT_BOTH RT_INLINE int64_t max_1i(int64_t x, int64_t y) {
    return x > y ? x : y;
}

RT_BOTH RT_INLINE int64_t sel_1i(bool c, int64_t x, int64_t y) {
    return c ? x : y;
}

RT_BOTH RT_INLINE double rt_sign64(double x) {
    return x > 0 ? 1.0 : x < 0 ? -1.0 : x;
}

RT_BOTH RT_INLINE double rt_sigmoid64(double x) {
    return 1.0 / (1.0 + exp(-x));
}

RT_BOTH RT_INLINE double rt_min64(double x, double y) {
    return x <= y || x != x ? x : y;
}

RT_BOTH RT_INLINE double rt_max64(double x, double y) {
    return x >= y || x != x ? x : y;
}

RT_BOTH RT_INLINE double rt_mod64(double x, double y) {
    double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

/* The remainder of a/b with the sign of b, exact. */
RT_BOTH RT_HOT float mod_1(float a, float b) {
    float r = fmodf(a, b);
    return r != 0.0f && (r < 0.0f) != (b < 0.0f) ? r + b : r;
}

/* Toward minus infinity; division by 0 gives 0. */
RT_BOTH RT_INLINE int64_t floordiv_1i(int64_t x, int64_t y) {
    if (y == 0 || y == -1)
        return y ? (int64_t)(0 - (uint64_t)x) : 0;
    int64_t q = x / y;
    return q * y != x && (x < 0) != (y < 0) ? q - 1 : q;
}

RT_BOTH RT_INLINE int64_t mod_1i(int64_t x, int64_t y) {
    return y == 0 || y == -1 ? 0 : x - floordiv_1i(x, y) * y;
}

#endif
