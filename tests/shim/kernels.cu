/* kernels.cu: correct kernels, each with places that a bug can be put in: kernels CASE [BUG].
 *
 * Exit code 0: the result is right, 1: it is wrong. `kernels list` prints the names of the cases.
 */
#include "world.h"

enum bug {
    NONE,
    NO_BARRIER,      /* between writes of shared memory and reads by others */
    NO_LAST_BARRIER, /* after the last read of a shared array that is used again */
    NO_WARP_SYNC,
    NO_GUARD,
    BAD_INDEX,
    MISALIGNED,
    UNWRITTEN,    /* a value that nobody wrote is read */
    SAME_ELEMENT, /* blocks write the same element */
    NEIGHBOURS,   /* threads of one warp write and read an element without an order */
    DIVERGENT,    /* one half of the threads waits at another barrier */
    EXITED,       /* a thread has left when the others wait */
    ABSENT_LANES, /* a mask names lanes that do not come */
    FOREIGN_LANE, /* a shuffle reads a lane outside its mask */
    HOST_POINTER
};
static const char *const bug_names[] = {
    "none",      "no_barrier", "no_last_barrier", "no_warp_sync", "no_guard",
    "bad_index", "misaligned", "unwritten",       "same_element", "neighbours",
    "divergent", "exited",     "absent_lanes",    "foreign_lane", "host_pointer"};

#define ALL 0xffffffffu

/* ---- device functions ------------------------------------------------------------------------ */

static __device__ __forceinline__ float warp_sum(float v) {
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_xor_sync(ALL, v, step);
    return v;
}

/* The sum over the block, for all its threads; `sums` may be used again at once. */
static __device__ float block_sum(float v, float *sums, int bug) {
    const unsigned lane = threadIdx.x % 32u, warp = threadIdx.x / 32u;
    v = warp_sum(v);
    if (lane == 0u)
        sums[warp] = v;
    if (bug != NO_BARRIER)
        __syncthreads();
    v = warp_sum(lane < blockDim.x / 32u ? sums[lane] : 0.0f);
    if (bug != NO_LAST_BARRIER)
        __syncthreads();
    return v;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(256)
    k_axpy(const float *__restrict__ x, float *__restrict__ y, int n, int bug) {
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n || (bug == NO_GUARD && i == n))
        y[i] = 0.5f * x[i] + y[i];
}

static __global__ void __launch_bounds__(128)
    k_norm(const float *__restrict__ x, float *__restrict__ y, int n, int bug) {
    __shared__ float sums[32];
    const float *row = x + (size_t)blockIdx.x * (size_t)n;
    float *to = y + (size_t)(bug == SAME_ELEMENT ? 0u : blockIdx.x) * (size_t)n;
    float s = 0.0f;
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        s += row[i];
    const float mean = block_sum(s, sums, bug) / (float)n;
    s = 0.0f;
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        s += (row[i] - mean) * (row[i] - mean);
    const float scale = 1.0f / sqrtf(block_sum(s, sums, bug) / (float)n + 1e-5f);
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        to[i] = (row[i] - mean) * scale;
}

/* Tiles of 32 x 32, four outputs a thread. */
static __global__ void __launch_bounds__(256)
    k_matmul(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n,
             int bug) {
    __shared__ float at[32][33];
    __shared__ float bt[32][32];
    const int tx = (int)threadIdx.x, ty = (int)threadIdx.y;
    const int row = (int)blockIdx.y * 32 + ty, column = (int)blockIdx.x * 32 + tx;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int k0 = 0; k0 < n; k0 += 32) {
        for (int j = 0; j < 32; j += 8) {
            at[ty + j][tx] = row + j < n && k0 + tx < n ? a[(row + j) * n + k0 + tx] : 0.0f;
            bt[ty + j][tx] = k0 + ty + j < n && column < n ? b[(k0 + ty + j) * n + column] : 0.0f;
        }
        if (bug != NO_BARRIER)
            __syncthreads();
        for (int k = 0; k < 32; k++)
            for (int j = 0; j < 4; j++)
                sum[j] = fmaf(at[ty + 8 * j][k], bt[k][tx], sum[j]);
        if (bug != NO_LAST_BARRIER)
            __syncthreads();
    }
    for (int j = 0; j < 4; j++)
        if (row + 8 * j < n && column < n)
            c[(row + 8 * j) * n + column] = sum[j];
}

