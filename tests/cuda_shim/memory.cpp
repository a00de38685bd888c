/* memory.cpp: device memory, page-locked host memory, copies.
 *
 * The memory of all devices is one reserved range of addresses without access, opened only while a
 * kernel or a copy runs: host code that follows a device pointer ends at that line. Allocations are
 * never used again and have a gap behind them; fresh ones are filled with 0xFF.
 */
#include "shim.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sys/mman.h>

static const size_t PAGE = 4096, ALIGN = 256, GAP = 256;

struct Device {
    char *begin = nullptr;
    size_t range = 0, top = PAGE; /* bytes reserved, bytes given out with gaps */
    size_t used = 0;              /* bytes that the program has now */
};

static std::vector<Device> devices;
static char *arena;
static std::map<char *, size_t> allocations; /* begin, bytes */
static std::map<char *, size_t> pinned;
static int openings;

static size_t round_up(size_t n, size_t to) {
    return (n + to - 1) / to * to;
}

/* Twice the memory of each device, as what is freed does not come back. */
static size_t range_of_device(void) {
    return round_up(2 * settings().memory + (1 << 20), PAGE);
}

size_t arena_size(void) {
    return range_of_device() * static_cast<size_t>(settings().devices);
}

char *arena_begin(void) {
    if (!arena) {
        void *p = mmap(nullptr, arena_size(), PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            fail("no addresses for CUDA_SHIM_MEMORY=%llu on %d devices",
                 static_cast<unsigned long long>(settings().memory), settings().devices);
        arena = static_cast<char *>(p);
        devices.resize(static_cast<size_t>(settings().devices));
        for (size_t i = 0; i < devices.size(); i++) {
            devices[i].range = range_of_device();
            devices[i].begin = arena + i * devices[i].range;
        }
    }
    return arena;
}

static void protect(int access) {
    for (const Device &d : devices)
        if (mprotect(d.begin, round_up(d.top, PAGE), access) != 0)
            fail("device memory cannot be protected");
}

void arena_open(void) {
    if (openings++ == 0)
        protect(PROT_READ | PROT_WRITE);
}

void arena_close(void) {
    if (--openings == 0)
        protect(PROT_NONE);
}

bool on_device(const void *p) {
    return arena && static_cast<size_t>(static_cast<const char *>(p) - arena) < arena_size();
}

/* Does one entry of the table hold all of [p, p + n)? */
static bool inside(const std::map<char *, size_t> &table, const void *p, size_t n) {
    char *begin = static_cast<char *>(const_cast<void *>(p));
    auto next = table.upper_bound(begin);
    if (next == table.begin())
        return false;
    --next;
    const size_t offset = static_cast<size_t>(begin - next->first);
    return offset <= next->second && n <= next->second - offset;
}

std::string describe_address(const void *p) {
    char *address = static_cast<char *>(const_cast<void *>(p));
    auto next = allocations.upper_bound(address);
    if (next == allocations.begin())
        return "device memory in front of all allocations";
    --next;
    const size_t offset = static_cast<size_t>(address - next->first);
    return "byte " + std::to_string(offset) + (offset < next->second ? " of" : " behind") +
           " an allocation of " + std::to_string(next->second);
}

/* ---- allocation ------------------------------------------------------------------------------ */

static void fence(char *p, size_t n, bool on) {
#if SHIM_ASAN
    if (on)
        __asan_poison_memory_region(p, n);
    else
        __asan_unpoison_memory_region(p, n);
#else
    (void)p;
    (void)n;
    (void)on;
#endif
}

static cudaError_t allowed(const char *call) {
    if (const cudaError_t problem = device_problem())
        return failed_with(problem);
    if (capturing())
        return refuse(cudaErrorStreamCaptureUnsupported, "%s while a stream is captured", call);
    arena_begin();
    return cudaSuccess;
}

static cudaError_t allocate(void **p, size_t n) {
    Device *d = &devices[static_cast<size_t>(current_device())];
    const size_t room = settings().memory - std::min(settings().used, settings().memory);
    if (n > room - d->used)
        return failed_with(cudaErrorMemoryAllocation);
    char *begin = d->begin + d->top;
    const size_t taken = round_up(n + GAP, ALIGN);
    if (d->top + taken > d->range)
        fail("twice the device's memory has been allocated: addresses are not used again");
    arena_open();
    d->top += taken;
    protect(PROT_READ | PROT_WRITE);
    fill_poison(begin, taken);
    arena_close();
    fence(begin - GAP, GAP + taken, true); /* before the first one there is no gap yet */
    fence(begin, n, false);
    d->used += n;
    allocations[begin] = n;
    *p = begin;
    counts.allocations++;
    return cudaSuccess;
}

extern "C" {

cudaError_t cudaMalloc(void **p, size_t n) {
    const Guard guard(api_lock);
    if (const cudaError_t problem = allowed("cudaMalloc"))
        return problem;
    return allocate(p, n);
}

cudaError_t cudaFree(void *p) {
    const Guard guard(api_lock);
    if (const cudaError_t problem = allowed("cudaFree"))
        return problem;
    if (!p)
        return cudaSuccess;
    const auto found = allocations.find(static_cast<char *>(p));
    if (found == allocations.end())
        return refuse(cudaErrorInvalidValue, "cudaFree of %p, which cudaMalloc did not give", p);
    run_all();
    arena_open();
    fill_poison(p, found->second);
    arena_close();
    fence(found->first, found->second, true);
    race_forget(p, found->second);
    const size_t owner = static_cast<size_t>(found->first - arena) / range_of_device();
    devices[owner].used -= found->second;
    allocations.erase(found);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
    const Guard guard(api_lock);
    if (const cudaError_t problem = device_problem())
        return failed_with(problem);
    arena_begin();
    const size_t used = settings().used + devices[static_cast<size_t>(current_device())].used;
    *total = settings().memory;
    *free = *total - std::min<size_t>(used, *total);
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **p, size_t n, unsigned) {
    const Guard guard(api_lock);
    if (const cudaError_t problem = allowed("cudaHostAlloc"))
        return problem;
    char *memory = static_cast<char *>(malloc(n ? n : 1));
    if (!memory)
        return failed_with(cudaErrorMemoryAllocation);
    fill_poison(memory, n);
    pinned[memory] = n;
    counts.allocations++;
    *p = memory;
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **p, size_t n) {
    return cudaHostAlloc(p, n, 0);
}

cudaError_t cudaFreeHost(void *p) {
    const Guard guard(api_lock);
    if (!p)
        return cudaSuccess;
    if (!pinned.count(static_cast<char *>(p)))
        return refuse(cudaErrorInvalidValue, "cudaFreeHost of %p, which cudaHostAlloc did not give",
                      p);
    run_all();
    pinned.erase(static_cast<char *>(p));
    free(p);
    return cudaSuccess;
}

} /* extern "C" */

/* ---- the buffers of a launch ----------------------------------------------------------------- */

static std::vector<Span> noted;

void shim_note_buffer(const void *p, size_t bytes) {
    const Guard guard(api_lock);
    noted.push_back({static_cast<char *>(const_cast<void *>(p)), bytes});
}

static bool holds(const std::vector<Span> &spans, const void *p) {
    for (const Span &s : spans)
        if (static_cast<size_t>(static_cast<const char *>(p) - s.begin) < s.bytes)
            return true;
    return false;
}

std::vector<Span> take_buffers(const void *const *pointers, size_t n) {
    std::vector<Span> buffers;
    buffers.swap(noted);
    for (size_t i = 0; i < n; i++)
        if (pointers[i] && !holds(buffers, pointers[i]))
            return {};
    return buffers;
}

void fence_buffers(const std::vector<Span> &buffers, bool on) {
    std::map<char *, size_t> whole; /* the allocations that they lie in */
    for (const Span &s : buffers) {
        const auto next = allocations.upper_bound(s.begin);
        if (next != allocations.begin())
            whole.insert(*std::prev(next));
    }
    for (const auto &allocation : whole)
        fence(allocation.first, allocation.second, on);
    for (const Span &s : buffers)
        if (on)
            fence(s.begin, s.bytes, false);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static cudaMemcpyKind kind_of(const Copy &c) {
    if (on_device(c.to))
        return on_device(c.from) ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
    return on_device(c.from) ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
}

cudaError_t check_copy(const char *call, Copy *c) {
    const cudaMemcpyKind kind = kind_of(*c);
    if (c->kind != cudaMemcpyDefault && c->kind != kind)
        return refuse(cudaErrorInvalidMemcpyDirection, "%s: direction %d, but the pointers say %d",
                      call, static_cast<int>(c->kind), static_cast<int>(kind));
    c->kind = kind;
    if (on_device(c->to) && !inside(allocations, c->to, c->bytes))
        return refuse(cudaErrorInvalidValue, "%s: writes %zu bytes at %p, beyond their allocation",
                      call, c->bytes, c->to);
    if (on_device(c->from) && !inside(allocations, c->from, c->bytes))
        return refuse(cudaErrorInvalidValue, "%s: reads %zu bytes at %p, beyond their allocation",
                      call, c->bytes, c->from);
    c->pinned = inside(pinned, kind == cudaMemcpyDeviceToHost ? c->to : c->from, c->bytes);
    return cudaSuccess;
}

static void count_copy(const Copy &c) {
    if (c.kind == cudaMemcpyHostToDevice) {
        counts.copies_to_device++;
        counts.bytes_to_device += c.bytes;
    } else if (c.kind == cudaMemcpyDeviceToHost) {
        counts.copies_to_host++;
        counts.bytes_to_host += c.bytes;
    } else {
        counts.other_copies++;
    }
}

void run_copy(const Copy &c) {
    memmove(c.to, c.from, c.bytes);
    if (on_device(c.to))
        race_host_wrote(c.to, c.bytes);
    count_copy(c);
}

/* A copy in a stream reads and writes its host side at any later time, so that memory must be
 * page-locked; until then the destination is undefined. */
static cudaError_t copy_later(Copy c, cudaStream_t stream) {
    const char *call = "cudaMemcpyAsync";
    if (const cudaError_t problem = check_copy(call, &c))
        return problem;
    if (c.kind != cudaMemcpyDeviceToDevice && !c.pinned)
        return refuse(cudaErrorInvalidValue, "%s: %zu bytes of host memory that is not page-locked",
                      call, c.bytes);
    if (c.kind == cudaMemcpyDeviceToHost && !capturing() && settings().timing != Timing::eager)
        memset(c.to, 0xff, c.bytes);
    Op op;
    op.kind = Op::copy;
    op.run = [c] { run_copy(c); };
    return enqueue(call, stream, op);
}

static cudaError_t fill_later(const char *call, void *p, int value, size_t n, Op *op) {
    if (!inside(allocations, p, n))
        return refuse(cudaErrorInvalidValue, "%s: %zu bytes at %p are not one allocation's", call,
                      n, p);
    op->kind = Op::copy;
    op->run = [=] {
        memset(p, value, n);
        race_host_wrote(p, n);
        counts.fills++;
    };
    return cudaSuccess;
}

extern "C" {

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    const Guard guard(api_lock);
    return copy_later({to, from, n, kind, false}, stream);
}

/* Runs now, as the default stream does: behind the streams that synchronise with it, but not
 * behind those made with cudaStreamNonBlocking. */
cudaError_t cudaMemcpy(void *to, const void *from, size_t n, cudaMemcpyKind kind) {
    const Guard guard(api_lock);
    if (const cudaError_t problem = allowed("cudaMemcpy"))
        return problem;
    Copy c = {to, from, n, kind, false};
    if (const cudaError_t problem = check_copy("cudaMemcpy", &c))
        return problem;
    run_blocking();
    Op op;
    op.kind = Op::copy;
    op.run = [c] { run_copy(c); };
    run_op(op);
    counts.synchronisations++;
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *p, int value, size_t n, cudaStream_t stream) {
    const Guard guard(api_lock);
    Op op;
    if (const cudaError_t problem = fill_later("cudaMemsetAsync", p, value, n, &op))
        return problem;
    return enqueue("cudaMemsetAsync", stream, op);
}

cudaError_t cudaMemset(void *p, int value, size_t n) {
    const Guard guard(api_lock);
    if (const cudaError_t problem = allowed("cudaMemset"))
        return problem;
    Op op;
    if (const cudaError_t problem = fill_later("cudaMemset", p, value, n, &op))
        return problem;
    run_blocking();
    run_op(op);
    return cudaSuccess;
}

} /* extern "C" */
