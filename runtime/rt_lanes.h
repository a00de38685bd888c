/* rt_lanes.h: what kernels say beyond rt_math: eight lanes of other element types, gathers, joins,
 * faults.
 *
 * Names. name_v works on lanes of f32, name_vi on lanes of i32, name_1 and name_1i on one number
 * with the same meaning and bits. In lanes a bool is a mask (-1 or 0), in memory one byte (1 or 0).
 */
#ifndef RT_LANES_H
#define RT_LANES_H

#include "rt_one.h"
#include "rt_rng.h"

/* The first tile of thread t of n, of T tiles: floor(t*T/n). */
RT_INLINE int rt_tile(int t, int n, int T) {
    return (int)((int64_t)t * T / n);
}

/* ---- ops the table names ----------------------------------------------------------------------
 */

RT_INLINE v8 sign_v(v8 x) {
    return sel8(x > 0.0f, bc8(1.0f), sel8(x < 0.0f, bc8(-1.0f), x));
}

RT_INLINE v8 floor_v(v8 x) {
    return floor8(x);
}

RT_INLINE v8 ceil_v(v8 x) {
    return ceil8(x);
}

RT_INLINE v8 rsqrt_v(v8 x) {
    return bc8(1.0f) / sqrt8(x);
}

RT_INLINE v8i isfinite_v(v8 x) {
    return ((v8i)x & bc8i(0x7f800000)) != bc8i(0x7f800000);
}

RT_INLINE v8 mul_zero_v(v8 x, v8 y) {
    return sel8(x == 0.0f, bc8(0.0f), x * y);
}

RT_INLINE v8 floordiv_v(v8 x, v8 y) {
    return floor8(x / y);
}

RT_HOT v8 mod_v(v8 x, v8 y) {
    for (int i = 0; i < 8; i++)
        x[i] = mod_1(x[i], y[i]);
    return x;
}

RT_INLINE v8 min_v(v8 x, v8 y) {
    return min8(x, y);
}

RT_INLINE v8 max_v(v8 x, v8 y) {
    return max8(x, y);
}

/* ---- lanes of i32 -----------------------------------------------------------------------------
 */

RT_INLINE v8i sel_vi(v8i mask, v8i x, v8i y) {
    return sel8i(mask, x, y);
}

RT_INLINE v8i abs_vi(v8i x) {
    return sel8i(x < 0, -x, x);
}

RT_INLINE v8i sign_vi(v8i x) {
    return (x < 0) - (x > 0);
}

RT_INLINE v8i min_vi(v8i x, v8i y) {
    return sel8i(x < y, x, y);
}

RT_INLINE v8i max_vi(v8i x, v8i y) {
    return sel8i(x > y, x, y);
}

RT_HOT v8i floordiv_vi(v8i x, v8i y) {
    for (int i = 0; i < 8; i++)
        x[i] = (int32_t)floordiv_1i(x[i], y[i]);
    return x;
}

RT_HOT v8i mod_vi(v8i x, v8i y) {
    for (int i = 0; i < 8; i++)
        x[i] = (int32_t)mod_1i(x[i], y[i]);
    return x;
}

/* ---- memory -----------------------------------------------------------------------------------
 */

/* Lanes 0 … m-1. */
RT_INLINE v8i first8(int m) {
    return iota8() < bc8i(m);
}

RT_INLINE v8i ld8bn(const unsigned char *p, int m) {
    v8i r = bc8i(0);
    for (int i = 0; i < m; i++)
        r[i] = p[i];
    return r;
}

RT_INLINE v8i ld8b(const unsigned char *p) {
    unsigned char b[8];
    memcpy(b, p, 8);
    v8i r = {b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]};
    return r;
}

RT_INLINE void st8bn(unsigned char *p, int m, v8i x) {
    for (int i = 0; i < m; i++)
        p[i] = (unsigned char)x[i];
}

RT_INLINE void st8b(unsigned char *p, v8i x) {
    st8bn(p, 8, x);
}

RT_INLINE v8i ld8m(const unsigned char *p) {
    return -ld8b(p);
}

RT_INLINE v8i ld8mn(const unsigned char *p, int m) {
    return -ld8bn(p, m);
}

RT_INLINE void st8m(unsigned char *p, v8i mask) {
    st8b(p, -mask);
}

RT_INLINE void st8mn(unsigned char *p, int m, v8i mask) {
    st8bn(p, m, -mask);
}

/* A mask as 1.0 and 0.0. */
RT_INLINE v8 m2f8(v8i mask) {
    return (v8)(mask & (v8i)bc8(1.0f));
}

/* The lanes of two vectors that the numbers name: 0-7 of x, 8-15 of y. */
#if defined __clang__ || __GNUC__ >= 12
#define RT_SHUFFLE8(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define RT_SHUFFLE8(x, y, ...) __builtin_shuffle(x, y, (v8i){__VA_ARGS__})
#endif

