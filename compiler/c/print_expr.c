/* print_expr.c: expressions of the loop IR as C: vectors of eight where they depend on the lane
 * loop. */
#include "print_kernel.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- subscripts ---- */

static const int64_t *fixed_value(const Printer *p, const LoopVar *v) {
    for (int i = p->fixed.n - 1; i >= 0; i--)
        if (p->fixed.at[i].var == v)
            return &p->fixed.at[i].value;
    return NULL;
}

static const Ix *resolve_atom(Printer *p, const Atom *atom) {
    const int64_t *value;
    switch (atom->kind) {
    case ATOM_VAR:
        value = fixed_value(p, atom->var);
        return value ? ix_const(p->arena, *value) : ix_var(p->arena, atom->var);
    case ATOM_DIV:
        return ix_div(p->arena, print_resolve(p, atom->of), atom->by);
    case ATOM_MOD:
        return ix_mod(p->arena, print_resolve(p, atom->of), atom->by);
    default:
        return ix_data(p->arena, atom->data, atom->by);
    }
}

const Ix *print_resolve(Printer *p, const Ix *x) {
    if (!p->fixed.n)
        return x;
    const Ix *r = ix_const(p->arena, x->c);
    for (int i = 0; i < x->n; i++)
        r = ix_add(p->arena, r, ix_scale(p->arena, resolve_atom(p, x->term[i].atom), x->term[i].k));
    return r;
}

static bool atom_has_lanes(const Printer *p, const Atom *atom) {
    switch (atom->kind) {
    case ATOM_VAR:
        return p->lane && atom->var == p->lane;
    case ATOM_DATA:
        return print_is_vector(p, atom->data);
    default:
        for (int i = 0; i < atom->of->n; i++)
            if (atom_has_lanes(p, atom->of->term[i].atom))
                return true;
        return false;
    }
}

static bool ix_has_lanes(const Printer *p, const Ix *x) {
    for (int i = 0; i < x->n; i++)
        if (atom_has_lanes(p, x->term[i].atom))
            return true;
    return false;
}

static const char *ix_text(Printer *p, const Ix *x, bool lanes);

static const char *atom_text(Printer *p, const Atom *atom, bool lanes) {
    const char *of;
    switch (atom->kind) {
    case ATOM_VAR:
        return print_name(p, atom->var);
    case ATOM_DATA:
        return print_expr(p, atom->data, lanes);
    default:
        of = ix_text(p, atom->of, lanes);
        return print_text(p, "(%s) %s %lld", of, atom->kind == ATOM_DIV ? "/" : "%",
                          (long long)atom->by);
    }
}

/* The lane variable as its eight values. */
static const char *lane_atom(Printer *p, const Atom *atom) {
    const int64_t *first = fixed_value(p, atom->var);
    if (first)
        return *first ? print_text(p, "(iota8() + %lld)", (long long)*first) : "iota8()";
    return print_text(p, "(iota8() + %s)", print_name(p, atom->var));
}

/* Terms in their order, the constant last; with `lanes` a vector of eight numbers. */
static const char *ix_text(Printer *p, const Ix *x, bool lanes) {
    Text t = {.arena = p->arena};
    for (int i = 0; i < x->n; i++) {
        const Atom *atom = x->term[i].atom;
        bool vector = lanes && atom_has_lanes(p, atom);
        const int64_t *value = atom->kind == ATOM_VAR ? fixed_value(p, atom->var) : NULL;
        const char *s = vector && atom->kind == ATOM_VAR ? lane_atom(p, atom)
                        : value                          ? print_text(p, "%lld", (long long)*value)
                                                         : atom_text(p, atom, vector);
        int64_t k = x->term[i].k;
        const char *sign = k < 0 ? (t.n ? " - " : "-") : t.n ? " + " : "";
        long long size = k < 0 ? -k : k;
        if (lanes && !vector && atom->kind == ATOM_DATA)
            s = print_text(p, "(int32_t)(%s)", s);
        if (atom->kind == ATOM_DIV || atom->kind == ATOM_MOD)
            s = print_text(p, size == 1 && !vector ? "%s" : "(%s)", s);
        if (size == 1)
            text_printf(&t, "%s%s", sign, s);
        else if (vector)
            text_printf(&t, "%s(%s) * %lld", sign, s, size);
        else
            text_printf(&t, "%s%lld * %s", sign, size, s);
    }
    if (!x->n)
        text_printf(&t, "%lld", (long long)x->c);
    else if (x->c)
        text_printf(&t, " %c %lld", x->c < 0 ? '-' : '+', (long long)(x->c < 0 ? -x->c : x->c));
    return t.at;
}

