/* race.cpp: are two accesses to one place ordered, and has somebody written what is read?
 *
 * The text under test is compiled with -fsanitize=thread, which calls a hook at each access; the
 * hooks are here, and the sanitizer's own library is not linked. A shadow cell for each word of
 * device and shared memory holds its last write and its last reads (constant size, as in HiRace,
 * arXiv 2401.04701). Ordered are accesses of one thread; of different launches; of one block with a
 * barrier between; of one warp with a __syncwarp between that both lanes took part in. Blocks of
 * one launch are never ordered. Shuffles and votes order nothing.
 */
#include "shim.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

extern char __start_shim_shared[] __attribute__((weak));
extern char __stop_shim_shared[] __attribute__((weak));
extern char shim_dynamic_memory[];
extern char __executable_start, end; /* of the program's image, from the linker */

enum : uint32_t { NOBODY = 0, HOST = 1 };                            /* in place of a block */
enum : uint16_t { SEVERAL_WARPS = 0xfffe, SEVERAL_BLOCKS = 0xffff }; /* in place of a warp */

struct Cell {
    uint32_t writer, write_pc; /* serial number of the block */
    uint16_t write_thread, write_barrier, write_stamp;
    uint16_t read_warp;
    uint32_t reader, read_pc; /* a block of the last reads; these are forgotten at each write */
    uint32_t read_lanes;
    uint16_t read_barrier, read_stamp;
};

/* Words have one cell. One that was touched in part is split: it has one for each byte. */
struct Region {
    const char *begin, *end;
    Cell *words, *bytes;
    bool *split;
    bool shared; /* what another block left there does not exist */
};

static Region device, static_shared, dynamic_shared;

static struct {
    uint32_t block, first_block; /* serial numbers: that runs, of its launch */
    uint16_t barrier;            /* how many the block has passed; compared for equality only */
    unsigned warps;
    uint16_t stamp[MAX_THREADS / WARP]; /* how many __syncwarp, since the last barrier */
    uint16_t seen[MAX_THREADS][WARP];   /* accesses of a lane with a stamp below come before */
} now = {HOST, 0, 0, 0, {}, {}};

/* ---- regions --------------------------------------------------------------------------------- */

static void *zeroed(size_t n) {
    void *p = mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (p == MAP_FAILED)
        fail("no addresses for the shadow of device memory: make CUDA_SHIM_MEMORY smaller");
    return p;
}

static Region make_region(const char *begin, const char *end_of_it, bool shared) {
    const size_t n = static_cast<size_t>(end_of_it - begin) + 64;
    return {begin,
            end_of_it,
            static_cast<Cell *>(zeroed(n / 4 * sizeof(Cell))),
            static_cast<Cell *>(zeroed(n * sizeof(Cell))),
            static_cast<bool *>(zeroed(n / 4)),
            shared};
}

static void make_regions(void) {
    if (device.begin)
        return;
    device = make_region(arena_begin(), arena_begin() + arena_size(), false);
    static_shared = make_region(__start_shim_shared, __stop_shim_shared, true);
    dynamic_shared = make_region(shim_dynamic_memory, shim_dynamic_memory + MAX_SHARED, true);
}

static bool inside(const Region &r, const char *p) {
    return p >= r.begin && p < r.end;
}

static Region *find_region(const char *p) {
    for (Region *r : {&device, &static_shared, &dynamic_shared})
        if (inside(*r, p))
            return r;
    return nullptr;
}

/* ---- what the scheduler tells ---------------------------------------------------------------- */

static void forget_stamps(void) {
    for (unsigned w = 0; w < now.warps; w++) {
        if (now.stamp[w])
            memset(now.seen[w * WARP], 0, sizeof now.seen[0] * WARP);
        now.stamp[w] = 0;
    }
}

void race_begin_launch(unsigned threads) {
    make_regions();
    now.first_block = now.block + 1;
    now.warps = (threads + WARP - 1) / WARP;
}

void race_begin_block(void) {
    now.block++;
    now.barrier = 0;
    forget_stamps();
}

void race_barrier(void) {
    now.barrier++;
    forget_stamps();
}

/* What each lane of the mask has seen, all have seen now; and what they did up to here. */
void race_sync_warp(unsigned warp, unsigned mask) {
    uint16_t(*seen)[WARP] = &now.seen[warp * WARP];
    uint16_t all[WARP] = {};
    const uint16_t stamp = ++now.stamp[warp];
    for (unsigned i = 0; i < WARP; i++)
        for (unsigned lane = 0; lane < WARP; lane++)
            if (mask >> i & 1 && seen[i][lane] > all[lane])
                all[lane] = seen[i][lane];
    for (unsigned lane = 0; lane < WARP; lane++)
        if (mask >> lane & 1)
            all[lane] = stamp;
    for (unsigned i = 0; i < WARP; i++)
        if (mask >> i & 1)
            memcpy(seen[i], all, sizeof all);
}

