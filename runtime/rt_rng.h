/* rt_rng.h: random numbers that depend on the place in the program and not on who draws them, and
 * permutations that need no index array.
 *
 * Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, 2011): ten rounds of multiply and exchange turn a
 * counter of four words and a key of two into four random words. Element i of a tensor takes word
 * i%4 of block i/4, so its value is the same however many lanes or threads there are.
 */
#ifndef RT_RNG_H
#define RT_RNG_H

#include "rt_math.h"
#include "rt_math_1.h"

#define RT_PHILOX_M0 0xd2511f53u
#define RT_PHILOX_M1 0xcd9e8d57u
#define RT_PHILOX_K0 0x9e3779b9u
#define RT_PHILOX_K1 0xbb67ae85u

/* Where in the run a random tensor is drawn. */
struct rt_place {
    uint64_t seed;
    uint32_t step;  /* time step: round of a scan, else 0 */
    uint32_t count; /* execution number of the statement */
    uint32_t place; /* hash of instance path and ordinal, from nnc */
};

/* One block: out[0 … 3] for key `seed` (low word first) and counter c0 … c3. */
RT_BOTH RT_HOT void rt_philox(uint32_t out[4], uint64_t seed, uint32_t c0, uint32_t c1, uint32_t c2,
                     uint32_t c3) {
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)RT_PHILOX_M0 * c0, p1 = (uint64_t)RT_PHILOX_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += RT_PHILOX_K0;
        k1 += RT_PHILOX_K1;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* ---- one element ------------------------------------------------------------------------------
 */

/* The word of element i (0 <= i < 2^34). */
RT_BOTH RT_HOT uint32_t rt_bits1(const struct rt_place *at, int64_t i) {
    uint32_t w[4];
    rt_philox(w, at->seed, (uint32_t)(i / 4), at->step, at->count, at->place);
    return w[i % 4];
}

/* [0, 1): a multiple of 2^-24. */
RT_BOTH RT_HOT float rt_uniform1(const struct rt_place *at, int64_t i) {
    return (float)(rt_bits1(at, i) >> 8) * 0x1p-24f;
}

/* lo … hi-1, lo < hi. A value is off its probability by at most (hi-lo) / 2^32 of it. */
RT_BOTH RT_HOT int32_t rt_integer1(const struct rt_place *at, int64_t i, int32_t lo, int32_t hi) {
    uint64_t range = (uint32_t)hi - (uint32_t)lo;
    return (int32_t)((uint32_t)lo + (uint32_t)(rt_bits1(at, i) * range >> 32));
}

/* Mean 0, deviation 1, within +-5.8. */
RT_BOTH RT_HOT float rt_normal1(const struct rt_place *at, int64_t i) {
    uint32_t w[4];
    rt_philox(w, at->seed, (uint32_t)(i / 4), at->step, at->count, at->place);
    int32_t first = (int32_t)w[i % 4 & 2], second = (int32_t)w[i % 4 | 1], odd = (int32_t)(i & 1);
    return normal_1(first, second, odd);
}

/* ---- eight elements i … i+7, i a multiple of 4 ------------------------------------------------
 */

