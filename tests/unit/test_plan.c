/* The memory plan: barriers, sharing of bytes, and that the checker sees what is wrong with a plan.
 */
#include "pass.h"
#include <criterion/criterion.h>
#include <string.h>

typedef struct Bench {
    Compiler c;
    Program program;
    Lowered lowered;
    Region region[2];
} Bench;

static Bench *bench_new(void) {
    Arena *a = arena_new();
    Bench *b = NEW(a, Bench);
    b->c.arena = b->program.arena = a;
    b->c.lowered = &b->lowered;
    b->c.program = b->lowered.program = &b->program;
    b->program.graph = graph_new(a, DT_F32);
    return b;
}

static Buffer *buffer(Bench *b, const char *name, int region, int64_t floats) {
    Buffer *x = NEW(b->c.arena, Buffer);
    x->id = b->lowered.buffers.n;
    x->name = name;
    x->shape = shape_of(1, &floats);
    x->bytes = (floats * 4 + 63) / 64 * 64;
    x->region = region < 0 ? NULL : &b->region[region];
    vec_push(b->c.arena, &b->lowered.buffers, x);
    return x;
}

static Kernel *kernel(Bench *b, const char *name, int region, int tiles) {
    Kernel *k = NEW(b->c.arena, Kernel);
    k->id = b->lowered.kernels.n;
    k->name = name;
    k->region = &b->region[region];
    k->tiles = tiles;
    vec_push(b->c.arena, &b->lowered.kernels, k);
    return k;
}

enum { ALL, OWNED };

static void reads(Bench *b, Kernel *k, Buffer *x, int how) {
    vec_push(b->c.arena, &k->reads, (Access){x, how != ALL, 0, 8, NULL});
}

static void writes(Bench *b, Kernel *k, Buffer *x, int how) {
    vec_push(b->c.arena, &k->writes, (Access){x, how != ALL, 0, 8, NULL});
}

static void plan_is_good(Bench *b) {
    plan(&b->c);
    const char *wrong = plan_check(&b->lowered);
    cr_assert_null(wrong, "%s", wrong);
}

static void checker_says(Bench *b, const char *part) {
    const char *wrong = plan_check(&b->lowered);
    cr_assert_not_null(wrong, "a wrong plan passed");
    cr_assert_not_null(strstr(wrong, part), "'%s' does not say '%s'", wrong, part);
}

static bool share_bytes(const Buffer *x, const Buffer *y) {
    return x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes;
}

/* x -> h -> y, each kernel reads all of what the one before wrote. */
static Bench *chain(Buffer **h, int n, int tiles) {
    Bench *b = bench_new();
    for (int i = 0; i < n; i++)
        h[i] = buffer(b, arena_printf(b->c.arena, "h%d", i), 0, 1000);
    for (int i = 0; i < n; i++) {
        Kernel *k = kernel(b, arena_printf(b->c.arena, "k%d", i), 0, tiles);
        if (i)
            reads(b, k, h[i - 1], ALL);
        writes(b, k, h[i], OWNED);
    }
    return b;
}

Test(plan, chain_waits_after_each_kernel_and_needs_two_buffers) {
    Buffer *h[6];
    Bench *b = chain(h, 6, 8);
    plan_is_good(b);
    for (int i = 0; i < 5; i++)
        cr_assert(b->lowered.barrier_after[i], "no barrier after kernel %d", i);
    cr_assert_not(b->lowered.barrier_after[5]);
    cr_assert_eq(b->lowered.arena_bytes, 2 * h[0]->bytes);
}

Test(plan, serial_kernels_wait_for_nobody) {
    Buffer *h[4];
    Bench *b = chain(h, 4, 1);
    plan_is_good(b);
    for (int i = 0; i < 4; i++)
        cr_assert_not(b->lowered.barrier_after[i]);
    cr_assert_eq(b->lowered.arena_bytes, 2 * h[0]->bytes);
}

Test(plan, owners_of_equal_tiles_wait_for_nobody) {
    Bench *b = bench_new();
    Buffer *x = buffer(b, "x", 0, 640), *y = buffer(b, "y", 0, 640), *z = buffer(b, "z", 0, 640);
    Kernel *k0 = kernel(b, "k0", 0, 10), *k1 = kernel(b, "k1", 0, 10), *k2 = kernel(b, "k2", 0, 5);
    writes(b, k0, x, OWNED);
    reads(b, k1, x, OWNED);
    writes(b, k1, y, OWNED);
    reads(b, k2, y, OWNED);
    writes(b, k2, z, OWNED);
    plan_is_good(b);
    cr_assert_not(b->lowered.barrier_after[0]);
    cr_assert(b->lowered.barrier_after[1], "5 tiles read what 10 tiles wrote");
}

