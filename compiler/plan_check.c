/* plan_check.c: proves a memory plan, with nothing of plan.c but its result.
 *
 * Facts: every buffer lies aligned inside the arena; what outlives a region shares bytes with
 * nothing; two buffers of a region that share bytes are never wanted at the same time; and any two
 * accesses of the same bytes, one of them a write, are ordered by a barrier, by thread 0 or by
 * equal ownership; no home is written past a check without a decision that all threads share, and
 * none before a check.
 * And of what emit writes as a loop: its calls, barriers and decisions are those of every copy, and
 * its buffers lie where the family says.
 */
#include "pass.h"
#include <stdlib.h>

typedef struct Check {
    const Lowered *l;
    Arena *arena;
    int *first, *last; /* by buffer id: the kernels between which it is touched; first -1: never */
    const char *wrong;
} Check;

static bool fail(Check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool fail(Check *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    c->wrong = arena_vprintf(c->arena, fmt, ap);
    va_end(ap);
    return false;
}

static bool outlives_region(const Buffer *b) {
    if (b->home || !b->region)
        return true;
    for (int i = 0; i < b->region->outputs.n; i++)
        if (b->node && b->region->outputs.at[i] == b->node)
            return true;
    return false;
}

/* Something in bytes begin … end - 1: a buffer, or one access of it. */
typedef struct Extent {
    int64_t begin, end;
    const Buffer *buffer;
    int kernel;
    Access access;
    bool write;
} Extent;

typedef VEC(Extent) Extents;

static int by_begin(const void *a, const void *b) {
    const Extent *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->kernel != y->kernel ? x->kernel - y->kernel : x->buffer->id - y->buffer->id;
}

/* Calls `pair` for any two that have a byte in common, until it says false. */
static bool each_overlap(Check *c, Extents *all, bool (*pair)(Check *, Extent, Extent)) {
    int *open = NEW_ARRAY(c->arena, int, all->n + 1), n = 0;
    if (all->n)
        qsort(all->at, (size_t)all->n, sizeof *all->at, by_begin);
    for (int i = 0; i < all->n; i++) {
        int kept = 0;
        for (int j = 0; j < n; j++) {
            if (all->at[open[j]].end <= all->at[i].begin)
                continue;
            open[kept++] = open[j];
            if (!pair(c, all->at[open[j]], all->at[i]))
                return false;
        }
        open[kept] = i;
        n = kept + 1;
    }
    return true;
}

static Extents all_buffers(const Check *c) {
    Extents all = {0};
    for (int i = 0; i < c->l->buffers.n; i++) {
        const Buffer *b = c->l->buffers.at[i];
        if (b->bytes)
            vec_push(c->arena, &all,
                     (Extent){.begin = b->offset, .end = b->offset + b->bytes, .buffer = b});
    }
    return all;
}

static bool check_pair_place(Check *c, Extent x, Extent y) {
    if (outlives_region(x.buffer) || outlives_region(y.buffer))
        return fail(c, "'%s' and '%s' share bytes and one of them outlives its region",
                    x.buffer->name, y.buffer->name);
    return true;
}

static bool check_places(Check *c) {
    const Lowered *l = c->l;
    for (int i = 0; i < l->buffers.n; i++) {
        const Buffer *b = l->buffers.at[i];
        if (b->offset < 0 || b->offset % 64 || b->bytes % 64)
            return fail(c, "'%s' is not aligned", b->name);
        if (b->offset + b->bytes > l->arena_bytes)
            return fail(c, "'%s' ends after the arena", b->name);
    }
    Extents all = all_buffers(c);
    return each_overlap(c, &all, check_pair_place);
}

static bool writes(const Kernel *k, const Buffer *b) {
    for (int i = 0; i < k->writes.n; i++)
        if (k->writes.at[i].buffer == b)
            return true;
    return false;
}

static void note_use(Check *c, const Buffer *b, int kernel) {
    if (c->first[b->id] < 0)
        c->first[b->id] = kernel;
    c->last[b->id] = kernel;
}

static void find_ranges(Check *c) {
    c->first = NEW_ARRAY(c->arena, int, c->l->buffers.n + 1);
    c->last = NEW_ARRAY(c->arena, int, c->l->buffers.n + 1);
    for (int i = 0; i < c->l->buffers.n; i++)
        c->first[i] = -1;
    for (int k = 0; k < c->l->kernels.n; k++) {
        const Kernel *kernel = c->l->kernels.at[k];
        for (int i = 0; i < kernel->reads.n; i++)
            note_use(c, kernel->reads.at[i].buffer, k);
        for (int i = 0; i < kernel->writes.n; i++)
            note_use(c, kernel->writes.at[i].buffer, k);
    }
}

static bool check_pair_life(Check *c, const Buffer *a, const Buffer *b) {
    int a1 = c->first[a->id], a2 = c->last[a->id], b1 = c->first[b->id], b2 = c->last[b->id];
    if (a1 < 0 || b1 < 0 || a2 < b1 || b2 < a1)
        return true;
    return fail(c, "'%s' and '%s' share bytes while both are wanted", a->name, b->name);
}

static bool check_lives_of(Check *c, Extent x, Extent y) {
    const Buffer *a = x.buffer, *b = y.buffer;
    return a->region != b->region || outlives_region(a) || outlives_region(b) ||
           check_pair_life(c, a, b);
}

static bool check_lives(Check *c) {
    Extents all = all_buffers(c);
    return each_overlap(c, &all, check_lives_of);
}

static bool check_written_first(Check *c) {
    const Lowered *l = c->l;
    for (int i = 0; i < l->buffers.n; i++) {
        const Buffer *b = l->buffers.at[i];
        int first = c->first[i];
        if (!outlives_region(b) && first >= 0 && !writes(l->kernels.at[first], b))
            return fail(c, "kernel '%s' reads '%s' before it is written",
                        l->kernels.at[first]->name, b->name);
    }
    for (int i = 0; i < l->kernels.n; i++) {
        const Kernel *k = l->kernels.at[i];
        for (int j = 0; j < k->reads.n + k->writes.n; j++) {
            const Buffer *b =
                j < k->reads.n ? k->reads.at[j].buffer : k->writes.at[j - k->reads.n].buffer;
            if (!outlives_region(b) && b->region != k->region)
                return fail(c, "'%s' is used outside its region", b->name);
        }
    }
    return true;
}

/* ---- order ---- */

/* Accesses of the same bytes, one of them a write, and nothing that orders them. */
static bool check_pair_order(Check *c, Extent x, Extent y) {
    const Kernel *a = c->l->kernels.at[x.kernel], *b = c->l->kernels.at[y.kernel];
    if (x.kernel == y.kernel || (!x.write && !y.write) || (a->tiles == 1 && b->tiles == 1))
        return true;
    bool one_cut = x.access.owner && y.access.owner && x.access.axis == y.access.axis &&
                   x.access.part == y.access.part;
    if (x.buffer == y.buffer && one_cut && a->tiles == b->tiles)
        return true;
    bool forward = x.kernel < y.kernel;
    return fail(c, "kernels '%s' and '%s' meet at '%s' without a barrier",
                forward ? a->name : b->name, forward ? b->name : a->name,
                forward ? y.buffer->name : x.buffer->name);
}

static bool is_parallel(const Lowered *l, const Region *r) {
    for (int k = 0; k < l->kernels.n; k++)
        if (l->kernels.at[k]->region == r && l->kernels.at[k]->tiles != 1)
            return true;
    return false;
}

static bool changes_home(const Kernel *k) {
    for (int i = 0; i < k->writes.n; i++)
        if (k->writes.at[i].buffer->home)
            return true;
    return false;
}

/* A home is written past a check only behind a decision, and all threads decide alike: between the
 * last check and the decision is a barrier. */
static bool check_decisions(Check *c) {
    const Lowered *l = c->l;
    const Kernel *open = NULL; /* a check that nobody has looked at */
    bool checked = false;      /* since the last barrier */
    bool threads = false;
    for (int i = 0; i < l->kernels.n; i++) {
        const Kernel *k = l->kernels.at[i];
        if (i == 0 || l->kernels.at[i - 1]->region != k->region) {
            open = NULL;
            checked = false;
            threads = is_parallel(l, k->region);
        } else if (l->barrier_after[i - 1]) {
            checked = false;
        }
        if (l->decide_before[i]) {
            if (threads && checked)
                return fail(c, "no barrier between a check and the decision before '%s'", k->name);
            open = NULL;
        }
        if (open && changes_home(k))
            return fail(c, "kernel '%s' writes a home and nobody looks at the check in kernel '%s'",
                        k->name, open->name);
        checked |= k->check;
        open = k->check ? k : open;
    }
    return true;
}

/* A fault leaves every home of its region as it was: what may set the fault word comes before what
 * writes a home, and does not write one itself. */
static bool check_faults(Check *c) {
    const Lowered *l = c->l;
    const Kernel *writer = NULL;
    for (int i = 0; i < l->kernels.n; i++) {
        const Kernel *k = l->kernels.at[i];
        if (writer && writer->region != k->region)
            writer = NULL;
        if (changes_home(k))
            writer = k;
        if (k->check && writer)
            return fail(c, "kernel '%s' writes a home before kernel '%s' may set the fault word",
                        writer->name, k->name);
    }
    return true;
}

static void add_accesses(const Check *c, Extents *all, int kernel) {
    const Kernel *k = c->l->kernels.at[kernel];
    for (int i = 0; i < k->reads.n + k->writes.n; i++) {
        bool write = i >= k->reads.n;
        Access a = write ? k->writes.at[i - k->reads.n] : k->reads.at[i];
        int64_t begin = a.buffer->offset;
        vec_push(c->arena, all,
                 (Extent){begin, begin + a.buffer->bytes, a.buffer, kernel, a, write});
    }
}

/* The kernels between two barriers against each other. */
static bool check_order(Check *c) {
    const Lowered *l = c->l;
    Extents all = {0};
    for (int i = 0; i < l->kernels.n; i++) {
        add_accesses(c, &all, i);
        bool last = i + 1 == l->kernels.n || l->barrier_after[i] ||
                    l->kernels.at[i + 1]->region != l->kernels.at[i]->region;
        if (last && !each_overlap(c, &all, check_pair_order))
            return false;
        all.n = last ? 0 : all.n;
    }
    return true;
}

/* ---- loops ---- */

static bool check_families(Check *c) {
    for (int i = 0; i < c->l->families.n; i++) {
        const Family *f = c->l->families.at[i];
        for (int k = 0; k < f->copies.n; k++) {
            const Buffer *b = f->copies.at[k];
            if (b->family != f || b->copy != k ||
                b->offset != f->offset + (k + f->shift) % f->rotate * f->stride)
                return fail(c, "copy %d of family '%s' lies elsewhere", k, f->name);
        }
    }
    return true;
}

/* The same buffer in three copies, or one copy further each time. */
static bool advances(const Buffer *x, const Buffer *y, const Buffer *z) {
    if (x == y)
        return z == x;
    return x->family && x->family == y->family && y->family == z->family &&
           abs(y->copy - x->copy) == 1 && z->copy - y->copy == y->copy - x->copy;
}

/* Kernel k against those of the two copies before it. */
static bool check_call(Check *c, Run run, int k) {
    const Lowered *l = c->l;
    const Kernel *x = l->kernels.at[k - 2 * run.period], *y = l->kernels.at[k - run.period],
                 *z = l->kernels.at[k];
    bool ok = x->same_as == y->same_as && y->same_as == z->same_as && x->region == z->region;
    for (int i = 0; ok && i < z->reads.n; i++)
        ok = advances(x->reads.at[i].buffer, y->reads.at[i].buffer, z->reads.at[i].buffer);
    for (int i = 0; ok && i < z->writes.n; i++)
        ok = advances(x->writes.at[i].buffer, y->writes.at[i].buffer, z->writes.at[i].buffer);
    return ok || fail(c, "kernel '%s' does not go on as a loop does", z->name);
}

static bool check_runs(Check *c) {
    const Lowered *l = c->l;
    for (int i = 0; i < l->runs.n; i++) {
        Run run = l->runs.at[i];
        int end = run.first + run.period * run.copies;
        for (int k = run.first + run.period; k < end; k++) {
            int before = k - run.period;
            if ((l->decide_before[k] != l->decide_before[before] && before != run.first) ||
                (l->barrier_after[k] != l->barrier_after[before] && k + 1 != end))
                return fail(c, "kernel '%s' waits or decides in some layers only",
                            l->kernels.at[k]->name);
            if (k >= run.first + 2 * run.period && !check_call(c, run, k))
                return false;
        }
    }
    return true;
}

const char *plan_check(const Lowered *l) {
    Check c = {.l = l, .arena = l->program->arena};
    find_ranges(&c);
    if (check_places(&c) && check_written_first(&c) && check_lives(&c) && check_decisions(&c) &&
        check_faults(&c) && check_order(&c) && check_families(&c) && check_runs(&c))
        return NULL;
    return c.wrong;
}
