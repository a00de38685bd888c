/* print_expr.c: expressions of the loop IR as C: vectors of eight where they depend on the lane
 * loop. */
#include "print_kernel.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- precedence ---- */

/* How tightly the outermost operator of a text binds. */
typedef enum Level {
    ANY, /* an argument, a whole line */
    CONDITIONAL,
    OR,
    AND,
    BITS, /* & and | */
    EQUAL,
    LESS,
    SUM,
    PRODUCT,
    UNARY,
    PRIMARY
} Level;

typedef struct Piece {
    const char *s;
    Level level;
} Piece;

/* The piece where at least `level` is wanted. */
static const char *within(Printer *p, Piece x, Level level) {
    return x.level < level ? print_text(p, "(%s)", x.s) : x.s;
}

static Piece primary(const char *s) {
    return (Piece){s, PRIMARY};
}

/* A number: a sign is an operator. */
static Piece number(const char *s) {
    return (Piece){s, s[0] == '-' ? UNARY : PRIMARY};
}

/* ---- subscripts ---- */

static const Ix *fixed_value(const Printer *p, const LoopVar *v) {
    for (int i = p->fixed.n - 1; i >= 0; i--)
        if (p->fixed.at[i].var == v)
            return p->fixed.at[i].value;
    return NULL;
}

static const Ix *resolve_atom(Printer *p, const Atom *atom) {
    const Ix *value;
    switch (atom->kind) {
    case ATOM_VAR:
        value = fixed_value(p, atom->var);
        return value ? value : ix_var(p->arena, atom->var);
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

static Piece expr_piece(Printer *p, const Expr *e, bool lanes);
static Piece ix_piece(Printer *p, const Ix *x);
static Piece vector_ix(Printer *p, const Ix *x);

static Piece atom_piece(Printer *p, const Atom *atom, bool lanes) {
    if (atom->kind == ATOM_VAR)
        return primary(print_name(p, atom->var));
    if (atom->kind == ATOM_DATA)
        return expr_piece(p, atom->data, lanes);
    Piece of = lanes ? vector_ix(p, atom->of) : ix_piece(p, print_resolve(p, atom->of));
    return (Piece){print_text(p, "%s %s %lld", within(p, of, UNARY),
                              atom->kind == ATOM_DIV ? "/" : "%", (long long)atom->by),
                   PRODUCT};
}

/* Adds k * x to a sum. */
static void add_product(Printer *p, Text *t, Level *level, Piece x, int64_t k) {
    long long size = k < 0 ? -k : k;
    *level = t->n       ? SUM
             : k < 0    ? UNARY
             : size > 1 ? PRODUCT
                        : x.level;
    text_add(t, k < 0 ? (t->n ? " - " : "-") : t->n ? " + " : "");
    if (size == 1)
        text_add(t, within(p, x, k < 0 ? UNARY : *level));
    else
        text_printf(t, "%lld * %s", size, within(p, x, UNARY));
}

static void add_constant(Text *t, Level *level, int64_t c) {
    if (t->n && c)
        text_printf(t, " %c %lld", c < 0 ? '-' : '+', (long long)(c < 0 ? -c : c)), *level = SUM;
    else if (!t->n)
        text_printf(t, "%lld", (long long)c), *level = c < 0 ? UNARY : PRIMARY;
}

/* Terms in their order, the constant last. */
static Piece ix_piece(Printer *p, const Ix *x) {
    Text t = {.arena = p->arena};
    Level level = PRIMARY;
    for (int i = 0; i < x->n; i++)
        add_product(p, &t, &level, atom_piece(p, x->term[i].atom, false), x->term[i].k);
    add_constant(&t, &level, x->c);
    return (Piece){t.at, level};
}

const char *print_ix(Printer *p, const Ix *x) {
    return ix_piece(p, print_resolve(p, x)).s;
}

const char *print_term(Printer *p, const Ix *x) {
    return within(p, ix_piece(p, print_resolve(p, x)), PRODUCT);
}

const char *print_factor(Printer *p, const Ix *x) {
    return within(p, ix_piece(p, print_resolve(p, x)), UNARY);
}

const char *print_mask(Printer *p, const Expr *e) {
    Piece x = expr_piece(p, e, true);
    return p->lanes ? print_text(p, "%s & first8(%s)", within(p, x, UNARY), p->lanes) : x.s;
}

/* A vector of the subscript's eight values: iota8() for each time that the lane counts, what the
 * lanes have in common as one number. */
static Piece vector_ix(Printer *p, const Ix *x) {
    Text t = {.arena = p->arena};
    Level level = PRIMARY;
    Term *terms = NEW_ARRAY(p->arena, Term, x->n + 1);
    Ix common = {.c = x->c, .term = terms};
    for (int i = 0; i < x->n; i++) {
        const Atom *atom = x->term[i].atom;
        bool vector = atom_has_lanes(p, atom);
        if (vector)
            add_product(p, &t, &level,
                        atom->kind == ATOM_VAR ? primary("iota8()") : atom_piece(p, atom, true),
                        x->term[i].k);
        if (!vector || atom->kind == ATOM_VAR)
            terms[common.n++] = x->term[i];
    }
    const Ix *rest = print_resolve(p, &common);
    if (!t.n)
        return primary(print_text(p, "bc8i(%s)", ix_piece(p, rest).s));
    bool data = false; /* one number for all lanes, perhaps of 64 bits */
    for (int i = 0; i < rest->n; i++)
        data |= rest->term[i].atom->kind != ATOM_VAR;
    if (data)
        add_product(p, &t, &level, primary(print_text(p, "bc8i(%s)", ix_piece(p, rest).s)), 1);
    else if (rest->n)
        add_product(p, &t, &level, ix_piece(p, rest), 1);
    else
        add_constant(&t, &level, rest->c);
    return (Piece){t.at, level};
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
                      vector_ix(p, flat_offset(p, x)).s, print_lanes(p));
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
                  vector_ix(p, flat_offset(p, x)).s, print_lanes(p), v);
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
                          print_expr(p, index, true), row, vector_ix(p, place).s, print_lanes(p));
    Piece piece = expr_piece(p, index, false);
    const char *at = piece.s;
    if (row != 1)
        at = print_text(p, "%lld * (int64_t)%s", row, within(p, piece, UNARY));
    if (rest.n || rest.c)
        at = print_text(p, "%s + %s", at, print_ix(p, place));
    if (!lanes)
        return print_text(p, "%s[%s]", array, at);
    if (p->lanes)
        return print_text(p, "ld8%sn(&%s[%s], %s)", suffix, array, at, p->lanes);
    return print_text(p, "ld8%s(&%s[%s])", suffix, array, at);
}

