/* host.cu: copies, streams, events, graphs and devices as a program uses them: host CASE [BUG].
 *
 * Exit code 0: the result is right, 1: it is wrong, 3: a call was refused.
 */
#include "world.h"

enum { N = 1000, BYTES = N * 4 };

static __global__ void __launch_bounds__(256)
    k_add(const float *__restrict__ x, float *__restrict__ y, float a) {
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < N)
        y[i] = a * x[i] + y[i];
}

struct state {
    cudaStream_t a, b;
    cudaEvent_t copied, added;
    float *x, *y, *hx, *hy;
};

static void start(struct state *s) {
    CHECK(cudaStreamCreateWithFlags(&s->a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&s->b, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&s->copied, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&s->added, cudaEventDisableTiming));
    CHECK(cudaMalloc((void **)&s->x, BYTES));
    CHECK(cudaMalloc((void **)&s->y, BYTES));
    CHECK(cudaMallocHost((void **)&s->hx, BYTES));
    CHECK(cudaMallocHost((void **)&s->hy, BYTES));
    for (int i = 0; i < N; i++)
        s->hx[i] = 1.0f;
    CHECK(cudaMemsetAsync(s->x, 0, BYTES, s->a));
    CHECK(cudaMemsetAsync(s->y, 0, BYTES, s->b));
    CHECK(cudaStreamSynchronize(s->a));
    CHECK(cudaStreamSynchronize(s->b));
}

static cudaError_t to_device(struct state *s, cudaStream_t stream) {
    return cudaMemcpyAsync(s->x, s->hx, BYTES, cudaMemcpyHostToDevice, stream);
}

static cudaError_t to_host(struct state *s, cudaStream_t stream) {
    return cudaMemcpyAsync(s->hy, s->y, BYTES, cudaMemcpyDeviceToHost, stream);
}

static cudaError_t add(struct state *s, cudaStream_t stream, float a) {
    return RT_LAUNCH(k_add, dim3((N + 255) / 256), dim3(256), 0, stream, s->x, s->y, a);
}

static int all_are(const float *y, float want) {
    for (int i = 0; i < N; i++) {
        if (y[i] != want) {
            printf("element %d is %g, should be %g\n", i, (double)y[i], (double)want);
            return 1;
        }
    }
    return 0;
}

/* Two streams: b adds what a has copied. Bugs: no_wait, reuse (of memory that is still copied),
 * early (the result is read before it is there), other (the result's copy is in a stream that does
 * not wait for it). */
static int run_streams(const char *bug) {
    struct state s;
    start(&s);
    CHECK(to_device(&s, s.a));
    CHECK(cudaEventRecord(s.copied, s.a));
    if (strcmp(bug, "no_wait") != 0)
        CHECK(cudaStreamWaitEvent(s.b, s.copied, 0));
    CHECK(add(&s, s.b, 2.0f));
    const cudaStream_t last = strcmp(bug, "other") == 0 ? s.a : s.b;
    CHECK(to_host(&s, last));
    if (strcmp(bug, "early") != 0 && strcmp(bug, "reuse") != 0)
        CHECK(cudaStreamSynchronize(last));
    for (int i = 0; i < N && strcmp(bug, "early") != 0; i++)
        s.hx[i] = 5.0f;
    if (strcmp(bug, "reuse") == 0)
        CHECK(cudaDeviceSynchronize());
    return all_are(s.hy, 2.0f);
}

/* A graph with a fork and a join, launched three times. Bugs: no_wait, unjoined, sync, allocate. */
static int run_graph(const char *bug) {
    struct state s;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    size_t nodes = 0;
    start(&s);
    CHECK(cudaStreamBeginCapture(s.a, cudaStreamCaptureModeGlobal));
    CHECK(to_device(&s, s.a));
    CHECK(cudaEventRecord(s.copied, s.a));
    CHECK(cudaStreamWaitEvent(s.b, s.copied, 0));
    CHECK(add(&s, s.b, 1.0f));
    if (strcmp(bug, "sync") == 0)
        CHECK(cudaStreamSynchronize(s.b));
    if (strcmp(bug, "allocate") == 0)
        CHECK(cudaMalloc((void **)&s.x, BYTES));
    CHECK(cudaEventRecord(s.added, s.b));
    if (strcmp(bug, "no_wait") != 0 && strcmp(bug, "unjoined") != 0)
        CHECK(cudaStreamWaitEvent(s.a, s.added, 0));
    CHECK(to_host(&s, s.a));
    if (strcmp(bug, "no_wait") == 0)
        CHECK(cudaStreamWaitEvent(s.a, s.added, 0));
    CHECK(cudaStreamEndCapture(s.a, &graph));
    CHECK(cudaGraphGetNodes(graph, NULL, &nodes));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    for (int i = 0; i < 3; i++)
        CHECK(cudaGraphLaunch(exec, s.a));
    CHECK(cudaStreamSynchronize(s.a));
    CHECK(cudaGraphExecDestroy(exec));
    return all_are(s.hy, 3.0f) || nodes != 3;
}

