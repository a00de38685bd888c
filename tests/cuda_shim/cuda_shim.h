/* cuda_shim.h: CUDA text on the processor, for a C++ compiler (C++17) instead of nvcc.
 *
 * The types, enums and prototypes are those of the real CUDA headers; the definitions are the
 * library's beside this file, so the compiler checks them against each other. What generated text
 * may use and what it means here is in README.md. What is not here does not exist in it: atomics,
 * grid-wide synchronisation, cooperative groups, the null stream.
 */
#ifndef CUDA_SHIM_H
#define CUDA_SHIM_H

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

/* ---- words of the language ------------------------------------------------------------------- */

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __forceinline__
#undef __launch_bounds__
#undef __grid_constant__
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
/* Blocks run one after the other, so a static array can be the memory of the block that runs. The
 * section lets the library find all of them, to fill them anew for each block. */
#define __shared__   static __attribute__((section("shim_shared")))
#define __constant__ static __attribute__((section("shim_constant")))

/* True for the first thread that asks; blocks and threads run one at a time. */
__attribute__((no_sanitize("thread"))) inline bool shim_take(int *lock) {
    return *lock == 0 && (*lock = 1) == 1;
}
#define RT_TAKE(lock) shim_take(lock)

/* ---- who am I -------------------------------------------------------------------------------- */

struct shim_thread { /* the library's record of a thread begins with this */
    uint3 index;
    unsigned lane;
};

struct shim_launch_shape {
    uint3 block_index;
    dim3 block_size, grid_size;
};

extern __thread shim_thread *shim_self; /* NULL while host code runs */
extern shim_launch_shape shim_shape;

#define threadIdx (static_cast<const uint3 &>(shim_self->index))
#define blockIdx  (static_cast<const uint3 &>(shim_shape.block_index))
#define blockDim  (static_cast<const dim3 &>(shim_shape.block_size))
#define gridDim   (static_cast<const dim3 &>(shim_shape.grid_size))
constexpr int warpSize = 32;

/* ---- launches -------------------------------------------------------------------------------- */

struct shim_site { /* where in the text */
    const char *file;
    int line;
};

struct shim_call { /* a kernel with its arguments, copied when it was launched */
    const void *kernel;
    explicit shim_call(const void *k) : kernel(k) {
    }
    virtual ~shim_call() = default;
    virtual void run() const = 0;
};

/* One class a launch, and nothing of the standard library: a trainer has a hundred launches, and
 * compiling them is most of the time of a test. */
template <class Call> struct shim_call_of final : shim_call {
    Call call;
    shim_call_of(const void *k, Call c) : shim_call(k), call(c) {
    }
    __attribute__((no_sanitize("thread"))) void run() const override {
        call();
    }
};

/* The launch that is written around a call of this one passes a kernel these bytes. When that is
 * said of all its pointers, the build `memory` lets it touch nothing else of their allocations. */
void shim_note_buffer(const void *p, size_t bytes);
template <class T> inline T *shim_buffer(T *p, size_t bytes) {
    shim_note_buffer(p, bytes);
    return p;
}
#define RT_BUFFER(p, bytes) shim_buffer((p), (bytes))

inline const void *shim_pointer(const volatile void *p) {
    return const_cast<const void *>(p);
}
template <class T>
inline std::enable_if_t<!std::is_pointer<T>::value, const void *> shim_pointer(const T &) {
    return nullptr;
}

/* Owns the call. `pointers`: of its n arguments, NULL for those that are none. */
cudaError_t shim_enqueue_kernel(const char *name, const shim_call *call,
                                const void *const *pointers, size_t n, dim3 grid, dim3 block,
                                size_t shared, cudaStream_t stream);

template <class... P, class... A>
inline cudaError_t shim_launch(const char *name, void (*kernel)(P...), dim3 grid, dim3 block,
                               size_t shared, cudaStream_t stream, A... a) {
    static_assert(sizeof...(P) == sizeof...(A), "a launch with the kernel's number of arguments");
    const void *const pointers[] = {shim_pointer(a)..., nullptr};
    /* The arguments lie in host memory, which a kernel itself must not touch: no hooks here. */
    auto call = [ kernel, a... ]() __attribute__((no_sanitize("thread"))) {
        kernel(a...);
    };
    return shim_enqueue_kernel(
        name, new shim_call_of<decltype(call)>(reinterpret_cast<const void *>(kernel), call),
        pointers, sizeof...(A), grid, block, shared, stream);
}