/* A warp a row, the row in dynamic shared memory; warps without a row leave. */
static __global__ void __launch_bounds__(128)
    k_softmax(const float *__restrict__ x, float *__restrict__ y, int rows, int n) {
    RT_DYNAMIC_SHARED(float, memory);
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int row = (int)blockIdx.x * 4 + warp;
    float *mine = memory + warp * n;
    if (row >= rows)
        return;
    float most = -INFINITY;
    for (int i = lane; i < n; i += 32) {
        mine[i] = x[row * n + i];
        most = fmaxf(most, mine[i]);
    }
    for (int step = 16; step > 0; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(ALL, most, step));
    float sum = 0.0f;
    for (int i = lane; i < n; i += 32) {
        mine[i] = expf(mine[i] - most);
        sum += mine[i];
    }
    sum = warp_sum(sum);
    for (int i = lane; i < n; i += 32)
        y[row * n + i] = mine[i] / sum;
}

/* y[i] = x[i ^ 1] within a warp, by shared memory. */
static __global__ void __launch_bounds__(64)
    k_swap(const float *__restrict__ x, float *__restrict__ y, int bug) {
    __shared__ float s[64];
    const unsigned i = threadIdx.x;
    if (bug != UNWRITTEN || i != 5u)
        s[i] = x[i];
    if (bug != NO_WARP_SYNC)
        __syncwarp();
    y[i] = s[i ^ 1u];
    if (bug == NEIGHBOURS)
        s[i] = 0.0f;
}

/* y[0] += the sum of x: all lanes read the old total, one stores the new one. */
static __global__ void __launch_bounds__(32)
    k_total(const float *__restrict__ x, float *__restrict__ y, int bug) {
    const float before = y[0], sum = warp_sum(x[threadIdx.x]);
    if (bug != NO_WARP_SYNC)
        __syncwarp();
    if (threadIdx.x == 0u)
        y[0] = before + sum;
}

/* y[i] = x[63 - i] by shared memory. */
static __global__ void __launch_bounds__(64)
    k_reverse(const float *__restrict__ x, float *__restrict__ y, int bug) {
    __shared__ float s[64];
    const unsigned i = threadIdx.x;
    if (bug == EXITED && i == 63u)
        return;
    s[i] = x[i];
    if (bug == DIVERGENT && blockDim.x - i > 32u)
        __syncthreads();
    else
        __syncthreads();
    y[i] = s[bug == BAD_INDEX ? 64u - i : 63u - i];
}

/* y[i] = x[4 i], read as four numbers. */
static __global__ void __launch_bounds__(32)
    k_vector(const float *__restrict__ x, float *__restrict__ y, int bug) {
    const float4 v = *(const float4 *)(x + (bug == MISALIGNED ? 1 : 0) + 4u * threadIdx.x);
    y[threadIdx.x] = v.x;
}

/* y[i] = i, whose bytes each are a thread's. */
static __global__ void __launch_bounds__(256) k_bytes(float *__restrict__ y, int bug) {
    __shared__ float numbers[64];
    const unsigned i = threadIdx.x / 4u, b = threadIdx.x % 4u;
    const unsigned bits = __float_as_uint((float)i);
    ((unsigned char *)numbers)[threadIdx.x] = (unsigned char)(bits >> (8u * b));
    if (bug != NO_BARRIER)
        __syncthreads();
    if (threadIdx.x < 64u)
        y[threadIdx.x] = numbers[threadIdx.x];
}

/* y[i]: votes and shuffles of the lanes in halves of a warp. */
static __global__ void __launch_bounds__(32)
    k_lanes(const float *__restrict__ x, float *__restrict__ y, int bug) {
    const unsigned lane = threadIdx.x, half = lane < 16u ? 0xffffu : 0xffff0000u;
    float v = x[lane];
    const unsigned votes = __ballot_sync(ALL, v > 16.0f);
    if (bug == ABSENT_LANES && lane > 20u)
        return;
    if (bug == FOREIGN_LANE)
        v += __shfl_sync(half, v, 31);
    if (lane < 16u)
        v += __shfl_down_sync(bug == ABSENT_LANES ? ALL : half, v, 1u, 16);
    else
        v += __shfl_up_sync(half, v, 1u, 16);
    v += (float)(__popc(votes) + __all_sync(ALL, v >= 0.0f) + __any_sync(ALL, v < 0.0f));
    y[lane] = v;
}

/* ---- host ------------------------------------------------------------------------------------ */

enum {
    AXPY_N = 10003,
    NORM_N = 301,
    NORM_ROWS = 7,
    MATMUL_N = 75,
    SOFTMAX_N = 45,
    SOFTMAX_ROWS = 9
};