/* Columns c and c+4 of four rows of eight: halves of four vectors. */
#define RT_COLUMNS(first, x0, x1, x2, x3)                                                          \
    const v8 first##l = RT_SHUFFLE8(x0, x1, 0, 8, 1, 9, 4, 12, 5, 13),                             \
             first##h = RT_SHUFFLE8(x0, x1, 2, 10, 3, 11, 6, 14, 7, 15),                           \
             first##m = RT_SHUFFLE8(x2, x3, 0, 8, 1, 9, 4, 12, 5, 13),                             \
             first##i = RT_SHUFFLE8(x2, x3, 2, 10, 3, 11, 6, 14, 7, 15),                           \
             first##0 = RT_SHUFFLE8(first##l, first##m, 0, 1, 8, 9, 4, 5, 12, 13),                 \
             first##1 = RT_SHUFFLE8(first##l, first##m, 2, 3, 10, 11, 6, 7, 14, 15),               \
             first##2 = RT_SHUFFLE8(first##h, first##i, 0, 1, 8, 9, 4, 5, 12, 13),                 \
             first##3 = RT_SHUFFLE8(first##h, first##i, 2, 3, 10, 11, 6, 7, 14, 15)
#define RT_LOW(x, y)  RT_SHUFFLE8(x, y, 0, 1, 2, 3, 8, 9, 10, 11)
#define RT_HIGH(x, y) RT_SHUFFLE8(x, y, 4, 5, 6, 7, 12, 13, 14, 15)

/* to[step * r + c] = from[from_step * c + r] for 8 x 8 numbers. */
RT_INLINE void transpose8(float *to, int64_t step, const float *from, int64_t from_step) {
    RT_COLUMNS(a, ld8(from), ld8(from + from_step), ld8(from + 2 * from_step),
               ld8(from + 3 * from_step));
    from += 4 * from_step;
    RT_COLUMNS(b, ld8(from), ld8(from + from_step), ld8(from + 2 * from_step),
               ld8(from + 3 * from_step));
    st8(to, RT_LOW(a0, b0));
    st8(to + step, RT_LOW(a1, b1));
    st8(to + 2 * step, RT_LOW(a2, b2));
    st8(to + 3 * step, RT_LOW(a3, b3));
    to += 4 * step;
    st8(to, RT_HIGH(a0, b0));
    st8(to + step, RT_HIGH(a1, b1));
    st8(to + 2 * step, RT_HIGH(a2, b2));
    st8(to + 3 * step, RT_HIGH(a3, b3));
}
#undef RT_SHUFFLE8
#undef RT_COLUMNS
#undef RT_LOW
#undef RT_HIGH

/* Lanes from and to scattered places: element p[at[i]]. Only lanes below m are touched. */
#define RT_GATHER(suffix, T, V)                                                                    \
    RT_INLINE V gather8##suffix(const T *p, v8i at, int m) {                                       \
        V r = {0};                                                                                 \
        for (int i = 0; i < m; i++)                                                                \
            r[i] = p[at[i]];                                                                       \
        return r;                                                                                  \
    }                                                                                              \
    RT_INLINE void scatter8##suffix(T *p, v8i at, int m, V x) {                                    \
        for (int i = 0; i < m; i++)                                                                \
            p[at[i]] = (T)x[i];                                                                    \
    }
RT_GATHER(, float, v8)
RT_GATHER(i, int32_t, v8i)
RT_GATHER(b, unsigned char, v8i)
#undef RT_GATHER

RT_INLINE v8i gather8m(const unsigned char *p, v8i at, int m) {
    return -gather8b(p, at, m);
}

RT_INLINE void scatter8m(unsigned char *p, v8i at, int m, v8i mask) {
    scatter8b(p, at, m, -mask);
}

/* Element `at` of row `row`; all rows together may have more than 2^31 elements. */
#define RT_FETCH(suffix, T, V)                                                                     \
    RT_INLINE V fetch8##suffix(const T *p, v8i row, int64_t width, v8i at, int m) {                \
        V r = {0};                                                                                 \
        for (int i = 0; i < m; i++)                                                                \
            r[i] = p[row[i] * width + at[i]];                                                      \
        return r;                                                                                  \
    }
RT_FETCH(, float, v8)
RT_FETCH(i, int32_t, v8i)
RT_FETCH(b, unsigned char, v8i)
#undef RT_FETCH

/* ---- joining the 32 lanes of a row: 16 8 4 2 1 -------------------------------------------------
 */