Test(plan, owners_of_other_cuts_wait) {
    Bench *b = bench_new();
    Buffer *x = buffer(b, "x", 0, 640), *y = buffer(b, "y", 0, 640), *z = buffer(b, "z", 0, 640);
    Kernel *k0 = kernel(b, "k0", 0, 10), *k1 = kernel(b, "k1", 0, 10), *k2 = kernel(b, "k2", 0, 10);
    writes(b, k0, x, OWNED);
    reads(b, k1, x, OWNED);
    k1->reads.at[0].axis = 1;
    writes(b, k1, y, OWNED);
    reads(b, k2, y, OWNED);
    k2->reads.at[0].part = 16;
    writes(b, k2, z, OWNED);
    plan_is_good(b);
    cr_assert(b->lowered.barrier_after[0], "rows read what columns wrote");
    cr_assert(b->lowered.barrier_after[1], "parts of 16 read what parts of 8 wrote");
    b->lowered.barrier_after[0] = false;
    checker_says(b, "'k0' and 'k1' meet at 'x' without a barrier");
}

Test(plan, sharing_never_costs_a_barrier) {
    Bench *b = bench_new();
    Buffer *x = buffer(b, "x", 0, 640), *y = buffer(b, "y", 0, 640), *z = buffer(b, "z", 0, 640);
    Kernel *k0 = kernel(b, "k0", 0, 10), *k1 = kernel(b, "k1", 0, 10), *k2 = kernel(b, "k2", 0, 10);
    writes(b, k0, x, OWNED);
    reads(b, k1, x, OWNED);
    writes(b, k1, y, OWNED);
    reads(b, k2, y, OWNED);
    writes(b, k2, z, OWNED);
    plan_is_good(b);
    cr_assert_not(b->lowered.barrier_after[0] || b->lowered.barrier_after[1]);
    cr_assert_not(share_bytes(x, z), "z took bytes that another thread may still read");
}

Test(plan, regions_share_and_homes_do_not) {
    Bench *b = bench_new();
    Home home = {.name = "w"};
    Buffer *w = buffer(b, "w", 0, 100), *x = buffer(b, "x", 0, 5000), *y = buffer(b, "y", 1, 3000);
    Node out = {.op = OP_add};
    Buffer *loss = buffer(b, "loss", 1, 1);
    w->home = &home;
    loss->node = &out;
    vec_push(b->c.arena, &b->region[1].outputs, &out);
    Kernel *k0 = kernel(b, "k0", 0, 4), *k1 = kernel(b, "k1", 1, 4);
    reads(b, k0, w, ALL);
    writes(b, k0, x, ALL);
    writes(b, k1, y, ALL);
    writes(b, k1, loss, ALL);
    plan_is_good(b);
    cr_assert(share_bytes(x, y));
    cr_assert_not(share_bytes(w, x));
    cr_assert_not(share_bytes(loss, x), "another region may not write over an output");
}

/* k0 | check, k2 | [decision] update | check2: each writes what nobody else touches. */
Test(plan, homes_are_written_behind_decisions) {
    Bench *b = bench_new();
    Home home = {.name = "w"};
    Buffer *x = buffer(b, "x", 0, 64), *y = buffer(b, "y", 0, 64), *w = buffer(b, "w", 0, 64);
    Kernel *k0 = kernel(b, "k0", 0, 4), *check = kernel(b, "check", 0, 1);
    Kernel *k2 = kernel(b, "k2", 0, 4), *update = kernel(b, "update", 0, 4);
    w->home = &home;
    x->region = y->region = NULL; /* so that no two share bytes */
    writes(b, k0, x, OWNED);
    check->check = true;
    writes(b, k2, y, OWNED);
    writes(b, update, w, OWNED);
    plan_is_good(b);
    Lowered *l = &b->lowered;
    cr_assert(!l->barrier_after[0] && !l->barrier_after[1], "work may go on beside a check");
    cr_assert(l->barrier_after[2] && l->decide_before[3]);
    l->barrier_after[2] = false;
    checker_says(b, "no barrier between a check and the decision");
    l->decide_before[3] = false;
    checker_says(b, "'update' writes a home and nobody looks at the check in kernel 'check'");
}

