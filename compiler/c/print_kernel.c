/* print_kernel.c: a kernel's nest as a C function.
 *
 * A lane loop is printed with whole vectors first and the rest as one partial vector; at most eight
 * rounds need no loop. Kernels in which f64 or i64 appears are printed element by element, with the
 * 32 lanes of a reduction kept as an array.
 */
#include "print_kernel.h"
#include <math.h>
#include <string.h>

const char *c_type(DType t) {
    static const char *const name[DT_N] = {"float",   "double",        "int32_t",
                                           "int64_t", "unsigned char", "unsigned char"};
    return name[t];
}

/* How many subscripts the buffer has in the text, and their extents. */
static int buffer_subscripts(Arena *a, const Buffer *b, int64_t *extent) {
    const Ix *sub[MAX_RANK], *at[3];
    for (int i = 0; i < b->shape.rank; i++)
        sub[i] = ix_const(a, 0);
    return layout_subscripts(a, b, sub, at, extent);
}

/* ---- names ---- */

static const PrintName *find_name(const Printer *p, const void *of) {
    for (int i = p->names.n - 1; i >= 0; i--)
        if (p->names.at[i].of == of)
            return &p->names.at[i];
    return NULL;
}

const char *print_name(const Printer *p, const void *of) {
    const PrintName *found = find_name(p, of);
    if (!found)
        bug("kernel %s uses a name that it does not declare", p->kernel->name);
    return found->name;
}

static bool equal(const char *x, const char *y) {
    return x[0] == y[0] && strcmp(x, y) == 0;
}

static bool is_taken(const Printer *p, const char *name) {
    const Kernel *k = p->kernel;
    const struct {
        const char *name;
        bool taken;
    } reserved[] = {{"t", k->tiles > 1}, {"n", k->tiles > 1}, {"rt", k->check}, {"step", k->check},
                    {"seed", k->seed},   {"v8", true},        {"v8i", true},    {"v8u", true}};
    for (int i = 0; i < COUNT_OF(reserved); i++)
        if (reserved[i].taken && equal(reserved[i].name, name))
            return true;
    for (int i = 0; i < OP_N; i++) /* functions of C are called by these names */
        if (op_info[i].kind == KIND_MAP && equal(op_info[i].name, name))
            return true;
    for (int i = 0; i < p->names.n; i++)
        if (equal(p->names.at[i].name, name))
            return true;
    return false;
}

/* An element that is named as the buffer where it lies: x_ij. */
static const char *element_name(Printer *p, const char *name) {
    static const char *const suffix[] = {"_0", "_i", "_ij", "_ijk"};
    int64_t extent[3];
    for (int i = 0; i < p->buffers; i++) {
        const Buffer *b = p->names.at[i].of;
        if (equal(p->names.at[i].name, name))
            return print_text(p, "%s%s", name,
                              suffix[layout_elements(b) == 1
                                         ? 0
                                         : buffer_subscripts(p->arena, b, extent)]);
    }
    return name;
}

/* What is named after a buffer is called as the buffer is in this function. */
static const char *name_in_function(const Kernel *k, const char *name) {
    for (int i = 0; i < k->reads.n + k->writes.n; i++) {
        const Access *x = i < k->reads.n ? &k->reads.at[i] : &k->writes.at[i - k->reads.n];
        if (x->called && equal(x->buffer->name, name))
            return x->called;
    }
    return name;
}

const char *print_new_name(Printer *p, const void *of, const char *wanted) {
    wanted = emit_name(p->arena, name_in_function(p->kernel, wanted));
    if (is_taken(p, wanted))
        wanted = element_name(p, wanted);
    const char *name = wanted;
    size_t end = strlen(wanted);
    const char *joint = end && wanted[end - 1] >= '0' && wanted[end - 1] <= '9' ? "_" : "";
    for (int i = 2; is_taken(p, name); i++)
        name = print_text(p, "%s%s%d", wanted, joint, i);
    vec_push(p->arena, &p->names, (PrintName){of, name});
    return name;
}

/* ---- extents ---- */

