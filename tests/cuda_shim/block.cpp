/* block.cpp: runs a grid, block after block, each thread of a block on a fiber.
 *
 * A thread runs until it waits. Then the next one that can run, in the order of the moment, goes on
 * at once. The order keeps warps together and goes deep: the warp whose collective is complete goes
 * on before all others, up to its next barrier. That makes one warp overtake another as far as it
 * legally can, which is what shows a missing barrier. Threads start lazily: a fiber runs unstarted
 * threads one after the other, and only a thread that waits keeps it.
 */
#include "shim.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>

__thread shim_thread *shim_self;
shim_launch_shape shim_shape;

enum State { NEW, READY, AT_BARRIER, IN_WARP, DONE };

struct Thread : shim_thread {
    State state;
    Fiber *fiber;
    const char *op; /* what it waits in, and where */
    shim_site site;
    unsigned warp, mask;
    uint64_t in, out; /* of a warp collective */
    unsigned from;
};

struct Meeting { /* lanes of one warp on their way into one collective */
    unsigned mask, here;
    const char *op;
    shim_site site;
};

struct Warp {
    std::vector<Meeting> meetings; /* of different masks */
    unsigned exited;
    unsigned position; /* of its first thread in the order */
};

static Thread threads[MAX_THREADS];
static Warp warps[MAX_THREADS / WARP];

static struct {
    const Kernel *kernel;
    unsigned count;    /* threads of a block */
    unsigned live;     /* that have not ended */
    unsigned runnable; /* live and not waiting */
    unsigned order[MAX_THREADS];
    unsigned position; /* in the order: whom to try next */
    Thread *first_at_barrier;
    Fiber *host, *fiber; /* to go back to; that runs */
    std::vector<Fiber *> idle;
} now;

const char *running_kernel(void) {
    return now.kernel ? now.kernel->name : nullptr;
}

static Thread *self(void) {
    return static_cast<Thread *>(shim_self);
}

unsigned running_thread(void) {
    return static_cast<unsigned>(self() - threads);
}

const Fiber *running_fiber(void) {
    return now.fiber;
}