#define RT_LAUNCH(kernel, grid, block, shared, stream, ...)                                        \
    shim_launch(#kernel, kernel, grid, block, shared, stream, ##__VA_ARGS__)

/* The dynamic shared memory of the block, as an array of T. */
void *shim_dynamic_shared(void);
#define RT_DYNAMIC_SHARED(T, name) T *name = static_cast<T *>(shim_dynamic_shared())

/* ---- barriers and warp collectives ----------------------------------------------------------- */

void shim_barrier(shim_site site);
void shim_sync_warp(unsigned mask, shim_site site);
uint64_t shim_shuffle(const char *op, unsigned mask, uint64_t bits, unsigned from, shim_site site);
unsigned shim_ballot(unsigned mask, bool vote, shim_site site);

#define SHIM_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(SHIM_SITE) {
    shim_barrier({file, line});
}
inline void __syncwarp(unsigned mask = 0xffffffffu, SHIM_SITE) {
    shim_sync_warp(mask, {file, line});
}

template <class T>
inline T shim_shuffle_of(const char *op, unsigned mask, T value, unsigned from, shim_site site) {
    static_assert(std::is_arithmetic<T>::value && (sizeof(T) == 4 || sizeof(T) == 8),
                  "a shuffle moves numbers of 4 or 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = shim_shuffle(op, mask, bits, from, site);
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A lane whose source lies outside its group of `width` lanes gets its own value. */
template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, SHIM_SITE) {
    const unsigned lane = shim_self->lane, w = static_cast<unsigned>(width);
    const unsigned from = (lane & ~(w - 1)) | (static_cast<unsigned>(source) & (w - 1));
    return shim_shuffle_of("__shfl_sync", mask, value, from, {file, line});
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, SHIM_SITE) {
    const unsigned lane = shim_self->lane, w = static_cast<unsigned>(width);
    const unsigned from = lane ^ static_cast<unsigned>(bits), end = (lane & ~(w - 1)) + w;
    return shim_shuffle_of("__shfl_xor_sync", mask, value, from < end ? from : lane, {file, line});
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32, SHIM_SITE) {
    const unsigned lane = shim_self->lane, w = static_cast<unsigned>(width);
    const unsigned from = (lane & (w - 1)) + by < w ? lane + by : lane;
    return shim_shuffle_of("__shfl_down_sync", mask, value, from, {file, line});
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32, SHIM_SITE) {
    const unsigned lane = shim_self->lane, w = static_cast<unsigned>(width);
    const unsigned from = (lane & (w - 1)) >= by ? lane - by : lane;
    return shim_shuffle_of("__shfl_up_sync", mask, value, from, {file, line});
}

inline unsigned __ballot_sync(unsigned mask, int vote, SHIM_SITE) {
    return shim_ballot(mask, vote != 0, {file, line});
}
inline int __any_sync(unsigned mask, int vote, SHIM_SITE) {
    return shim_ballot(mask, vote != 0, {file, line}) != 0;
}
inline int __all_sync(unsigned mask, int vote, SHIM_SITE) {
    return shim_ballot(mask, vote != 0, {file, line}) == mask;
}

/* ---- device functions ------------------------------------------------------------------------ */

template <class To, class From> inline To shim_bits(From x) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To y;
    memcpy(&y, &x, sizeof y);
    return y;
}
inline int __float_as_int(float x) {
    return shim_bits<int>(x);
}
inline unsigned __float_as_uint(float x) {
    return shim_bits<unsigned>(x);
}
inline float __int_as_float(int x) {
    return shim_bits<float>(x);
}
inline float __uint_as_float(unsigned x) {
    return shim_bits<float>(x);
}
inline long long __double_as_longlong(double x) {
    return shim_bits<long long>(x);
}
inline double __longlong_as_double(long long x) {
    return shim_bits<double>(x);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>((static_cast<uint64_t>(a) * b) >> 32);
}
inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}
inline int __ffs(int x) {
    return __builtin_ffs(x);
}
inline int __clz(int x) {
    return x ? __builtin_clz(static_cast<unsigned>(x)) : 32;
}
template <class T> inline T __ldg(const T *p) {
    return *p;
}

/* ---- overloads of the host API that cuda_runtime.h defines for nvcc only --------------------- */

template <class... P>
inline cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute what, int value) {
    return cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), what, value);
}

#endif
