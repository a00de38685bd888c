/* print_loop.c: the loops of a nest as C.
 *
 * A lane loop is printed with whole vectors first and the rest as one partial vector; at most eight
 * rounds need no loop.
 */
#include "print_kernel.h"
#include <string.h>

/* ---- extents ---- */

/* A run-time extent: count * (n / bound). */
const char *print_dim(Printer *p, Dim d) {
    if (!d.count)
        return print_text(p, "%lld", (long long)d.n);
    const char *name = print_name(p, d.count);
    int64_t each = d.n / d.count->bound;
    return each == 1 ? name : print_text(p, "%lld * %s", (long long)each, name);
}

/* What a loop to total - (total - x) leaves: x; NULL: none such. */
static const char *plain_rest(Printer *p, const LoopVar *v, const Ix *base) {
    const Ix *rest = ix_offset(p->arena, ix_scale(p->arena, base, -1), v->total.n);
    int64_t lo, hi;
    ix_range(rest, &lo, &hi);
    bool plain = !v->total.count && !v->extent.count && rest->c == 0 && rest->n == 1;
    return plain && rest->term[0].k == 1 && hi <= v->extent.n ? print_ix(p, rest) : NULL;
}

const char *print_limit(Printer *p, const LoopVar *v) {
    const char *extent = print_dim(p, v->extent);
    if (!v->base)
        return extent;
    int64_t base;
    const Ix *at = print_resolve(p, v->base);
    if (ix_is_const(at, &base) && !v->total.count)
        return print_text(p, "%lld", (long long)MIN(v->extent.n, v->total.n - base));
    if (ix_is_const(at, &base) && base == 0)
        return print_text(p, "rt_less(%s, %s)", extent, print_dim(p, v->total));
    const char *rest = plain_rest(p, v, at);
    if (rest)
        return rest;
    return print_text(p, "rt_less(%s, %s - %s)", extent, print_dim(p, v->total),
                      print_term(p, at));
}

/* The extent when it is known now, else -1. */
int64_t print_known_limit(Printer *p, const LoopVar *v) {
    int64_t base;
    if (v->extent.count)
        return -1;
    if (!v->base)
        return v->extent.n;
    if (v->total.count || !ix_is_const(print_resolve(p, v->base), &base))
        return -1;
    return MIN(v->extent.n, v->total.n - base);
}

/* ---- loops of lanes ---- */

static void fix(Printer *p, const LoopVar *v, const Ix *value) {
    vec_push(p->arena, &p->fixed, (PrintFixed){v, value});
}

static bool declares_names(const Block *b) {
    for (int i = 0; i < b->stmts.n; i++) {
        StmtKind kind = b->stmts.at[i]->kind;
        if (kind == ST_LET || kind == ST_FILL || kind == ST_JOIN_LANES || kind == ST_LOOP)
            return true;
    }
    return false;
}

/* One vector that begins at `first`; all eight lanes count, or the first `lanes`. */
static void lanes_at(Printer *p, const Stmt *st, const Ix *first, const char *lanes) {
    p->lanes = lanes;
    fix(p, st->var, first);
    print_statements(p, &st->body);
    p->fixed.n--;
    p->lanes = NULL;
}

/* The same in a block of its own, at a known element. */
static void block_at(Printer *p, const Stmt *st, int64_t first, int64_t lanes) {
    int names = p->names.n;
    bool braces = declares_names(&st->body);
    if (braces)
        emit_begin(&p->e, "%s", "");
    lanes_at(p, st, ix_const(p->arena, first),
             lanes < 8 ? print_text(p, "%lld", (long long)lanes) : NULL);
    if (braces)
        emit_end(&p->e, "");
    p->names.n = names;
}

static bool fills_by_four(const Printer *p, const Block *b) {
    for (int i = 0; i < b->stmts.n; i++)
        if (b->stmts.at[i]->kind == ST_GATHER_LANES && b->stmts.at[i]->local->by_four && !p->one)
            return true;
    return false;
}

static LoopVar *new_var(Printer *p, const char *name, int64_t extent) {
    LoopVar *v = NEW(p->arena, LoopVar);
    v->name = name;
    v->extent = dim_fixed(extent);
    return v;
}

/* Opens rounds of four vectors up to element `end`; gives the first one's element. */
static const Ix *open_by_four(Printer *p, const Stmt *st, int64_t end) {
    if (end == 32)
        return ix_const(p->arena, 0);
    LoopVar *first = new_var(p, st->var->name, end - 31);
    const char *name = print_new_name(p, first, first->name);
    emit_begin(&p->e, "for (int %s = 0; %s < %lld; %s += 32)", name, name, (long long)end, name);
    return ix_var(p->arena, first);
}

