/* shim.h: what the parts of the library share. Text under test includes cuda_shim.h only.
 *
 *   report   failures, counters            device   devices and how they can be missing
 *   fiber    stacks and switches           memory   device arena, pinned memory, copies
 *   block    threads, barriers, warps      stream   queues, events     graph   captured queues
 *   race     order of accesses (only in the library for race builds, SHIM_RACE)
 *
 * State is static in each part: a process is one run of one program. Kernels run on the thread that
 * calls the API, one at a time under `api_lock`.
 */
#ifndef SHIM_H
#define SHIM_H

#include "cuda_shim.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define SHIM_ASAN 1
#else
#define SHIM_ASAN 0
#endif
#define NO_CHECKS __attribute__((no_sanitize("address", "undefined")))

/* ---- report ---------------------------------------------------------------------------------- */

enum { EXIT_REPORTED = 97 }; /* a fault of the program under test that ends the run */

/* Prints `cuda_shim: kernel K block (…) thread (…): …` with what is known of the three; exits. */
[[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints `cuda_shim: …` and gives the error, which cudaGetLastError will give too. */
cudaError_t refuse(cudaError_t error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The error as the last one, without a word: the program is expected to say it. */
cudaError_t failed_with(cudaError_t error);

/* What the program did; printed at exit when CUDA_SHIM_REPORT names a file. */
struct Counts {
    uint64_t launches, graph_launches, graph_kernels, graph_copies, synchronisations, allocations;
    uint64_t copies_to_device, bytes_to_device, copies_to_host, bytes_to_host, other_copies, fills;
    uint64_t threads, switches;
};
extern Counts counts;

/* ---- device ---------------------------------------------------------------------------------- */

enum class Order { forward, reverse, random };
enum class Timing { eager, late, random };

struct Settings { /* the environment variables CUDA_SHIM_*, README.md */
    Order order = Order::forward;
    Timing timing = Timing::eager;
    uint64_t seed = 1;
    int devices = 1;
    int driver = 13000, runtime = 13000;
    int major = 9, minor = 0;
    uint64_t memory = 1ull << 30, used = 0;
    std::string report;
};
const Settings &settings(void);
uint32_t random_below(uint32_t n); /* the next number of the seed's sequence */
int current_device(void);
/* cudaSuccess, or why nothing works on this machine. */
cudaError_t device_problem(void);
/* Bytes of dynamic shared memory that a launch of the kernel may ask for. */
size_t allowed_shared(const void *kernel);

typedef std::lock_guard<std::recursive_mutex> Guard;
extern std::recursive_mutex api_lock;

/* ---- fiber ----------------------------------------------------------------------------------- */

struct Fiber {
    void *sp = nullptr;
    char *stack = nullptr; /* lowest usable byte; a page without access lies below */
    size_t size = 0;
    void *fake = nullptr; /* what the address sanitizer keeps for it */
};
Fiber *fiber_new(void (*body)(void)); /* body never returns */
Fiber *fiber_of_caller(void);         /* for the stack that the host runs on */
void fiber_switch(Fiber *from, Fiber *to);

/* ---- block ----------------------------------------------------------------------------------- */

enum { WARP = 32, MAX_THREADS = 1024, MAX_STATIC_SHARED = 48 << 10, MAX_SHARED = 227 << 10 };

struct Span {
    char *begin;
    size_t bytes;
};

struct Kernel { /* a launch that waits in a queue */
    const char *name;
    std::shared_ptr<const shim_call> call;
    dim3 grid, block;
    size_t shared;
    std::vector<Span> buffers; /* all that it may touch of device memory; none: not known */
};
void run_kernel(const Kernel &kernel);
const char *running_kernel(void); /* NULL: none */
unsigned running_thread(void);    /* its number in the block */
const Fiber *running_fiber(void);

/* Fills with 0xFF: not-a-number, -1. In assembly, so that no sanitizer sees it. */
inline void fill_poison(void *p, size_t n) {
    __asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(0xff) : "memory");
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Device memory can be touched between the two, by kernels and copies only. */
void arena_open(void);
void arena_close(void);
bool on_device(const void *p);
char *arena_begin(void);
size_t arena_size(void);
std::string describe_address(const void *p); /* byte 40 of an allocation of 4000 */

/* What launches said with RT_BUFFER since the last call, if it holds all the pointers; and the
 * fences around it while the kernel runs. */
std::vector<Span> take_buffers(const void *const *pointers, size_t n);
void fence_buffers(const std::vector<Span> &buffers, bool on);

struct Copy {
    void *to;
    const void *from;
    size_t bytes;
    cudaMemcpyKind kind;
    bool pinned; /* its host side */
};
/* Checks bounds and direction, and fills in what Default means; tells what is wrong. */
cudaError_t check_copy(const char *call, Copy *copy);
void run_copy(const Copy &copy);

/* ---- stream and graph ------------------------------------------------------------------------ */

struct Op {
    enum Kind { kernel, copy, host, graph, record, wait } kind = host;
    std::function<void(void)> run;
    CUevent_st *event = nullptr; /* record, wait */
    uint64_t version = 0;
};

/* Adds an operation to a stream, or to the graph that the stream is captured into. */
cudaError_t enqueue(const char *call, cudaStream_t stream, Op op);
void run_op(const Op &op);
/* Capture of a stream and of those that wait for its events; the three give false for others. */
bool capturing(void);
bool capture_add(CUstream_st *stream, const Op &op);
bool capture_record(CUstream_st *stream, CUevent_st *event);
bool capture_wait(CUstream_st *stream, CUevent_st *event);
void run_all(void);      /* all streams to their ends */
void run_blocking(void); /* those that the default stream waits for */

/* ---- race ------------------------------------------------------------------------------------ */

#ifdef SHIM_RACE
void race_begin_launch(unsigned threads);
void race_begin_block(void);
void race_barrier(void);
void race_sync_warp(unsigned warp, unsigned mask);
void race_host_wrote(const void *p, size_t n);
void race_forget(const void *p, size_t n); /* freed: as if nobody had written it */
#else
inline void race_begin_launch(unsigned) {
}
inline void race_begin_block(void) {
}
inline void race_barrier(void) {
}
inline void race_sync_warp(unsigned, unsigned) {
}
inline void race_host_wrote(const void *, size_t) {
}
inline void race_forget(const void *, size_t) {
}
#endif

#endif
