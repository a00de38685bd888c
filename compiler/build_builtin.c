/* build_builtin.c: the table of built-in functions and the binding of their arguments. */
#include "build_builtin.h"
#include "build_host.h"
#include "build_stmt.h"

#define BUILTIN(name, run, op, signature) {#name, signature, builtin_##run, OP_##op},
static const Builtin table[] = {
#include "builtins.h"
};
#undef BUILTIN

/* By op: what the flag FN makes callable. */
#define OP(name, args, ...)                                                                        \
    {#name, args == 1 ? "x" : "x, y", args == 1 ? builtin_unary : builtin_binary, OP_##name},
static const Builtin of_op[OP_N] = {
#include "ops.h"
};
#undef OP

const Builtin *builtin_find(const char *name) {
    for (int i = 0; i < COUNT_OF(table); i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    for (int op = 0; op < OP_N; op++)
        if (op_info[op].flags & OPF_FN && strcmp(op_info[op].name, name) == 0)
            return &of_op[op];
    return NULL;
}

const char *const *builtin_names(Arena *a, int *n) {
    const char **names = NEW_ARRAY(a, const char *, COUNT_OF(table) + OP_N);
    *n = 0;
    for (int i = 0; i < COUNT_OF(table); i++)
        names[(*n)++] = table[i].name;
    for (int op = 0; op < OP_N; op++)
        if (op_info[op].flags & OPF_FN)
            names[(*n)++] = op_info[op].name;
    return names;
}

/* ---- signatures ---- */

enum { MAX_FORMALS = 6 };

typedef struct Formal {
    const char *name;
    const char *value; /* text of the default, NULL: the argument must be given */
} Formal;

typedef struct Signature {
    int n;
    Formal at[MAX_FORMALS];
    bool rest;      /* the first parameter takes all positional arguments */
    int positional; /* parameters that may be given without their name */
    const char *text;
} Signature;

static Signature parse_signature(Build *b, const Builtin *f) {
    Signature s = {.rest = f->signature[0] == '*', .positional = MAX_FORMALS};
    char *text = arena_printf(b->arena, "%s", f->signature);
    const char *p = f->signature + s.rest;
    while (*p) {
        size_t n = strcspn(p, ",;");
        const char *one = arena_strndup(b->arena, p, n);
        size_t name = strcspn(one, "=");
        const char *value = one[name] ? one + name + 1 : NULL;
        if (s.n == MAX_FORMALS)
            bug("too many parameters in the signature of %s", f->name);
        s.at[s.n++] = (Formal){arena_strndup(b->arena, one, name), value};
        p += n;
        if (*p == ';') {
            s.positional = s.n;
            text[p - f->signature] = ',';
        }
        p += strspn(p, ",; ");
    }
    s.positional = MIN(s.positional, s.n);
    s.text = s.rest ? arena_printf(b->arena, "%s, …%s", s.at[0].name, text + strcspn(text, ",;"))
                    : text;
    return s;
}

static Value default_value(const char *text) {
    if (strcmp(text, "none") == 0)
        return value_none;
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return value_bool(text[0] == 't');
    return value_int(strtoll(text, NULL, 10));
}

/* ---- binding ---- */

static int find_formal(Build *b, const Builtin *f, const Signature *s, const Arg *a) {
    for (int i = s->rest; i < s->n; i++)
        if (strcmp(s->at[i].name, a->name) == 0)
            return i;
    build_error(b, a->span, "%s has no parameter '%s' (its parameters: %s)", f->name, a->name,
                s->text);
    return -1;
}

/* Sorts the arguments to slots (index of the argument, -1: none) and to the positional rest. */
static bool sort_args(Build *b, const Builtin *f, const Signature *s, const Args *args, int *slot,
                      Actual *out) {
    int next = 0;
    for (int i = 0; i < args->n; i++) {
        const Arg *a = &args->at[i];
        if (!a->name && s->rest) {
            out->rest[out->nrest++] = value_int(i); /* its number, until it is evaluated */
            continue;
        }
        int k = a->name ? find_formal(b, f, s, a) : next++;
        if (k < 0)
            return false;
        if (!a->name && k >= s->positional) {
            build_error(b, a->span,
                        "%s takes %d argument%s%s, this is one more (its parameters: %s)", f->name,
                        s->positional, s->positional == 1 ? "" : "s",
                        s->positional < s->n ? " without a name" : "", s->text);
            return false;
        }
        if (slot[k] >= 0) {
            build_error(b, a->span, "%s got '%s' twice", f->name, s->at[k].name);
            return false;
        }
        slot[k] = i;
    }
    return true;
}

static Value evaluate(Build *b, const Arg *a) {
    return a->expr ? build_expr(b, a->env, a->expr) : a->value;
}

static bool fill_slots(Build *b, const Builtin *f, const Signature *s, const Args *args,
                       const int *slot, Actual *out) {
    bool ok = true;
    for (int i = 0; i < s->n; i++) {
        out->spans[i] = slot[i] < 0 ? args->span : args->at[slot[i]].span;
        if (slot[i] >= 0) {
            out->at[i] = evaluate(b, &args->at[slot[i]]);
        } else if (i == 0 && s->rest) {
            out->at[i] = value_none;
        } else if (s->at[i].value) {
            out->at[i] = default_value(s->at[i].value);
        } else {
            build_error(b, args->span, "%s needs its argument '%s' (its parameters: %s)", f->name,
                        s->at[i].name, s->text);
            return false;
        }
        ok = ok && out->at[i].kind != V_POISON;
    }
    return ok;
}

static bool fill_rest(Build *b, const Builtin *f, const Signature *s, const Args *args,
                      Actual *out) {
    bool ok = true;
    for (int i = 0; i < out->nrest; i++) {
        out->rest[i] = evaluate(b, &args->at[out->rest[i].num.i]);
        ok = ok && out->rest[i].kind != V_POISON;
    }
    if (s->rest && !out->nrest) {
        build_error(b, args->span, "%s needs at least one argument (its parameters: %s)", f->name,
                    s->text);
        return false;
    }
    return ok;
}

Value builtin_apply(Build *b, const Builtin *f, const Args *args) {
    Signature s = parse_signature(b, f);
    Actual a = {.n = s.n, .span = args->span};
    a.at = NEW_ARRAY(b->arena, Value, s.n);
    a.spans = NEW_ARRAY(b->arena, Span, s.n);
    a.rest = NEW_ARRAY(b->arena, Value, args->n + 1);
    int slot[MAX_FORMALS];
    for (int i = 0; i < MAX_FORMALS; i++)
        slot[i] = -1;
    if (!sort_args(b, f, &s, args, slot, &a) || !fill_rest(b, f, &s, args, &a) ||
        !fill_slots(b, f, &s, args, slot, &a))
        return value_poison;
    if (args->span.file && !diag_file(b->diag, args->span.file)->library)
        b->g->span = args->span; /* the arguments left theirs */
    return f->run(b, f, &a);
}

/* ---- helpers ---- */

Node *actual_node(Build *b, const Actual *a, int i) {
    return value_to_node(b, a->at[i], DT_N, a->spans[i]);
}

bool dim_multiply(Dim x, Dim y, Dim *out) {
    *out = (Dim){x.n * y.n, x.count ? x.count : y.count};
    return !x.count || !y.count;
}

/* ---- element by element ---- */

Value builtin_unary(Build *b, const Builtin *self, const Actual *a) {
    return value_unary(b, self->op, a->at[0], a->span);
}

Value builtin_binary(Build *b, const Builtin *self, const Actual *a) {
    return value_binary(b, self->op, a->at[0], a->at[1], a->span);
}

Value builtin_where(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    return value_where(b, a->at[0], a->at[1], a->at[2], a->span);
}

static Value cast_number(Build *b, Value x, DType t) {
    double f = x.kind == V_BOOL ? x.boolean : x.num.f;
    if (t == b->g->real)
        return value_real(f);
    if (t == DT_BOOL)
        return value_bool(f != 0);
    return x.kind == V_NUMBER && x.num.is_int ? x : value_int((int64_t)f);
}

static Value cast_host(Build *b, HExpr *h, DType t) {
    HType want = t == b->g->real ? HT_REAL : t == DT_BOOL ? HT_BOOL : HT_INT;
    if (h->type == want)
        return value_host(h);
    if (want != HT_BOOL)
        return value_host(host_op(b, OP_cast, want, h, NULL, NULL));
    HExpr *zero = h->type == HT_INT ? host_const_int(b, 0) : host_const_real(b, 0);
    return value_host(host_op(b, OP_ne, HT_BOOL, h, zero, NULL));
}

/* Scalars keep their kind for the types that literals and host scalars have: int, bool, the
 * program's float. */
Value builtin_cast(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    Value x = a->at[0];
    if (a->at[1].kind != V_TYPE) {
        build_error(b, a->spans[1], "cast needs a type, such as real, int or bool, found %s",
                    value_text(b, a->at[1]));
        return value_poison;
    }
    DType t = a->at[1].type;
    bool plain = t == b->g->real || t == DT_I32 || t == DT_BOOL;
    bool integral = x.kind == V_BOOL || (x.kind == V_NUMBER && !x.num.count &&
                                         (x.num.is_int || (x.num.f > -0x1p62 && x.num.f < 0x1p62)));
    if (plain && (integral || (x.kind == V_NUMBER && !x.num.count && dtype_is_real(t))))
        return cast_number(b, x, t);
    if (plain && x.kind == V_NUMBER && x.num.count && t == DT_I32)
        return x;
    if (plain && x.kind == V_HOST && x.host->type != HT_STRING)
        return cast_host(b, x.host, t);
    Node *n = actual_node(b, a, 0);
    if (!n)
        return value_poison;
    if (t != DT_BOOL || n->dtype == DT_BOOL)
        return value_node(graph_cast(b->g, n, t));
    return value_node(graph_binary(b->g, OP_ne, n, graph_constant(b->g, n->dtype, &n->shape, 0)));
}

Value builtin_grad(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    return build_grad(b, a);
}
