/* plan.c: where buffers lie in the arena, and where the threads wait for each other.
 *
 * Homes and values that cross regions have bytes of their own. All other buffers belong to one
 * region; regions never run at the same time, so their buffers share one space behind the
 * persistent ones. Within a region:
 *
 *   1. barriers, from the flow of data alone: kernel b waits when an earlier kernel a touches a
 *      buffer of b, one of the two writes, and neither tile ownership nor thread 0 orders them.
 *      Greedy from the left: the barrier goes directly before b, which covers the most later pairs,
 *      so the number is minimal.
 *      A kernel that checks may be followed by others, but before the next one that writes a home
 *      every thread looks at the fault word, behind a barrier. All see the same: fuse has put what
 *      checks before what writes homes.
 *   2. runs of equal calls (plan_runs.c): the buffers that the copies of a call touch are families
 *      in equal steps. A family is one range of bytes; where copy i and copy i + m may share, it is
 *      m buffers long and its copies take turns.
 *   3. offsets, greedy by size with best fit. Two buffers may share bytes only where the barriers
 *      of step 1 already order their accesses: saving memory never costs a barrier.
 *
 * plan_check proves the result with none of this code.
 */
#include "plan.h"
#include <stdlib.h>

enum { ALIGNMENT = 64 };

/* One access: kernel number in Lowered.kernels, what it does. */
typedef struct Use {
    int kernel;
    bool owner, write;
    int axis;
    int64_t part;
} Use;

typedef VEC(Use) UseList;

/* The bytes of a buffer and what uses them. */
typedef struct Slot {
    Buffer *buffer;
    int64_t bytes;
    UseList uses; /* ascending by kernel */
} Slot;

typedef struct Planner {
    Lowered *l;
    Arena *arena;
    VEC(Slot) slot; /* by buffer id */
    bool *persist;  /* by buffer id: it lasts longer than its region */
    VEC(struct Piece) pieces;
    int *phase; /* by kernel: barriers before it */
} Planner;

static bool is_serial(const Lowered *l, int kernel) {
    return l->kernels.at[kernel]->tiles == 1;
}