const char *print_ix(Printer *p, const Ix *x) {
    return ix_text(p, print_resolve(p, x), false);
}

/* A vector of the subscript's eight values. */
static const char *vector_ix(Printer *p, const Ix *x) {
    if (ix_has_lanes(p, x))
        return ix_text(p, x, true);
    return print_text(p, "bc8i(%s)", ix_text(p, x, false));
}

bool print_subscripts_have_lane(const Printer *p, int n, const Ix *const *sub) {
    for (int i = 0; i < n; i++)
        if (ix_has_lanes(p, sub[i]))
            return true;
    return false;
}

bool print_is_vector(const Printer *p, const Expr *e) {
    if (p->one)
        return false;
    if (e->kind == EX_LOCAL && e->local->lanes)
        return true;
    if (e->ix && ix_has_lanes(p, e->ix))
        return true;
    int rank = expr_rank(e);
    if (print_subscripts_have_lane(p, rank, e->sub))
        return true;
    for (int i = 0; i < e->nin; i++)
        if (print_is_vector(p, e->in[i]))
            return true;
    return false;
}

const char *print_lanes(const Printer *p) {
    return p->lanes ? p->lanes : "8";
}

/* ---- memory ---- */

/* Of ld8, st8, gather8 for an element type. */
static const char *memory_suffix(DType t) {
    switch (t) {
    case DT_F32:
        return "";
    case DT_I32:
        return "i";
    case DT_U8:
        return "b";
    case DT_BOOL:
        return "m";
    default:
        bug("no lanes of %s", dtype_name(t));
    }
}

/* Where an access goes: an array with subscripts. */
typedef struct Place {
    const char *array;
    DType dtype;
    int n;
    const Ix *at[3];
    int64_t extent[3];
} Place;

static Place buffer_place(Printer *p, const Buffer *b, const Ix *const *sub) {
    Place x = {.array = print_name(p, b), .dtype = b->dtype};
    x.n = layout_subscripts(p->arena, b, sub, x.at, x.extent);
    return x;
}

static Place local_place(Printer *p, const Local *l, const Ix *const *sub) {
    Place x = {.array = print_name(p, l), .dtype = l->dtype, .n = l->rank};
    for (int i = 0; i < l->rank; i++) {
        x.at[i] = sub[i];
        x.extent[i] = l->extent[i];
    }
    return x;
}

static const char *element_text(Printer *p, const Place *x) {
    Text t = {.arena = p->arena};
    text_add(&t, x->array);
    for (int i = 0; i < x->n; i++)
        text_printf(&t, "[%s]", print_ix(p, x->at[i]));
    return t.at;
}

/* A pointer to the first element, and the offset of the access from it. */
static const char *first_element(Printer *p, const Place *x) {
    const char *text = x->array;
    for (int i = 0; i + 1 < x->n; i++)
        text = print_text(p, "%s[0]", text);
    return text;
}

static const Ix *flat_offset(Printer *p, const Place *x) {
    const Ix *flat = ix_const(p->arena, 0);
    for (int i = 0; i < x->n; i++)
        flat = ix_add(p->arena, ix_scale(p->arena, flat, x->extent[i]), x->at[i]);
    return flat;
}

/* Does a data index that differs by lane stand in it? */
static bool is_scattered(const Printer *p, const Ix *x) {
    for (int i = 0; i < x->n; i++)
        if (x->term[i].atom->kind != ATOM_VAR && atom_has_lanes(p, x->term[i].atom))
            return true;
    return false;
}

