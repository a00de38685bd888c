/* plan_mutate.c: deliberate faults of a plan, where they hurt, for the tests of plan_check and of
 * the races it prevents. */
#include "plan.h"

/* Kernels of a kernel's region. */
static int crowd(const Lowered *l, const Kernel *k) {
    int n = 0;
    for (int i = 0; i < l->kernels.n; i++)
        n += l->kernels.at[i]->region == k->region;
    return n;
}

/* The kernel with most arithmetic in the region with most kernels: the faults below are made where
 * they hurt. */
static int heaviest(const Lowered *l) {
    int best = 0;
    for (int i = 1; i < l->kernels.n; i++) {
        const Kernel *k = l->kernels.at[i], *b = l->kernels.at[best];
        int more = crowd(l, k) - crowd(l, b);
        if (more > 0 || (more == 0 && k->flops > b->flops))
            best = i;
    }
    return best;
}

/* The faults below are in one call, not in all layers. */
static void forget_runs(Lowered *l) {
    l->runs.n = l->families.n = 0;
    for (int i = 0; i < l->buffers.n; i++)
        l->buffers.at[i]->family = NULL;
}

/* Nobody waits for the heaviest kernel (a deliberate fault). */
static void drop_barrier(Lowered *l) {
    forget_runs(l);
    int i = heaviest(l);
    while (i < l->kernels.n && !l->barrier_after[i])
        i++;
    if (i < l->kernels.n)
        l->barrier_after[i] = false;
}

/* What the heaviest kernel writes lies on what it reads (a deliberate fault). */
static void share_offset(Lowered *l) {
    forget_runs(l);
    const Kernel *k = l->kernels.at[heaviest(l)];
    Buffer *to = k->writes.at[0].buffer;
    for (int i = 0; i < k->reads.n; i++) {
        const Buffer *from = k->reads.at[i].buffer;
        if (from != to && from->offset + to->bytes <= l->arena_bytes) {
            to->offset = from->offset;
            return;
        }
    }
}

void plan_mutate(Lowered *l) {
    if (mutated(l->program->graph, "barrier"))
        drop_barrier(l);
    if (mutated(l->program->graph, "offset"))
        share_offset(l);
}