/* Four vectors a round, each with an accumulator of its own; then what is left one by one. */
static void lanes_by_four(Printer *p, const Stmt *st, int64_t n) {
    int names = p->names.n, depth = p->e.depth;
    int64_t at = n / 32 * 32;
    if (at) {
        const Ix *first = open_by_four(p, st, at);
        LoopVar *v = new_var(p, "v", 4);
        p->vector = print_new_name(p, v, v->name);
        emit_line(&p->e, "RT_UNROLL(4)");
        emit_begin(&p->e, "for (int %s = 0; %s < 4; %s++)", p->vector, p->vector, p->vector);
        lanes_at(p, st, ix_add(p->arena, first, ix_scale(p->arena, ix_var(p->arena, v), 8)), NULL);
        while (p->e.depth > depth)
            emit_end(&p->e, "");
        p->vector = NULL;
        p->names.n = names;
    }
    for (; at < n; at += 8)
        block_at(p, st, at, n - at);
}

static void lanes_of_known(Printer *p, const Stmt *st, int64_t n) {
    int64_t whole = n / 8 * 8;
    int names = p->names.n;
    if (n <= 8) {
        lanes_at(p, st, ix_const(p->arena, 0),
                 n < 8 ? print_text(p, "%lld", (long long)n) : NULL);
        return;
    }
    if (fills_by_four(p, &st->body)) {
        lanes_by_four(p, st, n);
        return;
    }
    if (whole == 8) {
        block_at(p, st, 0, 8);
    } else {
        const char *name = print_new_name(p, st->var, st->var->name);
        if (st->var->unroll > 1)
            emit_line(&p->e, "RT_UNROLL(%d)", st->var->unroll);
        emit_begin(&p->e, "for (int %s = 0; %s < %lld; %s += 8)", name, name, (long long)whole,
                   name);
        print_in_scope(p, &st->body);
        emit_end(&p->e, "");
    }
    p->names.n = names;
    if (whole < n)
        block_at(p, st, whole, n - whole);
}

static void lanes_of_unknown(Printer *p, const Stmt *st) {
    const char *end = print_limit(p, st->var);
    if (strpbrk(end, " (")) {
        const char *limit = end;
        end = print_new_name(p, &st->body, "end");
        emit_line(&p->e, "const int %s = %s;", end, limit);
    }
    if (st->var->extent.n <= 8 && !st->var->extent.count) {
        lanes_at(p, st, ix_const(p->arena, 0), end);
        return;
    }
    const char *name = print_new_name(p, st->var, st->var->name);
    emit_line(&p->e, "int %s = 0;", name);
    emit_begin(&p->e, "for (; %s + 8 <= %s; %s += 8)", name, end, name);
    print_in_scope(p, &st->body);
    emit_end(&p->e, "");
    emit_begin(&p->e, "if (%s < %s)", name, end);
    const char *rest = print_new_name(p, st, "rest");
    emit_line(&p->e, "const int %s = %s - %s;", rest, end, name);
    p->lanes = rest;
    print_in_scope(p, &st->body);
    p->lanes = NULL;
    emit_end(&p->e, ""); /* the names stay: these variables stand in the open block */
}

static void print_lane_loop(Printer *p, const Stmt *st) {
    const LoopVar *outer = p->lane;
    p->lane = st->var;
    int64_t n = print_known_limit(p, st->var);
    if (n >= 0)
        lanes_of_known(p, st, n);
    else
        lanes_of_unknown(p, st);
    p->lane = outer;
}

/* ---- other loops ---- */

static void print_unrolled(Printer *p, const Stmt *st) {
    for (int64_t i = 0; i < st->var->extent.n; i++) {
        fix(p, st->var, ix_const(p->arena, i));
        print_in_scope(p, &st->body);
        p->fixed.n--;
    }
}

static void print_tiles(Printer *p, const Stmt *st, const char *name) {
    long long T = (long long)st->var->extent.n;
    const char *end = print_text(p, "rt_tile(t + 1, n, %lld)", T);
    if (st->var->extent.count)
        end = print_text(p, "rt_less(%s, %s)", end, print_dim(p, st->var->extent));
    const char *last = print_new_name(p, st, "last");
    emit_line(&p->e, "const int %s = %s;", last, end);
    emit_begin(&p->e, "for (int %s = rt_tile(t, n, %lld); %s < %s; %s++)", name, T, name, last,
               name);
}

void print_rounds(Printer *p, const Stmt *st) {
    const LoopVar *v = st->var;
    if (v->kind == LOOP_LANE && !p->one) {
        print_lane_loop(p, st);
        return;
    }
    if (v->kind == LOOP_UNROLL) {
        print_unrolled(p, st);
        return;
    }
    int names = p->names.n;
    if (v->kind == LOOP_TILE) {
        print_tiles(p, st, print_new_name(p, v, v->name));
        names++; /* `last` stays in the open block */
    } else {
        const char *limit = print_limit(p, v), *name = print_new_name(p, v, v->name);
        if (v->unroll > 1)
            emit_line(&p->e, "RT_UNROLL(%d)", v->unroll);
        emit_begin(&p->e, "for (int %s = 0; %s < %s; %s++)", name, name, limit, name);
    }
    print_in_scope(p, &st->body);
    emit_end(&p->e, "");
    p->names.n = names;
}