struct arrays {
    cudaStream_t stream;
    int n, bytes;
    float *x, *y;   /* on the host: y is what the kernel gave */
    float *dx, *dy; /* on the device */
};

static void start(struct arrays *a, int n) {
    a->n = n;
    a->bytes = n * (int)sizeof(float);
    CHECK(cudaStreamCreateWithFlags(&a->stream, cudaStreamNonBlocking));
    CHECK(cudaMallocHost((void **)&a->x, (size_t)a->bytes));
    CHECK(cudaMallocHost((void **)&a->y, (size_t)a->bytes));
    CHECK(cudaMalloc((void **)&a->dx, (size_t)a->bytes));
    CHECK(cudaMalloc((void **)&a->dy, (size_t)a->bytes));
    unsigned state = 1u;
    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        a->x[i] = n <= 64 ? (float)i : (float)(state >> 8) / 16777216.0f - 0.5f;
    }
    CHECK(cudaMemcpyAsync(a->dx, a->x, (size_t)a->bytes, cudaMemcpyHostToDevice, a->stream));
    CHECK(cudaMemsetAsync(a->dy, 0, (size_t)a->bytes, a->stream));
}

static void end(struct arrays *a) {
    CHECK(cudaMemcpyAsync(a->y, a->dy, (size_t)a->bytes, cudaMemcpyDeviceToHost, a->stream));
    CHECK(cudaStreamSynchronize(a->stream));
}

static int wrong(const char *name, int i, float value, double want) {
    const double got = (double)value;
    if (fabs(got - want) <= 1e-4 * (1.0 + fabs(want)))
        return 0;
    printf("%s: element %d is %g, should be %g\n", name, i, got, want);
    return 1;
}

static int run_axpy(int bug) {
    struct arrays a;
    start(&a, AXPY_N);
    const int n = AXPY_N;
    float *x = bug == HOST_POINTER ? a.x : a.dx;
    if (bug == UNWRITTEN)
        CHECK(cudaMalloc((void **)&x, (size_t)a.bytes));
    CHECK(RT_LAUNCH(k_axpy, dim3((n + 256) / 256), dim3(256), 0, a.stream, x, a.dy, n, bug));
    end(&a);
    for (int i = 0; i < n; i++)
        if (wrong("axpy", i, a.y[i], 0.5 * (double)a.x[i]))
            return 1;
    return 0;
}

/* Both arrays in one allocation, with nothing between them. */
static int run_plan(int bug) {
    struct arrays a;
    const int n = AXPY_N - 3, half = n / 2, bytes = half * (int)sizeof(float);
    start(&a, n);
    CHECK(RT_LAUNCH(k_axpy, dim3((half + 256) / 256), dim3(256), 0, a.stream,
                    RT_BUFFER(a.dx, (size_t)bytes), RT_BUFFER(a.dx + half, (size_t)bytes), half,
                    bug));
    CHECK(cudaMemcpyAsync(a.y, a.dx + half, (size_t)bytes, cudaMemcpyDeviceToHost, a.stream));
    CHECK(cudaStreamSynchronize(a.stream));
    for (int i = 0; i < half; i++)
        if (wrong("plan", i, a.y[i], 0.5 * (double)a.x[i] + (double)a.x[half + i]))
            return 1;
    return 0;
}

static int run_norm(int bug) {
    struct arrays a;
    start(&a, NORM_N * NORM_ROWS);
    CHECK(RT_LAUNCH(k_norm, dim3(NORM_ROWS), dim3(128), 0, a.stream, a.dx, a.dy, NORM_N, bug));
    end(&a);
    for (int r = 0; r < NORM_ROWS; r++) {
        const float *row = a.x + r * NORM_N;
        double mean = 0, square = 0;
        for (int i = 0; i < NORM_N; i++)
            mean += (double)row[i] / (double)NORM_N;
        for (int i = 0; i < NORM_N; i++)
            square += ((double)row[i] - mean) * ((double)row[i] - mean) / (double)NORM_N;
        for (int i = 0; i < NORM_N; i++)
            if (wrong("norm", i, a.y[r * NORM_N + i],
                      ((double)row[i] - mean) / sqrt(square + 1e-5)))
                return 1;
    }
    return 0;
}

static int run_matmul(int bug) {
    struct arrays a;
    const int n = MATMUL_N;
    start(&a, n * n);
    CHECK(RT_LAUNCH(k_matmul, dim3(3, 3), dim3(32, 8), 0, a.stream, a.dx, a.dx, a.dy, n, bug));
    end(&a);
    for (int i = 0; i < n * n; i++) {
        double sum = 0;
        for (int k = 0; k < n; k++)
            sum += (double)a.x[i / n * n + k] * (double)a.x[k * n + i % n];
        if (wrong("matmul", i, a.y[i], sum))
            return 1;
    }
    return 0;
}