/* Pointer to eight neighbours, or NULL when the lanes do not lie side by side. */
static const char *vector_pointer(Printer *p, const Place *x) {
    bool linear;
    const Ix *last = x->at[x->n - 1];
    if (!print_subscripts_have_lane(p, x->n - 1, x->at) && !is_scattered(p, last) &&
        ix_coefficient(last, p->lane, &linear) == 1 && linear)
        return print_text(p, "&%s", element_text(p, x));
    const Ix *flat = flat_offset(p, x); /* subscripts of a matrix may fold to it */
    if (is_scattered(p, flat) || ix_coefficient(flat, p->lane, &linear) != 1 || !linear)
        return NULL;
    return print_text(p, "%s + %s", first_element(p, x), print_ix(p, flat));
}

static const char *load_text(Printer *p, const Place *x) {
    if (p->one || !print_subscripts_have_lane(p, x->n, x->at))
        return element_text(p, x);
    const char *pointer = vector_pointer(p, x), *suffix = memory_suffix(x->dtype);
    if (pointer && p->lanes)
        return print_text(p, "ld8%sn(%s, %s)", suffix, pointer, p->lanes);
    if (pointer)
        return print_text(p, "ld8%s(%s)", suffix, pointer);
    return print_text(p, "gather8%s(%s, %s, %s)", suffix, first_element(p, x),
                      vector_ix(p, flat_offset(p, x)), print_lanes(p));
}

static void store_text(Printer *p, const Place *x, const Expr *value) {
    if (p->one || !print_subscripts_have_lane(p, x->n, x->at)) {
        emit_line(&p->e, "%s = %s;", element_text(p, x), print_expr(p, value, false));
        return;
    }
    const char *pointer = vector_pointer(p, x), *suffix = memory_suffix(x->dtype);
    const char *v = print_expr(p, value, true);
    if (pointer && p->lanes)
        emit_line(&p->e, "st8%sn(%s, %s, %s);", suffix, pointer, p->lanes, v);
    else if (pointer)
        emit_line(&p->e, "st8%s(%s, %s);", suffix, pointer, v);
    else
        emit_line(&p->e, "scatter8%s(%s, %s, %s, %s);", suffix, first_element(p, x),
                  vector_ix(p, flat_offset(p, x)), print_lanes(p), v);
}

void print_store(Printer *p, const Stmt *st) {
    Place x = st->kind == ST_STORE ? buffer_place(p, st->buffer, st->sub)
                                   : local_place(p, st->local, st->sub);
    store_text(p, &x, st->value);
}

void print_transpose(Printer *p, const Stmt *st) {
    const Place to = buffer_place(p, st->buffer, st->sub),
                from = buffer_place(p, st->value->buffer, st->value->sub);
    emit_line(&p->e, "transpose8(&%s, %lld, &%s, %lld);", element_text(p, &to),
              (long long)st->step, element_text(p, &from), (long long)st->from_step);
}

const char *print_local(Printer *p, const Local *l, const Ix *const *sub) {
    if (l->named) {
        const char *name = print_name(p, l);
        for (int i = 0; i < l->rank; i++) {
            int64_t at;
            if (!ix_is_const(print_resolve(p, sub[i]), &at))
                bug("subscript of named array %s is not constant", l->name);
            name =
                print_text(p, "%s%s%lld", name, i && l->extent[i] > 10 ? "_" : "", (long long)at);
        }
        return name;
    }
    Place x = local_place(p, l, sub);
    return element_text(p, &x);
}

static const char *local_text(Printer *p, const Expr *e) {
    const Local *l = e->local;
    if (l->lanes || l->rank == 0)
        return print_local(p, l, e->sub);
    Place x = local_place(p, l, e->sub);
    return load_text(p, &x);
}

