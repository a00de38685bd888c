/* resources.cu: kernels that compile without a warning and each break a rule of nvcc_gate.sh. */
#include "world.h"

static __global__ void __launch_bounds__(256)
    k_stack(const float *__restrict__ x, float *__restrict__ y, int n) {
    float a[100];
    for (int i = 0; i < n; i++)
        a[i] = x[i];
    for (int i = 0; i < n; i++)
        y[i] = a[n - 1 - i];
}

static __global__ void __launch_bounds__(256)
    k_promoted(const float *__restrict__ x, float *__restrict__ y) {
    y[threadIdx.x] = (float)(x[threadIdx.x] * 0.1);
}

static __global__ void __launch_bounds__(256)
    k_double(const double *__restrict__ x, double *__restrict__ y) {
    y[threadIdx.x] = x[threadIdx.x] * 0.1;
}

int main(void) {
    float *x, *y;
    double *a, *b;
    cudaStream_t s;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMalloc(&x, 4096));
    CHECK(cudaMalloc(&y, 4096));
    CHECK(cudaMalloc(&a, 4096));
    CHECK(cudaMalloc(&b, 4096));
    CHECK(RT_LAUNCH(k_stack, dim3(1), dim3(256), 0, s, x, y, 4));
    CHECK(RT_LAUNCH(k_promoted, dim3(1), dim3(256), 0, s, x, y));
    CHECK(RT_LAUNCH(k_double, dim3(1), dim3(256), 0, s, a, b));
    return 0;
}
