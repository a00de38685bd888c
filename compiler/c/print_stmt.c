/* print_stmt.c: the statements of a nest as C. */
#include "print_kernel.h"
#include <math.h>

void print_in_scope(Printer *p, const Block *b) {
    int names = p->names.n;
    print_statements(p, b);
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
    emit_line(&p->e, "%s %s%s;", c_type(l->dtype), print_new_array(p, l, l->name),
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

static void print_statement(Printer *p, const Stmt *st) {
    switch (st->kind) {
    case ST_LOOP:
        print_rounds(p, st);
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
        print_in_scope(p, &st->body);
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

void print_statements(Printer *p, const Block *b) {
    for (int i = 0; i < b->stmts.n; i++)
        print_statement(p, b->stmts.at[i]);
}
