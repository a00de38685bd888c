/* bundle.c: small kernels that do not depend on each other become one launch.
 *
 * A launch costs some microseconds and few of these kernels fill a GPU. The kernels of a region are
 * ordered by levels: each stands one level behind the last that it depends on. Small ones of a
 * level become one kernel, whose blocks are shared out among them: a PART loop each.
 * The copies of a run (plan_runs.c) keep their order and are put together each by itself, alike:
 * they are launched by a loop.
 */
#include "../plan.h"
#include "geometry.h"
#include "schedule.h"
#include <string.h>

enum { MOST_PARTS = 8, MOST_SHARED = 40 << 10 };

static bool is_small(const Kernel *k) {
    return k->flops < 3e7 && k->bytes < 4e6;
}

/* ---- levels ---- */

/* Kernels that keep their order: one, or all copies of a run. */
typedef struct Unit {
    Kernel *const *kernel;
    int n, period; /* n > period: a run */
    int level;
} Unit;

/* Must kernel b stay behind a, which comes before it? Checks and writes of homes keep their order.
 */
static bool kernel_depends(const Kernel *a, const Kernel *b) {
    return kernel_writes_touched(a, b) || kernel_writes_touched(b, a) ||
           (a->check && kernel_writes_home(b)) || (b->check && kernel_writes_home(a));
}

static bool depends(const Unit *a, const Unit *b) {
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < b->n; j++)
            if (kernel_depends(a->kernel[i], b->kernel[j]))
                return true;
    return false;
}

/* Returns how many levels there are. */
static int find_levels(Unit *unit, int n) {
    int levels = 0;
    for (int i = 0; i < n; i++) {
        unit[i].level = 0;
        for (int j = 0; j < i; j++)
            if (unit[j].level >= unit[i].level && depends(&unit[j], &unit[i]))
                unit[i].level = unit[j].level + 1;
        levels = MAX(levels, unit[i].level + 1);
    }
    return levels;
}

/* ---- one kernel of several ---- */

static int64_t shared_bytes(const Block *b) {
    int64_t bytes = 0;
    for (int i = 0; i < b->stmts.n; i++) {
        const Stmt *st = b->stmts.at[i];
        if (st->kind == ST_LET && st->local->shared) {
            int64_t n = dtype_size(st->local->dtype);
            for (int d = 0; d < st->local->rank; d++)
                n *= st->local->extent[d];
            bytes += n;
        }
        bytes += shared_bytes(&st->body);
    }
    return bytes;
}

#define ADD_NEW(arena, list, value)                                                                \
    do {                                                                                           \
        int at_ = 0;                                                                               \
        while (at_ < (list).n && (list).at[at_] != (value))                                        \
            at_++;                                                                                 \
        if (at_ == (list).n)                                                                       \
            vec_push(arena, &(list), value);                                                       \
    } while (0)

static void add_uses(Arena *a, Kernel *to, const Kernel *from) {
    for (int i = 0; i < from->reads.n; i++) {
        Buffer *b = from->reads.at[i].buffer;
        int at = 0;
        while (at < to->reads.n && to->reads.at[at].buffer != b)
            at++;
        if (at == to->reads.n)
            vec_push(a, &to->reads, (Access){.buffer = b});
    }
    for (int i = 0; i < from->writes.n; i++)
        vec_push(a, &to->writes, (Access){.buffer = from->writes.at[i].buffer});
    for (int i = 0; i < from->scalars.n; i++)
        ADD_NEW(a, to->scalars, from->scalars.at[i]);
    for (int i = 0; i < from->counts.n; i++)
        ADD_NEW(a, to->counts, from->counts.at[i]);
    for (int i = 0; i < from->sources.n; i++)
        ADD_NEW(a, to->sources, from->sources.at[i]);
    for (int i = 0; i < from->places.n; i++)
        ADD_NEW(a, to->places, from->places.at[i]);
    for (int i = 0; i < from->faults.n; i++)
        ADD_NEW(a, to->faults, from->faults.at[i]);
    to->seed |= from->seed;
    to->check |= from->check;
    to->flops += from->flops;
    to->bytes += from->bytes;
}

/* How many blocks the part has that was this kernel. */
static int64_t blocks_of(const Kernel *k) {
    const Geometry g = geometry_of_part(&k->nest->body);
    return g.grid[0] * g.grid[1] * g.grid[2];
}

/* A value of the step rather than a mask or what outlives it; a parameter, not its moments. */
static const Buffer *made_by(const Kernel *k) {
    const Buffer *value = NULL, *kept = k->writes.n ? k->writes.at[0].buffer : NULL;
    for (int i = k->writes.n - 1; i >= 0; i--) {
        const Buffer *b = k->writes.at[i].buffer;
        if (!b->home && !(value && b->dtype == DT_BOOL))
            value = b;
        if (b->home && b->home->kind == HOME_PARAM)
            kept = b;
    }
    return value ? value : kept;
}

