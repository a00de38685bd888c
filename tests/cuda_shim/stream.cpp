/* stream.cpp: streams as queues, events, and when what is queued runs.
 *
 * CUDA_SHIM_STREAMS says when: `eager` at once; `late` only when somebody waits for it, and then no
 * more than he waits for; `random` a little now and then, and in any order that streams and events
 * allow. A missing wait gives right results under the first and wrong ones under the others.
 */
#include "shim.h"

#include <algorithm>
#include <chrono>
#include <deque>

struct CUevent_st {
    uint64_t recorded = 0, done = 0; /* versions: how often it was recorded, how far that has run */
    CUstream_st *stream = nullptr;   /* of its last record */
    double time = 0;                 /* milliseconds, of its last record that has run */
};

struct CUstream_st {
    bool blocking; /* the default stream waits for it */
    std::deque<Op> queue;
};

static std::vector<CUstream_st *> streams;

/* ---- running what is queued ------------------------------------------------------------------ */

void run_op(const Op &op) {
    switch (op.kind) {
    case Op::record:
        op.event->done = std::max(op.event->done, op.version);
        op.event->time = std::chrono::duration<double, std::milli>(
                             std::chrono::steady_clock::now().time_since_epoch())
                             .count();
        return;
    case Op::wait:
        return;
    case Op::host:
        op.run();
        return;
    case Op::kernel:
    case Op::copy:
    case Op::graph:
        break;
    }
    arena_open();
    op.run();
    arena_close();
}

static bool ready(const CUstream_st *s) {
    if (s->queue.empty())
        return false;
    const Op &op = s->queue.front();
    return op.kind != Op::wait || op.event->done >= op.version;
}

static void run_front(CUstream_st *s) {
    const Op op = std::move(s->queue.front());
    s->queue.pop_front();
    run_op(op);
}

/* As little as makes the front of the stream run: what it waits for was queued before it. */
static void run_late(CUstream_st *s) {
    while (!ready(s))
        run_late(s->queue.front().event->stream);
    run_front(s);
}

/* One operation of any stream that can go on; false when there is none. */
static bool run_any(void) {
    std::vector<CUstream_st *> can;
    std::copy_if(streams.begin(), streams.end(), std::back_inserter(can), ready);
    if (can.empty())
        return false;
    run_front(can[random_below(static_cast<uint32_t>(can.size()))]);
    return true;
}

/* Until the stream has run `n` of the operations in its queue. */
static void run_stream(CUstream_st *s, size_t n) {
    const size_t rest = s->queue.size() - std::min(n, s->queue.size());
    while (s->queue.size() > rest) {
        if (settings().timing != Timing::random)
            run_late(s);
        else if (!run_any())
            fail("streams wait for each other");
    }
}

void run_all(void) {
    for (auto s = streams.rbegin(); s != streams.rend(); ++s)
        run_stream(*s, (*s)->queue.size());
}

void run_blocking(void) {
    for (CUstream_st *s : streams)
        if (s->blocking)
            run_stream(s, s->queue.size());
}

/* A moment in which the device may have come on. */
static void time_passes(void) {
    if (settings().timing == Timing::eager)
        run_all();
    else if (settings().timing == Timing::random)
        while (random_below(3) == 0 && run_any())
            continue;
}

/* ---- streams --------------------------------------------------------------------------------- */

static cudaError_t check_stream(const char *call, const CUstream_st *stream) {
    if (const cudaError_t problem = device_problem())
        return failed_with(problem);
    if (std::find(streams.begin(), streams.end(), stream) != streams.end())
        return cudaSuccess;
    return refuse(cudaErrorInvalidResourceHandle, "%s in %s", call,
                  stream ? "a stream that does not exist" : "the default stream: name one");
}

static cudaError_t check_wait(const char *call) {
    if (const cudaError_t problem = device_problem())
        return failed_with(problem);
    if (capturing())
        return refuse(cudaErrorStreamCaptureUnsupported, "%s while a stream is captured", call);
    counts.synchronisations++;
    return cudaSuccess;
}

cudaError_t enqueue(const char *call, cudaStream_t stream, Op op) {
    if (const cudaError_t problem = check_stream(call, stream))
        return problem;
    if (capture_add(stream, op))
        return cudaSuccess;
    if (op.kind == Op::kernel)
        counts.launches++;
    if (op.kind == Op::graph)
        counts.graph_launches++;
    stream->queue.push_back(std::move(op));
    time_passes();
    return cudaSuccess;
}