/* ---- ops ---- */

/* The shortest text that reads back equal: 0.5f, -1e-05f. */
static const char *float_text(Printer *p, float x) {
    if (x != x)
        return "NAN";
    if (x - x != 0.0f)
        return x < 0 ? "-HUGE_VALF" : "HUGE_VALF";
    char text[32];
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)x);
        if (strtof(text, NULL) == x)
            break;
    }
    if (strstr(text, "e+") && fabsf(x) < 1e7f)
        snprintf(text, sizeof text, "%.0f", (double)x);
    return print_text(p, "%s%sf", text, strpbrk(text, ".e") ? "" : ".0");
}

static const char *double_text(Printer *p, double x) {
    return x - x != 0 && x < 0 ? "-HUGE_VAL" : emit_double(p->arena, x);
}

const char *print_constant(Printer *p, DType t, double value, bool lanes) {
    const char *s;
    if (t == DT_BOOL)
        return lanes ? value != 0 ? "bc8i(-1)" : "bc8i(0)" : value != 0 ? "true" : "false";
    if (t == DT_F64)
        return double_text(p, value);
    if (t != DT_F32)
        s = value == INT32_MIN ? "INT32_MIN" : print_text(p, "%.0f", value);
    else
        s = float_text(p, (float)value);
    return lanes ? print_text(p, t == DT_F32 ? "bc8(%s)" : "bc8i(%s)", s) : s;
}

static Piece broadcast(Printer *p, DType t, Piece x) {
    if (t == DT_BOOL)
        return primary(print_text(p, "bc8i(-(int)%s)", within(p, x, UNARY)));
    return primary(print_text(p, t == DT_F32 ? "bc8(%s)" : "bc8i(%s)", x.s));
}

static Piece cast_piece(Printer *p, DType from, DType to, Piece x, bool lanes) {
    const char *tight = within(p, x, UNARY);
    if (to == DT_BOOL)
        return (Piece){print_text(p, "%s != %s", within(p, x, SUM),
                                  from == DT_F32 || from == DT_F64 ? "0.0f" : "0"),
                       EQUAL};
    if (!lanes)
        return (Piece){print_text(p, "(%s)%s", to == DT_U8 ? "unsigned char" : c_type(to), tight),
                       UNARY};
    if (to == DT_F32)
        return primary(print_text(p, from == DT_BOOL ? "m2f8(%s)" : "i2f8(%s)", x.s));
    if (from == DT_F32)
        x = primary(print_text(p, "f2i8(%s)", x.s));
    else if (from == DT_BOOL)
        x = (Piece){print_text(p, "-%s", within(p, x, PRIMARY)), UNARY};
    return to == DT_U8 ? (Piece){print_text(p, "%s & 255", within(p, x, UNARY)), BITS} : x;
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
    if (!info->form64 || t == DT_F64 || op == OP_where)
        return info->form64 ? info->form64 : info->form;
    return info->form && strstr(info->form, "_v(") ? info->form : info->form64;
}