static int run_softmax(int bug) {
    struct arrays a;
    (void)bug;
    start(&a, SOFTMAX_N * SOFTMAX_ROWS);
    CHECK(RT_LAUNCH(k_softmax, dim3((SOFTMAX_ROWS + 3) / 4), dim3(128),
                    4 * SOFTMAX_N * sizeof(float), a.stream, a.dx, a.dy, SOFTMAX_ROWS, SOFTMAX_N));
    end(&a);
    for (int r = 0; r < SOFTMAX_ROWS; r++) {
        double sum = 0;
        for (int i = r * SOFTMAX_N; i < (r + 1) * SOFTMAX_N; i++)
            sum += exp((double)a.x[i]);
        for (int i = r * SOFTMAX_N; i < (r + 1) * SOFTMAX_N; i++)
            if (wrong("softmax", i, a.y[i], exp((double)a.x[i]) / sum))
                return 1;
    }
    return 0;
}

static int run_swap(int bug) {
    struct arrays a;
    start(&a, 64);
    CHECK(RT_LAUNCH(k_swap, dim3(1), dim3(64), 0, a.stream, a.dx, a.dy, bug));
    end(&a);
    for (int i = 0; i < 64; i++)
        if (wrong("swap", i, a.y[i], i ^ 1))
            return 1;
    return 0;
}

static int run_total(int bug) {
    struct arrays a;
    start(&a, 32);
    CHECK(RT_LAUNCH(k_total, dim3(1), dim3(32), 0, a.stream, a.dx, a.dy, bug));
    end(&a);
    return wrong("total", 0, a.y[0], 31 * 32 / 2);
}

static int run_reverse(int bug) {
    struct arrays a;
    start(&a, 64);
    CHECK(RT_LAUNCH(k_reverse, dim3(1), dim3(64), 0, a.stream, a.dx, a.dy, bug));
    end(&a);
    for (int i = 0; i < 64; i++)
        if (wrong("reverse", i, a.y[i], 63 - i))
            return 1;
    return 0;
}

static int run_vector(int bug) {
    struct arrays a;
    start(&a, 136);
    CHECK(RT_LAUNCH(k_vector, dim3(1), dim3(32), 0, a.stream, a.dx, a.dy, bug));
    end(&a);
    for (int i = 0; i < 32; i++)
        if (wrong("vector", i, a.y[i], (double)a.x[4 * i + (bug == MISALIGNED ? 1 : 0)]))
            return 1;
    return 0;
}

static int run_bytes(int bug) {
    struct arrays a;
    start(&a, 64);
    CHECK(RT_LAUNCH(k_bytes, dim3(1), dim3(256), 0, a.stream, a.dy, bug));
    end(&a);
    for (int i = 0; i < 64; i++)
        if (wrong("bytes", i, a.y[i], i))
            return 1;
    return 0;
}

static int run_lanes(int bug) {
    struct arrays a;
    start(&a, 32);
    CHECK(RT_LAUNCH(k_lanes, dim3(1), dim3(32), 0, a.stream, a.dx, a.dy, bug));
    end(&a);
    for (int i = 0; i < 32; i++) {
        const int other = i < 15 ? i + 1 : i == 15 || i == 16 ? i : i - 1;
        if (wrong("lanes", i, a.y[i], i + other + 15 + 1))
            return 1;
    }
    return 0;
}

static const struct {
    const char *name;
    int (*run)(int bug);
} cases[] = {{"axpy", run_axpy},       {"plan", run_plan},       {"norm", run_norm},
             {"matmul", run_matmul},   {"softmax", run_softmax}, {"swap", run_swap},
             {"reverse", run_reverse}, {"vector", run_vector},   {"lanes", run_lanes},
             {"bytes", run_bytes},     {"total", run_total}};

int main(int argc, char **argv) {
    int bug = 0, result = -1;
    const int bugs = sizeof bug_names / sizeof bug_names[0];
    while (argc > 2 && bug < bugs && strcmp(argv[2], bug_names[bug]) != 0)
        bug++;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int all = argc < 2 || strcmp(argv[1], "all") == 0;
        if (all || strcmp(argv[1], cases[i].name) == 0)
            result = cases[i].run(bug) || result == 1;
    }
    if (result < 0 || bug == bugs) {
        fprintf(stderr, "usage: kernels all|CASE [BUG]\n");
        return 2;
    }
    return result;
}