static cudaError_t check_shape(const Kernel &k) {
    const size_t threads = static_cast<size_t>(k.block.x) * k.block.y * k.block.z;
    const bool block_fits = threads > 0 && threads <= MAX_THREADS && k.block.z <= 64;
    const bool grid_fits = k.grid.x > 0 && k.grid.x <= 2147483647u && k.grid.y > 0 &&
                           k.grid.y <= 65535 && k.grid.z > 0 && k.grid.z <= 65535;
    if (!block_fits || !grid_fits)
        return refuse(cudaErrorInvalidConfiguration,
                      "%s: a grid of (%u,%u,%u) blocks of (%u,%u,%u) threads", k.name, k.grid.x,
                      k.grid.y, k.grid.z, k.block.x, k.block.y, k.block.z);
    if (k.shared > allowed_shared(k.call->kernel))
        return refuse(cudaErrorInvalidValue,
                      "%s: %zu bytes of dynamic shared memory, of %zu that it may have", k.name,
                      k.shared, allowed_shared(k.call->kernel));
    return cudaSuccess;
}

cudaError_t shim_enqueue_kernel(const char *name, const shim_call *call,
                                const void *const *pointers, size_t n, dim3 grid, dim3 block,
                                size_t shared, cudaStream_t stream) {
    const Guard guard(api_lock);
    const std::shared_ptr<const shim_call> owned(call);
    const Kernel kernel = {name, owned, grid, block, shared, take_buffers(pointers, n)};
    if (const cudaError_t problem = check_shape(kernel))
        return problem;
    Op op;
    op.kind = Op::kernel;
    op.run = [kernel] { run_kernel(kernel); };
    return enqueue(name, stream, std::move(op));
}

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    const Guard guard(api_lock);
    if (const cudaError_t problem = device_problem())
        return failed_with(problem);
    *stream = new CUstream_st{(flags & cudaStreamNonBlocking) == 0, {}};
    streams.push_back(*stream);
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) {
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    const Guard guard(api_lock);
    if (const cudaError_t problem = check_stream("cudaStreamDestroy", stream))
        return problem;
    run_stream(stream, stream->queue.size());
    streams.erase(std::find(streams.begin(), streams.end(), stream));
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    const Guard guard(api_lock);
    if (const cudaError_t problem = check_stream("cudaStreamSynchronize", stream))
        return problem;
    if (const cudaError_t problem = check_wait("cudaStreamSynchronize"))
        return problem;
    run_stream(stream, stream->queue.size());
    return cudaSuccess;
}

/* Who asks again and again is answered in the end. */
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    const Guard guard(api_lock);
    if (const cudaError_t problem = check_stream("cudaStreamQuery", stream))
        return problem;
    if (stream->queue.empty())
        return cudaSuccess;
    run_stream(stream, 1);
    return cudaErrorNotReady;
}

cudaError_t cudaDeviceSynchronize(void) {
    const Guard guard(api_lock);
    if (const cudaError_t problem = check_wait("cudaDeviceSynchronize"))
        return problem;
    run_all();
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
    const Guard guard(api_lock);
    Op op;
    op.kind = Op::host;
    op.run = [=] { function(data); };
    return enqueue("cudaLaunchHostFunc", stream, op);
}

/* ---- events ---------------------------------------------------------------------------------- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
    const Guard guard(api_lock);
    if (const cudaError_t problem = device_problem())
        return failed_with(problem);
    *event = new CUevent_st;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event) {
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    const Guard guard(api_lock);
    run_all(); /* operations that wait in queues may name it */
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    const Guard guard(api_lock);
    if (const cudaError_t problem = check_stream("cudaEventRecord", stream))
        return problem;
    if (capture_record(stream, event))
        return cudaSuccess;
    Op op;
    op.kind = Op::record;
    op.event = event;
    op.version = ++event->recorded;
    event->stream = stream;
    return enqueue("cudaEventRecord", stream, op);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    const Guard guard(api_lock);
    if (const cudaError_t problem = check_stream("cudaStreamWaitEvent", stream))
        return problem;
    if (capture_wait(stream, event))
        return cudaSuccess;
    Op op;
    op.kind = Op::wait;
    op.event = event;
    op.version = event->recorded;
    return enqueue("cudaStreamWaitEvent", stream, op);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    const Guard guard(api_lock);
    if (const cudaError_t problem = check_wait("cudaEventSynchronize"))
        return problem;
    while (event->done < event->recorded)
        run_stream(event->stream, 1);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    const Guard guard(api_lock);
    if (event->done == event->recorded)
        return cudaSuccess;
    run_stream(event->stream, 1);
    return cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) {
    const Guard guard(api_lock);
    if (!start->recorded || !end->recorded)
        return failed_with(cudaErrorInvalidResourceHandle);
    if (start->done < start->recorded || end->done < end->recorded)
        return failed_with(cudaErrorNotReady);
    *ms = static_cast<float>(end->time - start->time);
    return cudaSuccess;
}

} /* extern "C" */
