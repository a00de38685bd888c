/* warnings.cu: what nvcc_gate.sh must not let through: each line has its warning. */
#include "world.h"

static __global__ void k_unbounded(float *y) { /* __launch_bounds__ */
    y[threadIdx.x] = 0.0f;
}

static __global__ void __launch_bounds__(256) k_variable(float *y) {
    const int unused = (int)threadIdx.x;
    y[threadIdx.x] = 0.0f;
}

static __device__ float forgotten(float x) {
    return x;
}

int main(void) {
    float *y;
    CHECK(cudaMalloc(&y, 4096));
    k_unbounded<<<1, 256>>>(y); /* default stream */
    k_variable<<<1, 256, 0, (cudaStream_t)1>>>(y);
    return 0;
}
