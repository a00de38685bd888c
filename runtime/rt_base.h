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
#ifndef RT_BASE_H
#define RT_BASE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* clock_gettime, sched_getaffinity, syscall under any -std */
#endif

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
#if defined(__clang__)
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
#ifdef __CUDACC__
#pragma nv_diag_suppress 1675 /* nvcc knows only some of these, and hands on all to GCC */
#endif
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
typedef int32_t v8iu __attribute__((vector_size(32), aligned(4), may_alias));

RT_INLINE v8 ld8(const float *p) {
    return (v8) * (const v8u *)(const void *)p;
}

RT_INLINE void st8(float *p, v8 x) {
    *(v8u *)(void *)p = (v8u)x;
}

RT_INLINE v8i ld8i(const int32_t *p) {
    return (v8i) * (const v8iu *)(const void *)p;
}

RT_INLINE void st8i(int32_t *p, v8i x) {
    *(v8iu *)(void *)p = (v8iu)x;
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

RT_INLINE v8i ld8in(const int32_t *p, int n) {
    return (v8i)ld8n((const float *)(const void *)p, n);
}

RT_INLINE void st8in(int32_t *p, int n, v8i x) {
    st8n((float *)(void *)p, n, (v8)x);
}

/* NaN in either argument gives NaN; of equal values (also of +0 and -0) the first. */
RT_INLINE v8 max8(v8 a, v8 b) {
    return sel8((a >= b) | (a != a), a, b);
}

RT_INLINE v8 min8(v8 a, v8 b) {
    return sel8((a <= b) | (a != a), a, b);
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

RT_INLINE v8 floor8(v8 x) {
#if defined(RT_AVX2)
    return __builtin_ia32_roundps256(x, 9);
#else
    for (int i = 0; i < 8; i++)
        x[i] = __builtin_floorf(x[i]);
    return x;
#endif
}

RT_INLINE v8 ceil8(v8 x) {
#if defined(RT_AVX2)
    return __builtin_ia32_roundps256(x, 10);
#else
    for (int i = 0; i < 8; i++)
        x[i] = __builtin_ceilf(x[i]);
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

RT_INLINE v8 abs8(v8 x) {
    return (v8)((v8i)x & bc8i(INT32_MAX));
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

RT_BOTH RT_INLINE float rt_floorf(float x) {
#ifdef __CUDA_ARCH__
    return floorf(x);
#else
    return floor8(bc8(x))[0];
#endif
}

RT_BOTH RT_INLINE float rt_ceilf(float x) {
#ifdef __CUDA_ARCH__
    return ceilf(x);
#else
    return ceil8(bc8(x))[0];
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

RT_INLINE float rt_prod32(const v8 *lanes) {
    v8 x = (lanes[0] * lanes[2]) * (lanes[1] * lanes[3]);
    float p = x[0] * x[4], q = x[1] * x[5], r = x[2] * x[6], s = x[3] * x[7];
    return (p * r) * (q * s);
}

RT_INLINE float rt_max32(const v8 *lanes) {
    v8 x = max8(max8(lanes[0], lanes[2]), max8(lanes[1], lanes[3]));
    float p = rt_maxf(x[0], x[4]), q = rt_maxf(x[1], x[5]);
    float r = rt_maxf(x[2], x[6]), s = rt_maxf(x[3], x[7]);
    return rt_maxf(rt_maxf(p, r), rt_maxf(q, s));
}

RT_INLINE float rt_min32(const v8 *lanes) {
    v8 x = min8(min8(lanes[0], lanes[2]), min8(lanes[1], lanes[3]));
    float p = rt_minf(x[0], x[4]), q = rt_minf(x[1], x[5]);
    float r = rt_minf(x[2], x[6]), s = rt_minf(x[3], x[7]);
    return rt_minf(rt_minf(p, r), rt_minf(q, s));
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

#endif
