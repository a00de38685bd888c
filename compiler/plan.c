/* plan.c: where buffers lie in the arena, and where the threads wait for each other.
 *
 * Homes and values that cross regions have bytes of their own. All other buffers belong to one
 * region; regions never run at the same time, so their buffers share one space behind the
 * persistent ones. Within a region:
 *
 *   1. barriers, from the flow of data alone: kernel b waits when an earlier kernel a touches a
 * buffer of b, one of the two writes, and neither tile ownership nor thread 0 orders them. Greedy
 * from the left: the barrier goes directly before b, which covers the most later pairs, so the
 * number is minimal.
 *      A kernel that checks may be followed by others, but before the next one that writes a home
 * every thread looks at the fault word: behind a barrier, and none that checks may come before the
 * next barrier, so that all threads see the same.
 *   2. in place: a buffer that a kernel reads for the last time, element by element, lends its
 * bytes to the buffer that kernel writes.
 *   3. offsets, greedy by size with best fit. Two buffers may share bytes only where the barriers
 * of step 1 already order their accesses: saving memory never costs a barrier.
 *
 * plan_check proves the result with none of this code.
 */
#include "pass.h"
#include <stdlib.h>

enum { ALIGNMENT = 64 };

/* One access: kernel number in Lowered.kernels, what it does. */
typedef struct Use {
    int kernel;
    bool owner, write, element;
    int axis;
    int64_t part;
} Use;

/* A range of bytes and the uses of all buffers that lie there. */
typedef struct Slot {
    Buffer *buffer; /* the first of them; the others follow by Planner.shares */
    int64_t bytes, offset;
    VEC(Use) uses; /* ascending by kernel */
    bool placed;
} Slot;

typedef struct Planner {
    Lowered *l;
    Arena *arena;
    VEC(Slot) slot; /* by buffer id; bytes == 0: none (persistent, or in place of another) */
    int *shares;    /* by buffer id: the buffer whose slot it lies in, or its own id */
    int *phase;     /* by kernel: barriers before it */
} Planner;

static bool is_serial(const Lowered *l, int kernel) {
    return l->kernels.at[kernel]->tiles == 1;
}

