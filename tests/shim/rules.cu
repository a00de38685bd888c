/* rules.cu: text that compiles and breaks each rule of check_text.c once; gates.sh names them. */
#include "world.h"

static int counter;

static __device__ float twice(float x) {
    return 2.0f * x;
}

static __device__ void meet(void) {
    __syncthreads();
}

static __global__ void __launch_bounds__(128) k_constant(float *__restrict__ y) {
    y[threadIdx.x] = (float)0.1 * twice(y[threadIdx.x]);
}

__global__ void __launch_bounds__(128) k_promoted(float *__restrict__ y) {
    y[threadIdx.x] = (float)(y[threadIdx.x] * 0.1);
}

static __global__ void __launch_bounds__(128) k_parted(float *y) {
    const unsigned i = threadIdx.x;
    for (unsigned j = i; j < 100u; j += 10u)
        meet();
    if (blockIdx.x == 0u)
        __syncthreads();
    y[i] = 1.0f;
}

static __global__ void __launch_bounds__(128) k_subscript(float (*__restrict__ y)[4]) {
    y[threadIdx.x][4] = 1.0f;
}

static cudaError_t device_step(cudaStream_t s, float *y) {
    RT_LAUNCH(k_constant, dim3(1), dim3(64), 0, s, y);
    cudaError_t e = RT_LAUNCH(k_promoted, dim3(1), dim3(32, 8), 0, s, y);
    if (e == cudaSuccess)
        e = RT_LAUNCH(k_parted, 1, 256, 0, s, y);
    if (e == cudaSuccess)
        e = RT_LAUNCH(k_subscript, 1, 128, 0, s, (float(*)[4])y);
    free(y);
    return e;
}

static __global__ void __launch_bounds__(128) k_forgotten(int *__restrict__ y) {
    y[threadIdx.x] = 1;
}

static int jump(int n) {
    if (n > counter)
        goto end;
    n *= 2;
end:
    return counter += n;
}

int main(void) {
    return device_step(NULL, NULL) != cudaSuccess || jump(1);
}
