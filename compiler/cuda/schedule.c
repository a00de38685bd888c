/* schedule.c: the kernels of target cuda: which file schedules what, and maps. */
#include "schedule.h"

/* Elements of a thread: of f32 16 bytes, which it loads and stores at once. Where there are few
 * elements, more threads are better. */
enum { EACH = 4, MANY = 1 << 14 };

/* A thread for each element or for each few. */
static void schedule_cuda_map(Sched *s) {
    const Group *g = s->group;
    const Shape flat = shape_of(1, &g->rows), none = shape_scalar();
    s->kernel->flops = (double)g->rows * g->nodes.n;
    if (g->rows == 1 && !g->count) {
        sched_store_all(s, &none, NULL);
        return;
    }
    bool wide = g->rows >= MANY && g->rows % EACH == 0 && !g->count;
    const Dim threads = {wide ? g->rows / EACH : g->rows, g->count};
    const Ix *at = ix_var(s->arena, nest_loop(s->nest, LOOP_LANE, "i", threads));
    if (wide) {
        LoopVar *e = nest_loop(s->nest, LOOP_UNROLL, "e", dim_fixed(EACH));
        at = ix_add(s->arena, ix_scale(s->arena, at, EACH), ix_var(s->arena, e));
    }
    sched_store_all(s, &flat, &at);
    if (wide)
        nest_end(s->nest);
    nest_end(s->nest);
}

static void finish(Compiler *c) {
    for (int i = 0; i < c->lowered->kernels.n; i++)
        cuda_order(c->arena, c->lowered->kernels.at[i]);
    cuda_bundle(c);
}

const Target target_cuda = {
    .name = "cuda",
    .threads = true,
    .finish = finish,
    .schedule = {schedule_cuda_map, schedule_row, schedule_column, schedule_cuda_dot,
                 schedule_other},
};