static int64_t align_up(int64_t n) {
    return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* ---- barriers ---- */

/* Two accesses of one buffer in kernels a before b: does their order need a barrier? */
static bool access_conflicts(const Kernel *a, Access x, bool x_writes, const Kernel *b, Access y,
                             bool y_writes) {
    if (x.buffer != y.buffer || (!x_writes && !y_writes))
        return false;
    return !(x.owner && y.owner && x.axis == y.axis && x.part == y.part && a->tiles == b->tiles);
}

static bool kernels_conflict(const Kernel *a, const Kernel *b) {
    if (a->tiles == 1 && b->tiles == 1)
        return false;
    for (int i = 0; i < a->writes.n; i++) {
        for (int j = 0; j < b->reads.n; j++)
            if (access_conflicts(a, a->writes.at[i], true, b, b->reads.at[j], false))
                return true;
        for (int j = 0; j < b->writes.n; j++)
            if (access_conflicts(a, a->writes.at[i], true, b, b->writes.at[j], true))
                return true;
    }
    for (int i = 0; i < a->reads.n; i++)
        for (int j = 0; j < b->writes.n; j++)
            if (access_conflicts(a, a->reads.at[i], false, b, b->writes.at[j], true))
                return true;
    return false;
}

static bool writes_home(const Kernel *k) {
    for (int i = 0; i < k->writes.n; i++)
        if (k->writes.at[i].buffer->home)
            return true;
    return false;
}

/* Kernel b waits for the data of those since the last barrier, for their checks when it decides,
 * and, when it checks itself, for the decisions. */
static bool needs_barrier(const Lowered *l, int since, int b) {
    const Kernel *next = l->kernels.at[b];
    for (int a = since; a < b; a++) {
        const Kernel *k = l->kernels.at[a];
        if ((l->decide_before[b] && k->check) || (next->check && l->decide_before[a]) ||
            kernels_conflict(k, next))
            return true;
    }
    return false;
}

static bool all_serial(const Lowered *l, const Region *r) {
    for (int i = 0; i < l->kernels.n; i++)
        if (l->kernels.at[i]->region == r && !is_serial(l, i))
            return false;
    return true;
}

static void place_barriers(Lowered *l, Arena *arena) {
    int n = l->kernels.n;
    l->barrier_after = NEW_ARRAY(arena, bool, n + 1);
    l->decide_before = NEW_ARRAY(arena, bool, n + 1);
    int since = 0;
    bool open = false; /* a check whose result nobody has looked at */
    for (int b = 0; b < n; b++) {
        Region *r = l->kernels.at[b]->region;
        if (b == 0 || l->kernels.at[b - 1]->region != r) {
            since = b;
            open = l->kernels.at[b]->check;
            continue;
        }
        l->decide_before[b] = open && writes_home(l->kernels.at[b]);
        open = (open && !l->decide_before[b]) || l->kernels.at[b]->check;
        if (!all_serial(l, r) && needs_barrier(l, since, b)) {
            l->barrier_after[b - 1] = true;
            since = b;
        }
    }
}

/* ---- slots ---- */

static bool is_output(const Region *r, const Node *n) {
    for (int i = 0; n && i < r->outputs.n; i++)
        if (r->outputs.at[i] == n)
            return true;
    return false;
}

static bool is_persistent(const Buffer *b) {
    return b->home || !b->region || is_output(b->region, b->node);
}

static void note_use(Planner *p, int kernel, Access a, bool write) {
    Use u = {kernel, a.owner, write, a.element && !write, a.axis, a.part};
    vec_push(p->arena, &p->slot.at[a.buffer->id].uses, u);
}

static void collect_uses(Planner *p) {
    Lowered *l = p->l;
    for (int i = 0; i < l->kernels.n; i++) {
        const Kernel *k = l->kernels.at[i];
        for (int j = 0; j < k->reads.n; j++)
            note_use(p, i, k->reads.at[j], false);
        for (int j = 0; j < k->writes.n; j++)
            note_use(p, i, k->writes.at[j], true);
    }
}

/* Uses u before v of different buffers in the same bytes: does something keep them apart? */
static bool uses_ordered(const Planner *p, Use u, Use v) {
    if (u.kernel >= v.kernel)
        return false;
    if (is_serial(p->l, u.kernel) && is_serial(p->l, v.kernel))
        return true;
    return p->phase[u.kernel] < p->phase[v.kernel];
}

static bool uses_all_ordered(const Planner *p, const Slot *first, const Slot *second) {
    for (int i = 0; i < first->uses.n; i++)
        for (int j = 0; j < second->uses.n; j++)
            if (!uses_ordered(p, first->uses.at[i], second->uses.at[j]))
                return false;
    return true;
}

static bool slots_may_share(const Planner *p, const Slot *a, const Slot *b) {
    if (a->buffer->region != b->buffer->region)
        return true;
    return uses_all_ordered(p, a, b) || uses_all_ordered(p, b, a);
}

/* ---- in place ---- */

static bool same_form(const Buffer *a, const Buffer *b) {
    return a->bytes == b->bytes && a->dtype == b->dtype && a->layout == b->layout &&
           shape_equal(&a->shape, &b->shape);
}

/* Every use of x lies before kernel k (or is its element read), and each is ordered before every
 * use of y: by ownership of equal tiles, by thread 0 or by a barrier. */
static bool can_lend(const Planner *p, const Slot *x, const Slot *y, int k) {
    for (int i = 0; i < x->uses.n; i++) {
        Use u = x->uses.at[i];
        if (u.kernel > k || (u.kernel == k && (u.write || !u.owner || !u.element)))
            return false;
        for (int j = 0; j < y->uses.n; j++) {
            Use v = y->uses.at[j];
            bool owners = u.owner && v.owner && u.axis == v.axis && u.part == v.part &&
                          p->l->kernels.at[u.kernel]->tiles == p->l->kernels.at[v.kernel]->tiles;
            if (v.kernel < k || (!owners && !uses_ordered(p, u, v)))
                return false;
        }
    }
    return true;
}

static void lend(Planner *p, Slot *x, Slot *y) {
    p->shares[y->buffer->id] = x->buffer->id;
    for (int i = 0; i < y->uses.n; i++)
        vec_push(p->arena, &x->uses, y->uses.at[i]);
    y->bytes = 0;
}

static Slot *slot_of(Planner *p, const Buffer *b) {
    int id = b->id;
    while (p->shares[id] != id)
        id = p->shares[id];
    return &p->slot.at[id];
}

static void reuse_in_place(Planner *p) {
    for (int k = 0; k < p->l->kernels.n; k++) {
        const Kernel *kernel = p->l->kernels.at[k];
        for (int w = 0; w < kernel->writes.n; w++) {
            Slot *y = slot_of(p, kernel->writes.at[w].buffer);
            if (!y->bytes || !kernel->writes.at[w].owner || y->uses.at[0].kernel != k)
                continue;
            for (int r = 0; r < kernel->reads.n; r++) {
                Buffer *from = kernel->reads.at[r].buffer;
                Slot *x = slot_of(p, from);
                if (x != y && x->bytes && kernel->reads.at[r].element &&
                    same_form(from, y->buffer) && can_lend(p, x, y, k)) {
                    lend(p, x, y);
                    break;
                }
            }
        }
    }
}

/* ---- offsets ---- */

static int by_size(const void *a, const void *b) {
    const Slot *x = *(Slot *const *)a, *y = *(Slot *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->buffer->id - y->buffer->id;
}

static int by_offset(const void *a, const void *b) {
    const Slot *x = *(Slot *const *)a, *y = *(Slot *const *)b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->buffer->id - y->buffer->id;
}

/* The smallest gap between the slots in the way (sorted by offset) that takes `bytes`, else the
 * end. */
static int64_t best_fit(Slot *const *taken, int n, int64_t start, int64_t bytes) {
    int64_t best = -1, best_gap = INT64_MAX, end = start;
    for (int i = 0; i < n; i++) {
        int64_t gap = taken[i]->offset - end;
        if (gap >= bytes && gap < best_gap) {
            best = end;
            best_gap = gap;
        }
        end = MAX(end, taken[i]->offset + taken[i]->bytes);
    }
    return best >= 0 ? best : end;
}

static int64_t place_slots(Planner *p, int64_t start) {
    VEC(Slot *) order = {0};
    for (int i = 0; i < p->slot.n; i++)
        if (p->slot.at[i].bytes)
            vec_push(p->arena, &order, &p->slot.at[i]);
    if (order.n)
        qsort(order.at, (size_t)order.n, sizeof *order.at, by_size);
    Slot **taken = NEW_ARRAY(p->arena, Slot *, order.n + 1);
    int64_t end = start;
    for (int i = 0; i < order.n; i++) {
        int n = 0;
        for (int j = 0; j < i; j++)
            if (!slots_may_share(p, order.at[i], order.at[j]))
                taken[n++] = order.at[j];
        if (n)
            qsort(taken, (size_t)n, sizeof *taken, by_offset);
        order.at[i]->offset = best_fit(taken, n, start, order.at[i]->bytes);
        end = MAX(end, order.at[i]->offset + order.at[i]->bytes);
    }
    return end;
}

static int64_t place_persistent(Lowered *l) {
    int64_t end = 0;
    for (int i = 0; i < l->buffers.n; i++) {
        Buffer *b = l->buffers.at[i];
        if (!is_persistent(b))
            continue;
        b->offset = end;
        end += align_up(b->bytes);
    }
    return end;
}

static void count_phases(Planner *p) {
    int phase = 0;
    for (int i = 0; i < p->l->kernels.n; i++) {
        p->phase[i] = phase;
        phase += p->l->barrier_after[i];
    }
}

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

/* Nobody waits for the heaviest kernel (a deliberate fault). */
static void drop_barrier(Lowered *l) {
    int i = heaviest(l);
    while (i < l->kernels.n && !l->barrier_after[i])
        i++;
    if (i < l->kernels.n)
        l->barrier_after[i] = false;
}

/* What the heaviest kernel writes lies on what it reads (a deliberate fault). */
static void share_offset(Lowered *l) {
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

void plan(Compiler *c) {
    Lowered *l = c->lowered;
    Planner p = {.l = l, .arena = c->arena};
    place_barriers(l, c->arena);
    p.phase = NEW_ARRAY(c->arena, int, l->kernels.n + 1);
    count_phases(&p);
    p.shares = NEW_ARRAY(c->arena, int, l->buffers.n + 1);
    for (int i = 0; i < l->buffers.n; i++) {
        Buffer *b = l->buffers.at[i];
        if (b->id != i)
            bug("plan: buffer '%s' is number %d in the list and calls itself %d", b->name, i,
                b->id);
        p.shares[i] = i;
        vec_push(c->arena, &p.slot,
                 (Slot){.buffer = b, .bytes = is_persistent(b) ? 0 : align_up(b->bytes)});
    }
    collect_uses(&p);
    reuse_in_place(&p);
    l->arena_bytes = place_slots(&p, place_persistent(l));
    for (int i = 0; i < l->buffers.n; i++)
        if (!is_persistent(l->buffers.at[i]))
            l->buffers.at[i]->offset = slot_of(&p, l->buffers.at[i])->offset;
    if (mutated(l->program->graph, "barrier"))
        drop_barrier(l);
    if (mutated(l->program->graph, "offset"))
        share_offset(l);
}