/* Of the operator that begins here; ANY: none does. */
static Level operator_level(const char *s) {
    static const struct {
        const char *text;
        Level level;
    } of[] = {{"? ", CONDITIONAL}, {": ", CONDITIONAL}, {"|| ", OR},    {"&& ", AND},
              {"| ", BITS},        {"& ", BITS},        {"== ", EQUAL}, {"!= ", EQUAL},
              {"<= ", LESS},       {"< ", LESS},        {"+ ", SUM},    {"- ", SUM},
              {"* ", PRODUCT},     {"/ ", PRODUCT}};
    for (int i = 0; i < COUNT_OF(of); i++)
        if (*s == *of[i].text && strncmp(s, of[i].text, strlen(of[i].text)) == 0)
            return of[i].level;
    return ANY;
}

/* What an operand needs that stands between operators of these levels: more than what binds its
 * right side, and where the rules of C are not those of a reader's eye, an operand of its own. */
static Level operand_level(Level before, Level after) {
    Level most = MAX(before, after);
    if (most == OR)
        return BITS;
    if (most == BITS)
        return UNARY;
    if (most == EQUAL || most == LESS)
        return SUM;
    return MAX(before ? before + 1 : ANY, after == CONDITIONAL ? OR : after);
}

/* The form without the parentheses around all of it. */
static const char *inner_form(Printer *p, const char *form) {
    if (form[0] != '(')
        return form;
    return arena_strndup(p->arena, form + 1, strlen(form) - 2);
}

static void add_operand(Printer *p, Text *out, const char *form, const char *at, Piece x) {
    Level before = ANY, after = ANY;
    if (at > form && strchr("-~!", at[-1]))
        before = UNARY;
    else if (at - form >= 2 && at[-1] == ' ') {
        const char *start = at - 2;
        while (start > form && start[-1] != ' ')
            start--;
        before = operator_level(start);
    }
    if (at[2] == ' ')
        after = operator_level(at + 3);
    text_add(out, within(p, x, before == UNARY ? PRIMARY : operand_level(before, after)));
}

/* Puts the arguments in; name_v becomes name_vi on integers, name_1 or name_1i on one number. */
static Piece fill_form(Printer *p, const char *form, DType t, const Piece *in, bool lanes) {
    Text out = {.arena = p->arena};
    Level level = PRIMARY;
    int depth = 0;
    bool whole = t != DT_F32 && t != DT_F64;
    const char *suffix = lanes ? whole ? "_vi(" : "_v(" : whole ? "_1i(" : "_1(";
    form = inner_form(p, form);
    for (const char *s = form; *s; s++) {
        Level here = depth ? ANY : operator_level(s);
        if (here && s > form && s[-1] == ' ')
            level = MIN(level, here);
        else if (s == form && strchr("-~!", *s))
            level = UNARY;
        if (s[0] == '%' && s[1] >= '0' && s[1] <= '2') {
            add_operand(p, &out, form, s, in[s[1] - '0']);
            s++;
        } else if (strncmp(s, "_v(", 3) == 0) {
            text_add(&out, suffix), s += 2;
            depth++;
        } else {
            depth += (*s == '(') - (*s == ')');
            text_addn(&out, s, 1);
        }
    }
    return (Piece){out.at, level};
}

/* An operator between two operands takes a number beside a vector. */
static bool takes_number(const char *form, DType t) {
    return form[0] == '(' && strstr(form, "%1") && (t == DT_F32 || t == DT_I32);
}

/* x != x and x == x ask whether x is a number. */
static bool is_number_test(const Expr *e) {
    return (e->op == OP_ne || e->op == OP_eq) && dtype_is_real(e->in[0]->dtype) &&
           expr_equal(e->in[0], e->in[1]);
}

static Piece op_piece(Printer *p, const Expr *e, bool lanes) {
    Piece in[3];
    DType t = e->in[e->op == OP_where ? 1 : 0]->dtype;
    const char *form = e->op == OP_cast ? "" : form_of(e->op, t, lanes);
    if (!form)
        bug("%s has no text", op_info[e->op].name);
    if (!lanes && is_number_test(e)) {
        in[0] = expr_piece(p, e->in[0], false);
        return (Piece){print_text(p, e->op == OP_ne ? "isnan(%s)" : "!isnan(%s)", in[0].s),
                       e->op == OP_ne ? PRIMARY : UNARY};
    }
    for (int i = 0; i < e->nin; i++)
        in[i] = expr_piece(p, e->in[i], lanes && !(takes_number(form, t) &&
                                                   !print_is_vector(p, e->in[i])));
    if (e->op == OP_cast)
        return cast_piece(p, t, e->dtype, in[0], lanes);
    /* compilers take a comparison with itself for a slip */
    if (op_info[e->op].flags & OPF_CMP && t != DT_BOOL && strcmp(in[0].s, in[1].s) == 0)
        in[1] = (Piece){print_text(p, "%s + %s", within(p, in[1], SUM),
                                   print_constant(p, t, 0, false)),
                        SUM};
    return fill_form(p, form, t, in, lanes);
}