/* A run-time extent: count * (n / bound). */
const char *print_dim(Printer *p, Dim d) {
    if (!d.count)
        return print_text(p, "%lld", (long long)d.n);
    const char *name = print_name(p, d.count);
    int64_t each = d.n / d.count->bound;
    return each == 1 ? name : print_text(p, "%lld * %s", (long long)each, name);
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

/* ---- statements ---- */

static void print_block(Printer *p, const Block *b);

static void print_scope(Printer *p, const Block *b) {
    int names = p->names.n;
    print_block(p, b);
    p->names.n = names;
}

static const char *vector_type(DType t) {
    return t == DT_F32 ? "v8" : "v8i";
}

const char *print_scalar_type(DType t) {
    return t == DT_BOOL ? "bool" : c_type(t);
}

static bool is_lanes(const Printer *p, const Local *l) {
    return l->lanes && !p->one;
}

const char *print_extents(Printer *p, const Local *l) {
    Text t = {.arena = p->arena};
    for (int i = 0; i < l->rank; i++)
        text_printf(&t, "[%lld]", (long long)l->extent[i]);
    return t.at;
}

static void print_let_array(Printer *p, const Local *l) {
    emit_line(&p->e, "%s %s%s;", c_type(l->dtype), print_new_name(p, l, l->name),
              print_extents(p, l));
}

static void print_let(Printer *p, const Stmt *st) {
    const Local *l = st->local;
    if (!st->value) {
        print_let_array(p, l);
        return;
    }
    const char *value = print_expr(p, st->value, is_lanes(p, l));
    const char *type = is_lanes(p, l) ? vector_type(l->dtype) : print_scalar_type(l->dtype);
    emit_line(&p->e, "%s%s %s = %s;", l->changes ? "" : "const ", type,
              print_new_name(p, l, l->name), value);
}

/* The subscripts of all elements of a small array, in order. */
static int64_t array_elements(const Local *l) {
    int64_t n = 1;
    for (int i = 0; i < l->rank; i++)
        n *= l->extent[i];
    return n;
}

/* Zeros as C writes them for any array. */
const char *print_zeros(Printer *p, int rank) {
    const char *s = "0";
    for (int i = 0; i < rank; i++)
        s = print_text(p, "{%s}", s);
    return s;
}

/* Without lanes each of the eight is an element of its own. */
static void print_fill(Printer *p, const Stmt *st) {
    const Local *l = st->local;
    bool lanes = is_lanes(p, l), zero = st->value->value == 0 && !signbit(st->value->value);
    const char *type = lanes ? vector_type(l->dtype) : c_type(l->dtype);
    const char *value = print_expr(p, st->value, lanes), *name = print_new_name(p, l, l->name);
    if (l->rank == 0) {
        emit_line(&p->e, "%s %s = %s;", lanes ? type : print_scalar_type(l->dtype), name, value);
        return;
    }
    int64_t n = array_elements(l) * (l->lanes && !lanes ? 8 : 1);
    const char *extents = l->lanes && !lanes ? print_text(p, "[%lld]", (long long)n)
                                             : print_extents(p, l);
    if (zero) {
        emit_line(&p->e, "%s %s%s = %s;", type, name, extents,
                  print_zeros(p, lanes ? l->rank + 1 : l->lanes ? 1 : l->rank));
        return;
    }
    if (!lanes) {
        emit_line(&p->e, "%s %s[%lld];", type, name, (long long)n);
        emit_begin(&p->e, "for (int lane = 0; lane < %lld; lane++)", (long long)n);
        emit_line(&p->e, "%s[lane] = %s;", name, value);
        emit_end(&p->e, "");
        return;
    }
    Text all = {.arena = p->arena};
    for (int64_t i = 0; i < n; i++)
        text_printf(&all, "%s%s", i ? ", " : "", value);
    emit_line(&p->e, "%s %s[%lld] = {%s};", type, name, (long long)n, all.at);
}

static void print_set(Printer *p, const Stmt *st) {
    const Local *l = st->local;
    if (!l->lanes && l->rank) {
        print_store(p, st);
        return;
    }
    print_assign(p, st, is_lanes(p, l));
}

/* Element e of the loop goes to lane e mod 32: vector e/8 mod 4. */
static void print_accumulate(Printer *p, const Stmt *st) {
    int64_t element;
    const Ix *ix = print_resolve(p, st->ix);
    const char *at, *name = print_name(p, st->local);
    if (p->vector)
        at = print_text(p, "%s[%s]", name, p->vector);
    else if (ix_is_const(ix, &element))
        at = print_text(p, "%s[%lld]", name, (long long)(p->one ? element % 32 : element / 8 % 4));
    else
        at = print_text(p, p->one ? "%s[%s %% 32]" : "%s[%s / 8 %% 4]", name,
                        print_factor(p, ix));
    if (st->with)
        print_add_product(p, at, st->value, st->with);
    else
        print_join(p, st->op, at, st->value);
}

static void print_join_lanes(Printer *p, const Stmt *st) {
    const Local *l = st->local;
    const char *from = print_name(p, st->from), *op = op_info[st->op].name, *value;
    if (p->one)
        value = print_text(p, "rt_%s_%s(%s)", op, dtype_name(l->dtype), from);
    else
        value = print_text(p, "rt_%s32%s(%s)", op, l->dtype == DT_F32 ? "" : "i", from);
    emit_line(&p->e, "%s%s %s = %s;", l->changes ? "" : "const ", print_scalar_type(l->dtype),
              print_new_name(p, l, l->name), value);
}

static void print_fault(Printer *p, const Stmt *st) {
    bool lanes = print_is_vector(p, st->value);
    const char *when = lanes ? print_mask(p, st->value) : print_expr(p, st->value, false);
    const char *with = print_expr(p, st->with, lanes);
    const char *node = print_name(p, &p->kernel->faults.at[kernel_fault(p->kernel, st->node)]);
    if (lanes) {
        if (st->with->dtype != DT_F32)
            with = print_text(p, "i2f8(%s)", with);
        emit_line(&p->e, "rt_fault8(rt, %s, %s, %s, step);", node, when, with);
        return;
    }
    emit_begin(&p->e, "if (%s)", when);
    emit_line(&p->e, "rt_fault_set(rt, %s, (double)%s, step);", node, with);
    emit_end(&p->e, "");
}

/* ---- loops ---- */

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
    print_block(p, &st->body);
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
        print_scope(p, &st->body);
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
    print_scope(p, &st->body);
    emit_end(&p->e, "");
    emit_begin(&p->e, "if (%s < %s)", name, end);
    const char *rest = print_new_name(p, st, "rest");
    emit_line(&p->e, "const int %s = %s - %s;", rest, end, name);
    p->lanes = rest;
    print_scope(p, &st->body);
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

static void print_unrolled(Printer *p, const Stmt *st) {
    for (int64_t i = 0; i < st->var->extent.n; i++) {
        fix(p, st->var, ix_const(p->arena, i));
        print_scope(p, &st->body);
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

static void print_loop(Printer *p, const Stmt *st) {
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
    print_scope(p, &st->body);
    emit_end(&p->e, "");
    p->names.n = names;
}

static void print_statement(Printer *p, const Stmt *st) {
    switch (st->kind) {
    case ST_LOOP:
        print_loop(p, st);
        return;
    case ST_LET:
        print_let(p, st);
        return;
    case ST_SET:
        print_set(p, st);
        return;
    case ST_STORE:
        print_store(p, st);
        return;
    case ST_TRANSPOSE:
        print_transpose(p, st);
        return;
    case ST_FILL:
        print_fill(p, st);
        return;
    case ST_GATHER_LANES:
        print_accumulate(p, st);
        return;
    case ST_JOIN_LANES:
        print_join_lanes(p, st);
        return;
    case ST_IF:
        emit_begin(&p->e, "if (%s)", print_expr(p, st->value, false));
        print_scope(p, &st->body);
        emit_end(&p->e, "");
        return;
    case ST_FAULT:
        print_fault(p, st);
        return;
    case ST_BARRIER:
        break;
    }
    bug("statement of another target in kernel %s", p->kernel->name);
}

static void print_block(Printer *p, const Block *b) {
    for (int i = 0; i < b->stmts.n; i++)
        print_statement(p, b->stmts.at[i]);
}

/* ---- what a nest uses ---- */

typedef struct Uses {
    bool wide; /* f64 or i64 */
    VEC(const Buffer *) tables;
} Uses;

static void scan_expr(Printer *p, Uses *u, const Expr *e);

static void scan_ix(Printer *p, Uses *u, const Ix *x) {
    for (int i = 0; i < x->n; i++) {
        if (x->term[i].atom->kind == ATOM_DATA)
            scan_expr(p, u, x->term[i].atom->data);
        else if (x->term[i].atom->of)
            scan_ix(p, u, x->term[i].atom->of);
    }
}

static void add_table(Printer *p, Uses *u, const Buffer *b) {
    for (int i = 0; i < u->tables.n; i++)
        if (u->tables.at[i] == b)
            return;
    vec_push(p->arena, &u->tables, b);
}

static void scan_expr(Printer *p, Uses *u, const Expr *e) {
    u->wide |= e->dtype == DT_F64 || e->dtype == DT_I64;
    for (int i = 0; i < e->nin; i++)
        scan_expr(p, u, e->in[i]);
    if (e->ix)
        scan_ix(p, u, e->ix);
    int rank = expr_rank(e);
    for (int i = 0; i < rank; i++)
        if (e->sub[i])
            scan_ix(p, u, e->sub[i]);
    if (e->kind == EX_LOAD && e->buffer->node && e->buffer->node->op == OP_constant &&
        e->buffer->id < 0)
        add_table(p, u, e->buffer);
}

static void scan_block(Printer *p, Uses *u, const Block *b) {
    for (int i = 0; i < b->stmts.n; i++) {
        const Stmt *st = b->stmts.at[i];
        if (st->value)
            scan_expr(p, u, st->value);
        if (st->with)
            scan_expr(p, u, st->with);
        bool to_buffer = st->kind == ST_STORE || st->kind == ST_TRANSPOSE;
        int rank = to_buffer              ? st->buffer->shape.rank
                   : st->kind == ST_SET ? st->local->rank
                                        : 0;
        for (int d = 0; d < rank; d++)
            scan_ix(p, u, st->sub[d]);
        scan_block(p, u, &st->body);
    }
}

/* A list of constants of the program stands in the text. */
static void print_table(Printer *p, const Buffer *b) {
    Text all = {.arena = p->arena};
    int64_t n = shape_elements(&b->shape);
    for (int64_t i = 0; i < n; i++)
        text_printf(&all, "%s%s", i ? ", " : "",
                    print_constant(p, b->dtype, b->node->attr.constant.data[i], false));
    const char *name = print_new_name(p, b, b->name);
    emit_line(&p->e, "static const %s %s[%lld] = {%s};", c_type(b->dtype), name, (long long)n,
              all.at);
}

/* ---- functions ---- */

static void buffer_declaration(Text *out, Arena *a, const Buffer *b, const char *declarator) {
    int64_t extent[3];
    int n = buffer_subscripts(a, b, extent);
    if (n == 1) {
        text_printf(out, "%s *%s", c_type(b->dtype), declarator);
        return;
    }
    text_printf(out, "%s (*%s)", c_type(b->dtype), declarator);
    for (int i = 1; i < n; i++)
        text_printf(out, "[%lld]", (long long)extent[i]);
}

void c_print_buffer_type(Text *out, const Buffer *b, const char *declarator) {
    buffer_declaration(out, out->arena, b, declarator);
}

void c_print_source_accessor(Text *out, const DataSource *s) {
    text_printf(out, "at_src_%s", c_source_name(out->arena, s));
}

const char *c_source_name(Arena *a, const DataSource *s) {
    char *name = arena_printf(a, "%s_%d", s->name ? s->name : "rows", s->id);
    for (char *c = name; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9')))
            *c = '_';
    return name;
}

static bool writes_buffer(const Kernel *k, const Buffer *b) {
    for (int i = 0; i < k->writes.n; i++)
        if (k->writes.at[i].buffer == b)
            return true;
    return false;
}

/* Each buffer once: what is read first, then what is only written. */
int print_buffers_of(const Kernel *k, const Buffer **out) {
    int n = 0;
    for (int i = 0; i < k->reads.n; i++)
        out[n++] = k->reads.at[i].buffer;
    for (int i = 0; i < k->writes.n; i++) {
        bool seen = false;
        for (int r = 0; r < k->reads.n; r++)
            seen |= k->reads.at[r].buffer == k->writes.at[i].buffer;
        if (!seen)
            out[n++] = k->writes.at[i].buffer;
    }
    return n;
}

/* "a, b, c" grows by one. */
void print_item(Text *list, const char *item) {
    text_printf(list, "%s%s", list->n ? ", " : "", item);
}

static const char *print_parameter(Printer *p, const Buffer *b) {
    Text one = {.arena = p->arena};
    const char *name = print_new_name(p, b, b->name);
    int64_t extent[3];
    if (!writes_buffer(p->kernel, b))
        text_add(&one, buffer_subscripts(p->arena, b, extent) > 1 ? "rt_const " : "const ");
    buffer_declaration(&one, p->arena, b, print_text(p, "rt_restrict %s", name));
    return one.at;
}

int print_memory_parameters(Printer *p, Text *list) {
    const Kernel *k = p->kernel;
    const Buffer **buffer = NEW_ARRAY(p->arena, const Buffer *, k->reads.n + k->writes.n + 1);
    int n = print_buffers_of(k, buffer);
    for (int i = 0; i < n; i++)
        print_item(list, print_parameter(p, buffer[i]));
    for (int i = 0; i < k->sources.n; i++) {
        const DataSource *s = k->sources.at[i];
        const char *name = print_text(p, "src_%s", c_source_name(p->arena, s));
        print_item(list, print_text(p, "const %s *rt_restrict %s", c_type(s->dtype),
                                    print_new_name(p, s, name)));
    }
    return n;
}

static const char *parameters(Printer *p) {
    const Kernel *k = p->kernel;
    Text list = {.arena = p->arena};
    p->buffers = print_memory_parameters(p, &list);
    for (int i = 0; i < k->scalars.n; i++)
        print_item(&list, print_text(p, "%s %s", print_scalar_type(k->scalars.at[i]->dtype),
                                   print_new_name(p, k->scalars.at[i], k->scalars.at[i]->name)));
    for (int i = 0; i < k->counts.n; i++)
        print_item(&list, print_text(p, "int %s",
                                   print_new_name(p, k->counts.at[i], k->counts.at[i]->name)));
    if (k->seed)
        print_item(&list, "uint64_t seed");
    for (int i = 0; i < k->places.n; i++)
        print_item(&list, print_text(p, "uint32_t %s",
                                   print_new_name(p, &k->places.at[i], "place")));
    if (k->check)
        print_item(&list, "struct rt *rt, int64_t step");
    for (int i = 0; i < k->faults.n; i++)
        print_item(&list, print_text(p, "int %s", print_new_name(p, &k->faults.at[i], "node")));
    if (k->tiles > 1)
        print_item(&list, "int t, int n");
    return list.n ? list.at : "void";
}

void print_tables(Printer *p) {
    Uses uses = {0};
    scan_block(p, &uses, &p->kernel->nest->body);
    for (int i = 0; i < uses.tables.n; i++)
        print_table(p, uses.tables.at[i]);
}

static bool is_wide(Printer *p) {
    Uses uses = {0};
    scan_block(p, &uses, &p->kernel->nest->body);
    return uses.wide;
}

void c_print_kernel(Text *out, const Kernel *k) {
    Printer p = {.arena = out->arena, .kernel = k};
    p.e.text.arena = out->arena;
    p.one = is_wide(&p);
    if (k->note && *k->note)
        emit_line(&p.e, "/* %s */", k->note);
    emit_begin(&p.e, "RT_KERNEL void %s(%s)", k->name, parameters(&p));
    print_tables(&p);
    print_block(&p, &k->nest->body);
    emit_end(&p.e, "");
    text_addn(out, p.e.text.at, p.e.text.n);
}

void c_print_call(Text *out, const Kernel *k, const CallNames *names) {
    Arena *a = out->arena;
    const Buffer **buffer = NEW_ARRAY(a, const Buffer *, k->reads.n + k->writes.n + 1);
    int n = print_buffers_of(k, buffer);
    Text list = {.arena = a};
    for (int i = 0; i < n; i++)
        print_item(&list, names ? names->buffer(names->arg, buffer[i])
                              : arena_printf(a, "at_%s(nn)", buffer[i]->name));
    for (int i = 0; i < k->sources.n; i++)
        print_item(&list, arena_printf(a, "at_src_%s(nn)", c_source_name(a, k->sources.at[i])));
    for (int i = 0; i < k->scalars.n; i++)
        print_item(&list, arena_printf(a, "nn->scalars.%s", k->scalars.at[i]->name));
    for (int i = 0; i < k->counts.n; i++)
        print_item(&list, arena_printf(a, "(int)nn->counts.%s", k->counts.at[i]->name));
    if (k->seed)
        print_item(&list, "nn->rt.seed");
    for (int i = 0; i < k->places.n; i++)
        print_item(&list, names ? names->place(names->arg, i)
                              : arena_printf(a, "0x%08xu", k->places.at[i]));
    if (k->check)
        print_item(&list, "&nn->rt, nn->step");
    for (int i = 0; i < k->faults.n; i++)
        print_item(&list, names ? names->fault(names->arg, i)
                              : arena_printf(a, "%d", k->faults.at[i]));
    if (k->tiles > 1)
        print_item(&list, "t, n");
    text_printf(out, "%s(%s);", k->name, list.n ? list.at : "");
}
