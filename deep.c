/* deep.c: a trainer, made by nnc 0.1 from deep.nn
 *
 *   nnc deep.nn --target c -o deep.c
 *   cc -O2 -o deep deep.c -lm -pthread
 *   ./deep --help
 *
 * parameters and states: key, shape, offset in the arena (678 k bytes in all)
 *   net.linear[0].w                      f32  [16, 64]                     9728
 *   net.linear[0].b                      f32  [64]                        13824
 *   net.block[0].linear.w                f32  [64, 64]                    14080
 *   net.block[0].linear.b                f32  [64]                       112384
 *   net.block[1].linear.w                f32  [64, 64]                    30464
 *   net.block[1].linear.b                f32  [64]                       112640
 *   net.block[2].linear.w                f32  [64, 64]                    46848
 *   net.block[2].linear.b                f32  [64]                       112896
 *   net.block[3].linear.w                f32  [64, 64]                    63232
 *   net.block[3].linear.b                f32  [64]                       113152
 *   net.block[4].linear.w                f32  [64, 64]                    79616
 *   net.block[4].linear.b                f32  [64]                       113408
 *   net.block[5].linear.w                f32  [64, 64]                    96000
 *   net.block[5].linear.b                f32  [64]                       113664
 *   net.linear[1].w                      f32  [64, 1]                    113920
 *   net.linear[1].b                      f32  [1]                        114176
 *   late.linear[0].w                     f32  [16, 64]                   323584
 *   late.linear[0].b                     f32  [64]                       327680
 *   late.block[0].linear.w               f32  [64, 64]                   327936
 *   late.block[0].linear.b               f32  [64]                       426240
 *   late.block[1].linear.w               f32  [64, 64]                   344320
 *   late.block[1].linear.b               f32  [64]                       426496
 *   late.block[2].linear.w               f32  [64, 64]                   360704
 *   late.block[2].linear.b               f32  [64]                       426752
 *   late.block[3].linear.w               f32  [64, 64]                   377088
 *   late.block[3].linear.b               f32  [64]                       427008
 *   late.block[4].linear.w               f32  [64, 64]                   393472
 *   late.block[4].linear.b               f32  [64]                       427264
 *   late.block[5].linear.w               f32  [64, 64]                   409856
 *   late.block[5].linear.b               f32  [64]                       427520
 *   late.linear[1].w                     f32  [64, 1]                    427776
 *   late.linear[1].b                     f32  [1]                        428032
 *
 * what else outlives a region: optimizers, batches, variables, results
 *   rows                                 i32  [2]                             0
 *   points.x                             f32  [140, 16]                      64
 *   points.y                             f32  [140, 1]                     9024
 *   points_rows                          i32  [32]                         9600
 *   adamw.step                           i32  []                         114240
 *   adamw.m.net.linear[1].b              f32  [1]                        114304
 *   adamw.v.net.linear[1].b              f32  [1]                        114368
 *   adamw.m.net.linear[1].w              f32  [64, 1]                    114432
 *   adamw.v.net.linear[1].w              f32  [64, 1]                    114688
 *   adamw_m_net_block_linear_b[6]        f32  [64]                       114944 +256
 *   adamw_v_net_block_linear_b[6]        f32  [64]                       116480 +256
 *   adamw_m_net_block_linear_w[6]        f32  [64, 64]                   118016 +16384
 *   adamw_v_net_block_linear_w[6]        f32  [64, 64]                   216320 +16384
 *   adamw.m.net.linear[0].b              f32  [64]                       314624
 *   adamw.v.net.linear[0].b              f32  [64]                       314880
 *   adamw.m.net.linear[0].w              f32  [16, 64]                   315136
 *   adamw.v.net.linear[0].w              f32  [16, 64]                   319232
 *   points_rows[1]                       i32  [rows]                     323328
 *   mean                                 f64  []                         323456
 *   rows[1]                              f64  []                         323520
 *   known                                f32  []                         428096
 *   ne_2                                 bool []                         428160
 *
 * values of one region, and the kernels from the first to the last that
 * touches them: two whose kernels do not overlap may have the same memory
 *   x                                    f32  [1, 32, 16]                673984  1-49
 *   block[6]                             f32  [32, 64]                   526528 +8192  2-51
 *   linear_le[6]                         bool [32, 64]                   641216 +2048  3-40
 *   bernoulli[6]                         bool [32, 64]                   653504 +2048  3-40
 *   block_6                              f32  [1, 32, 64]                608448  8-10
 *   d                                    f32  [32, 1]                    624832  9-16
 *   d_d                                  f32  [32, 1]                    624960  9-13
 *   d_net_linear_1_b                     f32  [1]                        677952  13-54
 *   d_d_dot                              f32  [32, 64]                   665792  11-18
 *   d_net_linear_1_w                     f32  [64, 1]                    677568  10-56
 *   d_block[5]                           f32  [32, 64]                   624832 +8192  18-46
 *   d_linear[6]                          f32  [32, 64]                   608448 +8192  11-51
 *   d_net_block_linear_b[6]              f32  [64]                       676032 +256  12-67
 *   d_net_block_linear_w[6]              f32  [64, 64]                   428224 +16384  20-68
 *   d_h                                  f32  [32, 64]                   641216  46-50
 *   d_net_linear_0_b                     f32  [64]                       628928  50-69
 *   d_net_linear_0_w                     f32  [16, 64]                   624832  49-54
 *   d_net_linear_1_b_mul                 f32  []                         677824  13-14
 *   squared_norm                         f32  []                         624960  14-15
 *   squared_norm_3[4]                    f32  []                         665792 +0  23-42
 *   squared_norm_2[9]                    f32  []                         677824 +64  15-54
 *   clip_factor                          f32  []                         629184  54-69
 *   rate                                 f32  []                         629248  55-70
 *   scale                                f32  []                         629312  55-70
 *   sqrt_2                               f32  [1]                        629376  54-55
 *   x_2                                  f32  [1, rows, 16]              438464  71-72
 *   block_2[6]                           f32  [rows, 64]                 428224 +5120  72-78
 *   block_12                             f32  [1, rows, 64]              438464  78-79
 *   d_2                                  f32  [rows, 1]                  428224  79-80
 *   constant_2                           f32  [1, 5, 16]                 432064  116-125
 *   block_3[6]                           f32  [5, 64]                    428224 +1280  125-131
 *   block_18                             f32  [1, 5, 64]                 430784  131-132
 *   block_dot                            f32  [5, 1]                     428224  132-133
 *   block_4[6]                           f32  [5, 64]                    428224 +1280  117-123
 *   block_24                             f32  [1, 5, 64]                 430784  123-124
 *   block_dot_2                          f32  [5, 1]                     432384  124-133
 *   net_linear_1_w_packed_170            f32  [4, 1, 16]                 676032  0-11
 *   net_block_linear_w_packed[6]         f32  [4, 64, 16]                575680 +16384  17-46
 *
 * kernels by region: number, tiles, FLOPs, bytes, where all threads wait,
 * for how many layers
 *  train_step
 *      0 pack_net_linear_1_w_for_make_d_linear                   0        512
 *      1 make_x                                               512       11 k
 *      2 make_h                                              66 k       15 k
 *      3 make_block                                         262 k       37 k  x 5
 *      8 make_block_6                                       262 k       37 k
 *      9 make_d                                            4.10 k     9.47 k
 *     10 make_d_net_linear_1_w                             4.10 k     8.58 k
 *     11 make_d_linear                                     4.10 k       21 k
 *     12 make_d_net_block_linear_b                         2.05 k     8.45 k
 *     13 make_d_net_linear_1_b                                 64        256
 *     14 make_squared_norm                                    128        384
 *     15 make_squared_norm_2                                  128        384
 *     16 check                                                 96        128
 *     17 pack_net_block_linear_w_for_make_d          4          0       33 k  wait
 *     18 make_d_block                                       262 k       53 k
 *     19 make_d_net_block_linear_b                         2.05 k     8.45 k  x 4
 *     20 make_d_net_block_linear_w                  16      262 k       33 k  x 4
 *     21 pack_net_block_linear_w_for_make_d          4          0       33 k  wait  x 4
 *     22 make_d_block                                       262 k       53 k  x 4
 *     23 make_squared_norm_3                               8.19 k       17 k  x 4
 *     24 make_squared_norm_2                                  128        384  x 4
 *     43 make_d_net_block_linear_b                         2.05 k     8.45 k
 *     44 make_d_net_block_linear_w                  16      262 k       33 k
 *     45 pack_net_block_linear_w_for_make_d          4          0       33 k  wait
 *     46 make_d_h                                           262 k       41 k
 *     47 make_squared_norm_3                               8.19 k       17 k
 *     48 make_squared_norm_2                                  128        384
 *     49 make_d_net_linear_0_w                               66 k       14 k
 *     50 make_d_net_linear_0_b                             2.05 k     8.45 k
 *     51 make_d_net_block_linear_w                  16      262 k       33 k  wait
 *     52 make_squared_norm_3                               8.19 k       17 k
 *     53 make_squared_norm_2                                  128        384
 *     54 make_clip_factor                                    15 k       21 k
 *     55 make_rate                                              5        512
 *     56 update_net_linear_1_w                                192     1.98 k
 *     57 update_net_linear_b                                  192     1.98 k  wait
 *     58 update_net_block_linear_w                   4       12 k      115 k  x 5
 *     59 update_net_linear_b                                  192     1.98 k  x 5
 *     68 update_net_block_linear_w                   4       12 k      115 k
 *     69 update_net_linear_b                                  192     1.98 k
 *     70 update_net_linear_0_w                             1.02 k       17 k
 *  train_rows
 *     71 make_x_2                                             320       10 k
 *     72 make_h_2                                            41 k       11 k
 *     73 make_block_2                                       164 k       27 k  x 5
 *     78 make_block_12                                      164 k       27 k
 *     79 make_d_2                                          2.56 k     6.27 k
 *     80 update_mean                                          100        256
 *     81 update_rows_1                                          1        128
 *  train_set_mean
 *     82 update_rows_1_2                                        1        128
 *  train_known
 *     83 make_known                                             1        192
 *  train_uniform
 *     84 update_late_linear_0_w                            1.02 k     8.19 k
 *     85 update_late_linear_b                                  64        512
 *     86 update_late_block_linear_w                        4.10 k       33 k  x 6
 *     87 update_late_linear_b                                  64        512  x 6
 *     98 update_late_linear_1_w                                64        512
 *     99 update_late_linear_1_b                                 1        128
 *    100 update_net_linear_0_w_2                           1.02 k     4.10 k
 *    101 update_net_linear_0_b_2                               64        256  wait
 *    102 update_net_block_linear_w_2                 4     4.10 k       16 k  x 6
 *    103 update_net_block_linear_b                             64        256  x 6
 *    114 update_net_linear_1_w_2                               64        256
 *    115 update_net_linear_1_b                                  1         64
 *  train_linear
 *    116 make_constant_2                                       80        320
 *    117 make_h_3                                            10 k     5.95 k
 *    118 make_block_3                                        41 k       19 k  x 5
 *    123 make_block_4                                        41 k       19 k
 *    124 make_block_dot                                       640     1.60 k
 *    125 make_h_3                                            10 k     5.95 k
 *    126 make_block_3                                        41 k       19 k  x 5
 *    131 make_block_4                                        41 k       19 k
 *    132 make_block_dot                                       640     1.60 k
 *    133 make_ne_2                                             10        320
 *  start
 *    134 update_points_x                             3     2.24 k     8.96 k  wait
 *    135 update_points_y                                      140     9.54 k
 *    136 update_net_linear_0_w_3                           2.05 k     8.19 k
 *    137 update_net_linear_0_b_3                              128        512
 *    138 update_net_block_linear_w_3                 4     8.19 k       33 k  x 6
 *    139 update_net_block_linear_b_2                          128        512  x 6
 *    150 update_net_linear_1_w_3                              128        512
 *    151 update_net_linear_1_b_2                                3        320
 *    152 update_adamw_net_linear_w                             64        256
 *    153 update_adamw_net_linear_b                             64        256
 *    154 update_adamw_net_block_linear_w                   4.10 k       16 k  x 5
 *    155 update_adamw_net_linear_b                             64        256  x 5
 *    156 update_adamw_net_linear_b                             64        256  x 5
 *    157 update_adamw_net_block_linear_w                   4.10 k       16 k  x 5
 *    174 update_adamw_net_block_linear_w                   4.10 k       16 k
 *    175 update_adamw_net_linear_b                             64        256
 *    176 update_adamw_net_linear_b                             64        256
 *    177 update_adamw_net_linear_w_2                       1.02 k     4.10 k
 *    178 update_adamw_net_linear_w                              0        256
 *    179 update_adamw_net_linear_b                              0        256
 *    180 update_adamw_net_block_linear_w                        0       16 k
 *    181 update_adamw_net_linear_w_2                            0     4.10 k
 */

/* rt_base.h: what every other runtime file stands on: status, memory hooks, faults, vectors, time.
 *
 * A generated file has what its program needs of the runtime, in this order: rt_base, rt_one,
 * rt_math_1, rt_math, rt_rng, rt_lanes, rt_team, rt_text, rt_array, rt_file, rt_data, rt_csv,
 * rt_npy, rt_batch, rt_store, rt_cli; then buffers, kernels, regions and tasks; then rt_end, and
 * after it only `main`. From here to rt_end all functions are compiled for the processor that the
 * file was made for; `main` is not, so it can ask rt_cpu_missing() first. The text is C17 and
 * C++17 at once; nothing here prints, allocates, exits.
 *
 * Floating-point contraction is off, so a*b+c rounds twice everywhere; a fused multiply-add is
 * written fma8 or rt_fmaf. That, and not a compiler flag, is why all compilers give the same bits.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* clock_gettime, sched_getaffinity, syscall under any -std */
#endif

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef RT_GZ
#include <zlib.h>
#endif
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#ifdef __FAST_MATH__
#error "-ffast-math changes the numbers: compile this file without it"
#endif

/* Functions of the host. gcc takes half of its time for them where it optimizes them in full, and
 * no step gets shorter. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#define RT_FN static __attribute__((unused, optimize("Og")))
#else
#define RT_FN static __attribute__((unused))
#endif
/* What runs for each element, batch or barrier. */
#define RT_HOT    static __attribute__((unused))
#define RT_INLINE static inline __attribute__((always_inline, unused))
/* A kernel stays a function: put into its only caller, a step is one huge function to compile. */
#define RT_KERNEL   static __attribute__((noinline))
#define rt_restrict __restrict
/* Of a pointer to arrays that are only read. C before C23 takes no pointer to arrays that may be
 * written in its place. */
#if defined(__cplusplus) || __STDC_VERSION__ > 201710L
#define rt_const const
#else
#define rt_const
#endif
#ifdef __CUDACC__
#define RT_BOTH __host__ __device__ /* kernels call it, and so does the host */
#else
#define RT_BOTH
#endif

/* Before a loop: asks the compiler to put n of its rounds side by side. */
#define RT_PRAGMA(x) _Pragma(#x)
#if defined(__CUDACC__)
#define RT_UNROLL(n) RT_PRAGMA(unroll n)
#elif defined(__clang__)
#define RT_UNROLL(n) RT_PRAGMA(clang loop unroll_count(n))
#else
#define RT_UNROLL(n) RT_PRAGMA(GCC unroll n)
#endif

/* Which vector instructions the file is made for. -DRT_BASELINE: none beyond the compiler's
 * default, for old processors; multiply-adds then round twice, so the bits are others. */
#if defined(__x86_64__) && !defined(RT_BASELINE)
#define RT_AVX2 1
#endif

/* What this processor lacks to run the file, or NULL. */
RT_FN const char *rt_cpu_missing(void) {
#ifdef RT_AVX2
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return "AVX2 and FMA";
#endif
    return NULL;
}

/* ---- from here to rt_end.h: compiled for that processor, without contraction ------------------
 */

#ifdef __CUDACC__
#pragma nv_diag_suppress 1675 /* nvcc does not know all of these, its host compiler does */
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#ifdef RT_AVX2
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#endif
#elif defined(__GNUC__)
#pragma GCC push_options
#ifdef RT_AVX2
#pragma GCC target("avx2,fma")
#else
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed between inlined functions only */
#endif
#pragma GCC optimize("fp-contract=off")
#endif

/* ---- status and the state that hangs off struct rt --------------------------------------------
 */

/* What a runtime function, region or task returns; also the exit code of the trainer. */
enum rt_status {
    RT_OK = 0,
    RT_USAGE = 1,    /* wrong use of the command line, or wrong data */
    RT_ENV = 2,      /* a file, memory or a device is not there */
    RT_DIVERGED = 3, /* a loss was not finite, or an index was out of range while training */
    RT_EXPECT = 4    /* an `expect` of the program did not hold */
};

/* Element types of stored data and of saved tensors. */
enum rt_type { RT_F32, RT_F64, RT_I32, RT_I64, RT_U8, RT_I8, RT_I16, RT_U16, RT_BOOL };

/* The first fault of the run: sticky. node < 0 means none. */
struct rt_fault {
    int64_t node; /* number of the kernel or graph node that saw it */
    double value; /* the loss, or the index that was out of range */
    int64_t step;
    int lock; /* held while the three above are written */
};

enum { RT_MAX_PATHS = 16 };

/* A pair from the command line: NAME=PATH, or only PATH (name NULL). */
struct rt_pair {
    const char *name; /* not terminated by 0: name_size characters */
    size_t name_size;
    const char *path;
};

struct rt_file; /* rt_file.h: a file held in memory */

/* First member of the generated `struct nn`. main fills the hooks; the rest is set by rt_init. */
struct rt {
    char message[1024]; /* why the last function did not return RT_OK; no newline at the end */

    /* Memory: at least `bytes` bytes aligned to 64, contents undefined; NULL when there is none. */
    void *(*alloc)(struct rt *rt, size_t bytes);
    void (*release)(struct rt *rt, void *memory); /* takes NULL */
    /* Writes n bytes to stream 1 (standard output) or 2 (standard error). */
    void (*write)(struct rt *rt, int stream, const char *text, size_t n);
    void *host; /* whatever the hooks need */

    struct rt_fault fault;
    int threads;
    bool quiet, exact, untrained;
    uint64_t seed;
    double start; /* rt_now() when the trainer began */

    int data_paths; /* --data: where sources are looked for, later ones first */
    struct rt_pair data_path[RT_MAX_PATHS];
    struct rt_file *files; /* files in memory while data is read */
};

/* Clears the state; the hooks must be set already. */
RT_FN void rt_init(struct rt *rt);

