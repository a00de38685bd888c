/* plan_check.c: proves a memory plan, with nothing of plan.c but its result.
 *
 * Five facts: every buffer lies aligned inside the arena; what outlives a region shares bytes with
 * nothing; two buffers of a region that share bytes are never wanted at the same time; and any two
 * accesses of the same bytes, one of them a write, are ordered by a barrier, by thread 0 or by
 * equal ownership; and no home is written past a check without a decision that all threads share.
 * O(n^2) in accesses.
 */
#include "pass.h"

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

static bool overlap(const Buffer *a, const Buffer *b) {
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static bool outlives_region(const Buffer *b) {
    if (b->home || !b->region)
        return true;
    for (int i = 0; i < b->region->outputs.n; i++)
        if (b->node && b->region->outputs.at[i] == b->node)
            return true;
    return false;
}

static bool check_places(Check *c) {
    const Lowered *l = c->l;
    for (int i = 0; i < l->buffers.n; i++) {
        const Buffer *b = l->buffers.at[i];
        if (b->offset < 0 || b->offset % 64 || b->bytes % 64)
            return fail(c, "'%s' is not aligned", b->name);
        if (b->offset + b->bytes > l->arena_bytes)
            return fail(c, "'%s' ends after the arena", b->name);
        for (int j = 0; j < i; j++) {
            const Buffer *o = l->buffers.at[j];
            if (overlap(b, o) && (outlives_region(b) || outlives_region(o)))
                return fail(c, "'%s' and '%s' share bytes and one of them outlives its region",
                            o->name, b->name);
        }
    }
    return true;
}

/* The access of kernel k to buffer b: whether it is there, whether every one of its kind is owned.
 */
typedef struct Seen {
    bool reads, writes, owner, element;
} Seen;

static Seen kernel_sees(const Kernel *k, const Buffer *b) {
    Seen s = {.owner = true, .element = true};
    for (int i = 0; i < k->reads.n; i++)
        if (k->reads.at[i].buffer == b) {
            s.reads = true;
            s.owner &= k->reads.at[i].owner;
            s.element &= k->reads.at[i].element;
        }
    for (int i = 0; i < k->writes.n; i++)
        if (k->writes.at[i].buffer == b) {
            s.writes = true;
            s.owner &= k->writes.at[i].owner;
        }
    return s;
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

static bool equal_form(const Buffer *a, const Buffer *b) {
    return a->offset == b->offset && a->bytes == b->bytes && a->dtype == b->dtype &&
           a->layout == b->layout && shape_equal(&a->shape, &b->shape);
}

static bool check_pair_life(Check *c, const Buffer *a, const Buffer *b) {
    const Lowered *l = c->l;
    int a1 = c->first[a->id], a2 = c->last[a->id], b1 = c->first[b->id], b2 = c->last[b->id];
    if (a1 < 0 || b1 < 0 || a2 < b1 || b2 < a1)
        return true;
    if (b2 == a1 && a2 != b1) /* b lends its bytes to a: the mirror of what follows */
        return check_pair_life(c, b, a);
    if (a2 != b1)
        return fail(c, "'%s' and '%s' share bytes while both are wanted", a->name, b->name);
    Seen last = kernel_sees(l->kernels.at[a2], a), first = kernel_sees(l->kernels.at[a2], b);
    if (!equal_form(a, b) || last.writes || first.reads || !last.owner || !last.element ||
        !first.owner)
        return fail(c, "kernel '%s' may not write '%s' over '%s'", l->kernels.at[a2]->name, b->name,
                    a->name);
    return true;
}

static bool check_lives(Check *c) {
    const Lowered *l = c->l;
    for (int i = 0; i < l->buffers.n; i++)
        for (int j = 0; j < i; j++) {
            const Buffer *a = l->buffers.at[j], *b = l->buffers.at[i];
            if (a->region == b->region && overlap(a, b) && !outlives_region(a) &&
                !outlives_region(b) && !check_pair_life(c, a, b))
                return false;
        }
    return true;
}

static bool check_written_first(Check *c) {
    const Lowered *l = c->l;
    for (int i = 0; i < l->buffers.n; i++) {
        const Buffer *b = l->buffers.at[i];
        int first = c->first[i], last = c->last[i];
        if (outlives_region(b) || first < 0)
            continue;
        if (!kernel_sees(l->kernels.at[first], b).writes)
            return fail(c, "kernel '%s' reads '%s' before it is written",
                        l->kernels.at[first]->name, b->name);
        for (int k = first; k <= last; k++) {
            Seen s = kernel_sees(l->kernels.at[k], b);
            if ((s.reads || s.writes) && l->kernels.at[k]->region != b->region)
                return fail(c, "'%s' is used outside its region", b->name);
        }
    }
    return true;
}

/* ---- order ---- */

/* One access of kernel a, one of kernel b: the same bytes, one of them a write, and nothing that
 * orders them. */
static bool clash(const Kernel *a, Access x, bool x_writes, const Kernel *b, Access y,
                  bool y_writes) {
    if ((!x_writes && !y_writes) || !overlap(x.buffer, y.buffer))
        return false;
    bool one_part = x.buffer == y.buffer || equal_form(x.buffer, y.buffer);
    bool one_cut = x.owner && y.owner && x.axis == y.axis && x.part == y.part;
    return !(one_cut && one_part && a->tiles == b->tiles);
}

static const Buffer *find_clash(const Kernel *a, const Kernel *b) {
    for (int i = 0; i < a->reads.n + a->writes.n; i++) {
        bool x_writes = i >= a->reads.n;
        Access x = x_writes ? a->writes.at[i - a->reads.n] : a->reads.at[i];
        for (int j = 0; j < b->reads.n + b->writes.n; j++) {
            bool y_writes = j >= b->reads.n;
            Access y = y_writes ? b->writes.at[j - b->reads.n] : b->reads.at[j];
            if (clash(a, x, x_writes, b, y, y_writes))
                return y.buffer;
        }
    }
    return NULL;
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

/* A home is written past a check only behind a decision, and all threads decide alike: on neither
 * side of a decision does the fault word change without a barrier between. */
static bool check_decisions(Check *c) {
    const Lowered *l = c->l;
    const Kernel *open = NULL;            /* a check that nobody has looked at */
    bool checked = false, decided = false; /* since the last barrier */
    bool threads = false;
    for (int i = 0; i < l->kernels.n; i++) {
        const Kernel *k = l->kernels.at[i];
        if (i == 0 || l->kernels.at[i - 1]->region != k->region) {
            open = NULL;
            checked = decided = false;
            threads = is_parallel(l, k->region);
        } else if (l->barrier_after[i - 1]) {
            checked = decided = false;
        }
        if (l->decide_before[i]) {
            if (threads && checked)
                return fail(c, "no barrier between a check and the decision before '%s'", k->name);
            open = NULL;
            decided = !k->check; /* else all wait once more */
        }
        if (open && changes_home(k))
            return fail(c, "kernel '%s' writes a home and nobody looks at the check in kernel '%s'",
                        k->name, open->name);
        if (k->check && threads && decided)
            return fail(c, "kernel '%s' sets the fault word beside a decision", k->name);
        checked |= k->check;
        open = k->check ? k : open;
    }
    return true;
}

/* Each kernel against those before it, back to the last barrier. */
static bool check_order(Check *c) {
    const Lowered *l = c->l;
    for (int b = 0; b < l->kernels.n; b++)
        for (int a = b - 1; a >= 0; a--) {
            const Kernel *first = l->kernels.at[a], *second = l->kernels.at[b];
            if (first->region != second->region || l->barrier_after[a])
                break;
            if (first->tiles == 1 && second->tiles == 1)
                continue;
            const Buffer *at = find_clash(first, second);
            if (at)
                return fail(c, "kernels '%s' and '%s' meet at '%s' without a barrier", first->name,
                            second->name, at->name);
        }
    return true;
}

const char *plan_check(const Lowered *l) {
    Check c = {.l = l, .arena = l->program->arena};
    find_ranges(&c);
    if (check_places(&c) && check_written_first(&c) && check_lives(&c) && check_decisions(&c) &&
        check_order(&c))
        return NULL;
    return c.wrong;
}