RT_INLINE int32_t rt_sum32i(const v8i *lanes) {
    v8i x = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

RT_INLINE int32_t rt_prod32i(const v8i *lanes) {
    v8i x = (lanes[0] * lanes[2]) * (lanes[1] * lanes[3]);
    return ((x[0] * x[4]) * (x[2] * x[6])) * ((x[1] * x[5]) * (x[3] * x[7]));
}

RT_INLINE int32_t rt_max32i(const v8i *lanes) {
    v8i x = max_vi(max_vi(lanes[0], lanes[2]), max_vi(lanes[1], lanes[3]));
    int32_t r = x[0];
    for (int i = 1; i < 8; i++)
        r = x[i] > r ? x[i] : r;
    return r;
}

RT_INLINE int32_t rt_min32i(const v8i *lanes) {
    v8i x = min_vi(min_vi(lanes[0], lanes[2]), min_vi(lanes[1], lanes[3]));
    int32_t r = x[0];
    for (int i = 1; i < 8; i++)
        r = x[i] < r ? x[i] : r;
    return r;
}

/* The same for lanes kept one by one. */
#define RT_JOIN(name, T, expression)                                                               \
    RT_INLINE T name(const T *lane) {                                                              \
        T s[32];                                                                                   \
        memcpy(s, lane, sizeof s);                                                                 \
        for (int w = 16; w > 0; w /= 2)                                                            \
            for (int i = 0; i < w; i++) {                                                          \
                T x = s[i], y = s[i + w];                                                          \
                s[i] = (expression);                                                               \
            }                                                                                      \
        return s[0];                                                                               \
    }
#define RT_JOINS(suffix, T, lesser, greater)                                                       \
    RT_JOIN(rt_sum_##suffix, T, (T)(x + y))                                                        \
    RT_JOIN(rt_prod_##suffix, T, (T)(x * y))                                                       \
    RT_JOIN(rt_min_##suffix, T, lesser)                                                            \
    RT_JOIN(rt_max_##suffix, T, greater)
RT_JOINS(f32, float, rt_minf(x, y), rt_maxf(x, y))
RT_JOINS(f64, double, rt_min64(x, y), rt_max64(x, y))
RT_JOINS(i32, int32_t, x<y ? x : y, x> y ? x : y)
RT_JOINS(i64, int64_t, x<y ? x : y, x> y ? x : y)
RT_JOINS(u8, unsigned char, x<y ? x : y, x> y ? x : y)
#undef RT_JOINS
#undef RT_JOIN

/* ---- random numbers ----------------------------------------------------------------------------
 */

/* Eight of the sixteen numbers of four whole blocks: from element i on. */
RT_INLINE v8 rt_eight_from(int64_t i, v8 low, v8 high) {
    float all[16];
    v8 r;
    memcpy(all, &low, sizeof low);
    memcpy(all + 8, &high, sizeof high);
    memcpy(&r, all + i % 4, sizeof r);
    return r;
}

RT_INLINE v8 rand_v(uint64_t seed, int32_t count, uint32_t place, int64_t i) {
    const struct rt_place at = rt_at(seed, (uint32_t)count, place);
    const int64_t first = i / 4 * 4;
    if (i == first)
        return rt_uniform8(&at, i);
    return rt_eight_from(i, rt_uniform8(&at, first), rt_uniform8(&at, first + 8));
}

RT_INLINE v8 randn_v(uint64_t seed, int32_t count, uint32_t place, int64_t i) {
    const struct rt_place at = rt_at(seed, (uint32_t)count, place);
    const int64_t first = i / 4 * 4;
    if (i == first)
        return rt_normal8(&at, i);
    return rt_eight_from(i, rt_normal8(&at, first), rt_normal8(&at, first + 8));
}

RT_INLINE v8i randint_v(uint64_t seed, int32_t count, uint32_t place, int64_t i, int32_t lo,
                        int32_t hi) {
    const struct rt_place at = rt_at(seed, (uint32_t)count, place);
    const int64_t first = i / 4 * 4;
    v8i low = rt_integer8(&at, first, lo, hi);
    if (i == first)
        return low;
    return (v8i)rt_eight_from(i, (v8)low, (v8)rt_integer8(&at, first + 8, lo, hi));
}

/* Lanes from m on are 0. */
RT_INLINE v8i permutation_v(uint64_t seed, int32_t count, uint32_t place, int64_t i, int64_t n,
                            int m) {
    v8i r = bc8i(0);
    for (int l = 0; l < m; l++)
        r[l] = permutation_1(seed, count, place, i + l, n);
    return r;
}

/* ---- faults ------------------------------------------------------------------------------------
 */

/* Notes the first lane where the mask is set. */
RT_INLINE void rt_fault8(struct rt *rt, int64_t node, v8i mask, v8 value, int64_t step) {
    if (!any8(mask))
        return;
    int i = 0;
    while (!mask[i])
        i++;
    rt_fault_set(rt, node, (double)value[i], step);
}

#endif
