/* schedule.c: the kernels of target cuda: which file schedules what, and maps. */
#include "schedule.h"

/* A thread for each element. */
static void schedule_cuda_map(Sched *s) {
    const Group *g = s->group;
    const Shape flat = shape_of(1, &g->rows), none = shape_scalar();
    s->kernel->flops = (double)g->rows * g->nodes.n;
    if (g->rows == 1 && !g->count) {
        sched_store_all(s, &none, NULL);
        return;
    }
    const Ix *at =
        ix_var(s->arena, nest_loop(s->nest, LOOP_LANE, "i", (Dim){g->rows, g->count}));
    sched_store_all(s, &flat, &at);
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