/* Stored rows: row_elements * index + place in the row; offsets are 64 bits wide. */
static const char *source_text(Printer *p, const Expr *e) {
    const char *array = print_name(p, e->source), *suffix = p->one ? "" : memory_suffix(e->dtype);
    const Expr *index = NULL;
    Term *terms = NEW_ARRAY(p->arena, Term, e->ix->n + 1);
    Ix rest = {.c = e->ix->c,
               .term = terms}; /* not resolved: a fixed lane variable is still eight values */
    for (int i = 0; i < e->ix->n; i++) {
        const Term *term = &e->ix->term[i];
        if (term->atom->kind == ATOM_DATA)
            index = term->atom->data;
        else
            terms[rest.n++] = *term;
    }
    const Ix *place = &rest;
    long long row = (long long)e->source->row_elements;
    bool lanes = !p->one && ix_has_lanes(p, e->ix), linear;
    if (lanes &&
        (print_is_vector(p, index) || ix_coefficient(place, p->lane, &linear) != 1 || !linear))
        return print_text(p, "fetch8%s(%s, %s, %lld, %s, %s)", suffix, array,
                          print_expr(p, index, true), row, vector_ix(p, place), print_lanes(p));
    const char *at = print_text(p, "(int64_t)%s", print_expr(p, index, false));
    if (row != 1)
        at = print_text(p, "%lld * %s", row, at);
    if (rest.n || rest.c)
        at = print_text(p, "%s + %s", at, print_ix(p, place));
    if (!lanes)
        return print_text(p, "%s[%s]", array, at);
    if (p->lanes)
        return print_text(p, "ld8%sn(&%s[%s], %s)", suffix, array, at, p->lanes);
    return print_text(p, "ld8%s(&%s[%s])", suffix, array, at);
}

/* ---- ops ---- */

/* The shortest text that reads back equal: 0.5f, (-1e-05f). */
static const char *float_text(Printer *p, float x) {
    if (!(x - x == 0.0f))
        return emit_double(p->arena, (double)x);
    char text[32];
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)x);
        if (strtof(text, NULL) == x)
            break;
    }
    const char *dot = strpbrk(text, ".e") ? "" : ".0";
    return print_text(p, signbit(x) ? "(%s%sf)" : "%s%sf", text, dot);
}

const char *print_constant(Printer *p, DType t, double value, bool lanes) {
    const char *s;
    if (t == DT_BOOL)
        return lanes ? value != 0 ? "bc8i(-1)" : "bc8i(0)" : value != 0 ? "true" : "false";
    if (t == DT_F64)
        return emit_double(p->arena, value);
    if (t != DT_F32)
        return print_text(p, lanes ? "bc8i(%s)" : "%s",
                          value == INT32_MIN ? "INT32_MIN" : print_text(p, "%.0f", value));
    s = float_text(p, (float)value);
    return lanes ? print_text(p, "bc8(%s)", s) : s;
}

static const char *broadcast(Printer *p, DType t, const char *s) {
    if (t == DT_F32)
        return print_text(p, "bc8(%s)", s);
    return print_text(p, t == DT_BOOL ? "bc8i(-(int)(%s))" : "bc8i(%s)", s);
}

static const char *cast_text(Printer *p, DType from, DType to, const char *s, bool lanes) {
    if (!lanes) {
        if (to == DT_BOOL)
            return print_text(p, "(%s != 0)", s);
        return print_text(p, "(%s)%s", to == DT_U8 ? "unsigned char" : c_type(to), s);
    }
    if (to == DT_F32)
        return print_text(p, from == DT_BOOL ? "m2f8(%s)" : "i2f8(%s)", s);
    if (to == DT_BOOL)
        return print_text(p, from == DT_F32 ? "(%s != 0.0f)" : "(%s != 0)", s);
    if (from == DT_F32)
        s = print_text(p, "f2i8(%s)", s);
    else if (from == DT_BOOL)
        s = print_text(p, "(-%s)", s);
    return to == DT_U8 ? print_text(p, "(%s & 255)", s) : s;
}

/* The table's text for values of type t; on bools the order is false < true. */
static const char *form_of(Op op, DType t, bool lanes) {
    const OpInfo *info = &op_info[op];
    if (t == DT_BOOL && op == OP_maximum)
        op = OP_or;
    else if (t == DT_BOOL && op == OP_minimum)
        op = OP_and;
    else if (t == DT_BOOL && lanes && op == OP_lt)
        return "(%1 < %0)";
    else if (t == DT_BOOL && lanes && op == OP_le)
        return "(%1 <= %0)";
    info = &op_info[op];
    if (lanes)
        return info->form;
    if (!info->form64 || t == DT_F64)
        return info->form64 ? info->form64 : info->form;
    return info->form && strstr(info->form, "_v(") ? info->form : info->form64;
}

