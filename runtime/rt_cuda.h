/* rt_cuda.h: what the trainers of target cuda contain beside the rest.
 *
 * nvcc compiles the file; the tests compile the same text with a host compiler, where cuda_shim.h
 * runs kernels on the processor. Only what stands in this first part differs between the two.
 */
#ifndef RT_CUDA_H
#define RT_CUDA_H

#include "rt_base.h"

/* A kernel's buffer: it begins at a multiple of 16 bytes, and neighbours are loaded at once. */
#define RT_ALIGNED(p) ((p) = (__typeof__(p))__builtin_assume_aligned(p, 16))

#ifdef __CUDACC__
#include <cuda_runtime.h>
/* Puts a kernel into a stream; the status of the launch. */
#define RT_LAUNCH(kernel, grid, block, shared, stream, ...)                                        \
    ((kernel)<<<(grid), (block), (shared), (stream)>>>(__VA_ARGS__), cudaGetLastError())
/* A buffer that a launch is given; where the tests run it, a kernel touches no byte beyond. */
#define RT_BUFFER(p, bytes) (p)
/* As RT_UNROLL, in kernels. */
#define RT_UNROLL_GPU(n) RT_PRAGMA(unroll n)
/* True for the first thread that asks: the one atomic operation of all kernels. */
#define RT_TAKE(lock) (atomicCAS((lock), 0, 1) == 0)
#else
#define RT_UNROLL_GPU(n) RT_UNROLL(n)
#include "cuda_shim.h"
#endif

#endif
