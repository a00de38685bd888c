/* schedule.c: groups become kernels, in their order. */
#include "target.h"
#include <string.h>

/* ---- helpers of the schedule_*.c files ---- */

static bool is_tiled(const Sched *s) {
    return s->kernel->tiles > 1;
}

int sched_open_flat(Sched *s, LoopKind kind, const char *name, const Shape *shape, const Ix **sub) {
    int64_t all = shape_elements(shape);
    int opened = 1, first = 0;
    while (first + 1 < shape->rank && shape->dim[first].n == 1 && !shape->dim[first].count)
        first++;
    Dim extent = {all, shape->rank ? shape->dim[first].count : NULL};
    const Ix *at = ix_var(s->arena, nest_loop(s->nest, kind, name, extent));
    ix_unflat(s->arena, shape, at, sub);
    for (int d = first + 1; d < shape->rank; d++)
        if (shape->dim[d].count) {
            sub[d] = ix_var(s->arena, nest_at(s->nest, "j", sub[d], shape->dim[d]));
            opened++;
        }
    return opened;
}

int sched_open_loops(Sched *s, const Shape *shape, bool tiles, const Ix **sub) {
    if (s->target->threads)
        return sched_open_flat(s, LOOP_LANE, "i", shape, sub);
    static const char *const name[MAX_RANK] = {"i", "j", "k", "l", "m", "p", "q", "r"};
    int opened = 0, last = shape->rank - 1;
    while (last > 0 && shape->dim[last].n == 1 && !shape->dim[last].count)
        last--;
    for (int d = 0; d < shape->rank; d++) {
        Dim extent = shape->dim[d];
        if (extent.n == 1 && !extent.count) {
            sub[d] = ix_const(s->arena, 0);
            continue;
        }
        LoopKind kind = d == last ? LOOP_LANE : opened == 0 && tiles ? LOOP_TILE : LOOP_SEQ;
        if (extent.count)
            sched_count(s, extent.count);
        sub[d] = ix_var(s->arena, nest_loop(s->nest, kind, name[d], extent));
        opened++;
    }
    return opened;
}

/* ---- kernels ---- */

static bool stores_zeros(const Group *g) {
    for (int i = 0; i < g->stores.n; i++) {
        const Node *n = g->stores.at[i].node;
        while (graph_keeps_numbers(n))
            n = n->in[0];
        if (n->op != OP_constant || n->attr.constant.data || n->attr.constant.value != 0)
            return false;
    }
    return true;
}

/* Before anything has run: parameters and states get their first values. */
static bool initialises(const Region *r, const Home *h) {
    return !r->task && (h->kind == HOME_PARAM || h->kind == HOME_STATE);
}

/* What the kernel makes most of all: a value with a name of the program, or at least no home. */
static const Buffer *main_store(const Group *g) {
    const Buffer *b = g->stores.at[0].buffer, *named = NULL;
    for (int i = g->stores.n - 1; i >= 0; i--) {
        const Buffer *other = g->stores.at[i].buffer;
        bool mask = other->dtype == DT_BOOL && named;
        if (!other->home && !mask && (other->node->name || !named))
            named = other;
        if (other->home && other->home->kind == HOME_PARAM) /* rather than its moments */
            b = other;
    }
    return named ? named : b;
}

static void choose_name(Sched *s) {
    const Group *g = s->group;
    s->name = "check";
    s->plain = NULL;
    if (g->stores.n == 0)
        return;
    const Buffer *b = main_store(g);
    const char *verb = !b->home || b->home->kind == HOME_CONST ? "make"
                       : stores_zeros(g)                       ? "zero"
                       : initialises(g->region, b->home)       ? "init"
                                                               : "update";
    s->name = arena_printf(s->arena, "%s_%s", verb, b->name);
    s->plain = b->plain ? arena_printf(s->arena, "%s_%s", verb, b->plain) : NULL;
}

static Op last_op(const Group *g) {
    for (int i = g->nodes.n - 1; i >= 0; i--)
        if (g->nodes.at[i]->op != OP_check && g->nodes.at[i]->op != OP_stop)
            return g->nodes.at[i]->op;
    return g->stores.n ? g->stores.at[0].node->op : OP_check;
}

static void new_kernel(Sched *s) {
    Kernel *k = NEW(s->arena, Kernel);
    k->name = names_unique(s->names, s->name, "_");
    k->plain = s->plain;
    k->id = s->compiler->lowered->kernels.n;
    k->same_as = k->id;
    k->region = s->group->region;
    k->tiles = 1;
    k->op = last_op(s->group);
    if (s->group->nodes.n)
        k->span = s->group->nodes.at[s->group->nodes.n - 1]->span;
    s->kernel = k;
    s->nest = k->nest = nest_new(s->arena);
    s->bindings.n = 0;
    vec_push(s->arena, &s->compiler->lowered->kernels, k);
}

static void count_bytes(Kernel *k) {
    for (int i = 0; i < k->reads.n; i++)
        k->bytes += (double)k->reads.at[i].buffer->bytes;
    for (int i = 0; i < k->writes.n; i++)
        k->bytes += (double)k->writes.at[i].buffer->bytes;
}

static bool is_stored(const Group *g, const Node *n) {
    for (int i = 0; i < g->stores.n; i++)
        if (g->stores.at[i].node == n)
            return true;
    return false;
}

/* " with z, total": what the program calls values on the way, each name once; else " = dot, add".
 */