/* Puts the arguments in; name_v becomes name_vi on integers, name_1 or name_1i on one number. */
static const char *fill_form(Printer *p, const char *form, DType t, const char *const *in,
                             bool lanes) {
    Text out = {.arena = p->arena};
    bool whole = t != DT_F32 && t != DT_F64;
    const char *suffix = lanes ? whole ? "_vi(" : "_v(" : whole ? "_1i(" : "_1(";
    for (const char *s = form; *s; s++) {
        if (s[0] == '%' && s[1] >= '0' && s[1] <= '2')
            text_add(&out, in[*++s - '0']);
        else if (strncmp(s, "_v(", 3) == 0)
            text_add(&out, suffix), s += 2;
        else
            text_addn(&out, s, 1);
    }
    return out.at;
}

static const char *op_text(Printer *p, const Expr *e, bool lanes) {
    const char *in[3];
    for (int i = 0; i < e->nin; i++)
        in[i] = print_expr(p, e->in[i], lanes);
    DType t = e->in[e->op == OP_where ? 1 : 0]->dtype;
    if (e->op == OP_cast)
        return cast_text(p, t, e->dtype, in[0], lanes);
    /* x == x may ask whether x is a number; compilers take the plain text for a slip */
    if (op_info[e->op].flags & OPF_CMP && t != DT_BOOL && strcmp(in[0], in[1]) == 0)
        in[1] = print_text(p, "(%s + %s)", in[1], print_constant(p, t, 0, lanes));
    const char *form = form_of(e->op, t, lanes);
    if (!form)
        bug("%s has no text", op_info[e->op].name);
    return fill_form(p, form, t, in, lanes);
}

const char *print_join(Printer *p, Op op, DType t, const char *x, const char *y, bool lanes) {
    return fill_form(p, form_of(op, t, lanes), t, (const char *[]){x, y, ""}, lanes);
}

static const char *random_text(Printer *p, const Expr *e, bool lanes) {
    const char *at = print_ix(p, e->ix), *extra = "";
    if (e->op == OP_randint)
        extra = print_text(p, ", %lld, %lld", (long long)e->lo, (long long)e->hi);
    else if (e->op == OP_permutation)
        extra = print_text(p, ", %lld%s%s", (long long)e->hi, lanes ? ", " : "",
                           lanes ? print_lanes(p) : "");
    const char *place = print_name(p, &p->kernel->places.at[kernel_place(p->kernel, e->place)]);
    return print_text(p, "%s_%s(seed, %s, %s, %s%s)", op_info[e->op].name, lanes ? "v" : "1",
                      print_expr(p, e->in[0], false), place, at, extra);
}

static const char *index_text(Printer *p, const Expr *e, bool lanes) {
    if (lanes)
        return print_text(p, "(%s)", ix_text(p, e->ix, true));
    const char *s = print_ix(p, e->ix);
    return strpbrk(s, " -") ? print_text(p, "(%s)", s) : s;
}

static const char *value_text(Printer *p, const Expr *e, bool lanes) {
    Place x;
    switch (e->kind) {
    case EX_CONST:
        return print_constant(p, e->dtype, e->value, false);
    case EX_OP:
        return op_text(p, e, lanes);
    case EX_LOAD:
        x = buffer_place(p, e->buffer, e->sub);
        return load_text(p, &x);
    case EX_LOCAL:
        return local_text(p, e);
    case EX_INDEX:
        return index_text(p, e, lanes);
    case EX_SCALAR:
        return print_name(p, e->scalar);
    case EX_COUNT:
        return print_name(p, e->count);
    case EX_SOURCE:
        return source_text(p, e);
    case EX_RANDOM:
        return random_text(p, e, lanes);
    }
    bug("expression of kind %d", e->kind);
}

const char *print_expr(Printer *p, const Expr *e, bool lanes) {
    bool vector = print_is_vector(p, e);
    if (vector && !lanes)
        bug("vector where one number is wanted, kernel %s", p->kernel->name);
    if (lanes && !vector && e->kind == EX_CONST)
        return print_constant(p, e->dtype, e->value, true);
    const char *s = value_text(p, e, vector);
    return lanes && !vector ? broadcast(p, e->dtype, s) : s;
}