static bool same(shim_site a, shim_site b) {
    return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- what went wrong ------------------------------------------------------------------------- */

static std::string describe(const Thread &t) {
    char text[256];
    switch (t.state) {
    case AT_BARRIER:
        snprintf(text, sizeof text, "at %s %s:%d", t.op, base_name(t.site.file), t.site.line);
        return text;
    case IN_WARP:
        snprintf(text, sizeof text, "at %s %s:%d mask %08x", t.op, base_name(t.site.file),
                 t.site.line, t.mask);
        return text;
    case NEW:
        return "not started";
    case READY:
        return "able to run";
    case DONE:
        return "exited";
    }
    return "";
}

[[noreturn]] static void fail_with_states(const char *what) {
    std::map<std::string, int> groups;
    for (unsigned i = 0; i < now.count; i++)
        groups[describe(threads[i])]++;
    fprintf(stderr, "cuda_shim: thread states:");
    for (const auto &g : groups)
        fprintf(stderr, " [%d %s]", g.second, g.first.c_str());
    fputc('\n', stderr);
    fail("%s", what);
}

/* ---- who goes on ----------------------------------------------------------------------------- */

template <class I> static void arrange(I *begin, unsigned n) {
    if (settings().order == Order::reverse)
        std::reverse(begin, begin + n);
    if (settings().order == Order::random)
        for (unsigned i = n; i > 1; i--)
            std::swap(begin[i - 1], begin[random_below(i)]);
}

/* A new order: the warps are arranged, and in each its lanes. */
static void arrange_threads(void) {
    unsigned warp_order[MAX_THREADS / WARP], n = 0;
    const unsigned warp_count = (now.count + WARP - 1) / WARP;
    std::iota(warp_order, warp_order + warp_count, 0u);
    arrange(warp_order, warp_count);
    for (unsigned i = 0; i < warp_count; i++) {
        const unsigned first = warp_order[i] * WARP,
                       lanes = std::min<unsigned>(WARP, now.count - first);
        warps[warp_order[i]].position = n;
        std::iota(now.order + n, now.order + n + lanes, first);
        arrange(now.order + n, lanes);
        n += lanes;
    }
    now.position = 0;
}

static void go_to(Fiber *fiber) {
    Fiber *from = now.fiber;
    now.fiber = fiber;
    fiber_switch(from, fiber);
}

static void work(void);

static Fiber *idle_fiber(void) {
    if (now.idle.empty())
        return fiber_new(work);
    Fiber *fiber = now.idle.back();
    now.idle.pop_back();
    return fiber;
}

/* Nobody can run: all that live must be at the barrier. */
static void complete_barrier(void) {
    unsigned waiting = 0;
    for (unsigned i = 0; i < now.count; i++)
        waiting += threads[i].state == AT_BARRIER;
    if (waiting != now.live)
        fail_with_states("deadlock: a barrier or warp collective is never complete");
    if (now.live != now.count)
        fail_with_states("__syncthreads() after some threads have exited");
    for (unsigned i = 0; i < now.count; i++)
        threads[i].state = READY;
    now.runnable = now.count;
    now.first_at_barrier = nullptr;
    race_barrier();
    arrange_threads();
}

/* Lets the next one run. Returns when the fiber that called is to go on. */
static void run_next(void) {
    for (;;) {
        for (; now.position < now.count; now.position++) {
            Thread *t = &threads[now.order[now.position]];
            if (t->state == READY) {
                now.position++;
                shim_self = t;
                go_to(t->fiber);
                return;
            }
            if (t->state == NEW) {
                go_to(idle_fiber());
                return;
            }
        }
        now.position = 0;
        if (!now.live) {
            go_to(now.host);
            return;
        }
        if (!now.runnable)
            complete_barrier();
    }
}

static void end_thread(Thread *t) {
    t->state = DONE;
    now.live--;
    now.runnable--;
    Warp *warp = &warps[t->warp];
    warp->exited |= 1u << t->lane;
    for (const Meeting &m : warp->meetings)
        if (m.mask & warp->exited)
            fail_with_states("a warp collective names a lane that has exited");
}

/* What a fiber does: unstarted threads, one after the other, as long as the order has one next. */
static void work(void) {
    for (;;) {
        while (now.position < now.count) {
            Thread *t = &threads[now.order[now.position]];
            if (t->state != NEW)
                break;
            now.position++;
            t->state = READY;
            t->fiber = now.fiber;
            shim_self = t;
            now.kernel->call->run();
            end_thread(t);
        }
        shim_self = nullptr;
        now.idle.push_back(now.fiber);
        run_next();
    }
}

/* The thread waits in `op` until somebody has made it READY again. */
static void wait_in(Thread *t, State state, const char *op, shim_site site) {
    t->state = state;
    t->op = op;
    t->site = site;
    now.runnable--;
}

/* ---- barrier --------------------------------------------------------------------------------- */

void shim_barrier(shim_site site) {
    Thread *t = self();
    wait_in(t, AT_BARRIER, "__syncthreads", site);
    if (!now.first_at_barrier)
        now.first_at_barrier = t;
    else if (!same(now.first_at_barrier->site, site))
        fail_with_states("divergent __syncthreads(): threads wait at different call sites");
    run_next();
    shim_self = t;
}

/* ---- warp collectives ------------------------------------------------------------------------ */

/* The meeting of this mask that the thread joins or opens. */
static Meeting *join(Warp *warp, Thread *t) {
    const unsigned bit = 1u << t->lane, first = t->warp * WARP;
    const unsigned lanes = std::min<unsigned>(WARP, now.count - first);
    if (!(t->mask & bit))
        fail_with_states("a lane is in a warp collective whose mask does not name it");
    if (lanes < WARP && t->mask >> lanes)
        fail_with_states("the mask of a warp collective names lanes that do not exist");
    if (t->mask & warp->exited)
        fail_with_states("a warp collective names a lane that has exited");
    for (Meeting &m : warp->meetings) {
        if (m.mask != t->mask)
            continue;
        if (strcmp(m.op, t->op) != 0 || !same(m.site, t->site))
            fail_with_states("lanes of one mask meet in different warp collectives");
        m.here |= bit;
        return &m;
    }
    warp->meetings.push_back({t->mask, bit, t->op, t->site});
    return &warp->meetings.back();
}

/* Waits until all lanes of the mask are here. `finish` is run once, by the last, and sets `out` of
 * all. */
static void meet(const char *op, unsigned mask, shim_site site,
                 void (*finish)(Thread *lanes, unsigned mask)) {
    Thread *t = self();
    Warp *warp = &warps[t->warp];
    t->mask = mask;
    wait_in(t, IN_WARP, op, site);
    Meeting *m = join(warp, t);
    if (m->here != mask) {
        run_next();
        shim_self = t;
        return;
    }
    *m = warp->meetings.back();
    warp->meetings.pop_back();
    Thread *lanes = &threads[t->warp * WARP];
    finish(lanes, mask);
    for (unsigned i = 0; i < WARP; i++)
        if (mask >> i & 1)
            lanes[i].state = READY;
    now.runnable += static_cast<unsigned>(__builtin_popcount(mask));
    now.position = warp->position;
}

void shim_sync_warp(unsigned mask, shim_site site) {
    meet("__syncwarp", mask, site,
         [](Thread *lanes, unsigned m) { race_sync_warp(lanes->warp, m); });
}

uint64_t shim_shuffle(const char *op, unsigned mask, uint64_t bits, unsigned from, shim_site site) {
    Thread *t = self();
    t->in = bits;
    t->from = from;
    meet(op, mask, site, [](Thread *lanes, unsigned m) {
        for (unsigned i = 0; i < WARP; i++) {
            if (!(m >> i & 1))
                continue;
            if (!(m >> lanes[i].from & 1))
                fail("%s %s:%d: lane %u reads lane %u, which is not in mask %08x", lanes[i].op,
                     base_name(lanes[i].site.file), lanes[i].site.line, i, lanes[i].from, m);
            lanes[i].out = lanes[lanes[i].from].in;
        }
    });
    return t->out;
}

unsigned shim_ballot(unsigned mask, bool vote, shim_site site) {
    Thread *t = self();
    t->in = vote;
    meet("vote", mask, site, [](Thread *lanes, unsigned m) {
        unsigned votes = 0;
        for (unsigned i = 0; i < WARP; i++)
            if (m >> i & 1 && lanes[i].in)
                votes |= 1u << i;
        for (unsigned i = 0; i < WARP; i++)
            if (m >> i & 1)
                lanes[i].out = votes;
    });
    return static_cast<unsigned>(t->out);
}

/* ---- shared memory --------------------------------------------------------------------------- */

extern char __start_shim_shared[] __attribute__((weak));
extern char __stop_shim_shared[] __attribute__((weak));
alignas(128) char shim_dynamic_memory[MAX_SHARED];

void *shim_dynamic_shared(void) {
    if (!now.kernel->shared)
        fail("the launch gave no dynamic shared memory");
    return shim_dynamic_memory;
}

/* The part of all static shared arrays of the program that is not 0xFF. */
struct Extent {
    char *begin, *end;
};

NO_CHECKS static Extent used_extent(void) {
    const uint64_t clean = ~0ull;
    char *begin = __start_shim_shared, *end = __stop_shim_shared;
    while (end - begin >= 8 && memcmp(begin, &clean, 8) == 0)
        begin += 8;
    while (end - begin >= 8 && memcmp(end - 8, &clean, 8) == 0)
        end -= 8;
    return {begin, end};
}

/* Each block begins with its shared memory filled with 0xFF. Of the arrays of all kernels a block
 * writes those of its own: after blocks 1, 2, 4, 8 … of a launch that part is looked up, and only
 * it is filled for the blocks that follow. */
struct Shared {
    Extent used = {__start_shim_shared, __stop_shim_shared};

    void fill(uint64_t block) {
        fill_poison(shim_dynamic_memory, now.kernel->shared);
        if (block && (block & (block - 1)) == 0)
            used = used_extent();
        fill_poison(used.begin, static_cast<size_t>(used.end - used.begin));
    }
};

/* Bytes behind the dynamic shared memory of the launch, for the address sanitizer. */
static void fence_dynamic(bool on) {
#if SHIM_ASAN
    if (on)
        __asan_poison_memory_region(shim_dynamic_memory + now.kernel->shared,
                                    MAX_SHARED - now.kernel->shared);
    else
        __asan_unpoison_memory_region(shim_dynamic_memory, MAX_SHARED);
#else
    (void)on;
#endif
}

/* ---- grid ------------------------------------------------------------------------------------ */

static void place_threads(dim3 block) {
    for (unsigned i = 0; i < now.count; i++) {
        Thread *t = &threads[i];
        t->index = {i % block.x, i / block.x % block.y, i / block.x / block.y};
        t->lane = i % WARP;
        t->warp = i / WARP;
    }
}

static void run_block(void) {
    for (unsigned i = 0; i < now.count; i++)
        threads[i].state = NEW;
    for (unsigned i = 0; i * WARP < now.count; i++) {
        warps[i].meetings.clear();
        warps[i].exited = 0;
    }
    now.live = now.runnable = now.count;
    now.first_at_barrier = nullptr;
    counts.threads += now.count;
    race_begin_block();
    arrange_threads();
    run_next();
    shim_self = nullptr;
}

static void run_blocks(const Kernel &kernel) {
    const dim3 g = kernel.grid;
    const uint64_t n = static_cast<uint64_t>(g.x) * g.y * g.z;
    std::vector<uint64_t> random;
    if (settings().order == Order::random) {
        random.resize(n);
        std::iota(random.begin(), random.end(), uint64_t(0));
        arrange(random.data(), static_cast<unsigned>(n));
    }
    Shared shared;
    for (uint64_t i = 0; i < n; i++) {
        const bool backwards = settings().order == Order::reverse;
        const uint64_t b = random.empty() ? (backwards ? n - 1 - i : i) : random[i];
        shim_shape.block_index = {static_cast<unsigned>(b % g.x),
                                  static_cast<unsigned>(b / g.x % g.y),
                                  static_cast<unsigned>(b / g.x / g.y)};
        shared.fill(i);
        run_block();
    }
}

void run_kernel(const Kernel &kernel) {
    const unsigned control = __builtin_ia32_stmxcsr();
    now.kernel = &kernel;
    now.count = kernel.block.x * kernel.block.y * kernel.block.z;
    static thread_local Fiber *const host = fiber_of_caller();
    now.host = now.fiber = host;
    shim_shape = {{0, 0, 0}, kernel.block, kernel.grid};
    place_threads(kernel.block);
    race_begin_launch(now.count);
    fence_dynamic(true);
    fence_buffers(kernel.buffers, true);
    __builtin_ia32_ldmxcsr(control | 0x8040u); /* denormals are zero, as nvcc -ftz=true has them */
    run_blocks(kernel);
    __builtin_ia32_ldmxcsr(control);
    fence_buffers(kernel.buffers, false);
    fence_dynamic(false);
    now.kernel = nullptr;
}
