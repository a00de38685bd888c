/* layers.c: one launch for all copies of a run (plan_runs.c) that do not depend on each other: the
 * updates of the parameters of all layers.
 *
 * Blocks count the layers along z. A kernel that is ever launched so is handed, behind its other
 * arguments, for each buffer that moves from layer to layer how many bytes it moves.
 */
#include "layers.h"

struct Layers {
    const bool **moves; /* by id of the function: by buffer (print_buffers_of); NULL: none */
};

static int buffers_of(const CEmit *x, const Kernel *k, const Buffer ***out) {
    *out = NEW_ARRAY(x->arena, const Buffer *, k->reads.n + k->writes.n + 1);
    return print_buffers_of(k, *out);
}

/* ---- which runs ---- */

static bool overlap(const Buffer *a, const Buffer *b) {
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* Do bytes that kernel a writes matter to b? */
static bool disturbs(const Kernel *a, const Kernel *b) {
    for (int i = 0; i < a->writes.n; i++) {
        for (int j = 0; j < b->reads.n; j++)
            if (overlap(a->writes.at[i].buffer, b->reads.at[j].buffer))
                return true;
        for (int j = 0; j < b->writes.n; j++)
            if (overlap(a->writes.at[i].buffer, b->writes.at[j].buffer))
                return true;
    }
    return false;
}

static bool copies_are_apart(const Lowered *l, Run run) {
    int n = run.period * run.copies;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (i / run.period != j / run.period &&
                disturbs(l->kernels.at[run.first + i], l->kernels.at[run.first + j]))
                return false;
    return true;
}

/* All that the copies are handed, but for buffers that lie in equal steps. */
static bool same_arguments(const CEmit *x, const Kernel *a, const Kernel *b) {
    const Buffer **first, **other;
    int n = buffers_of(x, a, &first);
    buffers_of(x, b, &other);
    for (int i = 0; i < n; i++)
        if (first[i] != other[i] && (first[i]->family->rotate < first[i]->family->copies.n ||
                                     first[i]->family->stride <= 0))
            return false;
    for (int i = 0; i < a->places.n; i++)
        if (a->places.at[i] != b->places.at[i])
            return false;
    for (int i = 0; i < a->faults.n; i++)
        if (a->faults.at[i] != b->faults.at[i])
            return false;
    return true;
}

bool cuda_is_layers(const CEmit *x, Run run, int replay_end) {
    const Lowered *l = x->gpu;
    if (run.first < replay_end) /* which looks at what each layer has left */
        return false;
    for (int i = 0; i < run.period; i++) {
        const Kernel *k = l->kernels.at[run.first + i];
        if (geometry_of(k).grid[2] > 1)
            return false;
        for (int copy = 1; copy < run.copies; copy++)
            if (!same_arguments(x, k, l->kernels.at[run.first + i + copy * run.period]))
                return false;
    }
    return copies_are_apart(l, run);
}

/* ---- which buffers ---- */

static void note_moves(CEmit *x, const bool **moves, Run run) {
    for (int q = 0; q < run.period; q++) {
        const Kernel *k = x->gpu->kernels.at[run.first + q];
        const Buffer **now, **then;
        int n = buffers_of(x, k, &now);
        buffers_of(x, x->gpu->kernels.at[run.first + q + run.period], &then);
        bool *list = NEW_ARRAY(x->arena, bool, n + 1);
        const bool *before = moves[k->same_as];
        for (int i = 0; i < n; i++)
            list[i] = now[i] != then[i] || (before && before[i]);
        moves[k->same_as] = list;
    }
}

void cuda_find_layers(CEmit *x) {
    const Lowered *l = x->gpu;
    Layers *found = NEW(x->arena, Layers);
    found->moves = NEW_ARRAY(x->arena, const bool *, l->kernels.n + 1);
    x->layers = found;
    for (int i = 0; i < l->runs.n; i++) {
        Run run = l->runs.at[i];
        RegionKernels own = cuda_kernels_of(x, l->kernels.at[run.first]->region);
        if (cuda_is_layers(x, run, c_replay_end(l, &own)))
            note_moves(x, found->moves, run);
    }
}

const bool *cuda_moves(const CEmit *x, const Kernel *k) {
    return x->layers->moves[k->same_as];
}

/* ---- launches ---- */

LaunchLayers cuda_layers_of(const CEmit *x, Run run, int kernel) {
    const Kernel *k = x->gpu->kernels.at[kernel];
    LaunchLayers all = {.moves = cuda_moves(x, k), .copies = MAX(run.copies, 1)};
    const Buffer **now, **then;
    int n = buffers_of(x, k, &now);
    int64_t *step = NEW_ARRAY(x->arena, int64_t, n + 1);
    if (run.copies)
        buffers_of(x, x->gpu->kernels.at[kernel + run.period], &then);
    for (int i = 0; run.copies && i < n; i++)
        if (now[i] != then[i])
            step[i] = then[i]->offset - now[i]->offset;
    all.step = step;
    return all;
}
