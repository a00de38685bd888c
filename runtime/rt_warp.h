/* rt_warp.h: what the kernels of target cuda call beside functions of one number: rows that a warp
 * has in common, faults.
 */
#ifndef RT_WARP_H
#define RT_WARP_H

#include "rt_cuda.h"
#include "rt_rng.h"

#define RT_DEVICE static __device__ __forceinline__ __attribute__((unused))

/* ---- joining the 32 lanes of a row: 16 8 4 2 1 -------------------------------------------------
 *
 * Every lane of the warp gets the result. x is the value of the lower of two lanes that are joined.
 */

#define RT_WARP(name, T, W, expression)                                                            \
    RT_DEVICE T name(T mine) {                                                                     \
        RT_UNROLL_GPU(5)                                                                           \
        for (unsigned w = 16; w > 0; w /= 2) {                                                     \
            const T other = (T)__shfl_xor_sync(0xffffffffu, (W)mine, (int)w);                      \
            const bool upper = threadIdx.x & w;                                                    \
            const T x = upper ? other : mine, y = upper ? mine : other;                            \
            mine = (expression);                                                                   \
        }                                                                                          \
        return mine;                                                                               \
    }
#define RT_WARPS(suffix, T, W, lesser, greater)                                                    \
    RT_WARP(rt_warp_sum_##suffix, T, W, (T)(x + y))                                                \
    RT_WARP(rt_warp_prod_##suffix, T, W, (T)(x * y))                                               \
    RT_WARP(rt_warp_min_##suffix, T, W, lesser)                                                    \
    RT_WARP(rt_warp_max_##suffix, T, W, greater)
RT_WARPS(f32, float, float, rt_minf(x, y), rt_maxf(x, y))
RT_WARPS(f64, double, double, rt_min64(x, y), rt_max64(x, y))
RT_WARPS(i32, int32_t, int32_t, (x < y ? x : y), (x > y ? x : y))
RT_WARPS(i64, int64_t, int64_t, (x < y ? x : y), (x > y ? x : y))
RT_WARPS(u8, unsigned char, int, (x < y ? x : y), (x > y ? x : y))

/* ---- faults ------------------------------------------------------------------------------------
 *
 * Of several threads the first one leaves its fault; it stays until the host takes it.
 */

/* The bits of a whole number and of an f32 as f64, which no kernel in f32 computes with. */
RT_DEVICE uint64_t rt_wide_bits_i32(int32_t x) {
    const uint32_t size = x < 0 ? 0u - (uint32_t)x : (uint32_t)x;
    if (size == 0)
        return 0;
    const int top = 31 - __clz((int)size);
    const uint64_t fraction = (uint64_t)size << (52 - top) & 0xfffffffffffffu;
    return (uint64_t)(1023 + top) << 52 | fraction | (uint64_t)(x < 0) << 63;
}

RT_DEVICE uint64_t rt_wide_bits_f32(float x) {
    const uint32_t b = (uint32_t)bits_1(x), power = b >> 23 & 255;
    uint64_t wide = power == 0 ? 0 : power == 255 ? 2047 : power + 896;
    wide = wide << 52 | (power ? (uint64_t)(b & 0x7fffffu) << 29 : 0);
    return wide | (uint64_t)(b >> 31) << 63;
}

RT_DEVICE void rt_fault_raise(struct rt_fault *fault, int node, uint64_t value, int64_t step) {
    if (!RT_TAKE(&fault->lock))
        return;
    memcpy(&fault->value, &value, sizeof value);
    fault->step = step;
    fault->node = node;
}

RT_DEVICE void rt_fault_raise_i32(struct rt_fault *fault, int node, int32_t value, int64_t step) {
    rt_fault_raise(fault, node, rt_wide_bits_i32(value), step);
}

RT_DEVICE void rt_fault_raise_f32(struct rt_fault *fault, int node, float value, int64_t step) {
    rt_fault_raise(fault, node, rt_wide_bits_f32(value), step);
}

RT_DEVICE void rt_fault_raise_f64(struct rt_fault *fault, int node, double value, int64_t step) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    rt_fault_raise(fault, node, bits, step);
}

#endif