static int64_t align_up(int64_t n) {
    return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* ---- barriers ---- */

/* What the kernels since the last barrier do. */
typedef struct Since {
    UseList *reads, *writes; /* by buffer id */
    VEC(const Buffer *) touched;
    bool checked;
} Since;

static void since_begin(Since *s) {
    for (int i = 0; i < s->touched.n; i++)
        s->reads[s->touched.at[i]->id].n = s->writes[s->touched.at[i]->id].n = 0;
    s->touched.n = 0;
    s->checked = false;
}

static void since_add(Since *s, const Lowered *l, Arena *arena, int kernel) {
    const Kernel *k = l->kernels.at[kernel];
    for (int i = 0; i < k->reads.n + k->writes.n; i++) {
        bool write = i >= k->reads.n;
        Access a = write ? k->writes.at[i - k->reads.n] : k->reads.at[i];
        Use u = {.kernel = kernel, .owner = a.owner, .axis = a.axis, .part = a.part};
        vec_push(arena, &s->touched, a.buffer);
        if (write)
            vec_push(arena, &s->writes[a.buffer->id], u);
        else
            vec_push(arena, &s->reads[a.buffer->id], u);
    }
    s->checked |= k->check;
}

/* Needs the order of use u and access a of kernel b a barrier? One of the two writes. */
static bool conflicts(const Lowered *l, Use u, const Kernel *b, Access a) {
    const Kernel *k = l->kernels.at[u.kernel];
    if (k->tiles == 1 && b->tiles == 1)
        return false;
    return !(u.owner && a.owner && u.axis == a.axis && u.part == a.part && k->tiles == b->tiles);
}

/* Kernel b waits for the data of those since the last barrier, and for their checks when it
 * decides. */
static bool needs_barrier(const Lowered *l, const Since *s, int b) {
    const Kernel *next = l->kernels.at[b];
    if (l->decide_before[b] && s->checked)
        return true;
    for (int i = 0; i < next->reads.n + next->writes.n; i++) {
        bool write = i >= next->reads.n;
        Access a = write ? next->writes.at[i - next->reads.n] : next->reads.at[i];
        for (int j = 0; j < s->writes[a.buffer->id].n; j++)
            if (conflicts(l, s->writes[a.buffer->id].at[j], next, a))
                return true;
        for (int j = 0; write && j < s->reads[a.buffer->id].n; j++)
            if (conflicts(l, s->reads[a.buffer->id].at[j], next, a))
                return true;
    }
    return false;
}

/* By kernel: some kernel of its region runs on more than one thread. */
static const bool *parallel_kernels(const Lowered *l, Arena *arena) {
    bool *parallel = NEW_ARRAY(arena, bool, l->kernels.n + 1);
    for (int i = 0, end; i < l->kernels.n; i = end) {
        bool any = false;
        for (end = i; end < l->kernels.n; end++) {
            if (l->kernels.at[end]->region != l->kernels.at[i]->region)
                break;
            any |= !is_serial(l, end);
        }
        for (int k = i; k < end; k++)
            parallel[k] = any;
    }
    return parallel;
}

static void place_barriers(Lowered *l, Arena *arena) {
    int n = l->kernels.n;
    const bool *parallel = parallel_kernels(l, arena);
    l->barrier_after = NEW_ARRAY(arena, bool, n + 1);
    l->decide_before = NEW_ARRAY(arena, bool, n + 1);
    Since since = {.reads = NEW_ARRAY(arena, UseList, l->buffers.n + 1),
                   .writes = NEW_ARRAY(arena, UseList, l->buffers.n + 1)};
    bool open = false; /* a check whose result nobody has looked at */
    for (int b = 0; b < n; b++) {
        const Kernel *k = l->kernels.at[b];
        bool first = b == 0 || l->kernels.at[b - 1]->region != k->region;
        l->decide_before[b] = !first && open && kernel_writes_home(k);
        open = k->check || (!first && open && !l->decide_before[b]);
        bool wait = !first && parallel[b] && needs_barrier(l, &since, b);
        if (wait)
            l->barrier_after[b - 1] = true;
        if (first || wait)
            since_begin(&since);
        since_add(&since, l, arena, b);
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
    Use u = {kernel, a.owner, write, a.axis, a.part};
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

/* ---- offsets ---- */

static const Slot *slot_of(const Planner *p, const Buffer *b) {
    return &p->slot.at[b->id];
}

/* Kernels between which something is touched, and those among them that run on several threads;
 * -1: none. */
typedef struct Life {
    int first, last, first_wide, last_wide;
} Life;

/* One buffer, or a family whose copies take turns. */
typedef struct Piece {
    int id; /* least of its buffers */
    Buffer *const *copies;
    int n, rotate;
    int64_t bytes, offset;
    const Region *region;
    Life life;
} Piece;

static int least(int a, int b) {
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static Life life_join(Life a, Life b) {
    return (Life){least(a.first, b.first), MAX(a.last, b.last),
                  least(a.first_wide, b.first_wide), MAX(a.last_wide, b.last_wide)};
}

static Life life_of(const Planner *p, const Slot *s) {
    Life life = {-1, -1, -1, -1};
    for (int i = 0; i < s->uses.n; i++) {
        int k = s->uses.at[i].kernel, wide = is_serial(p->l, k) ? -1 : k;
        life = life_join(life, (Life){k, k, wide, wide});
    }
    return life;
}

/* All that touches a is over before what touches b begins, on every thread. */
static bool life_before(const Planner *p, Life a, Life b) {
    if (a.first < 0 || b.first < 0)
        return true;
    return a.last < b.first &&
           (a.last_wide < 0 || p->phase[a.last_wide] < p->phase[b.first]) &&
           (b.first_wide < 0 || p->phase[a.last] < p->phase[b.first_wide]);
}

static bool lives_apart(const Planner *p, Life a, Life b) {
    return life_before(p, a, b) || life_before(p, b, a);
}

/* Copies i, i + m, i + 2 m … of a family may share one slot. */
static bool may_rotate(const Planner *p, const Family *f, int m) {
    for (int i = 0; i < m; i++) {
        Life life = life_of(p, slot_of(p, f->copies.at[i]));
        for (int k = i + m; k < f->copies.n; k += m) {
            Life next = life_of(p, slot_of(p, f->copies.at[k]));
            if (!lives_apart(p, life, next))
                return false;
            life = life_join(life, next);
        }
    }
    return true;
}

/* How many copies of a family have bytes of their own. */
static int rotates(const Planner *p, const Family *f) {
    enum { MOST = 4 };
    bool persistent = p->persist[f->copies.at[0]->id];
    for (int m = 1; m <= MOST && m < f->copies.n && !persistent; m++)
        if (may_rotate(p, f, m))
            return m;
    return f->copies.n;
}

static Piece new_piece(const Planner *p, Buffer *const *copies, int n, int rotate) {
    const Slot *first = slot_of(p, copies[0]);
    Piece piece = {.id = copies[0]->id, .copies = copies, .n = n, .rotate = rotate};
    piece.region = first->buffer->region;
    piece.bytes = first->bytes * rotate;
    piece.life = life_of(p, first);
    for (int i = 1; i < n; i++) {
        piece.id = MIN(piece.id, copies[i]->id);
        piece.life = life_join(piece.life, life_of(p, slot_of(p, copies[i])));
    }
    return piece;
}

static void set_offset(const Planner *p, Piece *piece, int64_t offset) {
    piece->offset = offset;
    for (int i = 0; i < piece->n; i++)
        piece->copies[i]->offset =
            offset + i % piece->rotate * slot_of(p, piece->copies[i])->bytes;
}

static int by_size(const void *a, const void *b) {
    const Piece *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->id - y->id;
}

/* The smallest gap that takes the piece between those that it may not share with, else their end.
 * `placed` is sorted by offset. */
static int64_t best_fit(const Planner *p, const Piece *piece, Piece *const *placed, int n,
                        int64_t start) {
    int64_t best = -1, best_gap = INT64_MAX, end = start;
    for (int i = 0; i < n; i++) {
        if (placed[i]->region != piece->region || lives_apart(p, placed[i]->life, piece->life))
            continue;
        int64_t gap = placed[i]->offset - end;
        if (gap >= piece->bytes && gap < best_gap) {
            best = end;
            best_gap = gap;
        }
        end = MAX(end, placed[i]->offset + placed[i]->bytes);
    }
    return best >= 0 ? best : end;
}

/* Those of one region after the other: they may lie on those of another. */
static int64_t place_pieces(Planner *p, int64_t start) {
    Piece **placed = NEW_ARRAY(p->arena, Piece *, p->pieces.n + 1);
    int64_t end = start;
    int n = 0;
    if (p->pieces.n)
        qsort(p->pieces.at, (size_t)p->pieces.n, sizeof *p->pieces.at, by_size);
    for (int i = 0; i < p->pieces.n; i++) {
        Piece *piece = &p->pieces.at[i];
        if (p->persist[piece->id])
            continue;
        set_offset(p, piece, best_fit(p, piece, placed, n, start));
        end = MAX(end, piece->offset + piece->bytes);
        int at = n++;
        for (; at > 0 && placed[at - 1]->offset > piece->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = piece;
    }
    return end;
}

/* In the order of the buffers. */
static int64_t place_persistent(Planner *p) {
    int64_t end = 0;
    for (int i = 0; i < p->pieces.n; i++) {
        if (!p->persist[p->pieces.at[i].id])
            continue;
        set_offset(p, &p->pieces.at[i], end);
        end += p->pieces.at[i].bytes;
    }
    return end;
}

/* Families in place of their first buffer. Notes by buffer how many of its family have bytes of
 * their own. */
static void make_pieces(Planner *p, int *rotate_of) {
    bool *done = NEW_ARRAY(p->arena, bool, p->slot.n + 1);
    for (int i = 0; i < p->slot.n; i++) {
        if (done[i] || p->slot.at[i].bytes == 0)
            continue;
        const Family *family = p->slot.at[i].buffer->family;
        int n = family ? family->copies.n : 1, rotate = family ? rotates(p, family) : 1;
        Buffer *const *copies = family ? family->copies.at : &p->l->buffers.at[i];
        for (int k = 0; k < n; k++) {
            done[copies[k]->id] = true;
            rotate_of[copies[k]->id] = rotate;
        }
        vec_push(p->arena, &p->pieces, new_piece(p, copies, n, rotate));
    }
}

static void count_phases(Planner *p) {
    int phase = 0;
    for (int i = 0; i < p->l->kernels.n; i++) {
        p->phase[i] = phase;
        phase += p->l->barrier_after[i];
    }
}

static void make_slots(Planner *p) {
    const Lowered *l = p->l;
    p->persist = NEW_ARRAY(p->arena, bool, l->buffers.n + 1);
    for (int i = 0; i < l->buffers.n; i++) {
        Buffer *b = l->buffers.at[i];
        if (b->id != i)
            bug("plan: buffer '%s' is number %d in the list and calls itself %d", b->name, i,
                b->id);
        p->persist[i] = is_persistent(b);
        vec_push(p->arena, &p->slot,
                 (Slot){.buffer = b, .bytes = align_up(b->bytes)});
    }
    collect_uses(p);
}

static void place(Planner *p) {
    Lowered *l = p->l;
    int *rotate_of = NEW_ARRAY(p->arena, int, l->buffers.n + 1);
    Runs runs = {.l = l, .arena = p->arena, .persist = p->persist};
    plan_find_runs(&runs);
    make_pieces(p, rotate_of);
    l->kept_bytes = place_persistent(p);
    l->arena_bytes = place_pieces(p, l->kept_bytes);
    plan_settle_families(&runs, rotate_of);
}

void plan_preview_runs(Lowered *l, Arena *arena) {
    bool *persist = NEW_ARRAY(arena, bool, l->buffers.n + 1);
    for (int i = 0; i < l->buffers.n; i++)
        persist[i] = is_persistent(l->buffers.at[i]);
    place_barriers(l, arena);
    Runs runs = {.l = l, .arena = arena, .persist = persist};
    plan_find_runs(&runs);
    for (int i = 0; i < l->buffers.n; i++) {
        l->buffers.at[i]->family = NULL;
        l->buffers.at[i]->copy = 0;
    }
    l->families.n = 0;
}

void plan(Compiler *c) {
    Lowered *l = c->lowered;
    Planner p = {.l = l, .arena = c->arena};
    place_barriers(l, c->arena);
    p.phase = NEW_ARRAY(c->arena, int, l->kernels.n + 1);
    count_phases(&p);
    make_slots(&p);
    place(&p);
    plan_mutate(l);
}