static void add_part(Nest *n, const Kernel *k) {
    nest_loop(n, LOOP_PART, k->note, dim_fixed(blocks_of(k)))->makes = made_by(k);
    for (int i = 0; i < k->nest->body.stmts.n; i++)
        vec_push(n->arena, &n->at->stmts, k->nest->body.stmts.at[i]);
    nest_end(n);
}

static Kernel *bundle(Arena *a, Kernel *const *parts, int n) {
    Kernel *k = NEW(a, Kernel);
    k->name = arena_printf(a, "%s_and_%d_more", parts[0]->name, n - 1);
    k->region = parts[0]->region;
    k->span = parts[0]->span;
    k->tiles = 1;
    k->note = "kernels that do not wait for each other; each has the blocks before its end";
    k->nest = nest_new(a);
    for (int i = 0; i < n; i++) {
        add_uses(a, k, parts[i]);
        add_part(k->nest, parts[i]);
    }
    return k;
}

/* The kernels of a level that go into one, from *at on; returns how many. */
static int take_small(Kernel *const *level, int n, int *at, Kernel **out) {
    int taken = 0;
    int64_t bytes = 0;
    for (; *at < n && taken < MOST_PARTS; ++*at) {
        int64_t more = shared_bytes(&level[*at]->nest->body);
        if (bytes + more > MOST_SHARED)
            break;
        bytes += more;
        out[taken++] = level[*at];
    }
    return taken;
}

static void add_level(Arena *a, Lowered *l, Kernel *const *small, int n) {
    Kernel *parts[MOST_PARTS];
    for (int at = 0; at < n;) {
        int taken = take_small(small, n, &at, parts);
        Kernel *one = taken == 1 ? parts[0] : bundle(a, parts, taken);
        vec_push(a, &l->kernels, one);
    }
}

static void add_kernels(Arena *a, Lowered *l, Unit *unit, int n);

/* The kernels of each copy by themselves, so that copies stay alike. */
static void add_run(Arena *a, Lowered *l, const Unit *run) {
    Unit *body = NEW_ARRAY(a, Unit, run->period);
    for (int first = 0; first < run->n; first += run->period) {
        for (int q = 0; q < run->period; q++)
            body[q] = (Unit){.kernel = run->kernel + first + q, .n = 1, .period = 1};
        add_kernels(a, l, body, run->period);
    }
}

static void add_kernels(Arena *a, Lowered *l, Unit *unit, int n) {
    Kernel **small = NEW_ARRAY(a, Kernel *, n + 1);
    int levels = find_levels(unit, n);
    for (int v = 0; v < levels; v++) {
        int found = 0;
        for (int i = 0; i < n; i++) {
            if (unit[i].level != v)
                continue;
            if (unit[i].n > unit[i].period)
                add_run(a, l, &unit[i]);
            else if (is_small(unit[i].kernel[0]))
                small[found++] = unit[i].kernel[0];
            else
                vec_push(a, &l->kernels, unit[i].kernel[0]);
        }
        add_level(a, l, small, found);
    }
}

/* The run that begins at kernel i; a short one is no more than kernels. */
static Run run_at(const Lowered *l, int i) {
    for (int r = 0; r < l->runs.n; r++)
        if (l->runs.at[r].first == i && l->runs.at[r].period * l->runs.at[r].copies > MOST_PARTS)
            return l->runs.at[r];
    return (Run){i, 1, 1};
}

void cuda_bundle(Compiler *c) {
    Lowered *l = c->lowered;
    Arena *a = c->arena;
    schedule_find_same(c);
    plan_preview_runs(l, a);
    const Lowered was = *l;
    Unit *unit = NEW_ARRAY(a, Unit, was.kernels.n + 1);
    memset(&l->kernels, 0, sizeof l->kernels);
    memset(&l->runs, 0, sizeof l->runs);
    for (int i = 0; i < was.kernels.n;) {
        const Region *region = was.kernels.at[i]->region;
        int n = 0;
        while (i < was.kernels.n && was.kernels.at[i]->region == region) {
            Run run = run_at(&was, i);
            unit[n++] = (Unit){.kernel = &was.kernels.at[i],
                               .n = run.period * run.copies,
                               .period = run.period};
            i += run.period * run.copies;
        }
        add_kernels(a, l, unit, n);
    }
    for (int i = 0; i < l->kernels.n; i++)
        l->kernels.at[i]->id = l->kernels.at[i]->same_as = i;
}