/* Else a fault finds some elements of the home as they were and others not. */
Test(plan, no_home_is_written_before_or_beside_a_check) {
    Bench *b = bench_new();
    Home home = {.name = "w"};
    Buffer *x = buffer(b, "x", 0, 64), *w = buffer(b, "w", 0, 64);
    Kernel *update = kernel(b, "update", 0, 4), *check = kernel(b, "check", 0, 1);
    w->home = &home;
    writes(b, update, w, OWNED);
    writes(b, check, x, ALL);
    plan_is_good(b);
    check->check = true;
    plan(&b->c);
    checker_says(b, "'update' writes a home before kernel 'check' may set the fault word");
    check->check = false;
    update->check = true;
    plan(&b->c);
    checker_says(b, "'update' writes a home before kernel 'update' may set the fault word");
}

Test(plan, checker_finds_a_dropped_barrier) {
    Buffer *h[4];
    Bench *b = chain(h, 4, 8);
    b->program.graph->mutate = "barrier";
    plan(&b->c);
    checker_says(b, "'k0' and 'k1' meet at 'h0' without a barrier");
}

Test(plan, checker_finds_bytes_shared_too_early) {
    Buffer *h[4];
    Bench *b = chain(h, 4, 8);
    plan(&b->c);
    h[1]->offset = h[0]->offset;
    checker_says(b, "'h0' and 'h1' share bytes while both are wanted");
    h[0]->home = NEW(b->c.arena, Home);
    plan(&b->c);
    h[3]->offset = h[0]->offset;
    checker_says(b, "one of them outlives its region");
}

Test(plan, checker_finds_an_offset_shared) {
    Buffer *h[4];
    Bench *b = chain(h, 4, 8);
    b->lowered.kernels.at[2]->flops = 1;
    b->program.graph->mutate = "offset";
    plan(&b->c);
    checker_says(b, "'h1' and 'h2' share bytes while both are wanted");
}

Test(plan, checker_finds_what_is_outside_or_crooked) {
    Buffer *h[3];
    Bench *b = chain(h, 3, 8);
    plan(&b->c);
    h[2]->offset = b->lowered.arena_bytes;
    checker_says(b, "ends after the arena");
    h[2]->offset = 4;
    checker_says(b, "not aligned");
}

Test(plan, checker_finds_a_read_of_nothing) {
    Bench *b = bench_new();
    Buffer *x = buffer(b, "x", 0, 64), *y = buffer(b, "y", 0, 64);
    Kernel *k = kernel(b, "k", 0, 1);
    reads(b, k, x, ALL);
    writes(b, k, y, ALL);
    plan(&b->c);
    checker_says(b, "reads 'x' before it is written");
}

/* Random regions; what the planner makes the checker accepts. */
Test(plan, random_regions_pass_the_checker) {
    uint32_t seed = 1;
    for (int round = 0; round < 300; round++) {
        Bench *b = bench_new();
        int n = 2 + round % 20;
        Buffer *x[24];
        Home home = {.name = "h"};
        bool written = false; /* a home: no check comes any more */
        for (int i = 0; i < n; i++) {
            seed = hash_bytes(seed, &i, sizeof i);
            int tiles = seed % 3 == 0 ? 1 : seed % 3 == 1 ? 6 : 12;
            x[i] = buffer(b, arena_printf(b->c.arena, "x%d", i), 0, 64 * (1 + seed / 8 % 3));
            Kernel *k = kernel(b, arena_printf(b->c.arena, "k%d", i), 0, tiles);
            bool check = tiles == 1 && seed / 64 % 5 == 0;
            for (int j = 0; j < 3 && i; j++) {
                seed = hash_bytes(seed, &j, sizeof j);
                reads(b, k, x[i - 1 - (int)(seed % (uint32_t)MIN(i, 4))], (int)(seed / 16 % 3));
            }
            writes(b, k, x[i], seed / 256 % 2 ? OWNED : ALL);
            x[i]->home = seed / 1024 % 8 ? NULL : &home;
            written |= x[i]->home != NULL;
            k->check = check && !written;
        }
        plan_is_good(b);
        arena_free(b->c.arena);
    }
}