/* Leaves the message (as printf would make it) and returns `status`. Too long a message is cut. */
RT_FN enum rt_status rt_fail(struct rt *rt, enum rt_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Notes a fault unless there is one; of several threads in one step the lowest node is kept.
 * May be called by all threads at once. */
RT_FN void rt_fault_set(struct rt *rt, int64_t node, double value, int64_t step);
RT_FN bool rt_faulted(struct rt *rt);

RT_FN size_t rt_type_size(enum rt_type type);
RT_FN const char *rt_type_name(enum rt_type type); /* "f32" … */

/* Denormals read and written as 0 from here on, in the calling thread. */
RT_FN void rt_flush_denormals(void);
/* Seconds of a clock that only goes forward. */
RT_FN double rt_now(void);
/* Processors this process may run on, at least 1. */
RT_FN int rt_cores(void);

/* ---- eight lanes ------------------------------------------------------------------------------
 */

typedef float v8 __attribute__((vector_size(32)));
typedef int32_t v8i __attribute__((vector_size(32))); /* a comparison gives 0 or -1 in each lane */
typedef uint32_t v8w __attribute__((vector_size(32)));
typedef uint64_t v4q __attribute__((vector_size(32)));
/* The same in memory: any address, whatever type was stored there. */
typedef float v8u __attribute__((vector_size(32), aligned(4), may_alias));

RT_INLINE v8 ld8(const float *p) {
    return (v8) * (const v8u *)(const void *)p;
}

RT_INLINE void st8(float *p, v8 x) {
    *(v8u *)(void *)p = (v8u)x;
}

RT_INLINE v8 bc8(float x) {
    v8 v = {x, x, x, x, x, x, x, x};
    return v;
}

RT_INLINE v8i bc8i(int32_t x) {
    v8i v = {x, x, x, x, x, x, x, x};
    return v;
}

/* 0 1 2 … 7 */
RT_INLINE v8i iota8(void) {
    v8i v = {0, 1, 2, 3, 4, 5, 6, 7};
    return v;
}

/* a*b+c rounded once. */
RT_BOTH RT_INLINE float rt_fmaf(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
    return __fmaf_rn(a, b, c);
#elif defined(RT_AVX2) || defined(__aarch64__) || defined(__FP_FAST_FMAF)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

RT_INLINE v8 fma8(v8 a, v8 b, v8 c) {
#if defined(RT_AVX2)
    return __builtin_ia32_vfmaddps256(a, b, c);
#else
    v8 r = c;
    for (int i = 0; i < 8; i++)
        r[i] = rt_fmaf(a[i], b[i], c[i]);
    return r;
#endif
}

/* Lane by lane: a where the mask is -1, b where it is 0. */
RT_INLINE v8 sel8(v8i mask, v8 a, v8 b) {
#if defined(RT_AVX2)
    return __builtin_ia32_blendvps256(b, a, (v8)mask);
#else
    return (v8)((mask & (v8i)a) | (~mask & (v8i)b));
#endif
}

RT_INLINE v8i sel8i(v8i mask, v8i a, v8i b) {
    return (v8i)sel8(mask, (v8)a, (v8)b);
}

/* True when any lane of the mask is set. */
RT_INLINE bool any8(v8i mask) {
#if defined(RT_AVX2)
    return __builtin_ia32_movmskps256((v8)mask) != 0;
#else
    int32_t any = 0;
    for (int i = 0; i < 8; i++)
        any |= mask[i];
    return any != 0;
#endif
}

/* The first n lanes of memory (0 <= n <= 8), the others 0; memory past them is not touched. */
RT_INLINE v8 ld8n(const float *p, int n) {
#if defined(RT_AVX2)
    return __builtin_ia32_maskloadps256((const v8 *)(const void *)p, iota8() < bc8i(n));
#else
    v8 r = bc8(0.0f);
    for (int i = 0; i < n; i++)
        r[i] = p[i];
    return r;
#endif
}

RT_INLINE void st8n(float *p, int n, v8 x) {
#if defined(RT_AVX2)
    __builtin_ia32_maskstoreps256((v8 *)(void *)p, iota8() < bc8i(n), x);
#else
    for (int i = 0; i < n; i++)
        p[i] = x[i];
#endif
}

RT_BOTH RT_INLINE float rt_maxf(float a, float b) {
    return a >= b || a != a ? a : b;
}

RT_BOTH RT_INLINE float rt_minf(float a, float b) {
    return a <= b || a != a ? a : b;
}

RT_INLINE v8 sqrt8(v8 x) {
#if defined(RT_AVX2)
    return __builtin_ia32_sqrtps256(x);
#else
    for (int i = 0; i < 8; i++)
        x[i] = __builtin_sqrtf(x[i]);
    return x;
#endif
}

/* To the nearest whole number, halves to the even one. */
RT_INLINE v8 round8(v8 x) {
#if defined(RT_AVX2)
    return __builtin_ia32_roundps256(x, 8);
#else
    for (int i = 0; i < 8; i++)
        x[i] = __builtin_rintf(x[i]);
    return x;
#endif
}

RT_INLINE v8 i2f8(v8i x) {
    return __builtin_convertvector(x, v8);
}

/* Toward 0. Outside the range of int32, and for NaN, the result means nothing. */
RT_INLINE v8i f2i8(v8 x) {
    return __builtin_convertvector(x, v8i);
}

/* Scalar twins, the same bits as one lane. */
RT_BOTH RT_INLINE float rt_sqrtf(float x) {
#ifdef __CUDA_ARCH__
    return __fsqrt_rn(x);
#else
    return sqrt8(bc8(x))[0];
#endif
}

RT_BOTH RT_INLINE float rt_roundf(float x) {
#ifdef __CUDA_ARCH__
    return rintf(x);
#else
    return round8(bc8(x))[0];
#endif
}

/* The fixed order of a row reduction: element i of the row was added to lane i mod 32 (the first of
 * four vectors holds lanes 0-7), then lanes l and l^16, l^8, l^4, l^2, l^1 are joined. */
RT_INLINE float rt_sum8(v8 x) {
    float p = x[0] + x[4], q = x[1] + x[5], r = x[2] + x[6], s = x[3] + x[7];
    return (p + r) + (q + s);
}

RT_INLINE float rt_sum32(const v8 *lanes) {
    return rt_sum8((lanes[0] + lanes[2]) + (lanes[1] + lanes[3]));
}

/* ---- bodies -----------------------------------------------------------------------------------
 */

RT_FN void rt_init(struct rt *rt) {
    rt->message[0] = 0;
    rt->fault.node = -1;
    rt->fault.value = 0;
    rt->fault.step = 0;
    rt->fault.lock = 0;
    rt->threads = 1;
    rt->quiet = rt->exact = rt->untrained = false;
    rt->seed = 0;
    rt->start = rt_now();
    rt->data_paths = 0;
    rt->files = NULL;
}

RT_FN enum rt_status rt_fail(struct rt *rt, enum rt_status status, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    vsnprintf(rt->message, sizeof rt->message, format, ap);
    va_end(ap);
    return status;
}

RT_FN void rt_fault_set(struct rt *rt, int64_t node, double value, int64_t step) {
    while (__atomic_exchange_n(&rt->fault.lock, 1, __ATOMIC_ACQUIRE))
        sched_yield();
    int64_t seen = rt->fault.node;
    if (seen < 0 || (step == rt->fault.step && node < seen)) {
        rt->fault.value = value;
        rt->fault.step = step;
        __atomic_store_n(&rt->fault.node, node, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&rt->fault.lock, 0, __ATOMIC_RELEASE);
}

RT_FN bool rt_faulted(struct rt *rt) {
    return __atomic_load_n(&rt->fault.node, __ATOMIC_ACQUIRE) >= 0;
}

RT_FN size_t rt_type_size(enum rt_type type) {
    static const unsigned char size[] = {4, 8, 4, 8, 1, 1, 2, 2, 1};
    return size[type];
}

RT_FN const char *rt_type_name(enum rt_type type) {
    static const char *const name[] = {"f32", "f64", "i32", "i64", "u8",
                                       "i8",  "i16", "u16", "bool"};
    return name[type];
}

RT_FN void rt_flush_denormals(void) {
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u); /* FTZ, DAZ */
#elif defined(__aarch64__)
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("msr fpcr, %0" : : "r"(control | (1u << 24)));
#endif
}

RT_FN double rt_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

RT_FN int rt_cores(void) {
#ifdef __linux__
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

/* rt_one.h: one number: what the host and kernels of one element a thread call. name_1 works on f32
 * and name_1i on integers, with the meaning and the bits of a lane of name_v and name_vi.
 */

/* ---- what the text of rt_math.h stands on ------------------------------------------------------
 */

#define RT_INF     __builtin_inff()
#define RT_NAN     __builtin_nanf("")
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

/* ---- ops the table names ----------------------------------------------------------------------
 */

RT_BOTH RT_INLINE int rt_less(int a, int b) {
    return a < b ? a : b;
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

RT_BOTH RT_INLINE float min_1(float x, float y) {
    return rt_minf(x, y);
}

RT_BOTH RT_INLINE float sel_1(bool c, float x, float y) {
    return c ? x : y;
}

RT_BOTH RT_INLINE float fma_1(float x, float y, float z) {
    return rt_fmaf(x, y, z);
}

/* rt_math_1.h: the functions of rt_math.h on one number, with the bits of a lane, from the same
 * text. After rt_one.h. */

/* ---- exp and its kin --------------------------------------------------------------------------
 */

/* Where exp is a normal number; other arguments are taken as 0 and mended by the caller. */
RT_BOTH RT_INLINE int32_t exp_inside_1(float x) {
    return (x >= -87.3365402f) & (x <= 88.7228317f);
}

/* x = n ln 2 + r, |r| <= ln 2 / 2. */
RT_BOTH RT_INLINE float exp_reduce_1(float x, float *n) {
    *n = round_1(x * 1.44269502f);
    return fma_1(*n, -RT_LN2_LO, fma_1(*n, -RT_LN2, x));
}

/* e^(n ln 2 + r) where that is normal: 1 + r + r^2 q(r), and n is added to the exponent. */
RT_BOTH RT_INLINE float exp_core_1(float n, float r) {
    float q = fma_1(r, 0.00138143182f, 0.00836885162f);
    q = fma_1(q, r, 0.0416684002f);
    q = fma_1(q, r, 0.166665196f);
    q = fma_1(q, r, 0.49999994f);
    q = fma_1(r * r, q, r) + 1.0f;
    return from_bits_1(bits_1(q) + f2i_1(n) * 8388608);
}

/* Gives what lies outside: 0, infinity, NaN. */
RT_BOTH RT_INLINE float exp_ends_1(int32_t inside, float x, float inner) {
    float outer = sel_1(x > 0.0f, RT_INF, sel_1(x < 0.0f, 0.0f, x));
    return sel_1(inside, inner, outer);
}

/* e^x, 1.0 ulp. */
RT_BOTH RT_INLINE float exp_1(float x) {
    int32_t inside = exp_inside_1(x);
    float n, r = exp_reduce_1(sel_1(inside, x, 0.0f), &n);
    return exp_ends_1(inside, x, exp_core_1(n, r));
}

/* e^x - 1 without cancellation, 1.5 ulp: e^r - 1 = r + r^2 q, scaled by 2^n, plus 2^n - 1. */
RT_BOTH RT_HOT float expm1_1(float x) {
    int32_t inside = (x > -17.5f) & (x < 60.0f);
    float y = sel_1(inside, x, 0.0f);
    float n, r = exp_reduce_1(y, &n);
    float q = fma_1(r, 0.000198460533f, 0.00139407907f);
    q = fma_1(q, r, 0.00833338965f);
    q = fma_1(q, r, 0.0416663587f);
    q = fma_1(q, r, 0.166666657f);
    q = fma_1(r * r, fma_1(q, r, 0.5f), r);
    float s = from_bits_1((f2i_1(n) + 127) * 8388608);
    float near = sel_1(n == 0.0f, q, fma_1(s, q, s - 1.0f));
    near = sel_1(y == 0.0f, y, near); /* keeps -0 */
    return sel_1(inside, near, sel_1(x < 0.0f, -1.0f, exp_1(x)));
}

/* rt_math.h: elementary functions in f32, eight lanes at once.
 *
 * name_v works on lanes. Its twin name_1 in rt_math_1.h, made from this text (tools/one.sed), works
 * on one number and has the bits of a lane. Every multiply-add is written out, and no result
 * depends on how a compiler treats denormals: results below 2^-126 are 0, and arguments below it
 * count as 0. Errors in units of the last place, measured by test_math over the whole range, stand
 * at each function.
 *
 * The polynomials are minimax fits to the functions on the reduced range, found by Lawson's
 * iteration on Chebyshev points in 40 digits, then rounded to f32.
 */

#ifndef RT_MATH_INLINE
#define RT_MATH_INLINE RT_INLINE
#define RT_MATH_FN     RT_HOT /* long ones: called */
#endif

/* ---- lanes ------------------------------------------------------------------------------------
 */

typedef v8 vf;
typedef v8i vi;

RT_MATH_INLINE vf bc_v(float x) {
    return bc8(x);
}

RT_MATH_INLINE vf fma_v(vf a, vf b, vf c) {
    return fma8(a, b, c);
}

/* a where the comparison holds, else b. Masks may be joined by & and |. */
RT_MATH_INLINE vf sel_v(vi mask, vf a, vf b) {
    return sel8(mask, a, b);
}

RT_MATH_INLINE vi bits_v(vf x) {
    return (vi)x;
}

RT_MATH_INLINE vf from_bits_v(vi x) {
    return (vf)x;
}

RT_MATH_INLINE vi f2i_v(vf x) {
    return f2i8(x);
}

RT_MATH_INLINE vf round_v(vf x) {
    return round8(x);
}

RT_MATH_INLINE vf sqrt_v(vf x) {
    return sqrt8(x);
}

/* r and *q mended in the lanes where x is big. */
RT_MATH_INLINE vf reduce_big_v(vi big, vf x, vf r, vi *q) {
    for (int i = 0; any8(big) && i < 8; i++) {
        int32_t qi = (*q)[i];
        if (big[i])
            r[i] = rt_reduce_big(x[i], &qi);
        (*q)[i] = qi;
    }
    return r;
}

/* ---- signs: from here on the text has its twin in rt_math_1.h ----------------------------------
 */

RT_MATH_INLINE vf abs_v(vf x) {
    return from_bits_v(bits_v(x) & INT32_MAX);
}

RT_MATH_INLINE vf negate_if_v(vi mask, vf x) {
    return sel_v(mask, -x, x);
}

/* ---- circular functions -----------------------------------------------------------------------
 */

/* x = q pi/2 + r, |r| <= pi/4; r NaN where x is not finite. pi/2 in three parts while q has 15
 * bits. */
RT_MATH_INLINE vf reduce_v(vf x, vi *quadrant) {
    vi big = abs_v(x) > 48000.0f;
    vf y = sel_v(big | (x != x), bc_v(0.0f), x);
    vf n = round_v(y * 0.636619747f);
    vf r = fma_v(n, bc_v(-RT_HALF_PI), y);
    r = fma_v(n, bc_v(4.37113883e-8f), r);
    r = fma_v(n, bc_v(1.71512451e-15f), r);
    vi q = f2i_v(n);
    r = reduce_big_v(big, x, r, &q);
    *quadrant = q;
    return sel_v(abs_v(x) < RT_INF, r, bc_v(RT_NAN));
}

RT_MATH_INLINE vf sin_core_v(vf r) {
    vf z = r * r;
    vf p = fma_v(z, bc_v(-0.000195149565f), bc_v(0.00833215844f));
    p = fma_v(p, z, bc_v(-0.166666552f));
    return fma_v(z * r, p, r);
}

RT_MATH_INLINE vf cos_core_v(vf r) {
    vf z = r * r;
    vf p = fma_v(z, bc_v(2.44327839e-5f), bc_v(-0.0013887313f));
    p = fma_v(p, z, bc_v(0.0416666456f));
    return fma_v(z * z, p, fma_v(z, bc_v(-0.5f), bc_v(1.0f)));
}

/* The sine of r + q pi/2. */
RT_MATH_INLINE vf sin_quadrant_v(vf r, vi q) {
    vf s = sel_v((q & 1) != 0, cos_core_v(r), sin_core_v(r));
    return negate_if_v((q & 2) != 0, s);
}

/* 1.6 ulp, any argument. */
RT_MATH_FN vf sin_v(vf x) {
    vi q;
    vf r = reduce_v(x, &q);
    return sel_v(x == 0.0f, x, sin_quadrant_v(r, q));
}

/* rt_rng.h: random numbers that depend on the place in the program and not on who draws them, and
 * permutations that need no index array.
 *
 * Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, 2011): ten rounds of multiply and exchange turn a
 * counter of four words and a key of two into four random words. Element i of a tensor takes word
 * i%4 of block i/4, so its value is the same however many lanes or threads there are.
 */

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

/* rt_lanes.h: what kernels say beyond rt_math: eight lanes of other element types, gathers, joins,
 * faults.
 *
 * Names. name_v works on lanes of f32, name_vi on lanes of i32, name_1 and name_1i on one number
 * with the same meaning and bits. In lanes a bool is a mask (-1 or 0), in memory one byte (1 or 0).
 */

/* The first tile of thread t of n, of T tiles: floor(t*T/n). */
RT_INLINE int rt_tile(int t, int n, int T) {
    return (int)((int64_t)t * T / n);
}

/* ---- lanes of i32 -----------------------------------------------------------------------------
 */

RT_INLINE v8i min_vi(v8i x, v8i y) {
    return sel8i(x < y, x, y);
}

/* ---- memory -----------------------------------------------------------------------------------
 */

/* Lanes 0 … m-1. */
RT_INLINE v8i first8(int m) {
    return iota8() < bc8i(m);
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

RT_INLINE void st8m(unsigned char *p, v8i mask) {
    st8b(p, -mask);
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
#undef RT_GATHER

/* ---- joining the 32 lanes of a row: 16 8 4 2 1 -------------------------------------------------
 */

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

/* rt_team.h: the threads of a trainer: started once, woken for each piece of work, kept in step by
 * a barrier.
 *
 * A barrier is one counter a thread ("arrived") and one for all ("release"), each on its own cache
 * line: thread 0 waits until every counter has reached this round, then raises the common one. Who
 * waits spins briefly and then sleeps on the counter (futex), so that a neighbour process that
 * takes a core costs a wake-up and not a time slice. A team of one has no threads, and its barrier
 * is free.
 */

enum { RT_MAX_THREADS = 256 };

/* A counter that threads wait on, alone on its cache line. */
struct rt_flag {
    uint32_t value;
    uint32_t sleepers; /* threads that sleep on value, or are about to */
    char pad[56];
};

struct rt_team;

struct rt_thread {
    struct rt_flag arrived;
    struct rt_team *team;
    pthread_t id;
    int number;
    uint32_t round; /* barriers passed; only the thread itself uses it */
    uint32_t noise; /* state of the random delays */
    char pad[64 - sizeof(void *) - sizeof(pthread_t) - 3 * sizeof(int)];
};

struct rt_team {
    struct rt_flag release;            /* the barrier round that all have reached */
    struct rt_flag work;               /* pieces of work given out */
    void (*fn)(void *arg, int thread); /* NULL: stop */
    void *arg;
    struct rt_thread *thread; /* [n] */
    int n;
    int64_t spin; /* nanoseconds before sleeping */
};

/* ---- waiting ----------------------------------------------------------------------------------
 */

RT_INLINE void rt_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

RT_HOT void rt_flag_sleep(struct rt_flag *f, uint32_t seen) {
#ifdef __linux__
    syscall(SYS_futex, &f->value, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
#else
    (void)f, (void)seen;
    sched_yield();
#endif
}

/* Waits until f->value has reached `round`, wherever 32 bits have wrapped. */
RT_HOT void rt_flag_wait(struct rt_flag *f, uint32_t round, int64_t spin) {
    for (int64_t until = 0; spin > 0;) {
        for (int i = 0; i < 64; i++) {
            if ((int32_t)(__atomic_load_n(&f->value, __ATOMIC_ACQUIRE) - round) >= 0)
                return;
            rt_pause();
        }
        int64_t now = (int64_t)(rt_now() * 1e9);
        if (!until)
            until = now + spin;
        else if (now > until)
            break;
    }
    /* Sequentially consistent, as in rt_flag_raise: either this thread sees the new value, or the
     * raiser sees the sleeper. */
    __atomic_add_fetch(&f->sleepers, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        uint32_t seen = __atomic_load_n(&f->value, __ATOMIC_SEQ_CST);
        if ((int32_t)(seen - round) >= 0)
            break;
        rt_flag_sleep(f, seen);
    }
    __atomic_sub_fetch(&f->sleepers, 1, __ATOMIC_RELAXED);
}

RT_HOT void rt_flag_raise(struct rt_flag *f, uint32_t round) {
    __atomic_store_n(&f->value, round, __ATOMIC_SEQ_CST);
#ifdef __linux__
    if (__atomic_load_n(&f->sleepers, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &f->value, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
#endif
}

/* With -DRT_DELAY threads dawdle at random, which brings races out. */
RT_INLINE void rt_dawdle(struct rt_thread *t) {
#ifdef RT_DELAY
    t->noise = t->noise * 1664525u + 1013904223u;
    struct timespec pause = {0, (long)(t->noise >> 16) * 2};
    if (t->noise & 0x8000)
        nanosleep(&pause, NULL);
#else
    (void)t;
#endif
}

/* ---- barrier and work -------------------------------------------------------------------------
 */

RT_INLINE void rt_team_arrive(struct rt_team *team, int thread) {
    struct rt_thread *me = &team->thread[thread];
    me->round++;
    rt_flag_raise(&me->arrived, me->round);
}

/* Thread 0 waits for all the others. */
RT_INLINE void rt_team_gather(struct rt_team *team) {
    uint32_t round = ++team->thread[0].round;
    for (int t = 1; t < team->n; t++)
        rt_flag_wait(&team->thread[t].arrived, round, team->spin);
}

RT_HOT void rt_barrier_all(struct rt_team *team, int thread) {
    rt_dawdle(&team->thread[thread]);
    if (thread == 0) {
        rt_team_gather(team);
        rt_flag_raise(&team->release, team->thread[0].round);
    } else {
        rt_team_arrive(team, thread);
        rt_flag_wait(&team->release, team->thread[thread].round, team->spin);
    }
    rt_dawdle(&team->thread[thread]);
}

/* Inside the function of rt_team_run: waits for all threads; what each wrote before, all read
 * after. Every thread must pass the same barriers. A team of one passes at once. */
RT_INLINE void rt_barrier(struct rt_team *team, int thread) {
    if (team->n > 1)
        rt_barrier_all(team, thread);
}

/* Runs fn(arg, t) for each thread t, the caller as thread 0, and returns when all have returned.
 * Must not be called from inside fn. */
RT_HOT void rt_team_run(struct rt_team *team, void (*fn)(void *arg, int thread), void *arg) {
    if (team->n == 1) {
        fn(arg, 0);
        return;
    }
    team->fn = fn;
    team->arg = arg;
    rt_flag_raise(&team->work, team->work.value + 1);
    rt_dawdle(&team->thread[0]);
    fn(arg, 0);
    rt_team_gather(team);
}

RT_HOT void *rt_team_main(void *p) {
    struct rt_thread *me = (struct rt_thread *)p;
    struct rt_team *team = me->team;
    rt_flush_denormals();
    for (uint32_t given = 1;; given++) {
        rt_flag_wait(&team->work, given, team->spin);
        if (!team->fn)
            return NULL;
        rt_dawdle(me);
        team->fn(team->arg, me->number);
        rt_team_arrive(team, me->number);
    }
}

/* Ends the threads; the memory given to rt_team_start is free again. */
RT_FN void rt_team_stop(struct rt_team *team) {
    if (team->n > 1) {
        team->fn = NULL;
        rt_flag_raise(&team->work, team->work.value + 1);
    }
    for (int t = 1; t < team->n; t++)
        pthread_join(team->thread[t].id, NULL);
    team->n = 1;
}

/* Bytes that rt_team_start needs for n threads. */
RT_FN size_t rt_team_bytes(int n) {
    return (size_t)n * sizeof(struct rt_thread);
}

/* Starts n-1 threads (1 <= n <= RT_MAX_THREADS) in `memory` (aligned to 64), which must live until
 * rt_team_stop. The caller becomes thread 0. Denormals are flushed in all of them. RT_ENV when a
 * thread cannot be had; the team is then one thread, and usable. */
RT_FN enum rt_status rt_team_start(struct rt *rt, struct rt_team *team, int n, void *memory) {
    memset(team, 0, sizeof *team);
    memset(memory, 0, rt_team_bytes(n));
    team->thread = (struct rt_thread *)memory;
    team->spin = n > rt_cores() ? 0 : 30000;
    team->n = 1;
    rt_flush_denormals();
    for (int t = 0; t < n; t++) {
        struct rt_thread *one = &team->thread[t];
        one->team = team;
        one->number = t;
        one->noise = 12345u + 977u * (uint32_t)t;
        int error = t ? pthread_create(&one->id, NULL, rt_team_main, one) : 0;
        if (error) {
            rt_team_stop(team);
            return rt_fail(rt, RT_ENV, "cannot start thread %d of %d: %s", t + 1, n,
                           strerror(error));
        }
        team->n = t + 1;
    }
    return RT_OK;
}

/* rt_text.h: growing texts, and how numbers, booleans and strings are printed.
 *
 * A format is Python's: [[fill]align][sign][0][width][,][.digits] and one of d e f g % s, each part
 * optional. Without a format a real prints as NumPy prints a scalar: the shortest digits that read
 * back as the same number, 1e-05 below 1e-4 and from 1e16 on.
 */

/* ---- a growing text ---------------------------------------------------------------------------
 */

/* What would pass `limit` or finds no memory is dropped and `failed` is set. */
struct rt_buf {
    struct rt *rt;
    char *text; /* terminated by 0 once anything was put; NULL before */
    size_t size, room, limit;
    bool failed;
};

RT_FN void rt_buf_init(struct rt_buf *b, struct rt *rt, size_t limit) {
    b->rt = rt;
    b->text = NULL;
    b->size = b->room = 0;
    b->limit = limit;
    b->failed = false;
}

RT_FN void rt_buf_free(struct rt_buf *b) {
    b->rt->release(b->rt, b->text);
    rt_buf_init(b, b->rt, b->limit);
}

/* Empties the text and keeps its memory. */
RT_FN void rt_buf_clear(struct rt_buf *b) {
    b->size = 0;
    b->failed = false;
    if (b->text)
        b->text[0] = 0;
}

/* Makes room for n more bytes and the end. */
RT_FN bool rt_buf_grow(struct rt_buf *b, size_t n) {
    if (b->failed || n > b->limit - b->size) {
        b->failed = true;
        return false;
    }
    if (b->size + n < b->room)
        return true;
    size_t room = 2 * (b->size + n) + 64;
    char *text = (char *)b->rt->alloc(b->rt, room);
    if (!text) {
        b->failed = true;
        return false;
    }
    if (b->text)
        memcpy(text, b->text, b->size);
    b->rt->release(b->rt, b->text);
    b->text = text;
    b->room = room;
    return true;
}

RT_FN void rt_put(struct rt_buf *b, const char *text, size_t n) {
    if (!rt_buf_grow(b, n))
        return;
    memcpy(b->text + b->size, text, n);
    b->size += n;
    b->text[b->size] = 0;
}

RT_FN void rt_puts(struct rt_buf *b, const char *text) {
    rt_put(b, text, strlen(text));
}

RT_FN void rt_put_many(struct rt_buf *b, const char *text, size_t n, int times) {
    for (int i = 0; i < times; i++)
        rt_put(b, text, n);
}

RT_FN __attribute__((format(printf, 2, 3))) void rt_putf(struct rt_buf *b, const char *format,
                                                         ...) {
    va_list ap, again;
    va_start(ap, format);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    if (n >= 0 && rt_buf_grow(b, (size_t)n)) {
        vsnprintf(b->text + b->size, (size_t)n + 1, format, again);
        b->size += (size_t)n;
    }
    va_end(again);
}

/* Writes the text to stream 1 or 2 and empties it. RT_ENV when part of it was dropped. */
RT_FN enum rt_status rt_flush(struct rt_buf *b, int stream) {
    bool failed = b->failed;
    if (b->size)
        b->rt->write(b->rt, stream, b->text, b->size);
    rt_buf_clear(b);
    return failed ? rt_fail(b->rt, RT_ENV, "no memory for a printed text") : RT_OK;
}

/* ---- formats ----------------------------------------------------------------------------------
 */

struct rt_format {
    const char *fill; /* one character of UTF-8 */
    int fill_size;
    char align; /* < > ^ = or 0 */
    char sign;  /* + - or space */
    bool comma;
    int width, digits; /* digits -1: not given */
    char type;         /* d e f g % s or 0 */
};

RT_FN int rt_utf8_size(const char *s) {
    unsigned char c = (unsigned char)s[0];
    int n = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    for (int i = 1; i < n; i++)
        if (((unsigned char)s[i] & 0xc0) != 0x80)
            return 1;
    return n;
}

RT_FN const char *rt_format_number(const char *s, int *value) {
    *value = 0;
    for (; *s >= '0' && *s <= '9'; s++)
        *value = *value < 10000 ? *value * 10 + (*s - '0') : *value;
    return s;
}

/* Reads a format (NULL is the empty one); false when it is none. */
RT_FN bool rt_format_parse(const char *s, struct rt_format *f) {
    f->fill = " ";
    f->fill_size = 1;
    f->align = f->type = 0;
    f->sign = '-';
    f->comma = false;
    f->width = 0;
    f->digits = -1;
    if (!s || !*s)
        return true;
    int n = rt_utf8_size(s);
    if (s[n] && strchr("<>^=", s[n])) {
        f->fill = s;
        f->fill_size = n;
        f->align = s[n];
        s += n + 1;
    } else if (strchr("<>^=", *s)) {
        f->align = *s++;
    }
    if (*s == '+' || *s == '-' || *s == ' ')
        f->sign = *s++;
    if (*s == '0') {
        s++;
        if (!f->align) {
            f->fill = "0";
            f->align = '=';
        }
    }
    s = rt_format_number(s, &f->width);
    if (*s == ',') {
        f->comma = true;
        s++;
    }
    if (*s == '.') {
        const char *from = s + 1;
        s = rt_format_number(from, &f->digits);
        if (s == from)
            return false;
    }
    if (*s && strchr("defg%s", *s))
        f->type = *s++;
    return *s == 0;
}

/* Characters, not bytes, of n bytes of UTF-8. */
RT_FN int rt_width(const char *text, size_t n) {
    int width = 0;
    for (size_t i = 0; i < n; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

/* Puts sign and text, padded to the width; `align` is what an absent one means. */
RT_FN void rt_put_padded(struct rt_buf *b, const struct rt_format *f, char align, const char *sign,
                         const char *text, size_t n) {
    int pad = f->width - rt_width(text, n) - (int)strlen(sign);
    if (pad < 0)
        pad = 0;
    if (f->align)
        align = f->align;
    int before = align == '<' ? 0 : align == '^' ? pad / 2 : pad;
    if (align == '=')
        rt_puts(b, sign);
    rt_put_many(b, f->fill, (size_t)f->fill_size, before);
    if (align != '=')
        rt_puts(b, sign);
    rt_put(b, text, n);
    rt_put_many(b, f->fill, (size_t)f->fill_size, pad - before);
}

/* Puts a number given as sign and unsigned text: thousands separated, then padded. */
RT_FN void rt_put_number(struct rt_buf *b, const struct rt_format *f, bool negative,
                         const char *text) {
    char sign[2] = {negative ? '-' : f->sign == '-' ? (char)0 : f->sign, 0};
    int whole = (int)strspn(text, "0123456789");
    if (!f->comma || whole == 0) {
        rt_put_padded(b, f, '>', sign, text, strlen(text));
        return;
    }
    /* Leading zeros take part in the grouping, as Python does it. */
    int zeros = 0, rest = (int)strlen(text) - whole + (int)strlen(sign);
    if (f->align == '=' && f->fill[0] == '0')
        while (whole + zeros + (whole + zeros - 1) / 3 + rest < f->width)
            zeros++;
    struct rt_buf grouped;
    rt_buf_init(&grouped, b->rt, b->limit);
    for (int i = 0; i < zeros + whole; i++) {
        if (i && (zeros + whole - i) % 3 == 0)
            rt_put(&grouped, ",", 1);
        rt_put(&grouped, i < zeros ? "0" : text + i - zeros, 1);
    }
    rt_puts(&grouped, text + whole);
    if (grouped.failed)
        b->failed = true;
    else
        rt_put_padded(b, f, '>', sign, grouped.text, grouped.size);
    rt_buf_free(&grouped);
}

/* ---- numbers ----------------------------------------------------------------------------------
 */

enum { RT_NUMBER = 512 }; /* holds %f of any double with 60 digits, and more digits are not given */

/* The fewest digits d1 d2 … that read back as |x| (finite): |x| is d1.d2… * 10^*exponent. Gives
 * how many there are. The bits are compared: with denormals flushed, tiny numbers all look equal.
 */
RT_FN int rt_shortest(double x, bool is_f32, char digits[20], int *exponent) {
    char text[40];
    for (int n = 1;; n++) {
        snprintf(text, sizeof text, "%.*e", n - 1, fabs(x));
        double back = strtod(text, NULL);
        float back32 = strtof(text, NULL), x32 = (float)fabs(x);
        double x64 = fabs(x);
        bool same =
            is_f32 ? memcmp(&back32, &x32, sizeof x32) == 0 : memcmp(&back, &x64, sizeof x64) == 0;
        if (!same && n < (is_f32 ? 9 : 17))
            continue;
        *exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
        digits[0] = text[0];
        memcpy(digits + 1, text + 2, (size_t)n - 1);
        while (n > 1 && digits[n - 1] == '0')
            n--;
        digits[n] = 0;
        return n;
    }
}

/* |x| as NumPy writes a scalar. */
RT_FN void rt_real_default(char *out, double x, bool is_f32) {
    char digits[20];
    int e, n = 0;
    if (!isfinite(x)) {
        strcpy(out, isnan(x) ? "nan" : "inf");
        return;
    }
    int count = rt_shortest(x, is_f32, digits, &e);
    if (digits[0] != '0' && (fabs(x) < 1e-4 || fabs(x) >= 1e16)) {
        snprintf(out, RT_NUMBER, "%c%s%se%+03d", digits[0], count > 1 ? "." : "", digits + 1, e);
        return;
    }
    int last = e - count + 1 < -1 ? e - count + 1 : -1;
    for (int power = e < 0 ? 0 : e; power >= last; power--) {
        if (power == -1)
            out[n++] = '.';
        out[n++] = power <= e && power > e - count ? digits[e - power] : '0';
    }
    out[n] = 0;
}

/* |x| with so many digits and no type: 1.0, 12.5, and 1.25e+01 where g would show no fraction. */
RT_FN void rt_real_precise(char *out, double x, int digits) {
    snprintf(out, RT_NUMBER, "%.*e", digits - 1, x);
    char *e = strchr(out, 'e');
    if (!e)
        return; /* inf, nan */
    long exponent = strtol(e + 1, NULL, 10);
    if (exponent >= -4 && exponent < digits - 1) {
        snprintf(out, RT_NUMBER, "%.*g", digits, x);
        if (!strpbrk(out, "."))
            strcat(out, ".0");
        return;
    }
    char *end = e;
    while (strchr(out, '.') && end[-1] == '0')
        end--;
    if (end[-1] == '.')
        end--;
    memmove(end, e, strlen(e) + 1);
}

/* |x| by the type and digits of the format. */
RT_FN void rt_real_text(char *out, const struct rt_format *f, double x, bool is_f32) {
    int digits = f->digits < 0 ? 6 : f->digits > 60 ? 60 : f->digits;
    x = fabs(x);
    switch (f->type) {
    case 'e':
        snprintf(out, RT_NUMBER, "%.*e", digits, x);
        break;
    case 'f':
        snprintf(out, RT_NUMBER, "%.*f", digits, x);
        break;
    case 'g':
        snprintf(out, RT_NUMBER, "%.*g", digits ? digits : 1, x);
        break;
    case '%':
        snprintf(out, RT_NUMBER, "%.*f%%", digits, x * 100);
        break;
    case 'd':
        snprintf(out, RT_NUMBER, "%.0f", x);
        break;
    default:
        if (f->digits < 0) {
            rt_real_default(out, x, is_f32);
            break;
        }
        rt_real_precise(out, x, digits ? digits : 1);
    }
}

/* A format that is none cannot come from nnc; it is shown where the value would stand. */
RT_FN bool rt_format_or_note(struct rt_buf *b, const char *format, struct rt_format *f) {
    if (rt_format_parse(format, f))
        return true;
    rt_putf(b, "{bad format '%s'}", format);
    return false;
}

/* Prints a real that was an f32 or f64 (the default form has the digits of that type). */
RT_FN void rt_print_real(struct rt_buf *b, double x, bool is_f32, const char *format) {
    struct rt_format f;
    char text[RT_NUMBER];
    if (!rt_format_or_note(b, format, &f))
        return;
    rt_real_text(text, &f, x, is_f32);
    rt_put_number(b, &f, !isnan(x) && signbit(x), text);
}

RT_FN void rt_print_int(struct rt_buf *b, int64_t x, const char *format) {
    struct rt_format f;
    char text[RT_NUMBER];
    if (!rt_format_or_note(b, format, &f))
        return;
    if (f.type && strchr("efg%", f.type)) {
        rt_real_text(text, &f, (double)x, false);
    } else {
        uint64_t size = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
        snprintf(text, sizeof text, "%llu", (unsigned long long)size);
    }
    rt_put_number(b, &f, x < 0, text);
}

/* digits cuts the text to so many characters. */
RT_FN void rt_print_text(struct rt_buf *b, const char *x, const char *format) {
    struct rt_format f;
    if (!rt_format_or_note(b, format, &f))
        return;
    size_t n = 0;
    for (int i = 0; x[n] && (f.digits < 0 || i < f.digits); i++)
        n += (size_t)rt_utf8_size(x + n);
    rt_put_padded(b, &f, '<', "", x, n);
}

RT_FN void rt_print_bool(struct rt_buf *b, bool x, const char *format) {
    struct rt_format f;
    if (rt_format_parse(format, &f) && f.type && f.type != 's')
        rt_print_int(b, x, format);
    else
        rt_print_text(b, x ? "true" : "false", format);
}

/* rt_array.h: tensors printed as NumPy prints arrays: nested brackets, elements of equal width,
 * lines of 75 characters, the middle left out beyond 1000 elements. */

enum { RT_MAX_RANK = 8, RT_LINE = 75, RT_EDGE = 3, RT_SHOWN = 1000, RT_FRACTION = 8 };

/* rt_file.h: whole files in memory, .gz inflated, and files written so that they are never half
 * there.
 *
 * A file is kept in rt->files until rt_files_drop, so that two fields of one file read it once.
 */

struct rt_file {
    struct rt_file *next;
    char *path;
    char *text; /* the bytes, inflated; text[size] is 0 */
    size_t size;
};

/* ---- reading ----------------------------------------------------------------------------------
 */

RT_FN enum rt_status rt_read_fd(struct rt *rt, int fd, const char *path, char **text,
                                size_t *size) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return rt_fail(rt, RT_ENV, "cannot read '%s': %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return rt_fail(rt, RT_ENV, "cannot read '%s': not a file", path);
    size_t n = (size_t)st.st_size, done = 0;
    char *bytes = (char *)rt->alloc(rt, n + 1);
    if (!bytes)
        return rt_fail(rt, RT_ENV, "no memory for '%s' (%zu bytes)", path, n);
    while (done < n) {
        ssize_t got = read(fd, bytes + done, n - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            rt->release(rt, bytes);
            return rt_fail(rt, RT_ENV, "cannot read '%s': %s", path,
                           got < 0 ? strerror(errno) : "it became shorter");
        }
        done += (size_t)got;
    }
    bytes[n] = 0;
    *text = bytes;
    *size = n;
    return RT_OK;
}

#ifdef RT_GZ
/* Doubles the room of an inflated text. */
RT_FN bool rt_gz_grow(struct rt *rt, char **out, size_t *room, size_t used) {
    size_t more = *room > (size_t)PTRDIFF_MAX / 2 ? 0 : *room * 2;
    char *bigger = more ? (char *)rt->alloc(rt, more + 1) : NULL;
    if (!bigger)
        return false;
    memcpy(bigger, *out, used);
    rt->release(rt, *out);
    *out = bigger;
    *room = more;
    return true;
}

/* Inflates into *out, growing it; Z_STREAM_END when all members were whole. */
RT_FN int rt_gz_run(struct rt *rt, z_stream *z, char **out, size_t *room, size_t *used) {
    int state = Z_OK;
    while (state == Z_OK) {
        if (*used == *room && !rt_gz_grow(rt, out, room, *used))
            return Z_MEM_ERROR;
        size_t space = *room - *used < UINT_MAX ? *room - *used : UINT_MAX;
        z->next_out = (unsigned char *)*out + *used;
        z->avail_out = (unsigned)space;
        state = inflate(z, Z_NO_FLUSH);
        *used += space - z->avail_out;
        if (state == Z_BUF_ERROR && z->avail_out == 0)
            state = Z_OK;
        if (state == Z_STREAM_END && z->avail_in > 0)
            state = inflateReset(z); /* another member follows */
    }
    return state;
}

RT_FN enum rt_status rt_inflate(struct rt *rt, const char *path, char **text, size_t *size) {
    size_t room = *size < 1024 ? 4096 : *size * 4, used = 0;
    if (*size > UINT_MAX)
        return rt_fail(rt, RT_USAGE, "'%s': gzip files over 4 GB are not read", path);
    char *out = (char *)rt->alloc(rt, room + 1);
    z_stream z;
    memset(&z, 0, sizeof z);
    if (!out || inflateInit2(&z, 16 + MAX_WBITS) != Z_OK) {
        rt->release(rt, out);
        return rt_fail(rt, RT_ENV, "no memory to inflate '%s'", path);
    }
    z.next_in = (unsigned char *)*text;
    z.avail_in = (unsigned)*size;
    int state = rt_gz_run(rt, &z, &out, &room, &used);
    inflateEnd(&z);
    if (state != Z_STREAM_END) {
        rt->release(rt, out);
        if (state == Z_MEM_ERROR)
            return rt_fail(rt, RT_ENV, "no memory to inflate '%s'", path);
        return rt_fail(rt, RT_USAGE, "'%s' is not a whole gzip file: it is %s", path,
                       state == Z_BUF_ERROR ? "cut short" : "damaged");
    }
    rt->release(rt, *text);
    out[used] = 0;
    *text = out;
    *size = used;
    return RT_OK;
}
#else
RT_FN enum rt_status rt_inflate(struct rt *rt, const char *path, char **text, size_t *size) {
    (void)text, (void)size;
    return rt_fail(rt, RT_USAGE,
                   "'%s' is a gzip file, and this trainer was compiled without -DRT_GZ", path);
}
#endif

/* Reads a file, inflated when its first bytes say gzip. RT_ENV: it cannot be opened or read, or
 * there is no memory. RT_USAGE: broken gzip. */
RT_FN enum rt_status rt_file_read(struct rt *rt, const char *path, char **text, size_t *size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return rt_fail(rt, RT_ENV, "cannot open '%s': %s", path, strerror(errno));
    enum rt_status s = rt_read_fd(rt, fd, path, text, size);
    close(fd);
    if (s || *size < 2 || memcmp(*text, "\x1f\x8b", 2) != 0)
        return s;
    s = rt_inflate(rt, path, text, size);
    if (s)
        rt->release(rt, *text);
    return s;
}

/* Releases all files; call when every source is read. */
RT_FN void rt_files_drop(struct rt *rt) {
    while (rt->files) {
        struct rt_file *f = rt->files;
        rt->files = f->next;
        rt->release(rt, f->text);
        rt->release(rt, f);
    }
}

/* ---- writing ----------------------------------------------------------------------------------
 */

/* Under a temporary name until it is whole: whatever happens, the old file or the new one is there.
 * What is there and no file (/dev/stdout, a pipe) is written to as it is. */
struct rt_out {
    struct rt *rt;
    const char *path;
    char temporary[4096];
    bool direct; /* no temporary name */
    int fd;      /* -1 after an error */
    int error;
};

RT_FN enum rt_status rt_out_open(struct rt_out *out, struct rt *rt, const char *path) {
    out->rt = rt;
    out->path = path;
    out->error = 0;
    struct stat st;
    out->direct = stat(path, &st) == 0 && !S_ISREG(st.st_mode);
    int n = out->direct ? snprintf(out->temporary, sizeof out->temporary, "%s", path)
                        : snprintf(out->temporary, sizeof out->temporary, "%s.%ld.tmp", path,
                                   (long)getpid());
    if (n < 0 || (size_t)n >= sizeof out->temporary)
        return rt_fail(rt, RT_ENV, "cannot write '%.200s…': the name is too long", path);
    out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (out->fd < 0)
        return rt_fail(rt, RT_ENV, "cannot write '%s': %s", path, strerror(errno));
    return RT_OK;
}

/* An error is kept for rt_out_close. */
RT_FN void rt_out_write(struct rt_out *out, const void *bytes, size_t n) {
    const char *from = (const char *)bytes;
    while (n > 0 && !out->error) {
        ssize_t done = write(out->fd, from, n < (1u << 30) ? n : 1u << 30);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            out->error = errno;
            return;
        }
        from += done;
        n -= (size_t)done;
    }
}

/* The folder's entry must be on disk too before the new name counts. */
RT_FN void rt_sync_folder(const char *path) {
    char folder[4096];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + (slash == path) : 1;
    if (n >= sizeof folder)
        return;
    memcpy(folder, slash ? path : ".", n);
    folder[n] = 0;
    int fd = open(folder, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

/* Syncs and gives the file its name; after an error the temporary file is gone and the old one
 * stays. */
RT_FN enum rt_status rt_out_close(struct rt_out *out) {
    if (!out->error && !out->direct && fsync(out->fd) != 0)
        out->error = errno;
    if (close(out->fd) != 0 && !out->error)
        out->error = errno;
    if (!out->error && !out->direct && rename(out->temporary, out->path) != 0)
        out->error = errno;
    if (out->error) {
        if (!out->direct)
            unlink(out->temporary);
        return rt_fail(out->rt, RT_ENV, "cannot write '%s': %s", out->path, strerror(out->error));
    }
    if (!out->direct)
        rt_sync_folder(out->path);
    return RT_OK;
}

/* rt_data.h: what a data set is made of: fields, the rows read for them, where files are, splits.
 *
 * The readers are in rt_csv.h and rt_npy.h. They turn a file into rows of the type that the
 * generated program keeps in memory, checked against the field's declaration, so that kernels can
 * trust them.
 */

/* A field as declared: what a source must hold. A const table in the generated file. */
struct rt_field {
    const char *name;  /* "digits.image" */
    enum rt_type type; /* as kept in memory */
    int rank;          /* of one row */
    int64_t dims[RT_MAX_RANK];
    const char *range_why; /* "digits.nn:31" when the values index something, else NULL */
    int64_t range;         /* then they must be 0 … range-1 */
};

/* The rows that were read. */
struct rt_source {
    const struct rt_field *field;
    char file[256]; /* for messages: the name without folders */
    enum rt_type type;
    int64_t rows, row_elements;
    void *data; /* [rows][row_elements]; rt_source_free releases it */
};

/* A selection of a source's rows: position p (0 <= p < count) is row rt_row(rows, p). */
struct rt_rows {
    const char *name; /* "digits.train" */
    int64_t total;    /* rows of the source */
    int64_t first, count;
    int64_t gap_at, gap; /* folds: positions from gap_at on are `gap` rows further */
    bool shuffled;
    uint64_t key;
};

/* A part of a split: the fraction amount/of, `of` a power of ten up to 10^9, or, where `of` is 0,
 * `amount` rows. One split has fractions only or rows only. */
struct rt_part {
    const char *name; /* "digits.train" */
    int64_t amount, of;
};

/* ---- fields -----------------------------------------------------------------------------------
 */

/* "[8, 8, 1]", or "one number" for a row of rank 0. */
RT_FN const char *rt_shape_text(char *out, size_t room, int rank, const int64_t *dims) {
    size_t n = 0;
    if (rank == 0) {
        snprintf(out, room, "one number");
        return out;
    }
    for (int i = 0; i < rank && n < room; i++)
        n += (size_t)snprintf(out + n, room - n, "%s%lld", i ? ", " : "[", (long long)dims[i]);
    if (n < room)
        snprintf(out + n, room - n, "]");
    return out;
}

RT_FN void rt_source_free(struct rt *rt, struct rt_source *s) {
    rt->release(rt, s->data);
    s->data = NULL;
}

/* ---- sections and splits ----------------------------------------------------------------------
 */

/* The section that n fields make. All must have the same number of rows, and no more than an int32
 * can count. */
RT_FN enum rt_status rt_section(struct rt *rt, const char *name,
                                const struct rt_source *const *fields, int n, struct rt_rows *out) {
    memset(out, 0, sizeof *out);
    out->name = name;
    out->total = out->count = out->gap_at = fields[0]->rows;
    for (int i = 0; i < n; i++) {
        if (fields[i]->rows != out->total)
            return rt_fail(rt, RT_USAGE, "%s: %s has %lld rows (%s), %s has %lld (%s)", name,
                           fields[0]->field->name, (long long)out->total, fields[0]->file,
                           fields[i]->field->name, (long long)fields[i]->rows, fields[i]->file);
    }
    if (out->total >= INT32_MAX)
        return rt_fail(rt, RT_USAGE, "%s has %lld rows: more than 2^31-1 are not supported", name,
                       (long long)out->total);
    return RT_OK;
}

RT_FN void rt_shuffle_rows(struct rt *rt, struct rt_rows *rows, bool in_order, uint32_t place) {
    struct rt_place at = {rt->seed, 0, 0, place};
    rows->shuffled = !in_order;
    rows->key = in_order ? 0 : rt_key(&at);
}

/* Part k takes positions floor(n*(f1+…+fk-1)) … floor(n*(f1+…+fk))-1 of the n rows, shuffled by
 * the seed or in file order. The sum is exact: 0.7, 0.2 and 0.1 lose no row. */
RT_FN enum rt_status rt_split(struct rt *rt, const struct rt_rows *all, bool in_order,
                              uint32_t place, const struct rt_part *parts, int n,
                              struct rt_rows *out) {
    const int64_t unit = 1000000000;
    int64_t sum = 0, from = 0;
    for (int k = 0; k < n; k++) {
        bool rows = parts[k].of == 0;
        sum += rows ? parts[k].amount : parts[k].amount * (unit / parts[k].of);
        int64_t to = rows ? sum : all->count / unit * sum + all->count % unit * sum / unit;
        if (to > all->count)
            return rt_fail(rt, RT_USAGE, "the split of %s wants %lld rows up to %s; it has %lld",
                           all->name, (long long)to, parts[k].name, (long long)all->count);
        out[k] = *all;
        out[k].name = parts[k].name;
        out[k].first = from;
        out[k].count = out[k].gap_at = to - from;
        rt_shuffle_rows(rt, &out[k], in_order, place);
        from = to;
    }
    return RT_OK;
}

/* The row of the source at a position, 0 <= position < count. */
RT_HOT int64_t rt_row(const struct rt_rows *rows, int64_t position) {
    int64_t at = rows->first + position + (position >= rows->gap_at ? rows->gap : 0);
    return rows->shuffled ? (int64_t)rt_permute((uint64_t)at, (uint64_t)rows->total, rows->key)
                          : at;
}

/* rt_batch.h: walks a split in batches.
 *
 * The order of an epoch is a permutation that (seed, loop, entry, epoch) names, so the number of
 * batches given is the whole state: setting `round` resumes anywhere.
 */

struct rt_batches {
    const struct rt_rows *rows;
    int64_t batch;
    int64_t rounds;    /* batches in all */
    int64_t round;     /* batches given */
    int64_t per_epoch; /* batches in one epoch */
    bool shuffle;
    struct rt_place at; /* the loop, and how often it was entered */
    int64_t epoch;      /* whose key is held, -1 none */
    uint64_t key;
};

/* Begins a walk over `rows`. drop: rows that do not fill a batch are left out; else the last batch
 * is smaller. steps 0: one epoch; else that many batches over as many epochs as they take. `place`
 * and `entry` (how often the loop was entered) name the order. RT_USAGE: no rows, or under drop
 * fewer than a batch. */
RT_FN enum rt_status rt_batches_start(struct rt *rt, struct rt_batches *b,
                                      const struct rt_rows *rows, int64_t batch, bool shuffle,
                                      bool drop, int64_t steps, uint32_t place, uint32_t entry) {
    memset(b, 0, sizeof *b);
    b->rows = rows;
    b->batch = batch;
    b->per_epoch = drop ? rows->count / batch : (rows->count + batch - 1) / batch;
    b->rounds = steps ? steps : b->per_epoch;
    b->shuffle = shuffle;
    b->at.seed = rt->seed;
    b->at.count = entry;
    b->at.place = place;
    b->epoch = -1;
    if (rows->count == 0)
        return rt_fail(rt, RT_USAGE, "%s has no rows", rows->name);
    if (b->per_epoch == 0)
        return rt_fail(
            rt, RT_USAGE,
            "%s has %lld rows, fewer than a batch of %lld (last=\"keep\" takes them all the same)",
            rows->name, (long long)rows->count, (long long)batch);
    return RT_OK;
}

/* Fills index[0 … *count-1] with rows of the source (*count <= batch); false when there are no
 * more. */
RT_HOT bool rt_batches_next(struct rt_batches *b, int32_t *index, int64_t *count) {
    if (b->round >= b->rounds)
        return false;
    int64_t epoch = b->round / b->per_epoch, from = b->round % b->per_epoch * b->batch;
    int64_t left = b->rows->count - from, n = left < b->batch ? left : b->batch;
    if (epoch != b->epoch) {
        b->epoch = epoch;
        b->at.step = (uint32_t)epoch;
        b->key = rt_key(&b->at);
    }
    for (int64_t i = 0; i < n; i++) {
        uint64_t at = (uint64_t)(from + i);
        if (b->shuffle)
            at = rt_permute(at, (uint64_t)b->rows->count, b->key);
        index[i] = (int32_t)rt_row(b->rows, (int64_t)at);
    }
    *count = n;
    b->round++;
    return true;
}

/* rt_store.h: parameters and states in safetensors files, which PyTorch, JAX and others open.
 *
 * The file: 8 bytes, the length of a header (little-endian); the header, JSON: {"key": {"dtype":
 * "F32", "shape": [784, 128], "data_offsets": [from, to]}, …}; the numbers, row-major. A file is
 * loaded whole or not at all: everything is checked before the first number is copied.
 */

/* How a tensor lies in memory. Panels: the last dimension N is cut into panels of 16 columns; with
 * K the product of the other dimensions, [K][N] is kept as [(N+15)/16][K][16], padding lanes 0. */
enum rt_layout { RT_ROW_MAJOR, RT_PANELS16 };

/* A tensor of the model; a table of these in the generated file, `data` set at start. */
struct rt_tensor {
    const char *key; /* "net.linear[0].w" */
    enum rt_type type;
    enum rt_layout layout;
    int rank;
    int64_t dims[RT_MAX_RANK];
    void *data;
};

/* ---- layouts ----------------------------------------------------------------------------------
 */

RT_FN int64_t rt_tensor_elements(const struct rt_tensor *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

/* Bytes in memory, padding lanes counted. */
RT_FN size_t rt_tensor_bytes(const struct rt_tensor *t) {
    int64_t n = rt_tensor_elements(t);
    if (t->layout == RT_PANELS16 && t->rank && n) {
        int64_t N = t->dims[t->rank - 1];
        n = n / N * ((N + 15) / 16 * 16);
    }
    return (size_t)n * rt_type_size(t->type);
}

/* Copies between memory and a row-major block: columns of a panel are neighbours in both. */
RT_FN void rt_tensor_move(const struct rt_tensor *t, char *row_major, bool to_memory) {
    size_t size = rt_type_size(t->type);
    char *memory = (char *)t->data;
    int64_t n = rt_tensor_elements(t);
    if (t->layout == RT_ROW_MAJOR || t->rank == 0 || n == 0) {
        memcpy(to_memory ? memory : row_major, to_memory ? row_major : memory, (size_t)n * size);
        return;
    }
    int64_t N = t->dims[t->rank - 1], K = n / N;
    if (to_memory)
        memset(memory, 0, rt_tensor_bytes(t));
    for (int64_t p = 0; p < (N + 15) / 16; p++) {
        size_t columns = (size_t)(N - 16 * p < 16 ? N - 16 * p : 16);
        for (int64_t k = 0; k < K; k++) {
            char *panel = memory + (size_t)((p * K + k) * 16) * size;
            char *row = row_major + (size_t)(k * N + 16 * p) * size;
            memcpy(to_memory ? panel : row, to_memory ? row : panel, columns * size);
        }
    }
}

/* Fills a row-major block from the tensor. */
RT_FN void rt_tensor_export(const struct rt_tensor *t, void *row_major) {
    rt_tensor_move(t, (char *)row_major, false);
}

/* Sets the tensor from a row-major block. */
RT_FN void rt_tensor_import(const struct rt_tensor *t, const void *row_major) {
    rt_tensor_move(t, (char *)(uintptr_t)row_major, true);
}

/* Whether the key is the prefix itself or inside it ("net" holds "net.w" and "net[0].w", not
 * "network.w"); NULL holds all. */
RT_FN bool rt_key_in(const char *key, const char *prefix) {
    size_t n = prefix ? strlen(prefix) : 0;
    return n == 0 || (strncmp(key, prefix, n) == 0 && (!key[n] || key[n] == '.' || key[n] == '['));
}

/* ---- saving -----------------------------------------------------------------------------------
 */

RT_FN const char *rt_store_dtype(enum rt_type type) {
    static const char *const name[] = {"F32", "F64", "I32", "I64", "U8",
                                       "I8",  "I16", "U16", "BOOL"};
    return name[type];
}

RT_FN void rt_put_json(struct rt_buf *b, const char *text) {
    rt_put(b, "\"", 1);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            rt_put(b, "\\", 1);
        if ((unsigned char)*text < 0x20)
            rt_putf(b, "\\u%04x", *text);
        else
            rt_put(b, text, 1);
    }
    rt_put(b, "\"", 1);
}

RT_FN void rt_store_header(struct rt_buf *b, const struct rt_tensor *tensors, int n,
                           const char *prefix) {
    int64_t at = 0;
    const char *comma = "";
    rt_puts(b, "{");
    for (int i = 0; i < n; i++) {
        const struct rt_tensor *t = &tensors[i];
        if (!rt_key_in(t->key, prefix))
            continue;
        int64_t bytes = rt_tensor_elements(t) * (int64_t)rt_type_size(t->type);
        rt_puts(b, comma);
        rt_put_json(b, t->key);
        rt_putf(b, ":{\"dtype\":\"%s\",\"shape\":[", rt_store_dtype(t->type));
        for (int d = 0; d < t->rank; d++)
            rt_putf(b, "%s%lld", d ? "," : "", (long long)t->dims[d]);
        rt_putf(b, "],\"data_offsets\":[%lld,%lld]}", (long long)at, (long long)(at + bytes));
        at += bytes;
        comma = ",";
    }
    rt_puts(b, "}");
    while (b->size % 8 && !b->failed)
        rt_puts(b, " "); /* the numbers are aligned in the file */
}

/* Saves the tensors inside `prefix` (NULL: all), in the order of the table. The file is replaced as
 * a whole. RT_ENV when it cannot be written. */
RT_FN enum rt_status rt_save(struct rt *rt, const char *path, const struct rt_tensor *tensors,
                             int n, const char *prefix) {
    struct rt_buf header;
    struct rt_out out;
    size_t most = 0;
    rt_buf_init(&header, rt, SIZE_MAX / 4);
    rt_store_header(&header, tensors, n, prefix);
    for (int i = 0; i < n; i++)
        if (tensors[i].layout != RT_ROW_MAJOR && rt_tensor_bytes(&tensors[i]) > most)
            most = rt_tensor_bytes(&tensors[i]);
    void *block = most ? rt->alloc(rt, most) : NULL;
    enum rt_status s = header.failed || (most && !block)
                           ? rt_fail(rt, RT_ENV, "no memory to save '%s'", path)
                           : rt_out_open(&out, rt, path);
    if (!s) {
        unsigned char size[8];
        for (int i = 0; i < 8; i++)
            size[i] = (unsigned char)((uint64_t)header.size >> 8 * i);
        rt_out_write(&out, size, 8);
        rt_out_write(&out, header.text, header.size);
        for (int i = 0; i < n; i++) {
            const struct rt_tensor *t = &tensors[i];
            if (!rt_key_in(t->key, prefix))
                continue;
            if (t->layout != RT_ROW_MAJOR)
                rt_tensor_export(t, block);
            rt_out_write(&out, t->layout == RT_ROW_MAJOR ? t->data : block,
                         (size_t)rt_tensor_elements(t) * rt_type_size(t->type));
        }
        s = rt_out_close(&out);
    }
    rt->release(rt, block);
    rt_buf_free(&header);
    return s;
}

/* ---- reading the header -----------------------------------------------------------------------
 */

/* One entry of a file's header. */
struct rt_entry {
    char key[512];
    char dtype[16];
    int rank;
    int64_t dims[RT_MAX_RANK];
    int64_t from, to; /* bytes after the header */
};

struct rt_json {
    const char *at, *end;
};

RT_FN bool rt_json_char(struct rt_json *j, char c) {
    while (j->at < j->end && strchr(" \t\r\n", *j->at) && *j->at)
        j->at++;
    if (j->at == j->end || *j->at != c)
        return false;
    j->at++;
    return true;
}

/* A string into out[room]; longer ones are cut. Of \u escapes those below 0x80 only, which is how
 * keys are written. */
RT_FN bool rt_json_string(struct rt_json *j, char *out, size_t room) {
    size_t n = 0;
    if (!rt_json_char(j, '"'))
        return false;
    while (j->at < j->end && *j->at != '"') {
        char c = *j->at++;
        if (c == '\\') {
            if (j->at == j->end)
                return false;
            c = *j->at++;
            if (c == 'u') {
                char hex[5] = "";
                if (j->end - j->at < 4)
                    return false;
                memcpy(hex, j->at, 4);
                j->at += 4;
                long code = strtol(hex, NULL, 16);
                c = code < 0x80 ? (char)code : '?';
            } else if (c == 'n' || c == 't' || c == 'r') {
                c = c == 'n' ? '\n' : c == 't' ? '\t' : '\r';
            }
        }
        if (n + 1 < room)
            out[n++] = c;
    }
    out[n] = 0;
    return rt_json_char(j, '"');
}

/* [1, 2, …] into out; at most `most` numbers, none negative. Returns how many, or -1. */
RT_FN int rt_json_numbers(struct rt_json *j, int64_t *out, int most) {
    int n = 0;
    if (!rt_json_char(j, '['))
        return -1;
    if (rt_json_char(j, ']'))
        return 0;
    do {
        int64_t x = 0;
        rt_json_char(j, ' ');
        while (j->at < j->end && strchr(" \t\r\n", *j->at) && *j->at)
            j->at++;
        const char *digits = j->at;
        for (; j->at < j->end && (unsigned)(*j->at - '0') < 10; j->at++)
            if (__builtin_mul_overflow(x, 10, &x) || __builtin_add_overflow(x, *j->at - '0', &x))
                return -1;
        if (j->at == digits || n == most)
            return -1;
        out[n++] = x;
    } while (rt_json_char(j, ','));
    return rt_json_char(j, ']') ? n : -1;
}

/* {"text": "text", …}, which is passed over. */
RT_FN bool rt_json_metadata(struct rt_json *j) {
    char text[8];
    if (!rt_json_char(j, '{'))
        return false;
    if (rt_json_char(j, '}'))
        return true;
    do {
        if (!rt_json_string(j, text, sizeof text) || !rt_json_char(j, ':') ||
            !rt_json_string(j, text, sizeof text))
            return false;
    } while (rt_json_char(j, ','));
    return rt_json_char(j, '}');
}

/* {"dtype": …, "shape": …, "data_offsets": …} in any order, all three. */
RT_FN bool rt_json_entry(struct rt_json *j, struct rt_entry *e) {
    char name[32];
    int64_t offsets[2] = {0, 0};
    int seen = 0;
    if (!rt_json_char(j, '{'))
        return false;
    do {
        if (!rt_json_string(j, name, sizeof name) || !rt_json_char(j, ':'))
            return false;
        if (strcmp(name, "dtype") == 0) {
            if (!rt_json_string(j, e->dtype, sizeof e->dtype))
                return false;
            seen |= 1;
        } else if (strcmp(name, "shape") == 0) {
            e->rank = rt_json_numbers(j, e->dims, RT_MAX_RANK);
            if (e->rank < 0)
                return false;
            seen |= 2;
        } else if (strcmp(name, "data_offsets") == 0) {
            if (rt_json_numbers(j, offsets, 2) != 2)
                return false;
            seen |= 4;
        } else {
            return false;
        }
    } while (rt_json_char(j, ','));
    e->from = offsets[0];
    e->to = offsets[1];
    return seen == 7 && rt_json_char(j, '}');
}

/* The next entry: 1, or 0 at the end, or -1 when the header is broken. */
RT_FN int rt_store_next(struct rt_json *j, struct rt_entry *e, bool *first) {
    for (;;) {
        if (*first ? !rt_json_char(j, '{') : false)
            return -1;
        if (rt_json_char(j, '}'))
            return 0;
        if (!*first && !rt_json_char(j, ','))
            return -1;
        *first = false;
        if (!rt_json_string(j, e->key, sizeof e->key) || !rt_json_char(j, ':'))
            return -1;
        if (strcmp(e->key, "__metadata__") != 0)
            return rt_json_entry(j, e) ? 1 : -1;
        if (!rt_json_metadata(j))
            return -1;
    }
}

/* ---- loading ----------------------------------------------------------------------------------
 */

struct rt_load_state {
    struct rt *rt;
    const struct rt_tensor *tensors;
    int n;
    const char *prefix;
    const char *bytes; /* after the header */
    int64_t size;
    int64_t *from;       /* [n] where each tensor's numbers are, -1: not seen */
    struct rt_buf wrong; /* what does not fit, for the message */
    int problems;
};

/* Notes a problem; the first dozen are told. */
RT_FN __attribute__((format(printf, 2, 3))) void rt_load_wrong(struct rt_load_state *l,
                                                               const char *format, ...) {
    char text[700];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (l->problems++ < 12)
        rt_putf(&l->wrong, "%s%s", l->wrong.size ? "; " : "", text);
}

/* Finds the tensor of an entry and compares; -1 and a note when it does not fit. */
RT_FN void rt_load_entry(struct rt_load_state *l, const struct rt_entry *e) {
    char have[128], want[128];
    bool outside = e->from < 0 || e->to < e->from || e->to > l->size;
    for (int i = 0; i < l->n; i++) {
        const struct rt_tensor *t = &l->tensors[i];
        if (strcmp(t->key, e->key) != 0 || !rt_key_in(t->key, l->prefix))
            continue;
        bool same = e->rank == t->rank && !strcmp(e->dtype, rt_store_dtype(t->type));
        for (int d = 0; d < t->rank && same; d++)
            same = e->dims[d] == t->dims[d];
        if (!same)
            rt_load_wrong(l, "'%s' is %s %s, the model has %s %s", e->key, e->dtype,
                          rt_shape_text(have, sizeof have, e->rank, e->dims),
                          rt_store_dtype(t->type),
                          rt_shape_text(want, sizeof want, t->rank, t->dims));
        else if (outside)
            rt_load_wrong(l, "'%s' lies outside the file", e->key);
        else if (e->to - e->from != rt_tensor_elements(t) * (int64_t)rt_type_size(t->type))
            rt_load_wrong(l, "'%s' has %lld bytes", e->key, (long long)(e->to - e->from));
        l->from[i] = outside ? 0 : e->from;
        return;
    }
    if (rt_key_in(e->key, l->prefix))
        rt_load_wrong(l, "'%s' is not in the model", e->key);
}

/* Goes through the header; false when it is broken. */
RT_FN bool rt_load_header(struct rt_load_state *l, const char *text, size_t size) {
    struct rt_entry e;
    bool first = true;
    int more;
    uint64_t header = 0;
    if (size < 8)
        return false;
    for (int i = 0; i < 8; i++)
        header |= (uint64_t)(unsigned char)text[i] << 8 * i;
    if (header > size - 8)
        return false;
    struct rt_json j = {text + 8, text + 8 + header};
    l->bytes = j.end;
    l->size = (int64_t)(size - 8 - header);
    for (int i = 0; i < l->n; i++)
        l->from[i] = -1;
    while ((more = rt_store_next(&j, &e, &first)) > 0)
        rt_load_entry(l, &e);
    return more == 0;
}

RT_FN enum rt_status rt_load_all(struct rt_load_state *l, const char *path, const char *text,
                                 size_t size) {
    if (!rt_load_header(l, text, size))
        return rt_fail(l->rt, RT_USAGE, "'%s' is not a whole safetensors file", path);
    for (int i = 0; i < l->n; i++)
        if (l->from[i] < 0 && rt_key_in(l->tensors[i].key, l->prefix))
            rt_load_wrong(l, "'%s' is missing", l->tensors[i].key);
    if (l->problems)
        return rt_fail(l->rt, RT_USAGE, "'%s' does not fit: %s%s", path,
                       l->wrong.text ? l->wrong.text : "", l->problems > 12 ? "; and more" : "");
    for (int i = 0; i < l->n; i++)
        if (l->from[i] >= 0)
            rt_tensor_import(&l->tensors[i], l->bytes + l->from[i]);
    return RT_OK;
}

/* Sets the tensors inside `prefix` (NULL: all) from a file. RT_USAGE with every missing, unexpected
 * or misshapen key in the message, RT_ENV when the file cannot be read; then no tensor has changed.
 */
RT_FN enum rt_status rt_load(struct rt *rt, const char *path, const struct rt_tensor *tensors,
                             int n, const char *prefix) {
    char *text = NULL;
    size_t size = 0;
    enum rt_status s = rt_file_read(rt, path, &text, &size);
    if (s)
        return s;
    struct rt_load_state l;
    memset(&l, 0, sizeof l);
    l.rt = rt;
    l.tensors = tensors;
    l.n = n;
    l.prefix = prefix;
    l.from = (int64_t *)rt->alloc(rt, (size_t)n * sizeof *l.from + 1);
    rt_buf_init(&l.wrong, rt, 16384);
    s = l.from ? rt_load_all(&l, path, text, size)
               : rt_fail(rt, RT_ENV, "no memory for '%s'", path);
    rt_buf_free(&l.wrong);
    rt->release(rt, l.from);
    rt->release(rt, text);
    return s;
}

/* rt_cli.h: the command line of a trainer: [TASK] [--OPTION VALUE …].
 *
 * What the program declares (tasks, options, parameters, data) comes in tables; --help and --list
 * are made from them. Names may be written with _ or -.
 */

enum rt_option_kind { RT_OPT_INT, RT_OPT_REAL, RT_OPT_BOOL, RT_OPT_STRING };

/* An `option` of the program. *value holds the default before, the chosen value after. */
struct rt_option {
    const char *name; /* as in the program: weight_decay */
    enum rt_option_kind kind;
    const char *help; /* or NULL */
    void *value;      /* int64_t *, double *, bool * or const char ** */
};

struct rt_task {
    const char *name;
    const char *help; /* or NULL */
};

enum { RT_MAX_TRACE = 64 };

struct rt_cli {
    /* from the program */
    const char *program; /* "digits" */
    const char *version;
    const struct rt_task *tasks; /* the first is the default, or the one called train */
    int n_tasks;
    const struct rt_option *options;
    int n_options;
    const struct rt_tensor *tensors; /* for --list */
    int n_tensors;
    const struct rt_field *fields; /* for --list */
    int n_fields;
    const char *const *data; /* names that --data knows: data sets and their files; NULL ends */
    /* from the command line */
    int task;
    bool stop; /* --help, --version or --list was answered: main returns 0 */
    struct rt_pair load[RT_MAX_PATHS];
    int n_load;
    const char *log;       /* where `record` writes, or NULL */
    const char *trace_dir; /* or NULL */
    int64_t trace_steps[RT_MAX_TRACE];
    int n_trace_steps;
};

/* ---- options of every trainer -----------------------------------------------------------------
 */

enum rt_common {
    RT_CLI_HELP,
    RT_CLI_VERSION,
    RT_CLI_LIST,
    RT_CLI_SEED,
    RT_CLI_THREADS,
    RT_CLI_DATA,
    RT_CLI_LOAD,
    RT_CLI_UNTRAINED,
    RT_CLI_QUIET,
    RT_CLI_LOG,
    RT_CLI_EXACT,
    RT_CLI_TRACE,
    RT_CLI_TRACE_STEPS,
    RT_CLI_COMMON
};

struct rt_common_option {
    const char *name;
    const char *value; /* NULL: a flag */
    const char *help;
};

RT_FN const struct rt_common_option *rt_cli_common(int i) {
    static const struct rt_common_option all[RT_CLI_COMMON] = {
        {"help", NULL, "prints this and ends"},
        {"version", NULL, "prints what made this trainer and ends"},
        {"list", NULL, "lists tasks, options, parameters and data, and ends"},
        {"seed", "N", "start of all random numbers (0)"},
        {"threads", "N", "threads that compute (one for each processor)"},
        {"data", "DIR", "folder of the data files; NAME=PATH: of one data set or file"},
        {"load", "FILE", "weights to start from; NAME=FILE: of one model"},
        {"untrained", NULL, "runs a task that needs weights without them"},
        {"quiet", NULL, "no progress on standard error"},
        {"log", "FILE", "what is recorded, as lines of JSON"},
        {"exact", NULL, "the same bits on all targets; in a trainer in C always so"},
        {"trace", "DIR", "writes what some steps read and leave there"},
        {"trace-steps", "LIST", "the steps for --trace (1,2,10,100)"},
    };
    return &all[i];
}

/* Equal, where _ and - are the same; b ends after n characters. */
RT_FN bool rt_cli_same(const char *a, const char *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char c = a[i] == '_' ? '-' : a[i], d = b[i] == '_' ? '-' : b[i];
        if (c != d || !c)
            return false;
    }
    return a[n] == 0;
}

/* Letters to change, add or leave out to make b of a; 99 when either is long. */
RT_FN int rt_cli_distance(const char *a, const char *b) {
    int row[48], n = (int)strlen(a), m = (int)strlen(b);
    if (n > 40 || m > 40)
        return 99;
    for (int j = 0; j <= m; j++)
        row[j] = j;
    for (int i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            char c = a[i - 1] == '_' ? '-' : a[i - 1], d = b[j - 1] == '_' ? '-' : b[j - 1];
            int swap = diagonal + (c != d), drop = row[j] + 1, add = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = swap < drop ? swap : drop;
            row[j] = row[j] < add ? row[j] : add;
        }
    }
    return row[m];
}

/* Keeps the nearest name so far. */
RT_FN void rt_cli_nearer(const char *wrong, const char *name, const char **nearest, int *distance) {
    int d = rt_cli_distance(wrong, name);
    if (d < *distance) {
        *distance = d;
        *nearest = name;
    }
}

/* ---- --help and --list ------------------------------------------------------------------------
 */

/* "  --name VALUE      help", wide names on a line of their own. */
RT_FN void rt_cli_line(struct rt_buf *b, const char *name, const char *value, const char *help) {
    size_t from = b->size;
    rt_puts(b, "  ");
    for (; *name; name++)
        rt_put(b, *name == '_' ? "-" : name, 1);
    if (value)
        rt_putf(b, " %s", value);
    int width = rt_width(b->text + from, b->size - from);
    if (*help && width > 24) {
        rt_puts(b, "\n");
        width = 0;
    }
    if (*help)
        rt_putf(b, "%*s%s", 26 - width, "", help);
    rt_puts(b, "\n");
}

RT_FN void rt_cli_value(struct rt_buf *b, const struct rt_option *o) {
    switch (o->kind) {
    case RT_OPT_INT:
        rt_print_int(b, *(const int64_t *)o->value, NULL);
        break;
    case RT_OPT_REAL:
        rt_print_real(b, *(const double *)o->value, false, NULL);
        break;
    case RT_OPT_BOOL:
        rt_print_bool(b, *(const bool *)o->value, NULL);
        break;
    case RT_OPT_STRING:
        rt_putf(b, "\"%s\"", *(const char *const *)o->value);
        break;
    }
}

RT_FN void rt_cli_options(struct rt_buf *b, const struct rt_cli *cli) {
    static const char *const kinds[] = {"N", "X", NULL, "TEXT"};
    struct rt_buf help, name;
    rt_buf_init(&help, b->rt, b->limit);
    rt_buf_init(&name, b->rt, b->limit);
    for (int i = 0; i < cli->n_options; i++) {
        const struct rt_option *o = &cli->options[i];
        rt_buf_clear(&help);
        rt_buf_clear(&name);
        rt_putf(&name, o->kind == RT_OPT_BOOL ? "--[no-]%s" : "--%s", o->name);
        rt_putf(&help, "%s%s(", o->help ? o->help : "", o->help ? " " : "");
        rt_cli_value(&help, o);
        rt_puts(&help, ")");
        if (help.failed || name.failed)
            b->failed = true;
        else
            rt_cli_line(b, name.text, kinds[o->kind], help.text);
    }
    rt_buf_free(&help);
    rt_buf_free(&name);
}

RT_FN void rt_cli_tasks(struct rt_buf *b, const struct rt_cli *cli) {
    for (int i = 0; i < cli->n_tasks; i++) {
        const struct rt_task *t = &cli->tasks[i];
        char help[256];
        snprintf(help, sizeof help, "%s%s", t->help ? t->help : "",
                 i != cli->task ? ""
                 : t->help      ? " (default)"
                                : "(default)");
        rt_cli_line(b, t->name, NULL, help);
    }
}

RT_FN void rt_cli_help(struct rt_buf *b, const struct rt_cli *cli) {
    char name[64];
    rt_putf(b, "usage: %s [TASK] [--OPTION VALUE ...]\n", cli->program);
    if (cli->n_tasks)
        rt_puts(b, "\ntasks\n");
    rt_cli_tasks(b, cli);
    if (cli->n_options)
        rt_puts(b, "\noptions of this program\n");
    rt_cli_options(b, cli);
    rt_puts(b, "\noptions of every trainer\n");
    for (int i = 0; i < RT_CLI_COMMON; i++) {
        const struct rt_common_option *o = rt_cli_common(i);
        snprintf(name, sizeof name, "--%s", o->name);
        rt_cli_line(b, name, o->value, o->help);
    }
    rt_puts(b, "\nends with 0 done, 1 wrong use or data, 2 file or memory missing, 3 training "
               "diverged, 4 an expectation failed\n");
}

RT_FN void rt_cli_list(struct rt_buf *b, const struct rt_cli *cli) {
    char shape[128];
    int64_t numbers = 0;
    rt_puts(b, "tasks\n");
    rt_cli_tasks(b, cli);
    rt_puts(b, "options\n");
    rt_cli_options(b, cli);
    rt_puts(b, "parameters and states\n");
    for (int i = 0; i < cli->n_tensors; i++) {
        const struct rt_tensor *t = &cli->tensors[i];
        numbers += rt_tensor_elements(t);
        rt_putf(b, "  %-40s %s %s\n", t->key, rt_type_name(t->type),
                rt_shape_text(shape, sizeof shape, t->rank, t->dims));
    }
    rt_putf(b, "  %lld numbers in all\n", (long long)numbers);
    rt_puts(b, "data, kept as\n");
    for (int i = 0; i < cli->n_fields; i++) {
        const struct rt_field *f = &cli->fields[i];
        rt_putf(b, "  %-40s %s %s\n", f->name, rt_type_name(f->type),
                rt_shape_text(shape, sizeof shape, f->rank, f->dims));
    }
}

/* ---- values -----------------------------------------------------------------------------------
 */

/* Where the parser stands. */
struct rt_cli_state {
    struct rt *rt;
    struct rt_cli *cli;
    int argc, at;
    char **argv;
    const char *name;  /* of the option, without -- */
    size_t size;       /* of the name */
    const char *value; /* after =, or NULL */
};

/* The value of an option: after =, or the next argument unless that is an option too. */
RT_FN enum rt_status rt_cli_take(struct rt_cli_state *s, const char *what, const char **value) {
    if (!s->value && s->at + 1 < s->argc && strncmp(s->argv[s->at + 1], "--", 2) != 0)
        s->value = s->argv[++s->at];
    if (!s->value)
        return rt_fail(s->rt, RT_USAGE, "--%.*s needs %s", (int)s->size, s->name, what);
    *value = s->value;
    return RT_OK;
}

RT_FN enum rt_status rt_cli_int(struct rt_cli_state *s, int64_t least, int64_t most, int64_t *out) {
    const char *text;
    char *end;
    enum rt_status status = rt_cli_take(s, "a whole number", &text);
    if (status)
        return status;
    errno = 0;
    long long x = strtoll(text, &end, 10);
    if (end == text || *end || errno)
        return rt_fail(s->rt, RT_USAGE, "--%.*s needs a whole number, not '%s'", (int)s->size,
                       s->name, text);
    if (x < least || x > most)
        return rt_fail(s->rt, RT_USAGE, "--%.*s must be %lld to %lld, not %s", (int)s->size,
                       s->name, (long long)least, (long long)most, text);
    *out = x;
    return RT_OK;
}

RT_FN enum rt_status rt_cli_real(struct rt_cli_state *s, double *out) {
    const char *text;
    char *end;
    enum rt_status status = rt_cli_take(s, "a number", &text);
    if (status)
        return status;
    double x = strtod(text, &end);
    if (end == text || *end || isnan(x))
        return rt_fail(s->rt, RT_USAGE, "--%.*s needs a number, not '%s'", (int)s->size, s->name,
                       text);
    *out = x;
    return RT_OK;
}

/* A flag is true by itself; only `true` and `false` are taken for its value. */
RT_FN enum rt_status rt_cli_flag(struct rt_cli_state *s, bool *out) {
    const char *next = s->at + 1 < s->argc ? s->argv[s->at + 1] : "";
    if (!s->value && (strcmp(next, "true") == 0 || strcmp(next, "false") == 0))
        s->value = s->argv[++s->at];
    if (s->value && strcmp(s->value, "true") != 0 && strcmp(s->value, "false") != 0)
        return rt_fail(s->rt, RT_USAGE, "--%.*s is true or false, not '%s'", (int)s->size, s->name,
                       s->value);
    *out = !s->value || s->value[0] == 't';
    return RT_OK;
}

/* [NAME=]PATH; what stands before = is a name when it has no slash. */
RT_FN enum rt_status rt_cli_pair(struct rt_cli_state *s, const char *what, struct rt_pair *list,
                                 int *n) {
    const char *text;
    enum rt_status status = rt_cli_take(s, what, &text);
    if (status)
        return status;
    if (*n == RT_MAX_PATHS)
        return rt_fail(s->rt, RT_USAGE, "--%.*s is given more than %d times", (int)s->size, s->name,
                       RT_MAX_PATHS);
    size_t name = strcspn(text, "=/");
    struct rt_pair *p = &list[(*n)++];
    bool named = name > 0 && text[name] == '=';
    p->name = named ? text : NULL;
    p->name_size = named ? name : 0;
    p->path = named ? text + name + 1 : text;
    return RT_OK;
}

RT_FN enum rt_status rt_cli_steps(struct rt_cli_state *s) {
    struct rt_cli *cli = s->cli;
    const char *text;
    enum rt_status status = rt_cli_take(s, "steps, as in 1,2,10", &text);
    if (status)
        return status;
    cli->n_trace_steps = 0;
    for (const char *p = text;; p++) {
        char *end;
        long long step = strtoll(p, &end, 10);
        bool last = *end == 0;
        if (end == p || step < 1 || (!last && *end != ',') || cli->n_trace_steps == RT_MAX_TRACE)
            return rt_fail(s->rt, RT_USAGE,
                           "--trace-steps needs up to %d steps, as in 1,2,10, not '%s'",
                           RT_MAX_TRACE, text);
        cli->trace_steps[cli->n_trace_steps++] = step;
        p = end;
        if (last)
            return RT_OK;
    }
}

/* ---- parsing ----------------------------------------------------------------------------------
 */

RT_FN enum rt_status rt_cli_set(struct rt_cli_state *s, const struct rt_option *o) {
    switch (o->kind) {
    case RT_OPT_INT:
        return rt_cli_int(s, INT64_MIN, INT64_MAX, (int64_t *)o->value);
    case RT_OPT_REAL:
        return rt_cli_real(s, (double *)o->value);
    case RT_OPT_BOOL:
        return rt_cli_flag(s, (bool *)o->value);
    default:
        return rt_cli_take(s, "a text", (const char **)o->value);
    }
}

RT_FN enum rt_status rt_cli_set_common(struct rt_cli_state *s, int which) {
    struct rt *rt = s->rt;
    int64_t n = 0;
    enum rt_status status = RT_OK;
    switch (which) {
    case RT_CLI_SEED:
        status = rt_cli_int(s, 0, INT64_MAX, &n);
        rt->seed = (uint64_t)n;
        return status;
    case RT_CLI_THREADS:
        status = rt_cli_int(s, 1, RT_MAX_THREADS, &n);
        rt->threads = (int)n;
        return status;
    case RT_CLI_DATA:
        return rt_cli_pair(s, "a folder, or NAME=PATH", rt->data_path, &rt->data_paths);
    case RT_CLI_LOAD:
        return rt_cli_pair(s, "a file, or NAME=FILE", s->cli->load, &s->cli->n_load);
    case RT_CLI_UNTRAINED:
        return rt_cli_flag(s, &rt->untrained);
    case RT_CLI_QUIET:
        return rt_cli_flag(s, &rt->quiet);
    case RT_CLI_LOG:
        return rt_cli_take(s, "a file", &s->cli->log);
    case RT_CLI_EXACT:
        return rt_cli_flag(s, &rt->exact);
    case RT_CLI_TRACE:
        return rt_cli_take(s, "a folder", &s->cli->trace_dir);
    case RT_CLI_TRACE_STEPS:
        return rt_cli_steps(s);
    default:
        return RT_OK; /* --help, --version, --list: answered before */
    }
}

RT_FN enum rt_status rt_cli_unknown(struct rt_cli_state *s) {
    char wrong[48];
    const char *nearest = "";
    int distance = (int)s->size < 6 ? 3 : 4;
    snprintf(wrong, sizeof wrong, "%.*s", (int)(s->size < 47 ? s->size : 47), s->name);
    for (int i = 0; i < RT_CLI_COMMON; i++)
        rt_cli_nearer(wrong, rt_cli_common(i)->name, &nearest, &distance);
    for (int i = 0; i < s->cli->n_options; i++)
        rt_cli_nearer(wrong, s->cli->options[i].name, &nearest, &distance);
    if (*nearest)
        return rt_fail(s->rt, RT_USAGE,
                       "unknown option --%s; did you mean --%s? (--help lists them all)", wrong,
                       nearest);
    return rt_fail(s->rt, RT_USAGE, "unknown option --%s (--help lists them all)", wrong);
}

/* The option at s->at; names of the program go before those of every trainer. */
RT_FN enum rt_status rt_cli_option(struct rt_cli_state *s) {
    const char *arg = s->argv[s->at];
    s->name = arg + 2;
    s->size = strcspn(s->name, "=");
    s->value = s->name[s->size] ? s->name + s->size + 1 : NULL;
    if (strcmp(arg, "-o") == 0) { /* as in: classify --image x.npy -o y.npy */
        s->name = "output";
        s->size = 6;
        s->value = NULL;
    }
    bool negated = strncmp(s->name, "no-", 3) == 0 || strncmp(s->name, "no_", 3) == 0;
    for (int i = 0; i < s->cli->n_options; i++) {
        const struct rt_option *o = &s->cli->options[i];
        if (rt_cli_same(o->name, s->name, s->size))
            return rt_cli_set(s, o);
        if (negated && o->kind == RT_OPT_BOOL && !s->value &&
            rt_cli_same(o->name, s->name + 3, s->size - 3)) {
            *(bool *)o->value = false;
            return RT_OK;
        }
    }
    for (int i = 0; i < RT_CLI_COMMON; i++)
        if (rt_cli_same(rt_cli_common(i)->name, s->name, s->size))
            return rt_cli_set_common(s, i);
    return rt_cli_unknown(s);
}

RT_FN enum rt_status rt_cli_task(struct rt_cli_state *s, bool *chosen) {
    const char *name = s->argv[s->at], *nearest = "";
    struct rt_cli *cli = s->cli;
    int distance = 4;
    if (*chosen)
        return rt_fail(s->rt, RT_USAGE, "one task at a time: '%s' stands after '%s'", name,
                       cli->tasks[cli->task].name);
    for (int i = 0; i < cli->n_tasks; i++) {
        if (strcmp(name, cli->tasks[i].name) == 0) {
            cli->task = i;
            *chosen = true;
            return RT_OK;
        }
        rt_cli_nearer(name, cli->tasks[i].name, &nearest, &distance);
    }
    if (*nearest)
        return rt_fail(s->rt, RT_USAGE, "unknown task '%s'; did you mean %s?", name, nearest);
    return rt_fail(s->rt, RT_USAGE, "unknown task '%s' (--help lists them all)", name);
}

/* Answers --help, --version or --list, wherever it stands: with the defaults, before any is
 * changed. */
RT_FN enum rt_status rt_cli_answer(struct rt_cli_state *s) {
    struct rt_buf b;
    rt_buf_init(&b, s->rt, (size_t)1 << 24);
    for (int i = 1; i < s->argc && !s->cli->stop; i++) {
        s->cli->stop = true;
        if (strcmp(s->argv[i], "--help") == 0 || strcmp(s->argv[i], "-h") == 0)
            rt_cli_help(&b, s->cli);
        else if (strcmp(s->argv[i], "--version") == 0)
            rt_putf(&b, "%s\n", s->cli->version);
        else if (strcmp(s->argv[i], "--list") == 0)
            rt_cli_list(&b, s->cli);
        else
            s->cli->stop = false;
    }
    enum rt_status status = rt_flush(&b, 1);
    rt_buf_free(&b);
    return status;
}

/* Every NAME= of --data must be one. */
RT_FN enum rt_status rt_cli_data_names(struct rt *rt, const struct rt_cli *cli) {
    for (int i = 0; i < rt->data_paths; i++) {
        const struct rt_pair *p = &rt->data_path[i];
        const char *const *known = cli->data;
        while (p->name && *known &&
               (strlen(*known) != p->name_size || memcmp(*known, p->name, p->name_size) != 0))
            known++;
        if (!p->name || *known)
            continue;
        struct rt_buf names;
        rt_buf_init(&names, rt, 600);
        for (known = cli->data; *known; known++)
            rt_putf(&names, "%s%s", known == cli->data ? "" : ", ", *known);
        rt_fail(rt, RT_USAGE, "--data %.*s=…: no data set or file is called so; there is %s%s",
                (int)p->name_size, p->name, names.text ? names.text : "none",
                names.failed ? ", …" : "");
        rt_buf_free(&names);
        return RT_USAGE;
    }
    return RT_OK;
}

/* Reads the command line into cli, the options and rt (seed, threads, quiet, exact, untrained,
 * data_path). RT_USAGE with a message when it is wrong. */
RT_FN enum rt_status rt_cli_parse(struct rt *rt, struct rt_cli *cli, int argc, char **argv) {
    static const int64_t steps[] = {1, 2, 10, 100};
    struct rt_cli_state s = {rt, cli, argc, 1, argv, NULL, 0, NULL};
    bool chosen = false;
    cli->task = 0;
    for (int i = 0; i < cli->n_tasks; i++)
        if (strcmp(cli->tasks[i].name, "train") == 0)
            cli->task = i;
    cli->stop = false;
    cli->n_load = 0;
    cli->log = NULL;
    cli->trace_dir = NULL;
    cli->n_trace_steps = 4;
    memcpy(cli->trace_steps, steps, sizeof steps);
    rt->threads = rt_cores() < RT_MAX_THREADS ? rt_cores() : RT_MAX_THREADS;
    enum rt_status status = rt_cli_answer(&s);
    for (; s.at < argc && !status && !cli->stop; s.at++) {
        if (strncmp(argv[s.at], "--", 2) == 0 || strcmp(argv[s.at], "-o") == 0)
            status = rt_cli_option(&s);
        else if (argv[s.at][0] == '-')
            status = rt_fail(rt, RT_USAGE, "'%s' is not an option: they begin with --", argv[s.at]);
        else
            status = rt_cli_task(&s, &chosen);
    }
    return status || cli->stop ? status : rt_cli_data_names(rt, cli);
}

/* ==== state: all that changes hangs off struct nn =========================================== */

#define NN_PROGRAM "deep"
#define NN_VERSION "deep, made by nnc 0.1 from deep.nn"
#define NN_ARENA ((size_t)678016)

enum {
    NN_PARALLEL = 1, /* some region runs on more than one thread */
    NN_VALUES = 102,
    NN_WEIGHTS = 32, /* the first of them: parameters and states */
    NN_REGIONS = 7,
    NN_BATCHES = 0,
    NN_SOURCES = 2,
    NN_SPLITS = 3,
    NN_LOOPS = 2,
    NN_OPTIONS = 0,
    NN_TASKS = 1,
    NN_RECORDS = 0
};
enum {VALUE_net_linear_0_w, VALUE_net_linear_0_b, VALUE_net_block_linear_w,
    VALUE_net_block_linear_b = 8, VALUE_net_linear_1_w = 14, VALUE_net_linear_1_b,
    VALUE_late_linear_0_w, VALUE_late_linear_0_b, VALUE_late_block_linear_w,
    VALUE_late_block_linear_b = 24, VALUE_late_linear_1_w = 30, VALUE_late_linear_1_b,
    VALUE_rows, VALUE_points_x, VALUE_points_y, VALUE_points_rows, VALUE_adamw_step,
    VALUE_adamw_m_net_linear_1_b, VALUE_adamw_v_net_linear_1_b, VALUE_adamw_m_net_linear_1_w,
    VALUE_adamw_v_net_linear_1_w, VALUE_adamw_m_net_block_linear_b,
    VALUE_adamw_v_net_block_linear_b = 47, VALUE_adamw_m_net_block_linear_w = 53,
    VALUE_adamw_v_net_block_linear_w = 59, VALUE_adamw_m_net_linear_0_b = 65,
    VALUE_adamw_v_net_linear_0_b, VALUE_adamw_m_net_linear_0_w, VALUE_adamw_v_net_linear_0_w,
    VALUE_points_rows_1, VALUE_mean, VALUE_rows_1, VALUE_x, VALUE_block_6, VALUE_d, VALUE_d_d,
    VALUE_d_net_linear_1_b, VALUE_d_d_dot, VALUE_d_net_linear_1_w, VALUE_d_h,
    VALUE_d_net_linear_0_b, VALUE_d_net_linear_0_w, VALUE_d_net_linear_1_b_mul,
    VALUE_squared_norm, VALUE_clip_factor, VALUE_rate, VALUE_scale, VALUE_sqrt_2, VALUE_x_2,
    VALUE_block_12, VALUE_d_2, VALUE_known, VALUE_constant_2, VALUE_block_18, VALUE_block_dot,
    VALUE_block_24, VALUE_block_dot_2, VALUE_ne_2, VALUE_net_linear_1_w_packed_170, SCALAR_runs,
    SCALAR_runs_2, COUNT_rows, VALUE_block, VALUE_linear_le = 108, VALUE_bernoulli = 114,
    VALUE_d_linear = 120, VALUE_d_net_block_linear_b = 126, VALUE_d_net_block_linear_w = 132,
    VALUE_d_block = 138, VALUE_squared_norm_2 = 143, VALUE_squared_norm_3 = 152, VALUE_block_2 =
    156, VALUE_block_3 = 162, VALUE_block_4 = 168, VALUE_net_block_linear_w_packed = 174};
enum {REGION_train_step, REGION_train_rows, REGION_train_set_mean, REGION_train_known,
    REGION_train_uniform, REGION_train_linear, REGION_start};
enum {ROWS_points_all, ROWS_points_train, ROWS_points_rest};

struct nn;

/* A piece of memory that has a name outside: a buffer of the arena, or a scalar of struct nn. */
struct nn_value {
    struct rt_tensor tensor; /* key, type, layout, extents; data is set by nn_tensor */
    const char *where;       /* "digits.nn:14" */
    size_t offset;           /* in the arena; in struct nn where `host` */
    int copies;              /* of a value of every layer: their numbers follow each other */
    int shift, rotate;       /* copy i lies (i + shift) % rotate * stride further on */
    int64_t stride;
    bool host;
    int counted; /* the axis whose extent is known at run time: per * count; -1: none */
    int64_t per;
    size_t count; /* offset of the count in struct nn */
};

/* Values first … first + n - 1. */
struct nn_range {
    int first, n;
};

/* A value that a replay looks at, in the order of writing; in a loop `value` is that of layer 0, of
 * layer i it is value + step * i. */
struct nn_written {
    int group, value, step;
};

/* A value and the name it has in a file. */
struct nn_key {
    int value;
    const char *key;
};

/* Rows of a source that the index buffer `index` names. */
struct nn_batch {
    const char *key;
    int source, index;
};

/* A place of the program that may set the fault word. */
struct nn_place {
    int node;
    char kind;        /* 'l' loss, 'i' index */
    const char *name; /* the loss, or what is indexed */
    const char *where;
    int64_t size; /* 'i': indices must be 0 … size-1 */
};

/* A sub-command: what it reads first, what it does. */
struct nn_task {
    const char *name;
    enum rt_status (*data)(struct nn *nn);
    enum rt_status (*run)(struct nn *nn);
    bool needs_weights; /* uses trained parameters and does not train or load them */
};

/* Tensor work between two decisions of the host. */
struct nn_region {
    const char *name;
    void (*run)(void *nn, int t); /* once on each thread; `parallel`: on more than one */
    bool parallel;
    const struct nn_range *before, *after; /* values it reads from outside, values it leaves */
    int n_before, n_after;
    const struct nn_batch *batches;
    int n_batches;
};

struct nn {
    struct rt rt; /* first */
    struct rt_team team;
    void *team_memory;
    int n; /* threads that run a region */
    unsigned char *arena;
    struct rt_buf text; /* what is being printed */
    struct rt_cli cli;
    struct rt_option option_list[NN_OPTIONS + 1];
    int64_t step;                 /* executions of the region that runs, from 1 */
    int64_t runs[NN_REGIONS + 1]; /* of each region */
    bool replay;                  /* one thread runs a region again to look at every tensor */
    int bad_nan, bad_inf;         /* values found so, -1: none yet */
    enum rt_status failed;        /* arithmetic of the host, an `expect` */
    bool progress;                /* standard error is a terminal that shows a progress line */
    double shown;                 /* when it was written last */
    double record[NN_RECORDS + 1];
    FILE *log; /* of --log, or NULL */
    struct rt_source sources[NN_SOURCES + 1];
    struct rt_rows rows[NN_SPLITS + 1];
    struct rt_batches loops[NN_LOOPS + 1];
    uint32_t entries[NN_LOOPS + 1]; /* how often each was entered */
    struct rt_tensor chosen[NN_VALUES + NN_BATCHES + 1];
    struct {
        int64_t epoch;
        int64_t runs;
        int64_t runs_2;
    } vars; /* of tasks; the counters of their loops */
    struct {
        int32_t runs;
        int32_t runs_2;
    } scalars; /* given to regions */
    struct {
        int64_t rows; /* at most 20 */
    } counts; /* extents known at run time */
};

RT_FN void nn_look_at(struct nn *nn, int group, int layer);

/* All threads meet here; a replay has only one. */
RT_INLINE void nn_wait(struct nn *nn, int t) {
    if (!nn->replay)
        rt_barrier(&nn->team, t);
}

/* The memory of this group of values (nn_written) may be used again: a replay looks at them now,
 * until it has found a NaN. */
RT_INLINE void nn_inspect(struct nn *nn, int group, int layer) {
    if (nn->replay && nn->bad_nan < 0)
        nn_look_at(nn, group, layer);
}

/* ==== buffers: where each value lies in the arena =========================================== */

RT_INLINE int32_t *at_rows(struct nn *nn) {
    return (int32_t *)(void *)(nn->arena + 0);
}
RT_INLINE float (*at_points_x(struct nn *nn))[16] {
    return (float (*)[16])(void *)(nn->arena + 64);
}
RT_INLINE float *at_points_y(struct nn *nn) {
    return (float *)(void *)(nn->arena + 9024);
}
RT_INLINE int32_t *at_points_rows(struct nn *nn) {
    return (int32_t *)(void *)(nn->arena + 9600);
}
RT_INLINE float (*at_net_linear_0_w(struct nn *nn))[16][16] {
    return (float (*)[16][16])(void *)(nn->arena + 9728);
}
RT_INLINE float *at_net_linear_0_b(struct nn *nn) {
    return (float *)(void *)(nn->arena + 13824);
}
RT_INLINE float (*at_net_block_linear_w(struct nn *nn, int i))[64][16] {
    return (float (*)[64][16])(void *)(nn->arena + (14080 + i * 16384LL));
}
RT_INLINE float *at_net_block_linear_b(struct nn *nn, int i) {
    return (float *)(void *)(nn->arena + (112384 + i * 256LL));
}
RT_INLINE float *at_net_linear_1_w(struct nn *nn) {
    return (float *)(void *)(nn->arena + 113920);
}
RT_INLINE float *at_net_linear_1_b(struct nn *nn) {
    return (float *)(void *)(nn->arena + 114176);
}
RT_INLINE int32_t *at_adamw_step(struct nn *nn) {
    return (int32_t *)(void *)(nn->arena + 114240);
}
RT_INLINE float *at_adamw_m_net_linear_1_b(struct nn *nn) {
    return (float *)(void *)(nn->arena + 114304);
}
RT_INLINE float *at_adamw_v_net_linear_1_b(struct nn *nn) {
    return (float *)(void *)(nn->arena + 114368);
}
RT_INLINE float *at_adamw_m_net_linear_1_w(struct nn *nn) {
    return (float *)(void *)(nn->arena + 114432);
}
RT_INLINE float *at_adamw_v_net_linear_1_w(struct nn *nn) {
    return (float *)(void *)(nn->arena + 114688);
}
RT_INLINE float *at_adamw_m_net_block_linear_b(struct nn *nn, int i) {
    return (float *)(void *)(nn->arena + (114944 + i * 256LL));
}
RT_INLINE float *at_adamw_v_net_block_linear_b(struct nn *nn, int i) {
    return (float *)(void *)(nn->arena + (116480 + i * 256LL));
}
RT_INLINE float (*at_adamw_m_net_block_linear_w(struct nn *nn, int i))[64][16] {
    return (float (*)[64][16])(void *)(nn->arena + (118016 + i * 16384LL));
}
RT_INLINE float (*at_adamw_v_net_block_linear_w(struct nn *nn, int i))[64][16] {
    return (float (*)[64][16])(void *)(nn->arena + (216320 + i * 16384LL));
}
RT_INLINE float *at_adamw_m_net_linear_0_b(struct nn *nn) {
    return (float *)(void *)(nn->arena + 314624);
}
RT_INLINE float *at_adamw_v_net_linear_0_b(struct nn *nn) {
    return (float *)(void *)(nn->arena + 314880);
}
RT_INLINE float (*at_adamw_m_net_linear_0_w(struct nn *nn))[64] {
    return (float (*)[64])(void *)(nn->arena + 315136);
}
RT_INLINE float (*at_adamw_v_net_linear_0_w(struct nn *nn))[64] {
    return (float (*)[64])(void *)(nn->arena + 319232);
}
RT_INLINE int32_t *at_points_rows_1(struct nn *nn) {
    return (int32_t *)(void *)(nn->arena + 323328);
}
RT_INLINE double *at_mean(struct nn *nn) {
    return (double *)(void *)(nn->arena + 323456);
}
RT_INLINE double *at_rows_1(struct nn *nn) {
    return (double *)(void *)(nn->arena + 323520);
}
RT_INLINE float (*at_late_linear_0_w(struct nn *nn))[16][16] {
    return (float (*)[16][16])(void *)(nn->arena + 323584);
}
RT_INLINE float *at_late_linear_0_b(struct nn *nn) {
    return (float *)(void *)(nn->arena + 327680);
}
RT_INLINE float (*at_late_block_linear_w(struct nn *nn, int i))[64][16] {
    return (float (*)[64][16])(void *)(nn->arena + (327936 + i * 16384LL));
}
RT_INLINE float *at_late_block_linear_b(struct nn *nn, int i) {
    return (float *)(void *)(nn->arena + (426240 + i * 256LL));
}
RT_INLINE float *at_late_linear_1_w(struct nn *nn) {
    return (float *)(void *)(nn->arena + 427776);
}
RT_INLINE float *at_late_linear_1_b(struct nn *nn) {
    return (float *)(void *)(nn->arena + 428032);
}
RT_INLINE float (*at_x(struct nn *nn))[16] {
    return (float (*)[16])(void *)(nn->arena + 673984);
}
RT_INLINE float (*at_block(struct nn *nn, int i))[64] {
    return (float (*)[64])(void *)(nn->arena + (526528 + i * 8192LL));
}
RT_INLINE unsigned char (*at_linear_le(struct nn *nn, int i))[64] {
    return (unsigned char (*)[64])(void *)(nn->arena + (641216 + i * 2048LL));
}
RT_INLINE unsigned char (*at_bernoulli(struct nn *nn, int i))[64] {
    return (unsigned char (*)[64])(void *)(nn->arena + (653504 + i * 2048LL));
}
RT_INLINE float (*at_block_6(struct nn *nn))[64] {
    return (float (*)[64])(void *)(nn->arena + 608448);
}
RT_INLINE float *at_d(struct nn *nn) {
    return (float *)(void *)(nn->arena + 624832);
}
RT_INLINE float *at_d_d(struct nn *nn) {
    return (float *)(void *)(nn->arena + 624960);
}
RT_INLINE float *at_d_net_linear_1_b(struct nn *nn) {
    return (float *)(void *)(nn->arena + 677952);
}
RT_INLINE float (*at_d_d_dot(struct nn *nn))[32][16] {
    return (float (*)[32][16])(void *)(nn->arena + 665792);
}
RT_INLINE float *at_d_net_linear_1_w(struct nn *nn) {
    return (float *)(void *)(nn->arena + 677568);
}
RT_INLINE float (*at_d_block(struct nn *nn, int i))[32][16] {
    return (float (*)[32][16])(void *)(nn->arena + (624832 + i % 2 * 8192LL));
}
RT_INLINE float (*at_d_linear(struct nn *nn, int i))[64] {
    return (float (*)[64])(void *)(nn->arena + (608448 + i % 2 * 8192LL));
}
RT_INLINE float *at_d_net_block_linear_b(struct nn *nn, int i) {
    return (float *)(void *)(nn->arena + (676032 + i * 256LL));
}
RT_INLINE float (*at_d_net_block_linear_w(struct nn *nn, int i))[64] {
    return (float (*)[64])(void *)(nn->arena + (428224 + i * 16384LL));
}
RT_INLINE float (*at_d_h(struct nn *nn))[32][16] {
    return (float (*)[32][16])(void *)(nn->arena + 641216);
}
RT_INLINE float *at_d_net_linear_0_b(struct nn *nn) {
    return (float *)(void *)(nn->arena + 628928);
}
RT_INLINE float (*at_d_net_linear_0_w(struct nn *nn))[64] {
    return (float (*)[64])(void *)(nn->arena + 624832);
}
RT_INLINE float *at_d_net_linear_1_b_mul(struct nn *nn) {
    return (float *)(void *)(nn->arena + 677824);
}
RT_INLINE float *at_squared_norm(struct nn *nn) {
    return (float *)(void *)(nn->arena + 624960);
}
RT_INLINE float *at_squared_norm_3(struct nn *nn) {
    return (float *)(void *)(nn->arena + 665792);
}
RT_INLINE float *at_squared_norm_2(struct nn *nn, int i) {
    return (float *)(void *)(nn->arena + (677824 + i % 2 * 64LL));
}
RT_INLINE float *at_clip_factor(struct nn *nn) {
    return (float *)(void *)(nn->arena + 629184);
}
RT_INLINE float *at_rate(struct nn *nn) {
    return (float *)(void *)(nn->arena + 629248);
}
RT_INLINE float *at_scale(struct nn *nn) {
    return (float *)(void *)(nn->arena + 629312);
}
RT_INLINE float *at_sqrt_2(struct nn *nn) {
    return (float *)(void *)(nn->arena + 629376);
}
RT_INLINE float (*at_x_2(struct nn *nn))[16] {
    return (float (*)[16])(void *)(nn->arena + 438464);
}
RT_INLINE float (*at_block_2(struct nn *nn, int i))[64] {
    return (float (*)[64])(void *)(nn->arena + (428224 + i % 2 * 5120LL));
}
RT_INLINE float (*at_block_12(struct nn *nn))[64] {
    return (float (*)[64])(void *)(nn->arena + 438464);
}
RT_INLINE float *at_d_2(struct nn *nn) {
    return (float *)(void *)(nn->arena + 428224);
}
RT_INLINE float *at_known(struct nn *nn) {
    return (float *)(void *)(nn->arena + 428096);
}
RT_INLINE float (*at_constant_2(struct nn *nn))[16] {
    return (float (*)[16])(void *)(nn->arena + 432064);
}
RT_INLINE float (*at_block_3(struct nn *nn, int i))[64] {
    return (float (*)[64])(void *)(nn->arena + (428224 + i % 2 * 1280LL));
}
RT_INLINE float (*at_block_18(struct nn *nn))[64] {
    return (float (*)[64])(void *)(nn->arena + 430784);
}
RT_INLINE float *at_block_dot(struct nn *nn) {
    return (float *)(void *)(nn->arena + 428224);
}
RT_INLINE float (*at_block_4(struct nn *nn, int i))[64] {
    return (float (*)[64])(void *)(nn->arena + (428224 + i % 2 * 1280LL));
}
RT_INLINE float (*at_block_24(struct nn *nn))[64] {
    return (float (*)[64])(void *)(nn->arena + 430784);
}
RT_INLINE float *at_block_dot_2(struct nn *nn) {
    return (float *)(void *)(nn->arena + 432384);
}
RT_INLINE unsigned char *at_ne_2(struct nn *nn) {
    return (unsigned char *)(void *)(nn->arena + 428160);
}
RT_INLINE float (*at_net_linear_1_w_packed_170(struct nn *nn))[16] {
    return (float (*)[16])(void *)(nn->arena + 676032);
}
RT_INLINE float (*at_net_block_linear_w_packed(struct nn *nn, int i))[16] {
    return (float (*)[16])(void *)(nn->arena + (575680 + i % 2 * 16384LL));
}
RT_INLINE const float *at_src_points_x_0(struct nn *nn) {
    return (const float *)nn->sources[0].data;
}
RT_INLINE const float *at_src_points_y_1(struct nn *nn) {
    return (const float *)nn->sources[1].data;
}

/* ==== kernels =============================================================================== */

/* net_linear_1_w in pieces 16 wide, for make_d_linear */
RT_KERNEL void pack_net_linear_1_w_for_make_d_linear(const float *rt_restrict net_linear_1_w,
    float (*rt_restrict net_linear_1_w_packed_170)[16]) {
    for (int k = 0; k < 1; k++) {
        for (int p = 0; p < 4; p++) {
            st8(&net_linear_1_w_packed_170[p][0], ld8(&net_linear_1_w[16 * p]));
            st8(&net_linear_1_w_packed_170[p][8], ld8(&net_linear_1_w[16 * p + 8]));
        }
    }
}

/* deep.nn:29: x [1, 32, 16] = gather */
RT_KERNEL void make_x(const int32_t *rt_restrict points_rows,
    rt_const float (*rt_restrict points_x)[16], float (*rt_restrict x)[16]) {
    for (int i = 0; i < 32; i++) {
        const int32_t points_rows_i = points_rows[i];
        for (int j = 0; j < 16; j += 8) {
            st8(&x[i][j], ld8(&points_x[points_rows_i][j]));
        }
    }
}

/* deep.nn:18: h [32, 64] = dot, add */
RT_KERNEL void make_h(rt_const float (*rt_restrict net_linear_0_w)[16][16],
    rt_const float (*rt_restrict x)[16], const float *rt_restrict net_linear_0_b,
    float (*rt_restrict h)[64]) {
    for (int block = 0; block < 8; block++) {
        for (int p = 0; p < 4; p++) {
            v8 c[4][2] = {{{0}}};
            RT_UNROLL(4)
            for (int k = 0; k < 16; k++) {
                const v8 b0 = ld8(&net_linear_0_w[p][k][0]);
                const v8 b1 = ld8(&net_linear_0_w[p][k][8]);
                RT_UNROLL(4)
                for (int i = 0; i < 4; i++) {
                    const float a = x[4 * block + i][k];
                    c[i][0] = fma_v(bc8(a), b0, c[i][0]);
                    c[i][1] = fma_v(bc8(a), b1, c[i][1]);
                }
            }
            RT_UNROLL(4)
            for (int i = 0; i < 4; i++) {
                RT_UNROLL(2)
                for (int j = 0; j < 16; j += 8) {
                    const v8 b = ld8(&net_linear_0_b[16 * p + j]);
                    const v8 h_ij = c[i][j / 8] + b;
                    st8(&h[4 * block + i][16 * p + j], h_ij);
                }
            }
        }
    }
}

/* deep.nn:15: linear_le [32, 64], bernoulli [32, 64], block [32, 64] = dot, add, le, lt, add */
RT_KERNEL void make_block(rt_const float (*rt_restrict net_block_linear_w)[64][16],
    rt_const float (*rt_restrict h)[64], const float *rt_restrict net_block_linear_b,
    unsigned char (*rt_restrict linear_le)[64], unsigned char (*rt_restrict bernoulli)[64],
    float (*rt_restrict block)[64], int32_t runs, uint64_t seed, uint32_t place) {
    for (int p = 0; p < 4; p++) {
        for (int u = 0; u < 8; u++) {
            v8 c[4][2] = {{{0}}};
            RT_UNROLL(4)
            for (int k = 0; k < 64; k++) {
                const v8 b0 = ld8(&net_block_linear_w[p][k][0]);
                const v8 b1 = ld8(&net_block_linear_w[p][k][8]);
                RT_UNROLL(4)
                for (int i = 0; i < 4; i++) {
                    const float a = h[4 * u + i][k];
                    c[i][0] = fma_v(bc8(a), b0, c[i][0]);
                    c[i][1] = fma_v(bc8(a), b1, c[i][1]);
                }
            }
            float out[4][16];
            RT_UNROLL(4)
            for (int i = 0; i < 4; i++) {
                RT_UNROLL(2)
                for (int j = 0; j < 16; j += 8) {
                    st8(&out[i][j], c[i][j / 8]);
                }
            }
            for (int i = 0; i < 4; i++) {
                for (int j = 0; j < 16; j += 8) {
                    const v8 b = ld8(&net_block_linear_b[16 * p + j]);
                    const v8 linear = ld8(&out[i][j]) + b;
                    const v8i linear_le_ij = linear <= 0.0f;
                    const v8 random = rand_v(seed, runs, place, 256 * u + 64 * i + 16 * p + j);
                    const v8i bernoulli_ij = random < 0.9f;
                    const v8 h_ij = ld8(&h[4 * u + i][16 * p + j]);
                    const v8 block_ij =
                        h_ij + 0.2f *
                            sel_v(bernoulli_ij, sel_v(linear_le_ij, bc8(0.0f), linear) / 0.9f,
                            bc8(0.0f));
                    st8m(&linear_le[4 * u + i][16 * p + j], linear_le_ij);
                    st8m(&bernoulli[4 * u + i][16 * p + j], bernoulli_ij);
                    st8(&block[4 * u + i][16 * p + j], block_ij);
                }
            }
        }
    }
}

/* deep.nn:15: linear_le_6 [32, 64], bernoulli_6 [32, 64], block_6 [1, 32, 64] = dot, add, le, lt,
 * add */
RT_KERNEL void make_block_6(rt_const float (*rt_restrict net_block_5_linear_w)[64][16],
    rt_const float (*rt_restrict block_5)[64], const float *rt_restrict net_block_5_linear_b,
    unsigned char (*rt_restrict linear_le_6)[64], unsigned char (*rt_restrict bernoulli_6)[64],
    float (*rt_restrict block_6)[64], int32_t runs, uint64_t seed, uint32_t place) {
    for (int p = 0; p < 4; p++) {
        for (int u = 0; u < 8; u++) {
            v8 c[4][2] = {{{0}}};
            RT_UNROLL(4)
            for (int k = 0; k < 64; k++) {
                const v8 b0 = ld8(&net_block_5_linear_w[p][k][0]);
                const v8 b1 = ld8(&net_block_5_linear_w[p][k][8]);
                RT_UNROLL(4)
                for (int i = 0; i < 4; i++) {
                    const float a = block_5[4 * u + i][k];
                    c[i][0] = fma_v(bc8(a), b0, c[i][0]);
                    c[i][1] = fma_v(bc8(a), b1, c[i][1]);
                }
            }
            float out[4][16];
            RT_UNROLL(4)
            for (int i = 0; i < 4; i++) {
                RT_UNROLL(2)
                for (int j = 0; j < 16; j += 8) {
                    st8(&out[i][j], c[i][j / 8]);
                }
            }
            for (int i = 0; i < 4; i++) {
                for (int j = 0; j < 16; j += 8) {
                    const v8 b = ld8(&net_block_5_linear_b[16 * p + j]);
                    const v8 linear = ld8(&out[i][j]) + b;
                    const v8i linear_le_6_ij = linear <= 0.0f;
                    const v8 random = rand_v(seed, runs, place, 256 * u + 64 * i + 16 * p + j);
                    const v8i bernoulli = random < 0.9f;
                    const v8 block_5_ij = ld8(&block_5[4 * u + i][16 * p + j]);
                    const v8 block =
                        block_5_ij +
                            0.2f * sel_v(bernoulli, sel_v(linear_le_6_ij, bc8(0.0f), linear) / 0.9f,
                            bc8(0.0f));
                    st8m(&linear_le_6[4 * u + i][16 * p + j], linear_le_6_ij);
                    st8m(&bernoulli_6[4 * u + i][16 * p + j], bernoulli);
                    st8(&block_6[4 * u + i][16 * p + j], block);
                }
            }
        }
    }
}

/* deep.nn:29: d [32, 1], d_d [32, 1] = dot, sub, mul, add */
RT_KERNEL void make_d(const float *rt_restrict net_linear_1_w,
    rt_const float (*rt_restrict block_6)[64], const float *rt_restrict net_linear_1_b,
    const int32_t *rt_restrict points_rows, const float *rt_restrict points_y, float *rt_restrict d,
    float *rt_restrict d_d) {
    const float b = net_linear_1_b[0];
    for (int u = 0; u < 4; u++) {
        float c[8] = {0};
        RT_UNROLL(4)
        for (int k = 0; k < 64; k++) {
            const float b2 = net_linear_1_w[k];
            RT_UNROLL(8)
            for (int i = 0; i < 8; i++) {
                const float a = block_6[8 * u + i][k];
                c[i] = fma_1(a, b2, c[i]);
            }
        }
        float out[8][16];
        RT_UNROLL(8)
        for (int i = 0; i < 8; i++) {
            out[i][0] = c[i];
        }
        for (int i = 0; i < 8; i++) {
            const int32_t points_rows_i = points_rows[8 * u + i];
            const float d_i = out[i][0] + b - points_y[points_rows_i];
            const float value = 0.03125f * d_i;
            const float d_d_i = value + value;
            d[8 * u + i] = d_i;
            d_d[8 * u + i] = d_d_i;
        }
    }
}

/* deep.nn:20: d_net_linear_1_w [64, 1] = dot */
RT_KERNEL void make_d_net_linear_1_w(const float *rt_restrict d_d,
    rt_const float (*rt_restrict block_6)[64], float *rt_restrict d_net_linear_1_w) {
    for (int u = 0; u < 8; u++) {
        float c[8] = {0};
        RT_UNROLL(4)
        for (int k = 0; k < 32; k++) {
            const float b = d_d[k];
            RT_UNROLL(8)
            for (int i = 0; i < 8; i++) {
                const float a = block_6[k][8 * u + i];
                c[i] = fma_1(a, b, c[i]);
            }
        }
        RT_UNROLL(8)
        for (int i = 0; i < 8; i++) {
            d_net_linear_1_w[8 * u + i] = c[i];
        }
    }
}

/* deep.nn:15: d_d_dot [32, 64], d_linear [32, 64] = dot, where */
RT_KERNEL void make_d_linear(rt_const float (*rt_restrict net_linear_1_w_packed_170)[16],
    const float *rt_restrict d_d, rt_const unsigned char (*rt_restrict linear_le_6)[64],
    rt_const unsigned char (*rt_restrict bernoulli_6)[64], float (*rt_restrict d_d_dot)[32][16],
    float (*rt_restrict d_linear)[64]) {
    for (int block = 0; block < 8; block++) {
        for (int p = 0; p < 4; p++) {
            v8 c[4][2] = {{{0}}};
            RT_UNROLL(4)
            for (int k = 0; k < 1; k++) {
                const v8 b0 = ld8(&net_linear_1_w_packed_170[p][0]);
                const v8 b1 = ld8(&net_linear_1_w_packed_170[p][8]);
                RT_UNROLL(4)
                for (int i = 0; i < 4; i++) {
                    const float a = d_d[4 * block + i];
                    c[i][0] = fma_v(bc8(a), b0, c[i][0]);
                    c[i][1] = fma_v(bc8(a), b1, c[i][1]);
                }
            }
            RT_UNROLL(4)
            for (int i = 0; i < 4; i++) {
                RT_UNROLL(2)
                for (int j = 0; j < 16; j += 8) {
                    const v8i linear_le_6_ij = ld8m(&linear_le_6[4 * block + i][16 * p + j]);
                    const v8i bernoulli_6_ij = ld8m(&bernoulli_6[4 * block + i][16 * p + j]);
                    const v8 d_linear_ij =
                        sel_v(linear_le_6_ij, bc8(0.0f),
                            sel_v(bernoulli_6_ij, c[i][j / 8] * 0.2f, bc8(0.0f)) / 0.9f);
                    st8(&d_d_dot[p][4 * block + i][j], c[i][j / 8]);
                    st8(&d_linear[4 * block + i][16 * p + j], d_linear_ij);
                }
            }
        }
    }
}

/* deep.nn:15: d_net_block_linear_b [64] = sum */
RT_KERNEL void make_d_net_block_linear_b(rt_const float (*rt_restrict d_linear)[64],
    float *rt_restrict d_net_block_linear_b) {
    for (int tile = 0; tile < 4; tile++) {
        for (int j = 0; j < 16; j += 8) {
            v8 d_net_block_linear_b_i = bc8(0.0f);
            for (int row = 0; row < 32; row++) {
                const v8 d_linear_ij = ld8(&d_linear[row][16 * tile + j]);
                d_net_block_linear_b_i += d_linear_ij;
            }
            st8(&d_net_block_linear_b[16 * tile + j], d_net_block_linear_b_i);
        }
    }
}

/* deep.nn:30: d_net_linear_1_b [1], d_net_linear_1_b_mul [] = sum, mul */
RT_KERNEL void make_d_net_linear_1_b(const float *rt_restrict d_d,
    float *rt_restrict d_net_linear_1_b, float *rt_restrict d_net_linear_1_b_mul) {
    v8 d_net_linear_1_b_lanes[4] = {{0}};
    RT_UNROLL(4)
    for (int v = 0; v < 4; v++) {
        const v8 d_d_i = ld8(&d_d[8 * v]);
        d_net_linear_1_b_lanes[v] += d_d_i;
    }
    const float d_net_linear_1_b_0 = rt_sum32(d_net_linear_1_b_lanes);
    const float d_net_linear_1_b_mul_0 = d_net_linear_1_b_0 * d_net_linear_1_b_0;
    d_net_linear_1_b[0] = d_net_linear_1_b_0;
    d_net_linear_1_b_mul[0] = d_net_linear_1_b_mul_0;
}

/* deep.nn:30: squared_norm [] = sum_mul, add */
RT_KERNEL void make_squared_norm(const float *rt_restrict d_net_linear_1_w,
    const float *rt_restrict d_net_linear_1_b_mul, float *rt_restrict squared_norm) {
    v8 total_lanes[4] = {{0}};
    for (int j = 0; j < 64; j += 32) {
        RT_UNROLL(4)
        for (int v = 0; v < 4; v++) {
            const v8 d_net_linear_1_w_i = ld8(&d_net_linear_1_w[j + 8 * v]);
            total_lanes[v] = fma_v(d_net_linear_1_w_i, d_net_linear_1_w_i, total_lanes[v]);
        }
    }
    const float total = rt_sum32(total_lanes);
    squared_norm[0] = d_net_linear_1_b_mul[0] + total;
}

/* deep.nn:30: squared_norm_2 [] = sum_mul, add */
RT_KERNEL void make_squared_norm_2(const float *rt_restrict d_net_linear_b,
    const float *rt_restrict squared_norm, float *rt_restrict squared_norm_2) {
    v8 total_lanes[4] = {{0}};
    for (int j = 0; j < 64; j += 32) {
        RT_UNROLL(4)
        for (int v = 0; v < 4; v++) {
            const v8 d_net_linear_b_i = ld8(&d_net_linear_b[j + 8 * v]);
            total_lanes[v] = fma_v(d_net_linear_b_i, d_net_linear_b_i, total_lanes[v]);
        }
    }
    const float total = rt_sum32(total_lanes);
    const float squared_norm_0 = squared_norm[0];
    squared_norm_2[0] = squared_norm_0 + total;
}

/* deep.nn:30: sum_mul, mul, check */
RT_KERNEL void check(const float *rt_restrict d, struct rt *rt, int64_t step, int node) {
    v8 total_lanes[4] = {{0}};
    RT_UNROLL(4)
    for (int v = 0; v < 4; v++) {
        const v8 d_i = ld8(&d[8 * v]);
        total_lanes[v] = fma_v(d_i, d_i, total_lanes[v]);
    }
    const float total = rt_sum32(total_lanes);
    const float checked = total * 0.03125f;
    if (!isfinite_1(checked)) {
        rt_fault_set(rt, node, (double)checked, step);
    }
}

/* net_block_linear_w in pieces 16 wide, for make_d_block */
RT_KERNEL void pack_net_block_linear_w_for_make_d(
    rt_const float (*rt_restrict net_block_linear_w)[64][16],
    float (*rt_restrict net_block_linear_w_packed)[16], int t, int n) {
    const int last = rt_tile(t + 1, n, 4);
    for (int q = rt_tile(t, n, 4); q < last; q++) {
        for (int k = 0; k < 4; k++) {
            transpose8(&net_block_linear_w_packed[64 * q + 16 * k][0], 16,
                &net_block_linear_w[k][16 * q][0], 16);
            transpose8(&net_block_linear_w_packed[64 * q + 16 * k + 8][0], 16,
                &net_block_linear_w[k][16 * q][8], 16);
            transpose8(&net_block_linear_w_packed[64 * q + 16 * k][8], 16,
                &net_block_linear_w[k][16 * q + 8][0], 16);
            transpose8(&net_block_linear_w_packed[64 * q + 16 * k + 8][8], 16,
                &net_block_linear_w[k][16 * q + 8][8], 16);
        }
    }
}

/* deep.nn:15: d_block [32, 64], d_linear_2 [32, 64] = dot, add, where */
RT_KERNEL void make_d_block(rt_const float (*rt_restrict net_block_linear_w_packed)[16],
    rt_const float (*rt_restrict d_linear)[64], rt_const float (*rt_restrict d_d_dot)[32][16],
    rt_const unsigned char (*rt_restrict linear_le)[64],
    rt_const unsigned char (*rt_restrict bernoulli)[64], float (*rt_restrict d_block)[32][16],
    float (*rt_restrict d_linear_2)[64]) {
    for (int p = 0; p < 4; p++) {
        for (int u = 0; u < 8; u++) {
            v8 c[4][2] = {{{0}}};
            RT_UNROLL(4)
            for (int k = 0; k < 64; k++) {
                const v8 b0 = ld8(&net_block_linear_w_packed[64 * p + k][0]);
                const v8 b1 = ld8(&net_block_linear_w_packed[64 * p + k][8]);
                RT_UNROLL(4)
                for (int i = 0; i < 4; i++) {
                    const float a = d_linear[4 * u + i][k];
                    c[i][0] = fma_v(bc8(a), b0, c[i][0]);
                    c[i][1] = fma_v(bc8(a), b1, c[i][1]);
                }
            }
            float out[4][16];
            RT_UNROLL(4)
            for (int i = 0; i < 4; i++) {
                RT_UNROLL(2)
                for (int j = 0; j < 16; j += 8) {
                    st8(&out[i][j], c[i][j / 8]);
                }
            }
            for (int i = 0; i < 4; i++) {
                for (int j = 0; j < 16; j += 8) {
                    const v8 d_block_ijk = ld8(&d_d_dot[p][4 * u + i][j]);
                    const v8 d_block_ijk2 = d_block_ijk + ld8(&out[i][j]);
                    const v8i linear_le_ij = ld8m(&linear_le[4 * u + i][16 * p + j]);
                    const v8i bernoulli_ij = ld8m(&bernoulli[4 * u + i][16 * p + j]);
                    const v8 d_linear_ij =
                        sel_v(linear_le_ij, bc8(0.0f),
                            sel_v(bernoulli_ij, d_block_ijk2 * 0.2f, bc8(0.0f)) / 0.9f);
                    st8(&d_block[p][4 * u + i][j], d_block_ijk2);
                    st8(&d_linear_2[4 * u + i][16 * p + j], d_linear_ij);
                }
            }
        }
    }
}

/* deep.nn:15: d_net_block_linear_w [64, 64] = dot */
RT_KERNEL void make_d_net_block_linear_w(rt_const float (*rt_restrict d_linear)[64],
    rt_const float (*rt_restrict block)[64], float (*rt_restrict d_net_block_linear_w)[64], int t,
    int n) {
    const int last = rt_tile(t + 1, n, 16);
    for (int block_ij = rt_tile(t, n, 16); block_ij < last; block_ij++) {
        for (int p = 0; p < 4; p++) {
            v8 c[4][2] = {{{0}}};
            RT_UNROLL(4)
            for (int k = 0; k < 32; k++) {
                const v8 b0 = ld8(&d_linear[k][16 * p]);
                const v8 b1 = ld8(&d_linear[k][16 * p + 8]);
                RT_UNROLL(4)
                for (int i = 0; i < 4; i++) {
                    const float a = block[k][4 * block_ij + i];
                    c[i][0] = fma_v(bc8(a), b0, c[i][0]);
                    c[i][1] = fma_v(bc8(a), b1, c[i][1]);
                }
            }
            RT_UNROLL(4)
            for (int i = 0; i < 4; i++) {
                RT_UNROLL(2)
                for (int j = 0; j < 16; j += 8) {
                    st8(&d_net_block_linear_w[4 * block_ij + i][16 * p + j], c[i][j / 8]);
                }
            }
        }
    }
}

/* deep.nn:30: squared_norm_3 [] = sum_mul, add */
RT_KERNEL void make_squared_norm_3(rt_const float (*rt_restrict d_net_block_linear_w)[64],
    const float *rt_restrict squared_norm_2, float *rt_restrict squared_norm_3) {
    float total_parts[4];
    for (int chunk = 0; chunk < 4; chunk++) {
        v8 total_lanes[4] = {{0}};
        for (int j = 0; j < 1024; j += 32) {
            RT_UNROLL(4)
            for (int v = 0; v < 4; v++) {
                const v8 d_net_block_linear_w_ij =
                    ld8(d_net_block_linear_w[0] + 1024 * chunk + j + 8 * v);
                total_lanes[v] =
                    fma_v(d_net_block_linear_w_ij, d_net_block_linear_w_ij, total_lanes[v]);
            }
        }
        const float part = rt_sum32(total_lanes);
        total_parts[chunk] = part;
    }
    v8 total_chunks[4] = {{0}};
    total_chunks[0] += sel8(first8(4), ld8n(&total_parts[0], 4), bc8(0.0f));
    const float total = rt_sum32(total_chunks);
    const float squared_norm_2_0 = squared_norm_2[0];
    squared_norm_3[0] = squared_norm_2_0 + total;
}

/* deep.nn:15: d_h [32, 64] = dot, add */
RT_KERNEL void make_d_h(rt_const float (*rt_restrict net_block_0_linear_w_packed_176)[16],
    rt_const float (*rt_restrict d_linear_6)[64], rt_const float (*rt_restrict d_block_5)[32][16],
    float (*rt_restrict d_h)[32][16]) {
    for (int p = 0; p < 4; p++) {
        for (int u = 0; u < 8; u++) {
            v8 c[4][2] = {{{0}}};
            RT_UNROLL(4)
            for (int k = 0; k < 64; k++) {
                const v8 b0 = ld8(&net_block_0_linear_w_packed_176[64 * p + k][0]);
                const v8 b1 = ld8(&net_block_0_linear_w_packed_176[64 * p + k][8]);
                RT_UNROLL(4)
                for (int i = 0; i < 4; i++) {
                    const float a = d_linear_6[4 * u + i][k];
                    c[i][0] = fma_v(bc8(a), b0, c[i][0]);
                    c[i][1] = fma_v(bc8(a), b1, c[i][1]);
                }
            }
            RT_UNROLL(4)
            for (int i = 0; i < 4; i++) {
                RT_UNROLL(2)
                for (int j = 0; j < 16; j += 8) {
                    const v8 d_block_5_ijk = ld8(&d_block_5[p][4 * u + i][j]);
                    const v8 d_h_ijk = d_block_5_ijk + c[i][j / 8];
                    st8(&d_h[p][4 * u + i][j], d_h_ijk);
                }
            }
        }
    }
}

/* deep.nn:18: d_net_linear_0_w [16, 64] = dot */
RT_KERNEL void make_d_net_linear_0_w(rt_const float (*rt_restrict d_h)[32][16],
    rt_const float (*rt_restrict x)[16], float (*rt_restrict d_net_linear_0_w)[64]) {
    for (int block = 0; block < 4; block++) {
        for (int p = 0; p < 4; p++) {
            v8 c[4][2] = {{{0}}};
            RT_UNROLL(4)
            for (int k = 0; k < 32; k++) {
                const v8 b0 = ld8(&d_h[p][k][0]);
                const v8 b1 = ld8(&d_h[p][k][8]);
                RT_UNROLL(4)
                for (int i = 0; i < 4; i++) {
                    const float a = x[k][4 * block + i];
                    c[i][0] = fma_v(bc8(a), b0, c[i][0]);
                    c[i][1] = fma_v(bc8(a), b1, c[i][1]);
                }
            }
            RT_UNROLL(4)
            for (int i = 0; i < 4; i++) {
                RT_UNROLL(2)
                for (int j = 0; j < 16; j += 8) {
                    st8(&d_net_linear_0_w[4 * block + i][16 * p + j], c[i][j / 8]);
                }
            }
        }
    }
}

/* deep.nn:18: d_net_linear_0_b [64] = sum */
RT_KERNEL void make_d_net_linear_0_b(rt_const float (*rt_restrict d_h)[32][16],
    float *rt_restrict d_net_linear_0_b) {
    for (int tile = 0; tile < 4; tile++) {
        for (int j = 0; j < 16; j += 8) {
            v8 d_net_linear_0_b_i = bc8(0.0f);
            for (int row = 0; row < 32; row++) {
                const v8 d_h_ijk = ld8(&d_h[tile][row][j]);
                d_net_linear_0_b_i += d_h_ijk;
            }
            st8(&d_net_linear_0_b[16 * tile + j], d_net_linear_0_b_i);
        }
    }
}

/* deep.nn:26: adamw_m_net_linear_1_b [1], adamw_v_net_linear_1_b [1], adamw_m_net_linear_0_w
 * [16, 64], adamw_v_net_linear_0_w [16, 64], clip_factor [], sqrt_2 [1] = sum_mul, add, sqrt, div,
 * minimum, mul, mul, mul, add, mul, mul, add … */
RT_KERNEL void make_clip_factor(rt_const float (*rt_restrict d_net_linear_0_w)[64],
    float (*rt_restrict adamw_m_net_linear_0_w)[64], const float *rt_restrict squared_norm_14,
    float (*rt_restrict adamw_v_net_linear_0_w)[64], float *rt_restrict adamw_m_net_linear_1_b,
    const float *rt_restrict d_net_linear_1_b, float *rt_restrict adamw_v_net_linear_1_b,
    float *rt_restrict clip_factor, float *rt_restrict sqrt_2) {
    v8 total_lanes[4] = {{0}};
    for (int j = 0; j < 1024; j += 32) {
        RT_UNROLL(4)
        for (int v = 0; v < 4; v++) {
            const v8 d_net_linear_0_w_ij = ld8(d_net_linear_0_w[0] + j + 8 * v);
            total_lanes[v] = fma_v(d_net_linear_0_w_ij, d_net_linear_0_w_ij, total_lanes[v]);
        }
    }
    const float total = rt_sum32(total_lanes);
    const float squared_norm_14_0 = squared_norm_14[0];
    const float clip_factor_0 = min_1(1.0f, 1.0f / sqrt_1(squared_norm_14_0 + total));
    for (int j = 0; j < 1024; j += 8) {
        const v8 d_net_linear_0_w_ij = ld8(d_net_linear_0_w[0] + j);
        const v8 value = d_net_linear_0_w_ij * clip_factor_0;
        const v8 m = 0.9f * ld8(adamw_m_net_linear_0_w[0] + j) + 0.1f * value;
        const v8 v = 0.999f * ld8(adamw_v_net_linear_0_w[0] + j) + 0.001f * (value * value);
        st8(adamw_m_net_linear_0_w[0] + j, m);
        st8(adamw_v_net_linear_0_w[0] + j, v);
    }
    const float d_net_linear_1_b_0 = d_net_linear_1_b[0];
    const float value = d_net_linear_1_b_0 * clip_factor_0;
    const float m = 0.9f * adamw_m_net_linear_1_b[0] + 0.1f * value;
    const float v = 0.999f * adamw_v_net_linear_1_b[0] + 0.001f * (value * value);
    const float sqrt_2_0 = sqrt_1(v);
    adamw_m_net_linear_1_b[0] = m;
    adamw_v_net_linear_1_b[0] = v;
    clip_factor[0] = clip_factor_0;
    sqrt_2[0] = sqrt_2_0;
}

/* deep.nn:26: adamw_step [], net_linear_1_b [1], rate [], scale [] = add, cast, div, rsqrt, sub */
RT_KERNEL void make_rate(int32_t *rt_restrict adamw_step, float *rt_restrict net_linear_1_b,
    const float *rt_restrict adamw_m_net_linear_1_b, const float *rt_restrict sqrt_2,
    float *rt_restrict rate, float *rt_restrict scale) {
    const int32_t step = adamw_step[0];
    const int32_t step2 = step + 1;
    const float b = net_linear_1_b[0];
    const float value = (float)step2;
    const float expm1_value = expm1_1(value * -0.105360515f);
    const float rate_0 = 0.003f / -expm1_value;
    const float adamw_m_net_linear_1_b_0 = adamw_m_net_linear_1_b[0];
    const float expm1_value2 = expm1_1(value * -0.0010005003f);
    const float scale_0 = rsqrt_1(-expm1_value2);
    const float net_linear_1_b_0 =
        b * 0.99997f - rate_0 * adamw_m_net_linear_1_b_0 / (sqrt_2[0] * scale_0 + 1e-08f);
    adamw_step[0] = step2;
    net_linear_1_b[0] = net_linear_1_b_0;
    rate[0] = rate_0;
    scale[0] = scale_0;
}

/* deep.nn:26: adamw_m_net_linear_1_w [64, 1], adamw_v_net_linear_1_w [64, 1], net_linear_1_w
 * [64, 1] = add, sub, add */
RT_KERNEL void update_net_linear_1_w(float *rt_restrict adamw_m_net_linear_1_w,
    const float *rt_restrict d_net_linear_1_w, const float *rt_restrict clip_factor,
    float *rt_restrict adamw_v_net_linear_1_w, float *rt_restrict net_linear_1_w,
    const float *rt_restrict rate, const float *rt_restrict scale) {
    const float clip_factor_0 = clip_factor[0];
    const float rate_0 = rate[0];
    const float scale_0 = scale[0];
    for (int i = 0; i < 64; i += 8) {
        const v8 d_net_linear_1_w_i = ld8(&d_net_linear_1_w[i]);
        const v8 value = d_net_linear_1_w_i * clip_factor_0;
        const v8 m = 0.9f * ld8(&adamw_m_net_linear_1_w[i]) + 0.1f * value;
        const v8 v = 0.999f * ld8(&adamw_v_net_linear_1_w[i]) + 0.001f * (value * value);
        const v8 w = ld8(&net_linear_1_w[i]);
        const v8 net_linear_1_w_i = w * 0.99997f - rate_0 * m / (sqrt_v(v) * scale_0 + 1e-08f);
        st8(&adamw_m_net_linear_1_w[i], m);
        st8(&adamw_v_net_linear_1_w[i], v);
        st8(&net_linear_1_w[i], net_linear_1_w_i);
    }
}

/* deep.nn:26: adamw_m_net_linear_b [64], adamw_v_net_linear_b [64], net_linear_b [64] = add, sub,
 * add */
RT_KERNEL void update_net_linear_b(float *rt_restrict adamw_m_net_linear_b,
    const float *rt_restrict d_net_linear_b, const float *rt_restrict clip_factor,
    float *rt_restrict adamw_v_net_linear_b, float *rt_restrict net_linear_b,
    const float *rt_restrict rate, const float *rt_restrict scale) {
    const float clip_factor_0 = clip_factor[0];
    const float rate_0 = rate[0];
    const float scale_0 = scale[0];
    for (int i = 0; i < 64; i += 8) {
        const v8 d_net_linear_b_i = ld8(&d_net_linear_b[i]);
        const v8 value = d_net_linear_b_i * clip_factor_0;
        const v8 m = 0.9f * ld8(&adamw_m_net_linear_b[i]) + 0.1f * value;
        const v8 v = 0.999f * ld8(&adamw_v_net_linear_b[i]) + 0.001f * (value * value);
        const v8 b = ld8(&net_linear_b[i]);
        const v8 net_linear_b_i = b * 0.99997f - rate_0 * m / (sqrt_v(v) * scale_0 + 1e-08f);
        st8(&adamw_m_net_linear_b[i], m);
        st8(&adamw_v_net_linear_b[i], v);
        st8(&net_linear_b[i], net_linear_b_i);
    }
}

/* deep.nn:26: adamw_m_net_block_linear_w [64, 64], adamw_v_net_block_linear_w [64, 64],
 * net_block_linear_w [64, 64] = add, sub, add */
RT_KERNEL void update_net_block_linear_w(float (*rt_restrict adamw_m_net_block_linear_w)[64][16],
    rt_const float (*rt_restrict d_net_block_linear_w)[64], const float *rt_restrict clip_factor,
    float (*rt_restrict adamw_v_net_block_linear_w)[64][16],
    float (*rt_restrict net_block_linear_w)[64][16], const float *rt_restrict rate,
    const float *rt_restrict scale, int t, int n) {
    const float clip_factor_0 = clip_factor[0];
    const float rate_0 = rate[0];
    const float scale_0 = scale[0];
    const int last = rt_tile(t + 1, n, 4);
    for (int p = rt_tile(t, n, 4); p < last; p++) {
        for (int k = 0; k < 64; k++) {
            for (int j = 0; j < 16; j += 8) {
                const v8 d_net_block_linear_w_ij = ld8(&d_net_block_linear_w[k][16 * p + j]);
                const v8 value = d_net_block_linear_w_ij * clip_factor_0;
                const v8 m = 0.9f * ld8(&adamw_m_net_block_linear_w[p][k][j]) + 0.1f * value;
                const v8 v =
                    0.999f * ld8(&adamw_v_net_block_linear_w[p][k][j]) + 0.001f * (value * value);
                const v8 w = ld8(&net_block_linear_w[p][k][j]);
                const v8 net_block_linear_w_ijk =
                    w * 0.99997f - rate_0 * m / (sqrt_v(v) * scale_0 + 1e-08f);
                st8(&adamw_m_net_block_linear_w[p][k][j], m);
                st8(&adamw_v_net_block_linear_w[p][k][j], v);
                st8(&net_block_linear_w[p][k][j], net_block_linear_w_ijk);
            }
        }
    }
}

/* deep.nn:26: net_linear_0_w [16, 64] = sub */
RT_KERNEL void update_net_linear_0_w(float (*rt_restrict net_linear_0_w)[16][16],
    const float *rt_restrict rate, rt_const float (*rt_restrict adamw_m_net_linear_0_w)[64],
    rt_const float (*rt_restrict adamw_v_net_linear_0_w)[64], const float *rt_restrict scale) {
    const float rate_0 = rate[0];
    const float scale_0 = scale[0];
    for (int p = 0; p < 4; p++) {
        for (int k = 0; k < 16; k++) {
            for (int j = 0; j < 16; j += 8) {
                const v8 w = ld8(&net_linear_0_w[p][k][j]);
                const v8 adamw_m_net_linear_0_w_ij = ld8(&adamw_m_net_linear_0_w[k][16 * p + j]);
                const v8 adamw_v_net_linear_0_w_ij = ld8(&adamw_v_net_linear_0_w[k][16 * p + j]);
                const v8 net_linear_0_w_ijk =
                    w * 0.99997f -
                        rate_0 * adamw_m_net_linear_0_w_ij /
                        (sqrt_v(adamw_v_net_linear_0_w_ij) * scale_0 + 1e-08f);
                st8(&net_linear_0_w[p][k][j], net_linear_0_w_ijk);
            }
        }
    }
}

/* deep.nn:33: x_2 [1, rows, 16] = gather */
RT_KERNEL void make_x_2(const int32_t *rt_restrict points_rows_1,
    rt_const float (*rt_restrict points_x)[16], float (*rt_restrict x_2)[16], int rows) {
    for (int i = 0; i < rows; i++) {
        const int32_t points_rows = points_rows_1[i];
        for (int j = 0; j < 16; j += 8) {
            st8(&x_2[i][j], ld8(&points_x[points_rows][j]));
        }
    }
}

/* deep.nn:18: h_2 [rows, 64] = dot, add */
RT_KERNEL void make_h_2(rt_const float (*rt_restrict net_linear_0_w)[16][16],
    rt_const float (*rt_restrict x_2)[16], const float *rt_restrict net_linear_0_b,
    float (*rt_restrict h_2)[64], int rows) {
    for (int block = 0; block < 5; block++) {
        for (int p = 0; p < 4; p++) {
            if (4 * block < rows) {
                v8 c[4][2] = {{{0}}};
                RT_UNROLL(4)
                for (int k = 0; k < 16; k++) {
                    const v8 b0 = ld8(&net_linear_0_w[p][k][0]);
                    const v8 b1 = ld8(&net_linear_0_w[p][k][8]);
                    RT_UNROLL(4)
                    for (int i = 0; i < 4; i++) {
                        const float a = x_2[4 * block + i][k];
                        c[i][0] = fma_v(bc8(a), b0, c[i][0]);
                        c[i][1] = fma_v(bc8(a), b1, c[i][1]);
                    }
                }
                RT_UNROLL(4)
                for (int i = 0; i < 4; i++) {
                    if (4 * block + i < rows) {
                        RT_UNROLL(2)
                        for (int j = 0; j < 16; j += 8) {
                            const v8 h = c[i][j / 8] + ld8(&net_linear_0_b[16 * p + j]);
                            st8(&h_2[4 * block + i][16 * p + j], h);
                        }
                    }
                }
            }
        }
    }
}

/* deep.nn:15: block [rows, 64] = dot, add, add */
RT_KERNEL void make_block_2(rt_const float (*rt_restrict net_block_linear_w)[64][16],
    rt_const float (*rt_restrict h_2)[64], const float *rt_restrict net_block_linear_b,
    float (*rt_restrict block)[64], int rows) {
    for (int p = 0; p < 4; p++) {
        for (int u = 0; u < 4; u++) {
            if (5 * u < rows) {
                v8 c[5][2] = {{{0}}};
                RT_UNROLL(4)
                for (int k = 0; k < 64; k++) {
                    const v8 b0 = ld8(&net_block_linear_w[p][k][0]);
                    const v8 b1 = ld8(&net_block_linear_w[p][k][8]);
                    RT_UNROLL(5)
                    for (int i = 0; i < 5; i++) {
                        const float a = h_2[5 * u + i][k];
                        c[i][0] = fma_v(bc8(a), b0, c[i][0]);
                        c[i][1] = fma_v(bc8(a), b1, c[i][1]);
                    }
                }
                RT_UNROLL(5)
                for (int i = 0; i < 5; i++) {
                    if (5 * u + i < rows) {
                        RT_UNROLL(2)
                        for (int j = 0; j < 16; j += 8) {
                            const v8 h_2_ij = ld8(&h_2[5 * u + i][16 * p + j]);
                            const v8 linear = c[i][j / 8] + ld8(&net_block_linear_b[16 * p + j]);
                            const v8 block_ij =
                                h_2_ij + 0.2f * sel_v(linear <= 0.0f, bc8(0.0f), linear);
                            st8(&block[5 * u + i][16 * p + j], block_ij);
                        }
                    }
                }
            }
        }
    }
}

/* deep.nn:15: block_12 [1, rows, 64] = dot, add, add */
RT_KERNEL void make_block_12(rt_const float (*rt_restrict net_block_5_linear_w)[64][16],
    rt_const float (*rt_restrict block_11)[64], const float *rt_restrict net_block_5_linear_b,
    float (*rt_restrict block_12)[64], int rows) {
    for (int p = 0; p < 4; p++) {
        for (int u = 0; u < 4; u++) {
            if (5 * u < rows) {
                v8 c[5][2] = {{{0}}};
                RT_UNROLL(4)
                for (int k = 0; k < 64; k++) {
                    const v8 b0 = ld8(&net_block_5_linear_w[p][k][0]);
                    const v8 b1 = ld8(&net_block_5_linear_w[p][k][8]);
                    RT_UNROLL(5)
                    for (int i = 0; i < 5; i++) {
                        const float a = block_11[5 * u + i][k];
                        c[i][0] = fma_v(bc8(a), b0, c[i][0]);
                        c[i][1] = fma_v(bc8(a), b1, c[i][1]);
                    }
                }
                RT_UNROLL(5)
                for (int i = 0; i < 5; i++) {
                    if (5 * u + i < rows) {
                        RT_UNROLL(2)
                        for (int j = 0; j < 16; j += 8) {
                            const v8 block_11_ij = ld8(&block_11[5 * u + i][16 * p + j]);
                            const v8 linear = c[i][j / 8] + ld8(&net_block_5_linear_b[16 * p + j]);
                            const v8 block =
                                block_11_ij + 0.2f * sel_v(linear <= 0.0f, bc8(0.0f), linear);
                            st8(&block_12[5 * u + i][16 * p + j], block);
                        }
                    }
                }
            }
        }
    }
}

/* deep.nn:33: d_2 [rows, 1] = dot, sub */
RT_KERNEL void make_d_2(const float *rt_restrict net_linear_1_w,
    rt_const float (*rt_restrict block_12)[64], const float *rt_restrict net_linear_1_b,
    const int32_t *rt_restrict points_rows_1, const float *rt_restrict points_y,
    float *rt_restrict d_2, int rows) {
    for (int u = 0; u < 2; u++) {
        if (10 * u < rows) {
            float c[10] = {0};
            RT_UNROLL(4)
            for (int k = 0; k < 64; k++) {
                const float b = net_linear_1_w[k];
                RT_UNROLL(10)
                for (int i = 0; i < 10; i++) {
                    const float a = block_12[10 * u + i][k];
                    c[i] = fma_1(a, b, c[i]);
                }
            }
            RT_UNROLL(10)
            for (int i = 0; i < 10; i++) {
                if (10 * u + i < rows) {
                    const int32_t points_rows = points_rows_1[10 * u + i];
                    const float d = c[i] + net_linear_1_b[0] - points_y[points_rows];
                    d_2[10 * u + i] = d;
                }
            }
        }
    }
}

/* deep.nn:5: mean [] = sum_mul, div, cast, mul, add */
RT_KERNEL void update_mean(const float *rt_restrict d_2, double *rt_restrict mean, int rows) {
    float total_lanes[32] = {0};
    for (int j = 0; j < rows; j++) {
        const float d_2_i = d_2[j];
        total_lanes[j % 32] = fma_1(d_2_i, d_2_i, total_lanes[j % 32]);
    }
    const float total = rt_sum_f32(total_lanes);
    const double mean_0 = mean[0];
    const double value = (double)rows;
    const double mean_0_2 = mean_0 + (double)(total / (float)rows) * value;
    mean[0] = mean_0_2;
}

/* deep.nn:5: rows_1 [] = add */
RT_KERNEL void update_rows_1(double *rt_restrict rows_1, int rows) {
    const double rows2 = rows_1[0];
    const double value = (double)rows;
    rows_1[0] = rows2 + value;
}

/* deep.nn:5: rows_1 [], mean [] = stop */
RT_KERNEL void update_rows_1_2(double *rt_restrict rows_1, double *rt_restrict mean) {
    rows_1[0] = 0.0;
    mean[0] = 0.0;
}

/* deep.nn:5: known [] = cast */
RT_KERNEL void make_known(const double *rt_restrict mean, const double *rt_restrict rows_1,
    float *rt_restrict known) {
    const double mean_0 = mean[0];
    const double rows = rows_1[0];
    known[0] = (float)(mean_0 / rows);
}

/* deep.nn:37: late_linear_0_w [16, 64] = stop */
RT_KERNEL void update_late_linear_0_w(rt_const float (*rt_restrict net_linear_0_w)[16][16],
    float (*rt_restrict late_linear_0_w)[16][16]) {
    for (int p = 0; p < 4; p++) {
        for (int k = 0; k < 16; k++) {
            for (int j = 0; j < 16; j += 8) {
                st8(&late_linear_0_w[p][k][j], ld8(&net_linear_0_w[p][k][j]));
            }
        }
    }
}

/* deep.nn:37: late_linear_b [64] = stop */
RT_KERNEL void update_late_linear_b(const float *rt_restrict net_linear_b,
    float *rt_restrict late_linear_b) {
    for (int i = 0; i < 64; i += 8) {
        st8(&late_linear_b[i], ld8(&net_linear_b[i]));
    }
}

/* deep.nn:37: late_block_linear_w [64, 64] = stop */
RT_KERNEL void update_late_block_linear_w(rt_const float (*rt_restrict net_block_linear_w)[64][16],
    float (*rt_restrict late_block_linear_w)[64][16]) {
    for (int p = 0; p < 4; p++) {
        for (int k = 0; k < 64; k++) {
            for (int j = 0; j < 16; j += 8) {
                st8(&late_block_linear_w[p][k][j], ld8(&net_block_linear_w[p][k][j]));
            }
        }
    }
}

/* deep.nn:37: late_linear_1_w [64, 1] = stop */
RT_KERNEL void update_late_linear_1_w(const float *rt_restrict net_linear_1_w,
    float *rt_restrict late_linear_1_w) {
    for (int i = 0; i < 64; i += 8) {
        st8(&late_linear_1_w[i], ld8(&net_linear_1_w[i]));
    }
}

/* deep.nn:37: late_linear_1_b [1] = stop */
RT_KERNEL void update_late_linear_1_b(const float *rt_restrict net_linear_1_b,
    float *rt_restrict late_linear_1_b) {
    late_linear_1_b[0] = net_linear_1_b[0];
}

/* deep.nn:38: net_linear_0_w [16, 64] = add */
RT_KERNEL void update_net_linear_0_w_2(float (*rt_restrict net_linear_0_w)[16][16], int32_t runs_2,
    uint64_t seed, uint32_t place) {
    for (int p = 0; p < 4; p++) {
        for (int k = 0; k < 16; k++) {
            for (int j = 0; j < 16; j += 8) {
                const v8 random = rand_v(seed, runs_2, place, 64 * k + 16 * p + j);
                st8(&net_linear_0_w[p][k][j], -0.25f + 0.5f * random);
            }
        }
    }
}

/* deep.nn:38: net_linear_0_b [64] = add */
RT_KERNEL void update_net_linear_0_b_2(float *rt_restrict net_linear_0_b, int32_t runs_2,
    uint64_t seed, uint32_t place) {
    for (int i = 0; i < 64; i += 8) {
        const v8 random = rand_v(seed, runs_2, place, i);
        st8(&net_linear_0_b[i], -0.25f + 0.5f * random);
    }
}

/* deep.nn:38: net_block_linear_w [64, 64] = add */
RT_KERNEL void update_net_block_linear_w_2(float (*rt_restrict net_block_linear_w)[64][16],
    int32_t runs_2, uint64_t seed, uint32_t place, int t, int n) {
    const int last = rt_tile(t + 1, n, 4);
    for (int p = rt_tile(t, n, 4); p < last; p++) {
        for (int k = 0; k < 64; k++) {
            for (int j = 0; j < 16; j += 8) {
                const v8 random = rand_v(seed, runs_2, place, 64 * k + 16 * p + j);
                st8(&net_block_linear_w[p][k][j], -0.125f + 0.25f * random);
            }
        }
    }
}

/* deep.nn:38: net_block_linear_b [64] = add */
RT_KERNEL void update_net_block_linear_b(float *rt_restrict net_block_linear_b, int32_t runs_2,
    uint64_t seed, uint32_t place) {
    for (int i = 0; i < 64; i += 8) {
        const v8 random = rand_v(seed, runs_2, place, i);
        st8(&net_block_linear_b[i], -0.125f + 0.25f * random);
    }
}

/* deep.nn:38: net_linear_1_w [64, 1] = add */
RT_KERNEL void update_net_linear_1_w_2(float *rt_restrict net_linear_1_w, int32_t runs_2,
    uint64_t seed, uint32_t place) {
    for (int i = 0; i < 64; i += 8) {
        const v8 random = rand_v(seed, runs_2, place, i);
        st8(&net_linear_1_w[i], -0.125f + 0.25f * random);
    }
}

/* deep.nn:38: net_linear_1_b [1] = add */
RT_KERNEL void update_net_linear_1_b(float *rt_restrict net_linear_1_b, int32_t runs_2,
    uint64_t seed, uint32_t place) {
    const float random = rand_1(seed, runs_2, place, 0);
    net_linear_1_b[0] = -0.125f + 0.25f * random;
}

/* deep.nn:18: constant_2 [1, 5, 16] = constant */
RT_KERNEL void make_constant_2(float (*rt_restrict constant_2)[16]) {
    for (int i = 0; i < 80; i += 8) {
        st8(constant_2[0] + i, bc8(0.29552022f));
    }
}

/* deep.nn:18: h [5, 64] = dot, add */
RT_KERNEL void make_h_3(rt_const float (*rt_restrict linear_w)[16][16],
    rt_const float (*rt_restrict constant_2)[16], const float *rt_restrict linear_b,
    float (*rt_restrict h)[64]) {
    for (int p = 0; p < 4; p++) {
        v8 c[5][2] = {{{0}}};
        RT_UNROLL(4)
        for (int k = 0; k < 16; k++) {
            const v8 b0 = ld8(&linear_w[p][k][0]);
            const v8 b1 = ld8(&linear_w[p][k][8]);
            RT_UNROLL(5)
            for (int i = 0; i < 5; i++) {
                const float a = constant_2[i][k];
                c[i][0] = fma_v(bc8(a), b0, c[i][0]);
                c[i][1] = fma_v(bc8(a), b1, c[i][1]);
            }
        }
        RT_UNROLL(5)
        for (int i = 0; i < 5; i++) {
            RT_UNROLL(2)
            for (int j = 0; j < 16; j += 8) {
                const v8 h_ij = c[i][j / 8] + ld8(&linear_b[16 * p + j]);
                st8(&h[i][16 * p + j], h_ij);
            }
        }
    }
}

/* deep.nn:15: block [5, 64] = dot, add, add */
RT_KERNEL void make_block_3(rt_const float (*rt_restrict block_linear_w)[64][16],
    rt_const float (*rt_restrict h)[64], const float *rt_restrict block_linear_b,
    float (*rt_restrict block)[64]) {
    for (int p = 0; p < 4; p++) {
        v8 c[5][2] = {{{0}}};
        RT_UNROLL(4)
        for (int k = 0; k < 64; k++) {
            const v8 b0 = ld8(&block_linear_w[p][k][0]);
            const v8 b1 = ld8(&block_linear_w[p][k][8]);
            RT_UNROLL(5)
            for (int i = 0; i < 5; i++) {
                const float a = h[i][k];
                c[i][0] = fma_v(bc8(a), b0, c[i][0]);
                c[i][1] = fma_v(bc8(a), b1, c[i][1]);
            }
        }
        RT_UNROLL(5)
        for (int i = 0; i < 5; i++) {
            RT_UNROLL(2)
            for (int j = 0; j < 16; j += 8) {
                const v8 h_ij = ld8(&h[i][16 * p + j]);
                const v8 linear = c[i][j / 8] + ld8(&block_linear_b[16 * p + j]);
                const v8 block_ij = h_ij + 0.2f * sel_v(linear <= 0.0f, bc8(0.0f), linear);
                st8(&block[i][16 * p + j], block_ij);
            }
        }
    }
}

/* deep.nn:15: block_24 [1, 5, 64] = dot, add, add */
RT_KERNEL void make_block_4(rt_const float (*rt_restrict block_linear_w)[64][16],
    rt_const float (*rt_restrict block_23)[64], const float *rt_restrict block_linear_b,
    float (*rt_restrict block_24)[64]) {
    for (int p = 0; p < 4; p++) {
        v8 c[5][2] = {{{0}}};
        RT_UNROLL(4)
        for (int k = 0; k < 64; k++) {
            const v8 b0 = ld8(&block_linear_w[p][k][0]);
            const v8 b1 = ld8(&block_linear_w[p][k][8]);
            RT_UNROLL(5)
            for (int i = 0; i < 5; i++) {
                const float a = block_23[i][k];
                c[i][0] = fma_v(bc8(a), b0, c[i][0]);
                c[i][1] = fma_v(bc8(a), b1, c[i][1]);
            }
        }
        RT_UNROLL(5)
        for (int i = 0; i < 5; i++) {
            RT_UNROLL(2)
            for (int j = 0; j < 16; j += 8) {
                const v8 block_23_ij = ld8(&block_23[i][16 * p + j]);
                const v8 linear = c[i][j / 8] + ld8(&block_linear_b[16 * p + j]);
                const v8 block = block_23_ij + 0.2f * sel_v(linear <= 0.0f, bc8(0.0f), linear);
                st8(&block_24[i][16 * p + j], block);
            }
        }
    }
}

/* deep.nn:20: block_dot [5, 1] = dot */
RT_KERNEL void make_block_dot(const float *rt_restrict linear_w,
    rt_const float (*rt_restrict block)[64], float *rt_restrict block_dot) {
    float c[5] = {0};
    RT_UNROLL(4)
    for (int k = 0; k < 64; k++) {
        const float b = linear_w[k];
        RT_UNROLL(5)
        for (int i = 0; i < 5; i++) {
            const float a = block[i][k];
            c[i] = fma_1(a, b, c[i]);
        }
    }
    RT_UNROLL(5)
    for (int i = 0; i < 5; i++) {
        block_dot[i] = c[i];
    }
}

/* deep.nn:41: ne_2 [] = min, ne */
RT_KERNEL void make_ne_2(const float *rt_restrict block_dot,
    const float *rt_restrict net_linear_1_b, const float *rt_restrict block_dot_2,
    const float *rt_restrict late_linear_1_b, unsigned char *rt_restrict ne_2) {
    v8i result_lanes[4] = {bc8i(2147483647), bc8i(2147483647), bc8i(2147483647), bc8i(2147483647)};
    result_lanes[0] =
        min_vi(result_lanes[0],
            sel8i(first8(5),
            -(ld8n(&block_dot[0], 5) + net_linear_1_b[0] ==
            ld8n(&block_dot_2[0], 5) + late_linear_1_b[0]), bc8i(2147483647)));
    const int32_t result = rt_min32i(result_lanes);
    ne_2[0] = result != 0;
}

/* deep.nn:13: points_x [140, 16] = sin */
RT_KERNEL void update_points_x(float (*rt_restrict points_x)[16], int t, int n) {
    const int last = rt_tile(t + 1, n, 3);
    for (int tile = rt_tile(t, n, 3); tile < last; tile++) {
        const int end = rt_less(1024, 2240 - 1024 * tile);
        int i = 0;
        for (; i + 8 <= end; i += 8) {
            const v8 inputs = sin_v(i2f8(iota8() + 1024 * tile + i) * 0.7f);
            st8(points_x[0] + 1024 * tile + i, inputs);
        }
        if (i < end) {
            const int rest = end - i;
            const v8 inputs = sin_v(i2f8(iota8() + 1024 * tile + i) * 0.7f);
            st8n(points_x[0] + 1024 * tile + i, rest, inputs);
        }
    }
}

/* deep.nn:8: points_y [140, 1] = mul */
RT_KERNEL void update_points_y(rt_const float (*rt_restrict points_x)[16],
    float *rt_restrict points_y) {
    for (int i = 0; i < 136; i += 8) {
        const v8 points_x_ij = gather8(points_x[0], 16 * iota8() + 16 * i, 8);
        const v8 points_x_ij2 = gather8(points_x[0], 16 * iota8() + 16 * i + 1, 8);
        st8(&points_y[i], points_x_ij * points_x_ij2);
    }
    {
        const v8 points_x_ij = gather8(points_x[0], 16 * iota8() + 2176, 4);
        const v8 points_x_ij2 = gather8(points_x[0], 16 * iota8() + 2177, 4);
        st8n(&points_y[136], 4, points_x_ij * points_x_ij2);
    }
}

/* deep.nn:37: net_linear_0_w [16, 64], late_linear_0_w [16, 64] = add, stop */
RT_KERNEL void update_net_linear_0_w_3(float (*rt_restrict net_linear_0_w)[16][16],
    float (*rt_restrict late_linear_0_w)[16][16], uint64_t seed, uint32_t place) {
    for (int p = 0; p < 4; p++) {
        for (int k = 0; k < 16; k++) {
            for (int j = 0; j < 16; j += 8) {
                const v8 random = rand_v(seed, 0, place, 64 * k + 16 * p + j);
                const v8 uniform = -0.25f + 0.5f * random;
                st8(&net_linear_0_w[p][k][j], uniform);
                st8(&late_linear_0_w[p][k][j], uniform);
            }
        }
    }
}

/* deep.nn:37: net_linear_0_b [64], late_linear_0_b [64] = add, stop */
RT_KERNEL void update_net_linear_0_b_3(float *rt_restrict net_linear_0_b,
    float *rt_restrict late_linear_0_b, uint64_t seed, uint32_t place) {
    for (int i = 0; i < 64; i += 8) {
        const v8 random = rand_v(seed, 0, place, i);
        const v8 uniform = -0.25f + 0.5f * random;
        st8(&net_linear_0_b[i], uniform);
        st8(&late_linear_0_b[i], uniform);
    }
}

/* deep.nn:37: net_block_linear_w [64, 64], late_block_linear_w [64, 64] = add, stop */
RT_KERNEL void update_net_block_linear_w_3(float (*rt_restrict net_block_linear_w)[64][16],
    float (*rt_restrict late_block_linear_w)[64][16], uint64_t seed, uint32_t place, int t, int n) {
    const int last = rt_tile(t + 1, n, 4);
    for (int p = rt_tile(t, n, 4); p < last; p++) {
        for (int k = 0; k < 64; k++) {
            for (int j = 0; j < 16; j += 8) {
                const v8 random = rand_v(seed, 0, place, 64 * k + 16 * p + j);
                const v8 uniform = -0.125f + 0.25f * random;
                st8(&net_block_linear_w[p][k][j], uniform);
                st8(&late_block_linear_w[p][k][j], uniform);
            }
        }
    }
}

/* deep.nn:37: net_block_linear_b [64], late_block_linear_b [64] = add, stop */
RT_KERNEL void update_net_block_linear_b_2(float *rt_restrict net_block_linear_b,
    float *rt_restrict late_block_linear_b, uint64_t seed, uint32_t place) {
    for (int i = 0; i < 64; i += 8) {
        const v8 random = rand_v(seed, 0, place, i);
        const v8 uniform = -0.125f + 0.25f * random;
        st8(&net_block_linear_b[i], uniform);
        st8(&late_block_linear_b[i], uniform);
    }
}

/* deep.nn:37: net_linear_1_w [64, 1], late_linear_1_w [64, 1] = add, stop */
RT_KERNEL void update_net_linear_1_w_3(float *rt_restrict net_linear_1_w,
    float *rt_restrict late_linear_1_w, uint64_t seed, uint32_t place) {
    for (int i = 0; i < 64; i += 8) {
        const v8 random = rand_v(seed, 0, place, i);
        const v8 uniform = -0.125f + 0.25f * random;
        st8(&net_linear_1_w[i], uniform);
        st8(&late_linear_1_w[i], uniform);
    }
}

/* deep.nn:26: net_linear_1_b [1], late_linear_1_b [1], adamw_v_net_linear_1_b [1], adamw_step [],
 * adamw_m_net_linear_1_b [1] = add, stop, stop */
RT_KERNEL void update_net_linear_1_b_2(float *rt_restrict net_linear_1_b,
    float *rt_restrict late_linear_1_b, float *rt_restrict adamw_v_net_linear_1_b,
    int32_t *rt_restrict adamw_step, float *rt_restrict adamw_m_net_linear_1_b, uint64_t seed,
    uint32_t place) {
    const float random = rand_1(seed, 0, place, 0);
    const float uniform = -0.125f + 0.25f * random;
    net_linear_1_b[0] = uniform;
    late_linear_1_b[0] = uniform;
    adamw_v_net_linear_1_b[0] = 0.0f;
    adamw_step[0] = 0;
    adamw_m_net_linear_1_b[0] = 0.0f;
}

/* deep.nn:26: adamw_net_linear_w [64, 1] = stop */
RT_KERNEL void update_adamw_net_linear_w(float *rt_restrict adamw_net_linear_w) {
    for (int i = 0; i < 64; i += 8) {
        st8(&adamw_net_linear_w[i], bc8(0.0f));
    }
}

/* deep.nn:26: adamw_net_linear_b [64] = stop */
RT_KERNEL void update_adamw_net_linear_b(float *rt_restrict adamw_net_linear_b) {
    for (int i = 0; i < 64; i += 8) {
        st8(&adamw_net_linear_b[i], bc8(0.0f));
    }
}

/* deep.nn:26: adamw_net_block_linear_w [64, 64] = stop */
RT_KERNEL void update_adamw_net_block_linear_w(
    float (*rt_restrict adamw_net_block_linear_w)[64][16]) {
    for (int p = 0; p < 4; p++) {
        for (int k = 0; k < 64; k++) {
            for (int j = 0; j < 16; j += 8) {
                st8(&adamw_net_block_linear_w[p][k][j], bc8(0.0f));
            }
        }
    }
}

/* deep.nn:26: adamw_net_linear_w [16, 64] = stop */
RT_KERNEL void update_adamw_net_linear_w_2(float (*rt_restrict adamw_net_linear_w)[64]) {
    for (int i = 0; i < 1024; i += 8) {
        st8(adamw_net_linear_w[0] + i, bc8(0.0f));
    }
}

/* ==== regions: the kernels of one piece of tensor work, run by all threads side by side ===== */

/* train_step: deep.nn:30 */
static void region_train_step(void *arg, int t) {
    struct nn *nn = (struct nn *)arg;
    const int n = nn->n;
    if (t == 0) {
        pack_net_linear_1_w_for_make_d_linear(at_net_linear_1_w(nn),
            at_net_linear_1_w_packed_170(nn));
        make_x(at_points_rows(nn), at_points_x(nn), at_x(nn));
        make_h(at_net_linear_0_w(nn), at_x(nn), at_net_linear_0_b(nn), at_block(nn, 0));
        nn_inspect(nn, 0, 0);
        for (int layer = 0; layer < 5; layer++) {
            static const uint32_t places_of_make_block[] = {0x65eac72cu, 0xf4041171u,
                0x44305082u, 0xd50d8bd7u, 0x27fdbbf8u};
            make_block(at_net_block_linear_w(nn, layer), at_block(nn, layer),
                at_net_block_linear_b(nn, layer), at_linear_le(nn, layer),
                at_bernoulli(nn, layer), at_block(nn, layer + 1), nn->scalars.runs, nn->rt.seed,
                places_of_make_block[layer]);
            nn_inspect(nn, 1, layer);
        }
        make_block_6(at_net_block_linear_w(nn, 5), at_block(nn, 5), at_net_block_linear_b(nn, 5),
            at_linear_le(nn, 5), at_bernoulli(nn, 5), at_block_6(nn), nn->scalars.runs,
            nn->rt.seed, 0xb8daf74du);
        make_d(at_net_linear_1_w(nn), at_block_6(nn), at_net_linear_1_b(nn), at_points_rows(nn),
            at_points_y(nn), at_d(nn), at_d_d(nn));
        make_d_net_linear_1_w(at_d_d(nn), at_block_6(nn), at_d_net_linear_1_w(nn));
        make_d_linear(at_net_linear_1_w_packed_170(nn), at_d_d(nn), at_linear_le(nn, 5),
            at_bernoulli(nn, 5), at_d_d_dot(nn), at_d_linear(nn, 5));
        make_d_net_block_linear_b(at_d_linear(nn, 5), at_d_net_block_linear_b(nn, 5));
        make_d_net_linear_1_b(at_d_d(nn), at_d_net_linear_1_b(nn), at_d_net_linear_1_b_mul(nn));
        nn_inspect(nn, 2, 0);
        make_squared_norm(at_d_net_linear_1_w(nn), at_d_net_linear_1_b_mul(nn),
            at_squared_norm(nn));
        make_squared_norm_2(at_d_net_block_linear_b(nn, 5), at_squared_norm(nn),
            at_squared_norm_2(nn, 8));
        check(at_d(nn), &nn->rt, nn->step, 205);
    }
    pack_net_block_linear_w_for_make_d(at_net_block_linear_w(nn, 5),
        at_net_block_linear_w_packed(nn, 5), t, n);
    nn_wait(nn, t);
    if (t == 0) {
        nn_inspect(nn, 3, 0);
        make_d_block(at_net_block_linear_w_packed(nn, 5), at_d_linear(nn, 5), at_d_d_dot(nn),
            at_linear_le(nn, 4), at_bernoulli(nn, 4), at_d_block(nn, 4), at_d_linear(nn, 4));
    }
    nn_inspect(nn, 4, 0);
    for (int layer = 4; layer >= 1; layer--) {
        if (t == 0) {
            make_d_net_block_linear_b(at_d_linear(nn, layer),
                at_d_net_block_linear_b(nn, layer));
        }
        make_d_net_block_linear_w(at_d_linear(nn, layer + 1), at_block(nn, layer + 1),
            at_d_net_block_linear_w(nn, layer + 1), t, n);
        pack_net_block_linear_w_for_make_d(at_net_block_linear_w(nn, layer),
            at_net_block_linear_w_packed(nn, layer), t, n);
        nn_wait(nn, t);
        if (t == 0) {
            make_d_block(at_net_block_linear_w_packed(nn, layer), at_d_linear(nn, layer),
                at_d_block(nn, layer), at_linear_le(nn, layer - 1), at_bernoulli(nn, layer - 1),
                at_d_block(nn, layer - 1), at_d_linear(nn, layer - 1));
            make_squared_norm_3(at_d_net_block_linear_w(nn, layer + 1),
                at_squared_norm_2(nn, layer + 4), at_squared_norm_3(nn));
            make_squared_norm_2(at_d_net_block_linear_b(nn, layer), at_squared_norm_3(nn),
                at_squared_norm_2(nn, layer + 3));
        }
        nn_inspect(nn, 5, layer);
    }
    if (t == 0) {
        make_d_net_block_linear_b(at_d_linear(nn, 0), at_d_net_block_linear_b(nn, 0));
    }
    make_d_net_block_linear_w(at_d_linear(nn, 1), at_block(nn, 1),
        at_d_net_block_linear_w(nn, 1), t, n);
    pack_net_block_linear_w_for_make_d(at_net_block_linear_w(nn, 0),
        at_net_block_linear_w_packed(nn, 0), t, n);
    nn_wait(nn, t);
    if (t == 0) {
        make_d_h(at_net_block_linear_w_packed(nn, 0), at_d_linear(nn, 0), at_d_block(nn, 0),
            at_d_h(nn));
        make_squared_norm_3(at_d_net_block_linear_w(nn, 1), at_squared_norm_2(nn, 4),
            at_squared_norm_2(nn, 3));
        make_squared_norm_2(at_d_net_block_linear_b(nn, 0), at_squared_norm_2(nn, 3),
            at_squared_norm_2(nn, 2));
        make_d_net_linear_0_w(at_d_h(nn), at_x(nn), at_d_net_linear_0_w(nn));
        make_d_net_linear_0_b(at_d_h(nn), at_d_net_linear_0_b(nn));
    }
    make_d_net_block_linear_w(at_d_linear(nn, 0), at_block(nn, 0),
        at_d_net_block_linear_w(nn, 0), t, n);
    nn_wait(nn, t);
    if (t == 0) {
        nn_inspect(nn, 6, 0);
        make_squared_norm_3(at_d_net_block_linear_w(nn, 0), at_squared_norm_2(nn, 2),
            at_squared_norm_2(nn, 1));
        make_squared_norm_2(at_d_net_linear_0_b(nn), at_squared_norm_2(nn, 1),
            at_squared_norm_2(nn, 0));
        nn_inspect(nn, 7, 0);
    }
    if (rt_faulted(&nn->rt))
        return; /* nothing is updated */
    if (t == 0) {
        make_clip_factor(at_d_net_linear_0_w(nn), at_adamw_m_net_linear_0_w(nn),
            at_squared_norm_2(nn, 0), at_adamw_v_net_linear_0_w(nn),
            at_adamw_m_net_linear_1_b(nn), at_d_net_linear_1_b(nn),
            at_adamw_v_net_linear_1_b(nn), at_clip_factor(nn), at_sqrt_2(nn));
        make_rate(at_adamw_step(nn), at_net_linear_1_b(nn), at_adamw_m_net_linear_1_b(nn),
            at_sqrt_2(nn), at_rate(nn), at_scale(nn));
        update_net_linear_1_w(at_adamw_m_net_linear_1_w(nn), at_d_net_linear_1_w(nn),
            at_clip_factor(nn), at_adamw_v_net_linear_1_w(nn), at_net_linear_1_w(nn),
            at_rate(nn), at_scale(nn));
        update_net_linear_b(at_adamw_m_net_block_linear_b(nn, 5), at_d_net_block_linear_b(nn, 5),
            at_clip_factor(nn), at_adamw_v_net_block_linear_b(nn, 5),
            at_net_block_linear_b(nn, 5), at_rate(nn), at_scale(nn));
    }
    nn_wait(nn, t);
    for (int layer = 5; layer >= 1; layer--) {
        update_net_block_linear_w(at_adamw_m_net_block_linear_w(nn, layer),
            at_d_net_block_linear_w(nn, layer), at_clip_factor(nn),
            at_adamw_v_net_block_linear_w(nn, layer), at_net_block_linear_w(nn, layer),
            at_rate(nn), at_scale(nn), t, n);
        if (t == 0) {
            update_net_linear_b(at_adamw_m_net_block_linear_b(nn, layer - 1),
                at_d_net_block_linear_b(nn, layer - 1), at_clip_factor(nn),
                at_adamw_v_net_block_linear_b(nn, layer - 1),
                at_net_block_linear_b(nn, layer - 1), at_rate(nn), at_scale(nn));
        }
    }
    update_net_block_linear_w(at_adamw_m_net_block_linear_w(nn, 0),
        at_d_net_block_linear_w(nn, 0), at_clip_factor(nn), at_adamw_v_net_block_linear_w(nn, 0),
        at_net_block_linear_w(nn, 0), at_rate(nn), at_scale(nn), t, n);
    if (t == 0) {
        update_net_linear_b(at_adamw_m_net_linear_0_b(nn), at_d_net_linear_0_b(nn),
            at_clip_factor(nn), at_adamw_v_net_linear_0_b(nn), at_net_linear_0_b(nn),
            at_rate(nn), at_scale(nn));
        update_net_linear_0_w(at_net_linear_0_w(nn), at_rate(nn), at_adamw_m_net_linear_0_w(nn),
            at_adamw_v_net_linear_0_w(nn), at_scale(nn));
    }
}

/* train_rows: deep.nn:33 */
static void region_train_rows(void *arg, int t) {
    struct nn *nn = (struct nn *)arg;
    (void)t;
    make_x_2(at_points_rows_1(nn), at_points_x(nn), at_x_2(nn), (int)nn->counts.rows);
    make_h_2(at_net_linear_0_w(nn), at_x_2(nn), at_net_linear_0_b(nn), at_block_2(nn, 0),
        (int)nn->counts.rows);
    for (int layer = 0; layer < 5; layer++) {
        make_block_2(at_net_block_linear_w(nn, layer), at_block_2(nn, layer),
            at_net_block_linear_b(nn, layer), at_block_2(nn, layer + 1), (int)nn->counts.rows);
    }
    make_block_12(at_net_block_linear_w(nn, 5), at_block_2(nn, 5), at_net_block_linear_b(nn, 5),
        at_block_12(nn), (int)nn->counts.rows);
    make_d_2(at_net_linear_1_w(nn), at_block_12(nn), at_net_linear_1_b(nn), at_points_rows_1(nn),
        at_points_y(nn), at_d_2(nn), (int)nn->counts.rows);
    update_mean(at_d_2(nn), at_mean(nn), (int)nn->counts.rows);
    update_rows_1(at_rows_1(nn), (int)nn->counts.rows);
}

/* train_set_mean: deep.nn:5 */
static void region_train_set_mean(void *arg, int t) {
    struct nn *nn = (struct nn *)arg;
    (void)t;
    update_rows_1_2(at_rows_1(nn), at_mean(nn));
}

/* train_known: deep.nn:5 */
static void region_train_known(void *arg, int t) {
    struct nn *nn = (struct nn *)arg;
    (void)t;
    make_known(at_mean(nn), at_rows_1(nn), at_known(nn));
}

/* train_uniform: deep.nn:37 */
static void region_train_uniform(void *arg, int t) {
    struct nn *nn = (struct nn *)arg;
    const int n = nn->n;
    if (t == 0) {
        update_late_linear_0_w(at_net_linear_0_w(nn), at_late_linear_0_w(nn));
        update_late_linear_b(at_net_linear_0_b(nn), at_late_linear_0_b(nn));
        for (int layer = 0; layer < 6; layer++) {
            update_late_block_linear_w(at_net_block_linear_w(nn, layer),
                at_late_block_linear_w(nn, layer));
            update_late_linear_b(at_net_block_linear_b(nn, layer),
                at_late_block_linear_b(nn, layer));
        }
        update_late_linear_1_w(at_net_linear_1_w(nn), at_late_linear_1_w(nn));
        update_late_linear_1_b(at_net_linear_1_b(nn), at_late_linear_1_b(nn));
        update_net_linear_0_w_2(at_net_linear_0_w(nn), nn->scalars.runs_2, nn->rt.seed,
            0x0907365eu);
        update_net_linear_0_b_2(at_net_linear_0_b(nn), nn->scalars.runs_2, nn->rt.seed,
            0xf6c80281u);
    }
    nn_wait(nn, t);
    for (int layer = 0; layer < 6; layer++) {
        static const uint32_t places_of_update_net_block_linear_w_2[] = {0xa69bc370u,
            0x46f44192u, 0xe74cbfb4u, 0x87a53dd6u, 0x1fb1e8c8u, 0xc00a66eau};
        update_net_block_linear_w_2(at_net_block_linear_w(nn, layer), nn->scalars.runs_2,
            nn->rt.seed, places_of_update_net_block_linear_w_2[layer], t, n);
        if (t == 0) {
            static const uint32_t places_of_update_net_block_linear_b[] = {0x972080a3u,
                0x3778fec5u, 0xd7d17ce7u, 0x6fde27d9u, 0x1036a5fbu, 0xb08f241du};
            update_net_block_linear_b(at_net_block_linear_b(nn, layer), nn->scalars.runs_2,
                nn->rt.seed, places_of_update_net_block_linear_b[layer]);
        }
    }
    if (t == 0) {
        update_net_linear_1_w_2(at_net_linear_1_w(nn), nn->scalars.runs_2, nn->rt.seed,
            0x6062e50cu);
        update_net_linear_1_b(at_net_linear_1_b(nn), nn->scalars.runs_2, nn->rt.seed,
            0x50e7a23fu);
    }
}

/* train_linear: deep.nn:40 */
static void region_train_linear(void *arg, int t) {
    struct nn *nn = (struct nn *)arg;
    (void)t;
    make_constant_2(at_constant_2(nn));
    make_h_3(at_late_linear_0_w(nn), at_constant_2(nn), at_late_linear_0_b(nn),
        at_block_4(nn, 0));
    for (int layer = 0; layer < 5; layer++) {
        make_block_3(at_late_block_linear_w(nn, layer), at_block_4(nn, layer),
            at_late_block_linear_b(nn, layer), at_block_4(nn, layer + 1));
    }
    make_block_4(at_late_block_linear_w(nn, 5), at_block_4(nn, 5), at_late_block_linear_b(nn, 5),
        at_block_24(nn));
    make_block_dot(at_late_linear_1_w(nn), at_block_24(nn), at_block_dot_2(nn));
    make_h_3(at_net_linear_0_w(nn), at_constant_2(nn), at_net_linear_0_b(nn), at_block_3(nn, 0));
    for (int layer = 0; layer < 5; layer++) {
        make_block_3(at_net_block_linear_w(nn, layer), at_block_3(nn, layer),
            at_net_block_linear_b(nn, layer), at_block_3(nn, layer + 1));
    }
    make_block_4(at_net_block_linear_w(nn, 5), at_block_3(nn, 5), at_net_block_linear_b(nn, 5),
        at_block_18(nn));
    make_block_dot(at_net_linear_1_w(nn), at_block_18(nn), at_block_dot(nn));
    make_ne_2(at_block_dot(nn), at_net_linear_1_b(nn), at_block_dot_2(nn),
        at_late_linear_1_b(nn), at_ne_2(nn));
}

/* start: deep.nn:13 */
static void region_start(void *arg, int t) {
    struct nn *nn = (struct nn *)arg;
    const int n = nn->n;
    update_points_x(at_points_x(nn), t, n);
    nn_wait(nn, t);
    if (t == 0) {
        update_points_y(at_points_x(nn), at_points_y(nn));
        update_net_linear_0_w_3(at_net_linear_0_w(nn), at_late_linear_0_w(nn), nn->rt.seed,
            0xfb69b604u);
        update_net_linear_0_b_3(at_net_linear_0_b(nn), at_late_linear_0_b(nn), nn->rt.seed,
            0xebee7337u);
    }
    for (int layer = 0; layer < 6; layer++) {
        static const uint32_t places_of_update_net_block_linear_w_3[] = {0x9bc23426u,
            0xab3d76f3u, 0x7ccbae8cu, 0x8c46f159u, 0xdc73306au, 0xeeb26447u};
        update_net_block_linear_w_3(at_net_block_linear_w(nn, layer),
            at_late_block_linear_w(nn, layer), nn->rt.seed,
            places_of_update_net_block_linear_w_3[layer], t, n);
        if (t == 0) {
            static const uint32_t places_of_update_net_block_linear_b_2[] = {0x0ae4f8d1u,
                0x5b1137e2u, 0x6d506bbfu, 0x3c1ab248u, 0x4e59e625u, 0x9e862536u};
            update_net_block_linear_b_2(at_net_block_linear_b(nn, layer),
                at_late_block_linear_b(nn, layer), nn->rt.seed,
                places_of_update_net_block_linear_b_2[layer]);
        }
    }
    if (t == 0) {
        update_net_linear_1_w_3(at_net_linear_1_w(nn), at_late_linear_1_w(nn), nn->rt.seed,
            0xbd7caad0u);
        update_net_linear_1_b_2(at_net_linear_1_b(nn), at_late_linear_1_b(nn),
            at_adamw_v_net_linear_1_b(nn), at_adamw_step(nn), at_adamw_m_net_linear_1_b(nn),
            nn->rt.seed, 0xae016803u);
        update_adamw_net_linear_w(at_adamw_v_net_linear_1_w(nn));
        update_adamw_net_linear_b(at_adamw_v_net_block_linear_b(nn, 5));
        for (int i = 5; i >= 1; i--) {
            update_adamw_net_block_linear_w(at_adamw_v_net_block_linear_w(nn, i));
            update_adamw_net_linear_b(at_adamw_m_net_block_linear_b(nn, i - 1));
            update_adamw_net_linear_b(at_adamw_v_net_block_linear_b(nn, i - 1));
            update_adamw_net_block_linear_w(at_adamw_m_net_block_linear_w(nn, i - 1));
        }
        update_adamw_net_block_linear_w(at_adamw_v_net_block_linear_w(nn, 0));
        update_adamw_net_linear_b(at_adamw_m_net_linear_0_b(nn));
        update_adamw_net_linear_b(at_adamw_v_net_linear_0_b(nn));
        update_adamw_net_linear_w_2(at_adamw_v_net_linear_0_w(nn));
        update_adamw_net_linear_w(at_adamw_m_net_linear_1_w(nn));
        update_adamw_net_linear_b(at_adamw_m_net_block_linear_b(nn, 5));
        update_adamw_net_block_linear_w(at_adamw_m_net_block_linear_w(nn, 5));
        update_adamw_net_linear_w_2(at_adamw_m_net_linear_0_w(nn));
    }
}

/* ==== tables ================================================================================ */

static const struct nn_value nn_values[] = {
    {{"net.linear[0].w", RT_F32, RT_PANELS16, 2, {16, 64}, NULL},
     "std.nn:238", 9728, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_net_linear_0_w */
    {{"net.linear[0].b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 13824, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_net_linear_0_b */
    {{"net.block[0].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 14080, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_net_block_linear_w */
    {{"net.block[1].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 30464, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_net_block_linear_w + 1 */
    {{"net.block[2].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 46848, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_net_block_linear_w + 2 */
    {{"net.block[3].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 63232, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_net_block_linear_w + 3 */
    {{"net.block[4].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 79616, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_net_block_linear_w + 4 */
    {{"net.block[5].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 96000, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_net_block_linear_w + 5 */
    {{"net.block[0].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 112384, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_net_block_linear_b */
    {{"net.block[1].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 112640, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_net_block_linear_b + 1 */
    {{"net.block[2].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 112896, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_net_block_linear_b + 2 */
    {{"net.block[3].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 113152, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_net_block_linear_b + 3 */
    {{"net.block[4].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 113408, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_net_block_linear_b + 4 */
    {{"net.block[5].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 113664, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_net_block_linear_b + 5 */
    {{"net.linear[1].w", RT_F32, RT_ROW_MAJOR, 2, {64, 1}, NULL},
     "std.nn:238", 113920, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_net_linear_1_w */
    {{"net.linear[1].b", RT_F32, RT_ROW_MAJOR, 1, {1}, NULL},
     "std.nn:241", 114176, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_net_linear_1_b */
    {{"late.linear[0].w", RT_F32, RT_PANELS16, 2, {16, 64}, NULL},
     "std.nn:238", 323584, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_late_linear_0_w */
    {{"late.linear[0].b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 327680, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_late_linear_0_b */
    {{"late.block[0].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 327936, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_late_block_linear_w */
    {{"late.block[1].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 344320, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_late_block_linear_w + 1 */
    {{"late.block[2].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 360704, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_late_block_linear_w + 2 */
    {{"late.block[3].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 377088, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_late_block_linear_w + 3 */
    {{"late.block[4].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 393472, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_late_block_linear_w + 4 */
    {{"late.block[5].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 409856, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_late_block_linear_w + 5 */
    {{"late.block[0].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 426240, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_late_block_linear_b */
    {{"late.block[1].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 426496, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_late_block_linear_b + 1 */
    {{"late.block[2].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 426752, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_late_block_linear_b + 2 */
    {{"late.block[3].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 427008, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_late_block_linear_b + 3 */
    {{"late.block[4].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 427264, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_late_block_linear_b + 4 */
    {{"late.block[5].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 427520, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_late_block_linear_b + 5 */
    {{"late.linear[1].w", RT_F32, RT_ROW_MAJOR, 2, {64, 1}, NULL},
     "std.nn:238", 427776, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_late_linear_1_w */
    {{"late.linear[1].b", RT_F32, RT_ROW_MAJOR, 1, {1}, NULL},
     "std.nn:241", 428032, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_late_linear_1_b */
    {{"rows", RT_I32, RT_ROW_MAJOR, 1, {2}, NULL},
     "deep.nn:5", 0, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_rows */
    {{"points.x", RT_F32, RT_ROW_MAJOR, 2, {140, 16}, NULL},
     "deep.nn:7", 64, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_points_x */
    {{"points.y", RT_F32, RT_ROW_MAJOR, 2, {140, 1}, NULL},
     "deep.nn:8", 9024, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_points_y */
    {{"points_rows", RT_I32, RT_ROW_MAJOR, 1, {32}, NULL},
     "deep.nn:28", 9600, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_points_rows */
    {{"adamw.step", RT_I32, RT_ROW_MAJOR, 0, {0}, NULL},
     "std.nn:241", 114240, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_step */
    {{"adamw.m.net.linear[1].b", RT_F32, RT_ROW_MAJOR, 1, {1}, NULL},
     "std.nn:241", 114304, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_m_net_linear_1_b */
    {{"adamw.v.net.linear[1].b", RT_F32, RT_ROW_MAJOR, 1, {1}, NULL},
     "std.nn:241", 114368, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_v_net_linear_1_b */
    {{"adamw.m.net.linear[1].w", RT_F32, RT_ROW_MAJOR, 2, {64, 1}, NULL},
     "std.nn:238", 114432, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_m_net_linear_1_w */
    {{"adamw.v.net.linear[1].w", RT_F32, RT_ROW_MAJOR, 2, {64, 1}, NULL},
     "std.nn:238", 114688, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_v_net_linear_1_w */
    {{"adamw.m.net.block[0].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 114944, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_m_net_block_linear_b */
    {{"adamw.m.net.block[1].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 115200, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_m_net_block_linear_b + 1 */
    {{"adamw.m.net.block[2].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 115456, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_m_net_block_linear_b + 2 */
    {{"adamw.m.net.block[3].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 115712, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_m_net_block_linear_b + 3 */
    {{"adamw.m.net.block[4].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 115968, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_m_net_block_linear_b + 4 */
    {{"adamw.m.net.block[5].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 116224, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_m_net_block_linear_b + 5 */
    {{"adamw.v.net.block[0].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 116480, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_v_net_block_linear_b */
    {{"adamw.v.net.block[1].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 116736, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_v_net_block_linear_b + 1 */
    {{"adamw.v.net.block[2].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 116992, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_v_net_block_linear_b + 2 */
    {{"adamw.v.net.block[3].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 117248, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_v_net_block_linear_b + 3 */
    {{"adamw.v.net.block[4].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 117504, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_v_net_block_linear_b + 4 */
    {{"adamw.v.net.block[5].linear.b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 117760, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_v_net_block_linear_b + 5 */
    {{"adamw.m.net.block[0].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 118016, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_m_net_block_linear_w */
    {{"adamw.m.net.block[1].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 134400, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_m_net_block_linear_w + 1 */
    {{"adamw.m.net.block[2].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 150784, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_m_net_block_linear_w + 2 */
    {{"adamw.m.net.block[3].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 167168, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_m_net_block_linear_w + 3 */
    {{"adamw.m.net.block[4].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 183552, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_m_net_block_linear_w + 4 */
    {{"adamw.m.net.block[5].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 199936, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_m_net_block_linear_w + 5 */
    {{"adamw.v.net.block[0].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 216320, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_v_net_block_linear_w */
    {{"adamw.v.net.block[1].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 232704, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_v_net_block_linear_w + 1 */
    {{"adamw.v.net.block[2].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 249088, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_v_net_block_linear_w + 2 */
    {{"adamw.v.net.block[3].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 265472, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_v_net_block_linear_w + 3 */
    {{"adamw.v.net.block[4].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 281856, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_v_net_block_linear_w + 4 */
    {{"adamw.v.net.block[5].linear.w", RT_F32, RT_PANELS16, 2, {64, 64}, NULL},
     "std.nn:238", 298240, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_v_net_block_linear_w + 5 */
    {{"adamw.m.net.linear[0].b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 314624, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_m_net_linear_0_b */
    {{"adamw.v.net.linear[0].b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "std.nn:241", 314880, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_v_net_linear_0_b */
    {{"adamw.m.net.linear[0].w", RT_F32, RT_ROW_MAJOR, 2, {16, 64}, NULL},
     "std.nn:238", 315136, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_m_net_linear_0_w */
    {{"adamw.v.net.linear[0].w", RT_F32, RT_ROW_MAJOR, 2, {16, 64}, NULL},
     "std.nn:238", 319232, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_adamw_v_net_linear_0_w */
    {{"points_rows[1]", RT_I32, RT_ROW_MAJOR, 1, {20}, NULL},
     "deep.nn:33", 323328, 1, 0, 1, 0, false, 0, 1,
        offsetof(struct nn, counts.rows)}, /* VALUE_points_rows_1 */
    {{"mean", RT_F64, RT_ROW_MAJOR, 0, {0}, NULL},
     "deep.nn:33", 323456, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_mean */
    {{"rows[1]", RT_F64, RT_ROW_MAJOR, 0, {0}, NULL},
     "deep.nn:33", 323520, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_rows_1 */
    {{"x", RT_F32, RT_ROW_MAJOR, 3, {1, 32, 16}, NULL},
     "deep.nn:29", 673984, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_x */
    {{"block_6", RT_F32, RT_ROW_MAJOR, 3, {1, 32, 64}, NULL},
     "deep.nn:15", 608448, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_block_6 */
    {{"d", RT_F32, RT_ROW_MAJOR, 2, {32, 1}, NULL},
     "deep.nn:29", 624832, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_d */
    {{"d_d", RT_F32, RT_ROW_MAJOR, 2, {32, 1}, NULL},
     "deep.nn:29", 624960, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_d_d */
    {{"d_net_linear_1_b", RT_F32, RT_ROW_MAJOR, 1, {1}, NULL},
     "deep.nn:20", 677952, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_d_net_linear_1_b */
    {{"d_d_dot", RT_F32, RT_PANELS16, 2, {32, 64}, NULL},
     "deep.nn:20", 665792, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_d_d_dot */
    {{"d_net_linear_1_w", RT_F32, RT_ROW_MAJOR, 2, {64, 1}, NULL},
     "deep.nn:20", 677568, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_d_net_linear_1_w */
    {{"d_h", RT_F32, RT_PANELS16, 2, {32, 64}, NULL},
     "deep.nn:15", 641216, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_d_h */
    {{"d_net_linear_0_b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "deep.nn:18", 628928, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_d_net_linear_0_b */
    {{"d_net_linear_0_w", RT_F32, RT_ROW_MAJOR, 2, {16, 64}, NULL},
     "deep.nn:18", 624832, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_d_net_linear_0_w */
    {{"d_net_linear_1_b_mul", RT_F32, RT_ROW_MAJOR, 0, {0}, NULL},
     "deep.nn:30", 677824, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_d_net_linear_1_b_mul */
    {{"squared_norm", RT_F32, RT_ROW_MAJOR, 0, {0}, NULL},
     "deep.nn:30", 624960, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_squared_norm */
    {{"clip_factor", RT_F32, RT_ROW_MAJOR, 0, {0}, NULL},
     "deep.nn:30", 629184, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_clip_factor */
    {{"rate", RT_F32, RT_ROW_MAJOR, 0, {0}, NULL},
     "deep.nn:26", 629248, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_rate */
    {{"scale", RT_F32, RT_ROW_MAJOR, 0, {0}, NULL},
     "deep.nn:26", 629312, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_scale */
    {{"sqrt_2", RT_F32, RT_ROW_MAJOR, 1, {1}, NULL},
     "deep.nn:26", 629376, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_sqrt_2 */
    {{"x_2", RT_F32, RT_ROW_MAJOR, 3, {1, 20, 16}, NULL},
     "deep.nn:33", 438464, 1, 0, 1, 0, false, 1, 1,
        offsetof(struct nn, counts.rows)}, /* VALUE_x_2 */
    {{"block_12", RT_F32, RT_ROW_MAJOR, 3, {1, 20, 64}, NULL},
     "deep.nn:15", 438464, 1, 0, 1, 0, false, 1, 1,
        offsetof(struct nn, counts.rows)}, /* VALUE_block_12 */
    {{"d_2", RT_F32, RT_ROW_MAJOR, 2, {20, 1}, NULL},
     "deep.nn:33", 428224, 1, 0, 1, 0, false, 0, 1,
        offsetof(struct nn, counts.rows)}, /* VALUE_d_2 */
    {{"known", RT_F32, RT_ROW_MAJOR, 0, {0}, NULL},
     "deep.nn:5", 428096, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_known */
    {{"constant_2", RT_F32, RT_ROW_MAJOR, 3, {1, 5, 16}, NULL},
     "deep.nn:18", 432064, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_constant_2 */
    {{"block_18", RT_F32, RT_ROW_MAJOR, 3, {1, 5, 64}, NULL},
     "deep.nn:15", 430784, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_block_18 */
    {{"block_dot", RT_F32, RT_ROW_MAJOR, 2, {5, 1}, NULL},
     "deep.nn:20", 428224, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_block_dot */
    {{"block_24", RT_F32, RT_ROW_MAJOR, 3, {1, 5, 64}, NULL},
     "deep.nn:15", 430784, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_block_24 */
    {{"block_dot_2", RT_F32, RT_ROW_MAJOR, 2, {5, 1}, NULL},
     "deep.nn:20", 432384, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_block_dot_2 */
    {{"ne_2", RT_BOOL, RT_ROW_MAJOR, 0, {0}, NULL},
     "deep.nn:41", 428160, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_ne_2 */
    {{"net_linear_1_w_packed_170", RT_F32, RT_ROW_MAJOR, 3, {4, 1, 16}, NULL},
     "deep.nn", 676032, 1, 0, 1, 0, false, -1, 0, 0}, /* VALUE_net_linear_1_w_packed_170 */
    {{"scalars.runs", RT_I32, RT_ROW_MAJOR, 0, {0}, NULL},
     "", offsetof(struct nn, scalars.runs), 1, 0, 1, 0, true, -1, 0, 0}, /* SCALAR_runs */
    {{"scalars.runs_2", RT_I32, RT_ROW_MAJOR, 0, {0}, NULL},
     "", offsetof(struct nn, scalars.runs_2), 1, 0, 1, 0, true, -1, 0, 0}, /* SCALAR_runs_2 */
    {{"counts.rows", RT_I64, RT_ROW_MAJOR, 0, {0}, NULL},
     "", offsetof(struct nn, counts.rows), 1, 0, 1, 0, true, -1, 0, 0}, /* COUNT_rows */
    {{"block", RT_F32, RT_ROW_MAJOR, 2, {32, 64}, NULL},
     "deep.nn:18", 526528, 6, 0, 6, 8192, false, -1, 0, 0}, /* VALUE_block */
    {{"linear_le", RT_BOOL, RT_ROW_MAJOR, 2, {32, 64}, NULL},
     "deep.nn:15", 641216, 6, 0, 6, 2048, false, -1, 0, 0}, /* VALUE_linear_le */
    {{"bernoulli", RT_BOOL, RT_ROW_MAJOR, 2, {32, 64}, NULL},
     "deep.nn:15", 653504, 6, 0, 6, 2048, false, -1, 0, 0}, /* VALUE_bernoulli */
    {{"d_linear", RT_F32, RT_ROW_MAJOR, 2, {32, 64}, NULL},
     "deep.nn:15", 608448, 6, 0, 2, 8192, false, -1, 0, 0}, /* VALUE_d_linear */
    {{"d_net_block_linear_b", RT_F32, RT_ROW_MAJOR, 1, {64}, NULL},
     "deep.nn:15", 676032, 6, 0, 6, 256, false, -1, 0, 0}, /* VALUE_d_net_block_linear_b */
    {{"d_net_block_linear_w", RT_F32, RT_ROW_MAJOR, 2, {64, 64}, NULL},
     "deep.nn:15", 428224, 6, 0, 6, 16384, false, -1, 0, 0}, /* VALUE_d_net_block_linear_w */
    {{"d_block", RT_F32, RT_PANELS16, 2, {32, 64}, NULL},
     "deep.nn:15", 624832, 5, 0, 2, 8192, false, -1, 0, 0}, /* VALUE_d_block */
    {{"squared_norm_2", RT_F32, RT_ROW_MAJOR, 0, {0}, NULL},
     "deep.nn:30", 677824, 9, 0, 2, 64, false, -1, 0, 0}, /* VALUE_squared_norm_2 */
    {{"squared_norm_3", RT_F32, RT_ROW_MAJOR, 0, {0}, NULL},
     "deep.nn:30", 665792, 4, 0, 4, 0, false, -1, 0, 0}, /* VALUE_squared_norm_3 */
    {{"block_2", RT_F32, RT_ROW_MAJOR, 2, {20, 64}, NULL},
     "deep.nn:18", 428224, 6, 0, 2, 5120, false, 0, 1,
        offsetof(struct nn, counts.rows)}, /* VALUE_block_2 */
    {{"block_3", RT_F32, RT_ROW_MAJOR, 2, {5, 64}, NULL},
     "deep.nn:18", 428224, 6, 0, 2, 1280, false, -1, 0, 0}, /* VALUE_block_3 */
    {{"block_4", RT_F32, RT_ROW_MAJOR, 2, {5, 64}, NULL},
     "deep.nn:18", 428224, 6, 0, 2, 1280, false, -1, 0, 0}, /* VALUE_block_4 */
    {{"net_block_linear_w_packed", RT_F32, RT_ROW_MAJOR, 3, {4, 64, 16}, NULL},
     "deep.nn", 575680, 6, 0, 2, 16384, false, -1, 0, 0}, /* VALUE_net_block_linear_w_packed */
    {{NULL, RT_F32, RT_ROW_MAJOR, 0, {0}, NULL},
     NULL, 0, 1, 0, 1, 0, false, -1, 0, 0},
};
static const struct nn_place nn_places[] = {
    {205, 'l', "loss", "deep.nn:30", 0},
    {-1, 0, "a tensor", NN_PROGRAM, 0},
};
static const struct nn_written nn_written[] = {{0, VALUE_net_linear_1_w_packed_170, 0},
    {0, VALUE_x, 0}, {0, VALUE_block, 0}, {1, VALUE_linear_le, 1}, {1, VALUE_bernoulli, 1},
    {1, VALUE_block + 1, 1}, {2, VALUE_linear_le + 5, 0}, {2, VALUE_bernoulli + 5, 0},
    {2, VALUE_block_6, 0}, {2, VALUE_d, 0}, {2, VALUE_d_d, 0}, {2, VALUE_d_net_linear_1_w, 0},
    {2, VALUE_d_d_dot, 0}, {2, VALUE_d_linear + 5, 0}, {2, VALUE_d_net_block_linear_b + 5, 0},
    {2, VALUE_d_net_linear_1_b, 0}, {2, VALUE_d_net_linear_1_b_mul, 0},
    {3, VALUE_squared_norm, 0}, {3, VALUE_squared_norm_2 + 8, 0},
    {3, VALUE_net_block_linear_w_packed + 5, 0}, {4, VALUE_d_block + 4, 0},
    {4, VALUE_d_linear + 4, 0}, {5, VALUE_d_net_block_linear_b, 1},
    {5, VALUE_d_net_block_linear_w + 1, 1}, {5, VALUE_net_block_linear_w_packed, 1},
    {5, VALUE_d_block - 1, 1}, {5, VALUE_d_linear - 1, 1}, {5, VALUE_squared_norm_3 - 1, 1},
    {5, VALUE_squared_norm_2 + 3, 1}, {6, VALUE_d_net_block_linear_b, 0},
    {6, VALUE_d_net_block_linear_w + 1, 0}, {6, VALUE_net_block_linear_w_packed, 0},
    {6, VALUE_d_h, 0}, {6, VALUE_squared_norm_2 + 3, 0}, {6, VALUE_squared_norm_2 + 2, 0},
    {6, VALUE_d_net_linear_0_w, 0}, {6, VALUE_d_net_linear_0_b, 0},
    {6, VALUE_d_net_block_linear_w, 0}, {7, VALUE_squared_norm_2 + 1, 0},
    {7, VALUE_squared_norm_2, 0}, {-1, 0, 0}};
static const struct nn_range nn_before_train_step[] = {{VALUE_net_linear_0_w, 16},
    {VALUE_points_x, 36}, {SCALAR_runs, 1}};
static const struct nn_range nn_after_train_step[] = {{VALUE_net_linear_0_w, 16},
    {VALUE_adamw_step, 33}};
static const struct nn_range nn_before_train_rows[] = {{VALUE_net_linear_0_w, 16},
    {VALUE_points_x, 2}, {VALUE_points_rows_1, 3}, {COUNT_rows, 1}};
static const struct nn_range nn_after_train_rows[] = {{VALUE_mean, 2}};
static const struct nn_range nn_after_train_set_mean[] = {{VALUE_mean, 2}};
static const struct nn_range nn_before_train_known[] = {{VALUE_mean, 2}};
static const struct nn_range nn_after_train_known[] = {{VALUE_known, 1}};
static const struct nn_range nn_before_train_uniform[] = {{VALUE_net_linear_0_w, 16},
    {SCALAR_runs_2, 1}};
static const struct nn_range nn_after_train_uniform[] = {{VALUE_net_linear_0_w, 32}};
static const struct nn_range nn_before_train_linear[] = {{VALUE_net_linear_0_w, 32}};
static const struct nn_range nn_after_train_linear[] = {{VALUE_ne_2, 1}};
static const struct nn_range nn_before_start[] = {{VALUE_points_x, 1}};
static const struct nn_range nn_after_start[] = {{VALUE_net_linear_0_w, 32}, {VALUE_points_x, 2},
    {VALUE_adamw_step, 33}};
static const struct nn_region nn_regions[NN_REGIONS + 1] = {
    {"train_step", region_train_step, true, nn_before_train_step, nn_after_train_step, 3, 2,
        NULL, 0},
    {"train_rows", region_train_rows, false, nn_before_train_rows, nn_after_train_rows, 4, 1,
        NULL, 0},
    {"train_set_mean", region_train_set_mean, false, NULL, nn_after_train_set_mean, 0, 1, NULL, 0},
    {"train_known", region_train_known, false, nn_before_train_known, nn_after_train_known, 1, 1,
        NULL, 0},
    {"train_uniform", region_train_uniform, true, nn_before_train_uniform,
        nn_after_train_uniform, 2, 1, NULL, 0},
    {"train_linear", region_train_linear, false, nn_before_train_linear, nn_after_train_linear,
        1, 1, NULL, 0},
    {"start", region_start, true, nn_before_start, nn_after_start, 1, 3, NULL, 0},
    {NULL, NULL, false, NULL, NULL, 0, 0, NULL, 0},
};

/* ==== running regions, files, messages ====================================================== */

#define NN_TRY(call)                                                                               \
    do {                                                                                           \
        enum rt_status status_ = (call);                                                           \
        if (status_)                                                                               \
            return status_;                                                                        \
    } while (0)

/* The row of value i, and which of the copies that share the row it is. */
RT_FN const struct nn_value *nn_row(int i, int *copy) {
    const struct nn_value *v = &nn_values[i < NN_VALUES ? i : NN_VALUES];
    for (*copy = i < NN_VALUES ? 0 : i - NN_VALUES; *copy >= v->copies; v++)
        *copy -= v->copies;
    return v;
}

/* Value i with its memory and its extents of this moment. */
RT_FN struct rt_tensor nn_tensor(struct nn *nn, int i) {
    int copy;
    const struct nn_value *v = nn_row(i, &copy);
    struct rt_tensor t = v->tensor;
    t.data = (v->host ? (unsigned char *)nn : nn->arena) + v->offset +
             (copy + v->shift) % v->rotate * v->stride;
    if (v->counted >= 0) {
        int64_t count;
        memcpy(&count, (const unsigned char *)nn + v->count, sizeof count);
        t.dims[v->counted] = v->per * count;
    }
    return t;
}

RT_FN int64_t nn_elements(const struct rt_tensor *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

/* ---- what is not finite ---- */

RT_FN double nn_element(const struct rt_tensor *t, int64_t i) {
    if (t->layout == RT_PANELS16) {
        int64_t row = i / t->dims[1], column = i % t->dims[1];
        i = (column / 16 * t->dims[0] + row) * 16 + column % 16;
    }
    return t->type == RT_F32 ? (double)((const float *)t->data)[i] : ((const double *)t->data)[i];
}

/* Where along the counted axis element k (of the extents of the plan) lies within the count. */
RT_FN bool nn_counts(const struct nn_value *v, const struct rt_tensor *now, int64_t k) {
    if (v->counted < 0)
        return true;
    int64_t inner = 1;
    for (int i = v->counted + 1; i < v->tensor.rank; i++)
        inner *= v->tensor.dims[i];
    return k / inner % v->tensor.dims[v->counted] < now->dims[v->counted];
}

RT_FN void nn_look(struct nn *nn, int i) {
    int copy;
    const struct nn_value *v = nn_row(i, &copy);
    struct rt_tensor now = nn_tensor(nn, i), t = v->tensor;
    t.data = now.data;
    if (t.type != RT_F32 && t.type != RT_F64)
        return;
    int64_t n = nn_elements(&t);
    for (int64_t k = 0; k < n; k++) {
        double x = nn_element(&t, k);
        bool bad = x - x != 0 && nn_counts(v, &now, k);
        if (bad && isnan(x)) {
            nn->bad_nan = i;
            return;
        }
        if (bad && nn->bad_inf < 0)
            nn->bad_inf = i;
    }
}

RT_FN void nn_look_at(struct nn *nn, int group, int layer) {
    for (const struct nn_written *w = nn_written; w->group >= 0; w++)
        if (w->group == group && nn->bad_nan < 0)
            nn_look(nn, w->value + w->step * layer);
}

/* Runs the region once more from the same state (a fault has kept it) and finds the first tensor
 * that is NaN, or else the first that is infinite. */
RT_FN int nn_first_bad(struct nn *nn, const struct nn_region *r) {
    int threads = nn->n;
    nn->n = 1;
    nn->replay = true;
    nn->rt.fault.node = -1;
    nn->bad_nan = nn->bad_inf = -1;
    for (int i = 0; i < r->n_before; i++)
        for (int k = 0; k < r->before[i].n && nn->bad_nan < 0; k++)
            nn_look(nn, r->before[i].first + k);
    if (nn->bad_nan < 0)
        r->run(nn, 0);
    nn->replay = false;
    nn->n = threads;
    return nn->bad_nan >= 0 ? nn->bad_nan : nn->bad_inf;
}

RT_FN enum rt_status nn_diverged(struct nn *nn, const struct nn_region *r,
                                 const struct nn_place *p) {
    double x = nn->rt.fault.value;
    const char *what = isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
    int bad = nn_first_bad(nn, r);
    if (bad < 0)
        return rt_fail(&nn->rt, RT_DIVERGED, "%s is %s at step %lld (%s)", p->name, what,
                       (long long)nn->step, p->where);
    int copy;
    const struct nn_value *v = nn_row(bad, &copy);
    char layer[16] = "";
    if (v->copies > 1)
        snprintf(layer, sizeof layer, "[%d]", copy);
    return rt_fail(&nn->rt, RT_DIVERGED, "%s is %s at step %lld; first bad tensor: %s%s (%s)",
                   p->name, what, (long long)nn->step, v->tensor.key, layer, v->where);
}

RT_FN enum rt_status nn_faulted(struct nn *nn, const struct nn_region *r) {
    const struct nn_place *p = nn_places;
    while (p->kind && p->node != nn->rt.fault.node)
        p++;
    if (p->kind == 'l')
        return nn_diverged(nn, r, p);
    return rt_fail(&nn->rt, RT_USAGE, "%s: index %.0f is out of range: %s has %lld (step %lld)",
                   p->where, nn->rt.fault.value, p->name, (long long)p->size, (long long)nn->step);
}

/* ---- traces ---- */

RT_FN bool nn_traced(const struct nn *nn) {
    for (int i = 0; nn->cli.trace_dir && i < nn->cli.n_trace_steps; i++)
        if (nn->cli.trace_steps[i] == nn->step)
            return true;
    return false;
}

/* Copies the rows of a batch to where chosen[at] can name them. */
RT_FN enum rt_status nn_trace_batch(struct nn *nn, const struct nn_batch *b, int at) {
    struct rt_tensor index = nn_tensor(nn, b->index);
    const struct rt_source *s = &nn->sources[b->source];
    size_t size = (size_t)s->row_elements * rt_type_size(s->type);
    unsigned char *rows = (unsigned char *)nn->rt.alloc(&nn->rt, (size_t)index.dims[0] * size + 1);
    struct rt_tensor *t = &nn->chosen[at];
    if (!rows)
        return rt_fail(&nn->rt, RT_ENV, "no memory for a trace");
    for (int64_t i = 0; i < index.dims[0]; i++) {
        int64_t row = ((const int32_t *)index.data)[i];
        if (row >= 0 && row < s->rows)
            memcpy(rows + (size_t)i * size, (const unsigned char *)s->data + (size_t)row * size,
                   size);
    }
    t->key = b->key;
    t->type = s->type;
    t->layout = RT_ROW_MAJOR;
    t->rank = 1 + s->field->rank;
    t->dims[0] = index.dims[0];
    for (int i = 0; i < s->field->rank && i + 1 < RT_MAX_RANK; i++)
        t->dims[i + 1] = s->field->dims[i];
    t->data = rows;
    return RT_OK;
}

RT_FN enum rt_status nn_trace(struct nn *nn, const struct nn_region *r, bool before) {
    int ranges = before ? r->n_before : r->n_after, batches = before ? r->n_batches : 0;
    const struct nn_range *range = before ? r->before : r->after;
    int n = 0, made = 0;
    enum rt_status status = RT_OK;
    for (int i = 0; i < ranges; i++)
        for (int k = 0; k < range[i].n; k++)
            nn->chosen[n++] = nn_tensor(nn, range[i].first + k);
    for (; made < batches && !status; made++)
        status = nn_trace_batch(nn, &r->batches[made], n + made);
    rt_buf_clear(&nn->text);
    rt_putf(&nn->text, "%s/%s-%lld-%s.safetensors", nn->cli.trace_dir, r->name, (long long)nn->step,
            before ? "before" : "after");
    if (!status)
        status = rt_save(&nn->rt, nn->text.text, nn->chosen, n + made, NULL);
    for (int i = 0; i < made; i++)
        nn->rt.release(&nn->rt, nn->chosen[n + i].data);
    rt_buf_clear(&nn->text);
    return status;
}

/* ---- regions ---- */

RT_FN enum rt_status nn_run(struct nn *nn, int region) {
    const struct nn_region *r = &nn_regions[region];
    if (nn->failed == RT_USAGE)
        return nn->failed;
    nn->step = ++nn->runs[region];
    const bool traced = nn_traced(nn);
    if (traced)
        NN_TRY(nn_trace(nn, r, true));
    if (r->parallel && nn->n > 1)
        rt_team_run(&nn->team, r->run, nn);
    else
        r->run(nn, 0);
    if (rt_faulted(&nn->rt))
        return nn_faulted(nn, r);
    return traced ? nn_trace(nn, r, false) : RT_OK;
}

/* ---- arithmetic of the host, with the language's rules ---- */

/* A whole number as tensors have them. */
RT_FN int32_t nn_int32(struct nn *nn, int64_t x, const char *name, const char *where) {
    if (x >= INT32_MIN && x <= INT32_MAX)
        return (int32_t)x;
    if (nn->failed != RT_USAGE)
        rt_fail(&nn->rt, RT_USAGE, "%s: '%s' is %lld: in a tensor it must fit in 32 bits", where,
                name, (long long)x);
    nn->failed = RT_USAGE;
    return 0;
}

/* ---- printing ---- */

RT_FN void nn_clear_progress(struct nn *nn) {
    if (nn->shown > 0)
        nn->rt.write(&nn->rt, 2, "\r\033[K", 4);
    nn->shown = 0;
}

RT_FN enum rt_status nn_print(struct nn *nn) {
    nn_clear_progress(nn);
    return rt_flush(&nn->text, 1);
}

/* ---- files ---- */

RT_FN enum rt_status nn_save(struct nn *nn, const char *path, const struct nn_key *keys, int n) {
    for (int i = 0; i < n; i++) {
        nn->chosen[i] = nn_tensor(nn, keys[i].value);
        nn->chosen[i].key = keys[i].key;
    }
    return rt_save(&nn->rt, path, nn->chosen, n, NULL);
}

RT_FN enum rt_status nn_load(struct nn *nn, const char *path, const struct nn_key *keys, int n,
                             const char *prefix) {
    for (int i = 0; i < n; i++) {
        nn->chosen[i] = nn_tensor(nn, keys[i].value);
        nn->chosen[i].key = keys[i].key;
    }
    return rt_load(&nn->rt, path, nn->chosen, n, prefix);
}

/* --load [MODEL=]FILE */
RT_FN enum rt_status nn_load_weights(struct nn *nn, const struct rt_pair *from) {
    rt_buf_clear(&nn->text);
    if (from->name) {
        rt_put(&nn->text, from->name, from->name_size);
        rt_puts(&nn->text, ".");
    }
    bool known = !from->name;
    for (int i = 0; i < NN_WEIGHTS; i++) {
        nn->chosen[i] = nn_tensor(nn, i);
        known = known || !strncmp(nn->chosen[i].key, nn->text.text, nn->text.size);
    }
    if (!known)
        return rt_fail(&nn->rt, RT_USAGE, "--load %.*s=…: nothing has this name (--list)",
                       (int)from->name_size, from->name);
    return rt_load(&nn->rt, from->path, nn->chosen, NN_WEIGHTS, from->name ? nn->text.text : NULL);
}

/* ==== data ================================================================================== */

static const struct rt_field nn_fields[NN_SOURCES + 1] = {
    {"points.x", RT_F32, 1, {16}, NULL, 0},
    {"points.y", RT_F32, 1, {1}, NULL, 0},
    {NULL, RT_F32, 0, {0}, NULL, 0},
};
static const char *const nn_data_names[] = {
    "points",
    NULL,
};
static const bool nn_source_is_home[NN_SOURCES + 1] = {
    true,
    true,
    false,
};

RT_FN enum rt_status load_points(struct nn *nn) {
    nn->sources[0].field = &nn_fields[0];
    snprintf(nn->sources[0].file, sizeof nn->sources[0].file, "%s", NN_PROGRAM);
    nn->sources[0].type = RT_F32;
    nn->sources[0].rows = 140;
    nn->sources[0].row_elements = 16;
    nn->sources[0].data = at_points_x(nn);
    nn->sources[1].field = &nn_fields[1];
    snprintf(nn->sources[1].file, sizeof nn->sources[1].file, "%s", NN_PROGRAM);
    nn->sources[1].type = RT_F32;
    nn->sources[1].rows = 140;
    nn->sources[1].row_elements = 1;
    nn->sources[1].data = at_points_y(nn);
    {
        const struct rt_source *const fields[] = {&nn->sources[0], &nn->sources[1]};
        struct rt_rows all;
        NN_TRY(rt_section(&nn->rt, "points.all", fields, 2, &all));
        static const struct rt_part parts_0[] = {
            {"points.train", 96, 0},
            {"points.rest", 44, 0},
        };
        struct rt_rows split_0[2];
        NN_TRY(rt_split(&nn->rt, &all, true, 0x1b53bd6bu, parts_0, 2, split_0));
        nn->rows[ROWS_points_train] = split_0[0];
        nn->rows[ROWS_points_rest] = split_0[1];
        nn->rows[ROWS_points_all] = all;
    }
    return RT_OK;
}

/* ==== tasks ================================================================================= */

RT_FN enum rt_status nn_first(struct nn *nn) {
    NN_TRY(nn_run(nn, REGION_start));
    return RT_OK;
}

RT_FN enum rt_status data_train(struct nn *nn) {
    NN_TRY(load_points(nn));
    return RT_OK;
}

RT_FN enum rt_status task_train(struct nn *nn) {
    const int64_t limit_0 = 40 + 1;
    for (nn->vars.epoch = 1; nn->vars.epoch < limit_0; nn->vars.epoch++) {
        NN_TRY(rt_batches_start(&nn->rt, &nn->loops[0], &nn->rows[ROWS_points_train], 32,
                                true, true, 0, 0xcf953c5au, nn->entries[0]++));
        for (;;) {
            int64_t rows_1;
            if (!rt_batches_next(&nn->loops[0], at_points_rows(nn), &rows_1))
                break;
            nn->scalars.runs = nn_int32(nn, nn->vars.runs, "runs", "deep.nn:15");
            NN_TRY(nn_run(nn, REGION_train_step));
            nn->vars.runs = nn->vars.runs + 1;
        }
    }
    NN_TRY(nn_run(nn, REGION_train_set_mean));
    NN_TRY(rt_batches_start(&nn->rt, &nn->loops[1], &nn->rows[ROWS_points_train], 20,
                            false, false, 0, 0x1fc17b6bu, nn->entries[1]++));
    for (;;) {
        int64_t rows_2;
        if (!rt_batches_next(&nn->loops[1], at_points_rows_1(nn), &rows_2))
            break;
        nn->counts.rows = rows_2;
        NN_TRY(nn_run(nn, REGION_train_rows));
    }
    NN_TRY(nn_run(nn, REGION_train_known));
    rt_buf_clear(&nn->text);
    rt_print_real(&nn->text, (double)at_known(nn)[0], true, ".3f");
    rt_puts(&nn->text, "\n");
    NN_TRY(nn_print(nn));
    const bool holds_3 = (double)at_known(nn)[0] < 0.1;
    rt_buf_clear(&nn->text);
    rt_puts(&nn->text, holds_3 ? "ok: " : "failed: ");
    rt_puts(&nn->text, "learns");
    if (!holds_3) {
        rt_puts(&nn->text, " (found ");
        rt_print_real(&nn->text, (double)at_known(nn)[0], true, NULL);
        rt_puts(&nn->text, ", wanted < ");
        rt_print_real(&nn->text, 0.1, false, NULL);
        rt_puts(&nn->text, ")");
    }
    rt_puts(&nn->text, "\n");
    NN_TRY(nn_print(nn));
    if (!holds_3)
        nn->failed = RT_EXPECT;
    {
        static const struct nn_key keys[] = {
            {VALUE_net_linear_0_w, "net.linear[0].w"},
            {VALUE_net_linear_0_b, "net.linear[0].b"},
            {VALUE_net_block_linear_w, "net.block[0].linear.w"},
            {VALUE_net_block_linear_b, "net.block[0].linear.b"},
            {VALUE_net_block_linear_w + 1, "net.block[1].linear.w"},
            {VALUE_net_block_linear_b + 1, "net.block[1].linear.b"},
            {VALUE_net_block_linear_w + 2, "net.block[2].linear.w"},
            {VALUE_net_block_linear_b + 2, "net.block[2].linear.b"},
            {VALUE_net_block_linear_w + 3, "net.block[3].linear.w"},
            {VALUE_net_block_linear_b + 3, "net.block[3].linear.b"},
            {VALUE_net_block_linear_w + 4, "net.block[4].linear.w"},
            {VALUE_net_block_linear_b + 4, "net.block[4].linear.b"},
            {VALUE_net_block_linear_w + 5, "net.block[5].linear.w"},
            {VALUE_net_block_linear_b + 5, "net.block[5].linear.b"},
            {VALUE_net_linear_1_w, "net.linear[1].w"},
            {VALUE_net_linear_1_b, "net.linear[1].b"},
        };
        NN_TRY(nn_save(nn, "deep.safetensors", keys, 16));
    }
    nn->scalars.runs_2 = nn_int32(nn, nn->vars.runs_2, "runs_2", "deep.nn:38");
    NN_TRY(nn_run(nn, REGION_train_uniform));
    nn->vars.runs_2 = nn->vars.runs_2 + 1;
    {
        static const struct nn_key keys[] = {
            {VALUE_net_linear_0_w, "net.linear[0].w"},
            {VALUE_net_linear_0_b, "net.linear[0].b"},
            {VALUE_net_block_linear_w, "net.block[0].linear.w"},
            {VALUE_net_block_linear_b, "net.block[0].linear.b"},
            {VALUE_net_block_linear_w + 1, "net.block[1].linear.w"},
            {VALUE_net_block_linear_b + 1, "net.block[1].linear.b"},
            {VALUE_net_block_linear_w + 2, "net.block[2].linear.w"},
            {VALUE_net_block_linear_b + 2, "net.block[2].linear.b"},
            {VALUE_net_block_linear_w + 3, "net.block[3].linear.w"},
            {VALUE_net_block_linear_b + 3, "net.block[3].linear.b"},
            {VALUE_net_block_linear_w + 4, "net.block[4].linear.w"},
            {VALUE_net_block_linear_b + 4, "net.block[4].linear.b"},
            {VALUE_net_block_linear_w + 5, "net.block[5].linear.w"},
            {VALUE_net_block_linear_b + 5, "net.block[5].linear.b"},
            {VALUE_net_linear_1_w, "net.linear[1].w"},
            {VALUE_net_linear_1_b, "net.linear[1].b"},
        };
        NN_TRY(nn_load(nn, "deep.safetensors", keys, 16, "net"));
    }
    NN_TRY(nn_run(nn, REGION_train_linear));
    const bool holds_4 = at_ne_2(nn)[0] != 0;
    rt_buf_clear(&nn->text);
    rt_puts(&nn->text, holds_4 ? "ok: " : "failed: ");
    rt_puts(&nn->text, "all layers come back");
    rt_puts(&nn->text, "\n");
    NN_TRY(nn_print(nn));
    if (!holds_4)
        nn->failed = RT_EXPECT;
    return RT_OK;
}

static const struct nn_task nn_tasks[NN_TASKS + 1] = {
    {"train", data_train, task_train, false},
    {NULL, NULL, NULL, false},
};
static const struct rt_task nn_task_names[NN_TASKS + 1] = {
    {"train", "trains"},
    {NULL, NULL},
};

/* Defaults, and where the command line puts what it is given. */
RT_FN void nn_options(struct nn *nn) {
    (void)nn;
}

RT_FN void nn_init_strings(struct nn *nn) {
    (void)nn;
}

RT_FN void nn_free_strings(struct nn *nn) {
    (void)nn;
}

/* ---- a whole run ---- */

RT_FN enum rt_status nn_command_line(struct nn *nn, int argc, char **argv) {
    struct rt_cli *cli = &nn->cli;
    nn_options(nn);
    for (int i = 0; i < NN_WEIGHTS; i++)
        nn->chosen[i] = nn_values[i].tensor;
    cli->program = NN_PROGRAM;
    cli->version = NN_VERSION;
    cli->tasks = nn_task_names;
    cli->n_tasks = NN_TASKS;
    cli->options = nn->option_list;
    cli->n_options = NN_OPTIONS;
    cli->tensors = nn->chosen;
    cli->n_tensors = NN_WEIGHTS;
    cli->fields = nn_fields;
    cli->n_fields = NN_SOURCES;
    cli->data = nn_data_names;
    return rt_cli_parse(&nn->rt, cli, argc, argv);
}

/* The arena and the threads. */
RT_FN enum rt_status nn_start(struct nn *nn) {
    struct rt *rt = &nn->rt;
    nn->n = NN_PARALLEL ? rt->threads : 1;
    nn->arena = (unsigned char *)rt->alloc(rt, NN_ARENA);
    nn->team_memory = rt->alloc(rt, rt_team_bytes(nn->n) + 1);
    if (!nn->arena || !nn->team_memory)
        return rt_fail(rt, RT_ENV, "no memory: %.1f MB are needed", NN_ARENA / 1e6);
    memset(nn->arena, 0, NN_ARENA);
    return rt_team_start(rt, &nn->team, nn->n, nn->team_memory);
}

/* Closes the log; a full disk is an error where the task had none. */
RT_FN enum rt_status nn_log_end(struct nn *nn, enum rt_status status) {
    bool lost = nn->log && (ferror(nn->log) | fclose(nn->log));
    nn->log = NULL;
    if (lost && !status)
        return rt_fail(&nn->rt, RT_ENV, "cannot write '%s'", nn->cli.log);
    return RT_OK;
}

RT_FN enum rt_status nn_run_task(struct nn *nn, const struct nn_task *task) {
    struct rt *rt = &nn->rt;
    if (task->needs_weights && !nn->cli.n_load && !rt->untrained)
        return rt_fail(rt, RT_USAGE, "%s needs weights: --load FILE (or --untrained)", task->name);
    if (nn->cli.trace_dir && mkdir(nn->cli.trace_dir, 0777) != 0 && errno != EEXIST)
        return rt_fail(rt, RT_ENV, "cannot make '%s': %s", nn->cli.trace_dir, strerror(errno));
    if (nn->cli.log && !(nn->log = fopen(nn->cli.log, "w")))
        return rt_fail(rt, RT_ENV, "cannot write '%s': %s", nn->cli.log, strerror(errno));
    if (nn->log) /* a line is there when its step is done, whatever ends the run */
        setvbuf(nn->log, NULL, _IOLBF, BUFSIZ);
    NN_TRY(nn_first(nn));
    if (task->data)
        NN_TRY(task->data(nn));
    rt_files_drop(rt);
    for (int i = 0; i < nn->cli.n_load; i++)
        NN_TRY(nn_load_weights(nn, &nn->cli.load[i]));
    enum rt_status status = task->run(nn);
    nn_clear_progress(nn);
    NN_TRY(nn_log_end(nn, status));
    return status ? status : nn->failed;
}

RT_FN void nn_stop(struct nn *nn) {
    if (nn->team_memory)
        rt_team_stop(&nn->team);
    rt_files_drop(&nn->rt);
    for (int i = 0; i < NN_SOURCES; i++)
        if (nn->sources[i].data && !nn_source_is_home[i])
            rt_source_free(&nn->rt, &nn->sources[i]);
    rt_buf_free(&nn->text);
    nn_free_strings(nn);
    nn->rt.release(&nn->rt, nn->team_memory);
    nn->rt.release(&nn->rt, nn->arena);
}

/* Everything: a status, and where it is not RT_OK a message in nn->rt (an `expect` has printed). */
RT_FN enum rt_status nn_trainer(struct nn *nn, int argc, char **argv) {
    rt_init(&nn->rt);
    rt_flush_denormals();
    rt_buf_init(&nn->text, &nn->rt, (size_t)1 << 30);
    nn_init_strings(nn);
    enum rt_status status = nn_command_line(nn, argc, argv);
    if (status || nn->cli.stop)
        return status;
    nn->progress = nn->progress && !nn->rt.quiet;
    status = nn_start(nn);
    if (!status)
        status = nn_run_task(nn, &nn_tasks[nn->cli.task]);
    nn_stop(nn);
    return status;
}

/* rt_end.h: ends what rt_base.h began. After it only `main` follows, which any processor can run.
 */

#if defined(__clang__)
#ifdef RT_AVX2
#pragma clang attribute pop
#endif
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif

/* ==== main ================================================================================== */

/* Memory for the runtime: large pages for what is large, so that fewer addresses are translated. */
static void *main_alloc(struct rt *rt, size_t bytes) {
    (void)rt;
    const size_t large = (size_t)2 << 20;
    void *memory = NULL;
    if (posix_memalign(&memory, bytes >= large ? large : 64, bytes))
        return NULL;
#ifdef MADV_HUGEPAGE
    if (bytes >= large)
        madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memory;
}

static void main_release(struct rt *rt, void *memory) {
    (void)rt;
    free(memory);
}

static void main_write(struct rt *rt, int stream, const char *text, size_t n) {
    (void)rt;
    while (n > 0) {
        ssize_t wrote = write(stream, text, n);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return;
        text += wrote;
        n -= (size_t)wrote;
    }
}

int main(int argc, char **argv) {
    const char *missing = rt_cpu_missing();
    if (missing) {
        fprintf(stderr, NN_PROGRAM ": this processor lacks %s; compile with -DRT_BASELINE\n",
                missing);
        return RT_ENV;
    }
    struct nn *nn = (struct nn *)main_alloc(NULL, sizeof(struct nn));
    if (!nn) {
        fprintf(stderr, NN_PROGRAM ": no memory\n");
        return RT_ENV;
    }
    memset((void *)nn, 0, sizeof *nn);
    nn->rt.alloc = main_alloc;
    nn->rt.release = main_release;
    nn->rt.write = main_write;
    nn->progress = isatty(STDERR_FILENO) == 1;
    enum rt_status status = nn_trainer(nn, argc, argv);
    if (status && nn->rt.message[0])
        fprintf(stderr, NN_PROGRAM ": %s\n", nn->rt.message);
    free(nn);
    return (int)status;
}