/* The 64-bit products of the even words. */
RT_INLINE v4q rt_mul_even(v4q a, v4q b) {
#if defined(RT_AVX2)
    return (v4q)__builtin_ia32_pmuludq256((v8i)a, (v8i)b);
#else
    return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

/* Two blocks at once, words 0 to 3 of the first and of the second: a round multiplies the even
 * words of both, reverses each block and mixes in the odd words and the key. */
RT_INLINE v8w rt_bits8(const struct rt_place *at, int64_t i) {
    uint32_t block = (uint32_t)(i / 4), k0 = (uint32_t)at->seed, k1 = (uint32_t)(at->seed >> 32);
    v8w s = {block, at->step, at->count, at->place, block + 1, at->step, at->count, at->place};
    v8w k = {k0, 0, k1, 0, k0, 0, k1, 0};
    const v8w bump = {RT_PHILOX_K0, 0, RT_PHILOX_K1, 0, RT_PHILOX_K0, 0, RT_PHILOX_K1, 0};
    const v4q m = {RT_PHILOX_M0, RT_PHILOX_M1, RT_PHILOX_M0, RT_PHILOX_M1};
    for (int round = 0; round < 10; round++) {
        v8w p = (v8w)rt_mul_even((v4q)s, m);
#if defined(__clang__) || __GNUC__ >= 12
        p = __builtin_shufflevector(p, p, 3, 2, 1, 0, 7, 6, 5, 4);
#else
        v8w reversed = {p[3], p[2], p[1], p[0], p[7], p[6], p[5], p[4]};
        p = reversed;
#endif
        s = p ^ (v8w)((v4q)s >> 32) ^ k;
        k += bump;
    }
    return s;
}

RT_INLINE v8 rt_uniform8(const struct rt_place *at, int64_t i) {
    return i2f8((v8i)(rt_bits8(at, i) >> 8)) * 0x1p-24f;
}

RT_INLINE v8i rt_integer8(const struct rt_place *at, int64_t i, int32_t lo, int32_t hi) {
    v4q w = (v4q)rt_bits8(at, i);
    uint64_t range = (uint32_t)hi - (uint32_t)lo;
    v4q r = {range, range, range, range};
    v4q even = rt_mul_even(w, r) >> 32, odd = rt_mul_even(w >> 32, r) >> 32 << 32;
    return (v8i)((v8w)(even | odd) + (uint32_t)lo);
}

RT_INLINE v8 rt_normal8(const struct rt_place *at, int64_t i) {
    v4q w = (v4q)rt_bits8(at, i);
    v4q first = (w & 0xffffffffu) | w << 32, second = w >> 32 | (w >> 32 << 32);
    const v8i odd = {0, 1, 0, 1, 0, 1, 0, 1};
    return normal_v((v8i)first, (v8i)second, odd);
}

/* ---- permutations -----------------------------------------------------------------------------
 */

/* A key for rt_permute that belongs to a place; no tensor element uses this counter. */
RT_BOTH RT_HOT uint64_t rt_key(const struct rt_place *at) {
    uint32_t w[4];
    rt_philox(w, at->seed, 0xffffffffu, at->step, at->count, at->place);
    return (uint64_t)w[1] << 32 | w[0];
}

/* Mixes one half of a number into a word that is added to the other half. */
RT_BOTH RT_INLINE uint32_t rt_feistel(uint32_t half, uint32_t key, uint32_t key2) {
    uint64_t p = (uint64_t)RT_PHILOX_M0 * (half ^ key);
    p = (uint64_t)RT_PHILOX_M1 * ((uint32_t)(p >> 32) ^ (uint32_t)p ^ key2);
    return (uint32_t)(p >> 32) ^ (uint32_t)p;
}

/* Where i goes in the permutation of 0 … n-1 that `key` names (0 <= i < n < 2^62): a Feistel
 * network on the smallest power of two that holds n; what falls outside 0 … n-1 goes round again
 * (fewer than two rounds on average). */
RT_BOTH RT_HOT uint64_t rt_permute(uint64_t i, uint64_t n, uint64_t key) {
    if (n < 2)
        return 0;
#ifdef __CUDA_ARCH__
    int bits = 64 - __clzll((long long)(n - 1)), low = bits / 2;
#else
    int bits = 64 - __builtin_clzll(n - 1), low = bits / 2;
#endif
    uint64_t low_mask = ((uint64_t)1 << low) - 1, high_mask = ((uint64_t)1 << (bits - low)) - 1;
    do {
        uint64_t l = i & low_mask, h = i >> low;
        uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
        for (int round = 0; round < 4; round++) {
            h = (h + rt_feistel((uint32_t)l, k0, k1)) & high_mask;
            l = (l + rt_feistel((uint32_t)h, k1, k0)) & low_mask;
            k0 += RT_PHILOX_K0;
            k1 += RT_PHILOX_K1;
        }
        i = h << low | l;
    } while (i >= n);
    return i;
}

/* ---- as kernels write them: element i, execution number `count` ---------------------------------
 */

RT_BOTH RT_INLINE struct rt_place rt_at(uint64_t seed, uint32_t count, uint32_t place) {
    struct rt_place at = {seed, 0, count, place};
    return at;
}

RT_BOTH RT_INLINE float rand_1(uint64_t seed, int32_t count, uint32_t place, int64_t i) {
    const struct rt_place at = rt_at(seed, (uint32_t)count, place);
    return rt_uniform1(&at, i);
}

RT_BOTH RT_INLINE float randn_1(uint64_t seed, int32_t count, uint32_t place, int64_t i) {
    const struct rt_place at = rt_at(seed, (uint32_t)count, place);
    return rt_normal1(&at, i);
}

RT_BOTH RT_INLINE int32_t randint_1(uint64_t seed, int32_t count, uint32_t place, int64_t i,
                                    int32_t lo, int32_t hi) {
    const struct rt_place at = rt_at(seed, (uint32_t)count, place);
    return rt_integer1(&at, i, lo, hi);
}

/* Element i of a random order of 0 … n-1. */
RT_BOTH RT_INLINE int32_t permutation_1(uint64_t seed, int32_t count, uint32_t place, int64_t i,
                                        int64_t n) {
    const struct rt_place at = rt_at(seed, (uint32_t)count, place);
    return (int32_t)rt_permute((uint64_t)i, (uint64_t)n, rt_key(&at));
}

#endif