static void set_writer(const void *p, size_t n, uint32_t writer) {
    make_regions();
    Cell cell = {};
    cell.writer = writer;
    const size_t first = static_cast<size_t>(static_cast<const char *>(p) - device.begin);
    for (size_t i = first; i < first + n; i++) {
        if (i % 4 == 0 && first + n - i >= 4) {
            device.words[i / 4] = cell;
            device.split[i / 4] = false;
            i += 3;
            continue;
        }
        if (!device.split[i / 4])
            for (size_t b = 0; b < 4; b++)
                device.bytes[i / 4 * 4 + b] = device.words[i / 4];
        device.split[i / 4] = true;
        device.bytes[i] = cell;
    }
}

void race_host_wrote(const void *p, size_t n) {
    set_writer(p, n, HOST);
}

void race_forget(const void *p, size_t n) {
    set_writer(p, n, NOBODY);
}

/* ---- reports --------------------------------------------------------------------------------- */

/* file:line of an instruction; the address behind a call belongs to the line of the call. */
static std::string place(uint32_t pc) {
    char command[128], line[256] = "";
    snprintf(command, sizeof command, "addr2line -s -e /proc/%d/exe 0x%x", getpid(), pc - 1);
    FILE *pipe = popen(command, "r");
    if (pipe && fgets(line, sizeof line, pipe))
        line[strcspn(line, "\n (")] = 0;
    if (pipe)
        pclose(pipe);
    return line[0] ? line : "an unknown place";
}

struct Access {
    const char *p;
    const Region *region;
    unsigned thread;
    bool write;
    uint32_t pc;
};

static std::string place_of(const Access &a) {
    if (!a.region->shared)
        return describe_address(a.p);
    return "byte " + std::to_string(a.p - a.region->begin) + " of shared memory";
}

[[noreturn]] static void race(const Access &a, const char *other, uint32_t pc, const char *who) {
    fail("race: %s is %s at %s, and %s by %s at %s, with nothing that orders the two",
         place_of(a).c_str(), a.write ? "written" : "read", place(a.pc).c_str(), other, who,
         place(pc).c_str());
}

[[noreturn]] static void race_with_write(const Access &a, const Cell &c) {
    const bool mine = c.writer == now.block;
    const std::string who = mine ? "thread " + std::to_string(c.write_thread) : "another block";
    race(a, "written", c.write_pc, who.c_str());
}

/* ---- the rules ------------------------------------------------------------------------------- */

static bool lane_is_ordered(const Access &a, unsigned lane, uint16_t stamp) {
    return stamp < now.seen[a.thread][lane];
}

static bool write_is_ordered(const Access &a, const Cell &c) {
    if (c.writer < now.first_block)
        return true;
    if (c.writer != now.block)
        return a.region->shared;
    if (c.write_thread == a.thread || c.write_barrier != now.barrier)
        return true;
    return c.write_thread / WARP == a.thread / WARP &&
           lane_is_ordered(a, c.write_thread % WARP, c.write_stamp);
}

static bool reads_are_ordered(const Access &a, const Cell &c) {
    if (c.reader < now.first_block)
        return true;
    if (a.region->shared && c.reader != now.block)
        return true;
    if (c.reader != now.block || c.read_warp == SEVERAL_BLOCKS)
        return false;
    if (c.read_barrier != now.barrier)
        return true;
    if (c.read_warp != a.thread / WARP)
        return false;
    for (unsigned lane = 0; lane < WARP; lane++)
        if (c.read_lanes >> lane & 1 && lane != a.thread % WARP &&
            !lane_is_ordered(a, lane, c.read_stamp))
            return false;
    return true;
}

static void note_read(const Access &a, Cell *c) {
    const uint16_t warp = static_cast<uint16_t>(a.thread / WARP);
    const uint32_t lane = 1u << a.thread % WARP;
    const bool same_launch = !a.region->shared && c->reader >= now.first_block;
    const bool same_block = c->reader == now.block;
    if (same_launch && (!same_block || c->read_warp == SEVERAL_BLOCKS)) {
        c->read_warp = SEVERAL_BLOCKS;
    } else if (same_block && c->read_barrier == now.barrier) {
        c->read_warp = c->read_warp == warp ? warp : uint16_t(SEVERAL_WARPS);
        c->read_lanes |= lane;
    } else {
        c->read_warp = warp;
        c->read_lanes = lane;
    }
    c->reader = now.block;
    c->read_barrier = now.barrier;
    c->read_stamp = now.stamp[warp];
    c->read_pc = a.pc;
}

static void read_cell(const Access &a, Cell *c) {
    if (!write_is_ordered(a, *c))
        race_with_write(a, *c);
    if (a.region->shared ? c->writer != now.block : c->writer == NOBODY)
        fail("uninitialised: %s is read at %s, and nobody has written it", place_of(a).c_str(),
             place(a.pc).c_str());
    note_read(a, c);
}

static void write_cell(const Access &a, Cell *c) {
    if (!write_is_ordered(a, *c))
        race_with_write(a, *c);
    if (!reads_are_ordered(a, *c))
        race(a, "read", c->read_pc, c->reader == now.block ? "other threads" : "another block");
    *c = {now.block,
          a.pc,
          static_cast<uint16_t>(a.thread),
          now.barrier,
          now.stamp[a.thread / WARP],
          0,
          NOBODY,
          0,
          0,
          0,
          0};
}