/* Bugs: beyond, before, direction, unlocked, freed, default_stream, touch. */
static int run_copies(const char *bug) {
    struct state s;
    float plain[N];
    start(&s);
    CHECK(to_device(&s, s.a));
    CHECK(add(&s, s.a, 4.0f));
    CHECK(to_host(&s, s.a));
    CHECK(cudaStreamSynchronize(s.a));
    if (strcmp(bug, "beyond") == 0)
        CHECK(cudaMemcpyAsync(s.x + 1, s.hx, BYTES, cudaMemcpyHostToDevice, s.a));
    if (strcmp(bug, "before") == 0)
        CHECK(cudaMemcpyAsync(s.hy, s.x - 1, BYTES, cudaMemcpyDeviceToHost, s.a));
    if (strcmp(bug, "direction") == 0)
        CHECK(cudaMemcpyAsync(s.hx, s.x, BYTES, cudaMemcpyHostToDevice, s.a));
    if (strcmp(bug, "unlocked") == 0)
        CHECK(cudaMemcpyAsync(plain, s.x, BYTES, cudaMemcpyDeviceToHost, s.a));
    if (strcmp(bug, "default_stream") == 0)
        CHECK(add(&s, NULL, 1.0f));
    if (strcmp(bug, "touch") == 0)
        return s.y[0] == 4.0f;
    if (strcmp(bug, "freed") == 0) {
        CHECK(cudaFree(s.x));
        CHECK(add(&s, s.a, 1.0f));
        CHECK(cudaStreamSynchronize(s.a));
    }
    CHECK(cudaMemcpy(plain, s.y, BYTES, cudaMemcpyDeviceToHost));
    return all_are(plain, 4.0f) || all_are(s.hy, 4.0f);
}

/* Launches that a device refuses: block, grid, shared, and what it allows: opted_in. */
static int run_limits(const char *bug) {
    struct state s;
    size_t shared = strcmp(bug, "shared") == 0 || strcmp(bug, "opted_in") == 0 ? 100 << 10 : 0;
    dim3 grid(1, strcmp(bug, "grid") == 0 ? 65536 : 1);
    dim3 block(strcmp(bug, "block") == 0 ? 2048 : 256);
    start(&s);
    if (strcmp(bug, "opted_in") == 0)
        CHECK(cudaFuncSetAttribute(k_add, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
    CHECK(RT_LAUNCH(k_add, grid, block, shared, s.a, s.x, s.y, 1.0f));
    CHECK(cudaStreamSynchronize(s.a));
    return 0;
}

/* What a program learns about the devices, one line. */
static int run_devices(const char *bug) {
    int n = 0, version = 0;
    size_t free = 0, total = 0;
    cudaDeviceProp p;
    float *x;
    (void)bug;
    CHECK(cudaDriverGetVersion(&version));
    const cudaError_t e = cudaGetDeviceCount(&n);
    if (e != cudaSuccess) {
        printf("driver %d, %s\n", version, cudaGetErrorName(e));
        return 0;
    }
    CHECK(cudaSetDevice(n - 1));
    CHECK(cudaGetDeviceProperties(&p, n - 1));
    CHECK(cudaMemGetInfo(&free, &total));
    printf("driver %d, %d devices, %d.%d, %zu of %zu KiB free, ", version, n, p.major, p.minor,
           free >> 10, total >> 10);
    printf("all of it %s, ", cudaGetErrorName(cudaMalloc((void **)&x, free + 1)));
    CHECK(cudaMalloc((void **)&x, free / 2));
    CHECK(cudaMemGetInfo(&total, &total));
    printf("%s\n", cudaGetErrorName(cudaSetDevice(n)));
    return 0;
}

static const struct {
    const char *name;
    int (*run)(const char *bug);
} cases[] = {{"streams", run_streams},
             {"graph", run_graph},
             {"copies", run_copies},
             {"limits", run_limits},
             {"devices", run_devices}};

int main(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(argv[1], cases[i].name) == 0)
            return cases[i].run(argc > 2 ? argv[2] : "none");
    fprintf(stderr, "usage: host CASE [BUG]\n");
    return 2;
}