static void note_way(const Sched *s, Text *t) {
    enum { MOST = 6 };
    const Group *g = s->group;
    Names *told = names_new(s->arena);
    int named = 0, ops = 0;
    for (int i = 0; i < g->nodes.n && named < MOST; i++) {
        const Node *n = g->nodes.at[i];
        if (!n->name || n->op == OP_read || is_stored(g, n) || names_has(told, n->name))
            continue;
        names_reserve(told, n->name);
        text_printf(t, "%s%s", named++ ? ", " : " with ", n->name);
    }
    for (int i = 0; i < g->nodes.n && !named && ops < MOST; i++) {
        const char *op = op_info[g->nodes.at[i]->op].name;
        bool said = g->nodes.at[i]->op == OP_check && !g->stores.n;
        if (names_has(told, op) || g->nodes.at[i]->op == OP_stop || said)
            continue;
        names_reserve(told, op);
        text_printf(t, "%s%s", ops++ ? ", " : g->stores.n ? " = " : " of ", op);
    }
}

/* "digits.nn:31: losses [32] with z, total": what is stored, with shapes, by way of what. */
static const char *kernel_note(const Sched *s) {
    Text t = {.arena = s->arena};
    const char *place = diag_place(s->compiler->diag, s->arena, s->kernel->span);
    if (place)
        text_printf(&t, s->group->stores.n ? "%s: " : "%s: check", place);
    for (int i = 0; i < s->group->stores.n; i++) {
        const Buffer *b = s->group->stores.at[i].buffer;
        text_printf(&t, "%s%s %s", i ? ", " : "", b->name, shape_text(s->arena, &b->shape));
    }
    note_way(s, &t);
    return t.at ? t.at : "";
}

/* Loops that run to a count need it as an argument. */
static void add_loop_counts(Sched *s, const Block *b) {
    for (int i = 0; i < b->stmts.n; i++) {
        const Stmt *st = b->stmts.at[i];
        if (st->kind == ST_LOOP && st->var->extent.count)
            sched_count(s, st->var->extent.count);
        if (st->kind == ST_LOOP && st->var->total.count)
            sched_count(s, st->var->total.count);
        add_loop_counts(s, &st->body);
    }
}

static void finish_kernel(Sched *s) {
    while (s->nest->depth > 0)
        bug("kernel %s leaves a block open", s->kernel->name);
    add_loop_counts(s, &s->nest->body);
    sched_find_owners(s);
    if (!s->kernel->note) {
        s->kernel->note = kernel_note(s);
        s->kernel->line = diag_line(s->compiler->diag, s->arena, s->kernel->span, 84);
    }
    if (s->kernel->bytes == 0)
        count_bytes(s->kernel);
}

void sched_next_kernel(Sched *s, const char *suffix) {
    const Kernel *k = s->kernel;
    s->name = arena_printf(s->arena, "%s_%s", k->name, suffix);
    s->plain = k->plain ? arena_printf(s->arena, "%s_%s", k->plain, suffix) : NULL;
    finish_kernel(s);
    new_kernel(s);
}

static void schedule_group(Sched *s) {
    choose_name(s);
    new_kernel(s);
    s->target->schedule[s->group->kind](s);
    finish_kernel(s);
    if (is_tiled(s) && s->kernel->tiles < 1)
        bug("kernel %s has no tiles", s->kernel->name);
}

/* ---- order ---- */

static bool commute(const Kernel *a, const Kernel *b) {
    return a->region == b->region && !kernel_writes_touched(a, b) && !kernel_writes_touched(b, a);
}

/* Small, and nothing but memory of its region depends on when it runs. */
static bool may_run_early(const Kernel *k) {
    const double small = 1 << 17;
    return k->tiles == 1 && !k->check && k->bytes <= small && !kernel_writes_home(k);
}

/* What thread 0 does alone comes as early as it can, behind other such work or at the start of the
 * region: the others then need not wait for it in the middle. */
static void run_small_kernels_early(Compiler *c) {
    Lowered *l = c->lowered;
    for (int i = 0; i < l->kernels.n; i++) {
        Kernel *k = l->kernels.at[i];
        int to = i;
        for (int at = i - 1; may_run_early(k) && at >= 0 && commute(l->kernels.at[at], k); at--)
            if (at == 0 || l->kernels.at[at - 1]->region != k->region ||
                l->kernels.at[at - 1]->tiles == 1)
                to = at;
        for (int at = i; at > to; at--)
            l->kernels.at[at] = l->kernels.at[at - 1];
        l->kernels.at[to] = k;
    }
    for (int i = 0; i < l->kernels.n; i++)
        l->kernels.at[i]->id = l->kernels.at[i]->same_as = i;
}

/* Kernels that follow each other without the host obey the fault word by themselves. */
static void mark_obeying(Lowered *l) {
    bool check = false;
    for (int i = 0; i < l->kernels.n; i++)
        check |= l->kernels.at[i]->check;
    for (int i = 0; i < l->kernels.n && check; i++)
        l->kernels.at[i]->obeys = kernel_writes_home(l->kernels.at[i]);
}

const Target target_c = {
    .name = "c",
    .panels = true,
    .finish = run_small_kernels_early,
    .schedule = {schedule_map, schedule_row, schedule_column, schedule_dot, schedule_other},
};

void schedule(Compiler *c) {
    const Target *target = c->target ? c->target : &target_c;
    Names *names = names_new(c->arena);
    for (int i = 0; i < c->fusion->groups.n; i++) {
        Sched s = {.compiler = c, .target = target, .fusion = c->fusion, .names = names};
        s.arena = c->arena;
        s.group = c->fusion->groups.at[i];
        schedule_group(&s);
    }
    if (target->finish)
        target->finish(c);
    if (target->threads)
        mark_obeying(c->lowered);
    schedule_share(c);
}