static void touch_cell(const Access &a, Cell *c) {
    if (a.write)
        write_cell(a, c);
    else
        read_cell(a, c);
}

static void touch_word(const Access &a, Region *r, size_t word) {
    if (!r->split[word]) {
        touch_cell(a, &r->words[word]);
        return;
    }
    for (size_t b = 0; b < 4; b++)
        touch_cell(a, &r->bytes[4 * word + b]);
    if (a.write) {
        r->words[word] = r->bytes[4 * word];
        r->split[word] = false;
    }
}

static void touch_byte(const Access &a, Region *r, size_t offset) {
    const size_t word = offset / 4;
    if (!r->split[word])
        for (size_t b = 0; b < 4; b++)
            r->bytes[4 * word + b] = r->words[word];
    r->split[word] = true;
    touch_cell(a, &r->bytes[offset]);
}

/* Kernels may touch their stack and the program's image (records of threads, constants). */
static bool is_own(const char *p) {
    const Fiber *fiber = running_fiber();
    return static_cast<size_t>(p - fiber->stack) < fiber->size ||
           (p >= &__executable_start && p < &end) || p == reinterpret_cast<char *>(&shim_self);
}

static void touch(const void *address, size_t n, bool write, const void *pc) {
    if (!shim_self)
        return;
    const char *p = static_cast<const char *>(address);
    Region *r = find_region(p);
    if (!r && is_own(p))
        return;
    Access a = {p, r, running_thread(), write, static_cast<uint32_t>(uintptr_t(pc))};
    if (!r)
        fail("the kernel touches host memory at %s", place(a.pc).c_str());
    while (n > 0) {
        const size_t offset = static_cast<size_t>(a.p - r->begin);
        const size_t step = offset % 4 == 0 && n >= 4 ? 4 : 1;
        if (step == 4)
            touch_word(a, r, offset / 4);
        else
            touch_byte(a, r, offset);
        a.p += step;
        n -= step;
    }
}

/* ---- the hooks ------------------------------------------------------------------------------- */

#define PC __builtin_return_address(0)
#define HOOKS(n)                                                                                   \
    void __tsan_read##n(void *p) {                                                                 \
        touch(p, n, false, PC);                                                                    \
    }                                                                                              \
    void __tsan_write##n(void *p) {                                                                \
        touch(p, n, true, PC);                                                                     \
    }                                                                                              \
    void __tsan_unaligned_read##n(void *p) {                                                       \
        touch(p, n, false, PC);                                                                    \
    }                                                                                              \
    void __tsan_unaligned_write##n(void *p) {                                                      \
        touch(p, n, true, PC);                                                                     \
    }

/* Atomics are for the threads of the host: kernels have none. */
#define ATOMICS(bits, T)                                                                           \
    T __tsan_atomic##bits##_load(const volatile T *p, int) {                                       \
        return __atomic_load_n(p, 5);                                                              \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile T *p, T v, int) {                                    \
        __atomic_store_n(p, v, 5);                                                                 \
    }                                                                                              \
    T __tsan_atomic##bits##_exchange(volatile T *p, T v, int) {                                    \
        return __atomic_exchange_n(p, v, 5);                                                       \
    }                                                                                              \
    T __tsan_atomic##bits##_fetch_add(volatile T *p, T v, int) {                                   \
        return __atomic_fetch_add(p, v, 5);                                                        \
    }                                                                                              \
    T __tsan_atomic##bits##_fetch_sub(volatile T *p, T v, int) {                                   \
        return __atomic_fetch_sub(p, v, 5);                                                        \
    }                                                                                              \
    T __tsan_atomic##bits##_fetch_and(volatile T *p, T v, int) {                                   \
        return __atomic_fetch_and(p, v, 5);                                                        \
    }                                                                                              \
    T __tsan_atomic##bits##_fetch_or(volatile T *p, T v, int) {                                    \
        return __atomic_fetch_or(p, v, 5);                                                         \
    }                                                                                              \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile T *p, T *want, T v, int, int) {     \
        return __atomic_compare_exchange_n(p, want, v, false, 5, 5);                               \
    }                                                                                              \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile T *p, T *want, T v, int, int) {       \
        return __atomic_compare_exchange_n(p, want, v, true, 5, 5);                                \
    }                                                                                              \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T *p, T want, T v, int, int) {           \
        __atomic_compare_exchange_n(p, &want, v, false, 5, 5);                                     \
        return want;                                                                               \
    }

extern "C" {
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
void __tsan_read_range(void *p, unsigned long n) {
    touch(p, n, false, PC);
}
void __tsan_write_range(void *p, unsigned long n) {
    touch(p, n, true, PC);
}
void __tsan_atomic_thread_fence(int) {
    __atomic_thread_fence(5);
}
void __tsan_atomic_signal_fence(int) {
}
void __tsan_init(void) {
}
void __tsan_func_entry(void *) {
}
void __tsan_func_exit(void) {
}
void __tsan_vptr_update(void **, void *) {
}
void __tsan_vptr_read(void **) {
}
}
