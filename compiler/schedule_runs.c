/* schedule_runs.c: how the operand of a contraction lies along one of its axes.
 *
 * An axis may be a product of extents (those of windows: rows of a kernel, its columns, channels),
 * and places in memory linear along each of them, though not along all in one. Loops over them then
 * need neither div nor mod, and what lies in windows is read where it lies.
 */
#include "schedule.h"

/* `by`: from one element to the next, in each subscript of the memory; step: in all of it. */
typedef struct AxisRun {
    Dim extent;
    int64_t by[3], step;
} AxisRun;

/* The extents that a reshape puts into the axis; just the axis where they do not fit. */
static int extents_of(const Node *n, int axis, AxisRun *out) {
    const Shape *to = &n->shape, *from = n->op == OP_reshape ? &n->in[0]->shape : to;
    int at = 0, count = 0;
    for (int d = 0; d <= axis; d++) {
        int64_t product = 1;
        for (count = 0; at < from->rank && product < to->dim[d].n; at++) {
            product *= from->dim[at].n;
            if (from->dim[at].n > 1 || from->dim[at].count)
                out[count++].extent = from->dim[at];
        }
        if (product != to->dim[d].n || count == 0) {
            out[0].extent = to->dim[axis];
            count = 1;
            if (product != to->dim[d].n)
                break;
        }
    }
    return count;
}

/* Finds the steps; false where a subscript of the memory is not linear. */
static bool find_steps(Sched *s, const Node *n, int axis, AxisRun *run, int count) {
    Arena *a = s->arena;
    LoopVar v[MAX_RANK] = {{0}}, other[3] = {{0}};
    const Ix *sub[3], *at[3];
    int64_t extent[3];
    bool all_linear = true;
    for (int d = 0; d < 3; d++) {
        other[d] = (LoopVar){.name = "o", .extent = n->shape.dim[d]};
        sub[d] = ix_var(a, &other[d]);
    }
    sub[axis] = ix_const(a, 0);
    for (int i = 0; i < count; i++) {
        v[i] = (LoopVar){.name = "k", .extent = run[i].extent};
        sub[axis] = ix_add(a, ix_scale(a, sub[axis], run[i].extent.n), ix_var(a, &v[i]));
    }
    const Expr *load = sched_load(s, n, sub);
    int rank = layout_subscripts(a, load->buffer, load->sub, at, extent);
    for (int i = 0; i < count; i++) {
        run[i].step = 0;
        for (int d = 0; d < 3; d++) {
            bool linear = true;
            run[i].by[d] = d < rank ? ix_coefficient(at[d], &v[i], &linear) : 0;
            run[i].step = run[i].step * (d < rank ? extent[d] : 1) + run[i].by[d];
            all_linear &= linear;
        }
    }
    return all_linear;
}

static bool are_one(const AxisRun *outer, const AxisRun *inner) {
    for (int d = 0; d < 3; d++)
        if (outer->by[d] != inner->by[d] * inner->extent.n)
            return false;
    return !inner->extent.count;
}

int sched_runs(Sched *s, const Node *n, int axis, Dim *extent, int64_t *step) {
    AxisRun run[MAX_RANK] = {{.extent = n->shape.dim[axis]}};
    int count = 1;
    if (!find_steps(s, n, axis, run, 1)) {
        count = extents_of(n, axis, run);
        if (!find_steps(s, n, axis, run, count))
            return 0;
    }
    for (int i = count - 2; i >= 0; i--) {
        if (!are_one(&run[i], &run[i + 1]))
            continue;
        run[i + 1].extent.n *= run[i].extent.n;
        run[i + 1].extent.count = run[i].extent.count;
        for (int k = i; k + 1 < count; k++)
            run[k] = run[k + 1];
        count--;
    }
    for (int i = 0; i < count; i++)
        extent[i] = run[i].extent;
    *step = run[count - 1].step;
    return count;
}