/* The sign of `x = x + y` as `x += y`, 0: the op has no such form. */
static char update_sign(Op op) {
    const char *form = op_info[op].form;
    return form && strncmp(form, "(%0 ", 4) == 0 && strcmp(form + 5, " %1)") == 0 &&
                   strchr("+-*/", form[4])
               ? form[4]
               : 0;
}

void print_join(Printer *p, Op op, const char *at, const Expr *value) {
    DType t = value->dtype;
    Piece y = expr_piece(p, value, !p->one);
    if (p->lanes)
        y = primary(print_text(p, "%s(first8(%s), %s, %s)", t == DT_F32 ? "sel8" : "sel8i",
                               p->lanes, y.s, print_constant(p, t, reduce_neutral(op, t), true)));
    char sign = t == DT_BOOL ? 0 : update_sign(op_info[op].join);
    if (sign)
        emit_line(&p->e, "%s %c= %s;", at, sign, y.s);
    else
        emit_line(&p->e, "%s = %s;", at,
                  fill_form(p, form_of(op_info[op].join, t, !p->one), t,
                            (Piece[]){primary(at), y}, !p->one)
                      .s);
}

void print_add_product(Printer *p, const char *at, const Expr *x, const Expr *y) {
    DType t = x->dtype;
    Piece in[3] = {expr_piece(p, x, !p->one), expr_piece(p, y, !p->one), primary(at)};
    const char *sum = fill_form(p, form_of(OP_fma, t, !p->one), t, in, !p->one).s;
    if (p->lanes)
        sum = print_text(p, "sel8(first8(%s), %s, %s)", p->lanes, sum, at);
    emit_line(&p->e, "%s = %s;", at, sum);
}

static bool is_element_of(const Expr *e, const Local *l, const Ix *const *sub) {
    if (e->kind != EX_LOCAL || e->local != l)
        return false;
    for (int i = 0; i < l->rank; i++)
        if (!ix_equal(e->sub[i], sub[i]))
            return false;
    return true;
}

void print_assign(Printer *p, const Stmt *st, bool lanes) {
    const Expr *e = st->value;
    const char *at = print_local(p, st->local, st->sub);
    char sign = e->kind == EX_OP && e->dtype != DT_BOOL ? update_sign(e->op) : 0;
    if (sign && is_element_of(e->in[0], st->local, st->sub))
        emit_line(&p->e, "%s %c= %s;", at, sign,
                  print_expr(p, e->in[1], lanes && print_is_vector(p, e->in[1])));
    else
        emit_line(&p->e, "%s = %s;", at, print_expr(p, e, lanes));
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

static Piece value_piece(Printer *p, const Expr *e, bool lanes) {
    Place x;
    switch (e->kind) {
    case EX_CONST:
        return number(print_constant(p, e->dtype, e->value, false));
    case EX_OP:
        return op_piece(p, e, lanes);
    case EX_LOAD:
        x = buffer_place(p, e->buffer, e->sub);
        return primary(load_text(p, &x));
    case EX_LOCAL:
        return primary(local_text(p, e));
    case EX_INDEX:
        return lanes ? vector_ix(p, e->ix) : ix_piece(p, print_resolve(p, e->ix));
    case EX_SCALAR:
        return primary(print_name(p, e->scalar));
    case EX_COUNT:
        return primary(print_name(p, e->count));
    case EX_SOURCE:
        return primary(source_text(p, e));
    case EX_RANDOM:
        return primary(random_text(p, e, lanes));
    }
    bug("expression of kind %d", e->kind);
}

static Piece expr_piece(Printer *p, const Expr *e, bool lanes) {
    bool vector = print_is_vector(p, e);
    if (lanes && !vector && e->kind == EX_CONST)
        return primary(print_constant(p, e->dtype, e->value, true));
    Piece x = value_piece(p, e, vector);
    return lanes && !vector ? broadcast(p, e->dtype, x) : x;
}

const char *print_expr(Printer *p, const Expr *e, bool lanes) {
    if (!lanes && print_is_vector(p, e))
        bug("vector where one number is wanted, kernel %s", p->kernel->name);
    return expr_piece(p, e, lanes).s;
}
