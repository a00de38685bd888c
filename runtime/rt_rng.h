/* rt_rng.h: counter-based random numbers (Philox 4x32-10) and keyed permutations. */
#ifndef RT_RNG_H
#define RT_RNG_H
#include "rt_math.h"

/* Where in the run a random tensor is drawn; element i takes word i%4 of block i/4. */
struct rt_place {
    uint64_t seed;
    uint32_t step;  /* time step: round of a scan, else 0 */
    uint32_t count; /* execution number of the statement */
    uint32_t place; /* hash of instance path and ordinal, from nnc */
};

RT_FN void rt_philox(uint32_t out[4], uint64_t seed, uint32_t c0, uint32_t c1, uint32_t c2,
                     uint32_t c3);
/* Elements i … i+7; i is a multiple of 8. */
RT_INLINE v8w rt_bits8(const struct rt_place *at, int64_t i);
RT_INLINE v8 rt_uniform8(const struct rt_place *at, int64_t i);  /* [0, 1), multiples of 2^-24 */
RT_INLINE v8 rt_normal8(const struct rt_place *at, int64_t i);   /* mean 0, deviation 1 */
RT_INLINE v8i rt_integer8(const struct rt_place *at, int64_t i, int32_t lo, int32_t hi); /* [lo, hi) */
/* Element i alone, any i >= 0: the same bits. */
RT_FN float rt_uniform1(const struct rt_place *at, int64_t i);
RT_FN float rt_normal1(const struct rt_place *at, int64_t i);
RT_FN int32_t rt_integer1(const struct rt_place *at, int64_t i, int32_t lo, int32_t hi);
/* A key for rt_permute from a place. */
RT_FN uint64_t rt_key(const struct rt_place *at);
/* Where i goes in the permutation of 0 … n-1 that `key` names; 0 <= i < n. */
RT_FN uint64_t rt_permute(uint64_t i, uint64_t n, uint64_t key);
#endif
