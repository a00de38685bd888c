/* world.h: the two worlds that the tests' CUDA text is compiled in, and helpers for both. */
#ifndef WORLD_H
#define WORLD_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __CUDACC__
#include <cuda_runtime.h>
/* clang-format off */
#define RT_LAUNCH(kernel, grid, block, shared, stream, ...)                                        \
    ((kernel)<<<(grid), (block), (shared), (stream)>>>(__VA_ARGS__), cudaGetLastError())
/* clang-format on */
#define RT_BUFFER(p, bytes) (p)
#define RT_DYNAMIC_SHARED(T, name)                                                                 \
    extern __shared__ __align__(16) unsigned char dynamic_shared[];                                \
    T *name = (T *)dynamic_shared
#else
#include "cuda_shim.h"
#endif

/* Ends the program with code 3 when a call does not succeed. */
static inline void check_at(cudaError_t e, const char *what, int line) {
    if (e != cudaSuccess) {
        fprintf(stderr, "line %d: %s: %s\n", line, what, cudaGetErrorString(e));
        exit(3);
    }
}
#define CHECK(e) check_at((e), #e, __LINE__)

#endif
