/* ref_host.c: host statements and expressions, run by walking them.
 *
 * Arithmetic of reals is the oracle's own, op by op; that of whole numbers is exact in 64 bits.
 */
#include "interp.h"
#include "ref.h"
#include <string.h>

/* ---- expressions ---- */

static DType type_of(HType t) {
    return t == HT_REAL ? DT_F64 : t == HT_BOOL ? DT_BOOL : DT_I64;
}

static double as_number(HType t, HValue v) {
    return t == HT_REAL ? v.f : t == HT_BOOL ? (double)v.b : (double)v.i;
}

static HValue from_number(HType t, double x) {
    if (t == HT_REAL)
        return (HValue){.f = x};
    if (t == HT_BOOL)
        return (HValue){.b = x != 0};
    return (HValue){.i = x >= -9.2e18 && x <= 9.2e18 ? (int64_t)x : 0};
}

/* Arithmetic has stopped the run: what was computed counts for nothing. */
static bool has_failed(const Ref *r) {
    return r->status != REF_OK && r->status != REF_EXPECT;
}

static int64_t too_large(Ref *r, const HExpr *h, int64_t x, const char *sign, int64_t y) {
    if (!has_failed(r))
        ref_fail(r, REF_USAGE, "%s: %lld %s %lld is too large for an integer",
                 ref_where(r, h->span), (long long)x, sign, (long long)y);
    return 0;
}

static int64_t whole_quotient(Ref *r, const HExpr *h, int64_t x, int64_t y) {
    if (h->s && y < 1) {
        if (!has_failed(r))
            ref_fail(r, REF_USAGE, "%s: '%s' takes at least 1, found %lld", ref_where(r, h->span),
                     h->s, (long long)y);
        return 0;
    }
    if (y == 0) {
        if (!has_failed(r))
            ref_fail(r, REF_USAGE, "%s: integer division by zero", ref_where(r, h->span));
        return 0;
    }
    if (y == -1 && h->op == OP_floordiv)
        return x == INT64_MIN ? too_large(r, h, x, "//", y) : -x;
    int64_t rest = y == -1 ? 0 : x % y;
    bool back = rest != 0 && (x < 0) != (y < 0);
    return h->op == OP_mod ? rest + (back ? y : 0) : x / y - back;
}

/* *z: of whole numbers x and y (0 where there is one); false: this op knows them only as reals. */
static bool whole_op(Ref *r, const HExpr *h, int64_t x, int64_t y, int64_t *z) {
    switch (h->op) {
    case OP_add:
        if (__builtin_add_overflow(x, y, z))
            *z = too_large(r, h, x, "+", y);
        return true;
    case OP_sub:
        if (__builtin_sub_overflow(x, y, z))
            *z = too_large(r, h, x, "-", y);
        return true;
    case OP_mul:
        if (__builtin_mul_overflow(x, y, z))
            *z = too_large(r, h, x, "*", y);
        return true;
    case OP_neg:
    case OP_abs:
        *z = h->op == OP_abs && x >= 0 ? x : x == INT64_MIN ? too_large(r, h, 0, "-", x) : -x;
        return true;
    case OP_floordiv:
    case OP_mod:
        *z = whole_quotient(r, h, x, y);
        return true;
    case OP_minimum:
        *z = MIN(x, y);
        return true;
    case OP_maximum:
        *z = MAX(x, y);
        return true;
    case OP_eq:
        *z = x == y;
        return true;
    case OP_ne:
        *z = x != y;
        return true;
    case OP_lt:
        *z = x < y;
        return true;
    case OP_le:
        *z = x <= y;
        return true;
    default:
        return false;
    }
}

static HValue number_op(Ref *r, const HExpr *h) {
    HValue v[3] = {0};
    double at[3];
    bool whole = h->type == HT_INT || h->type == HT_BOOL;
    for (int i = 0; i < h->nargs; i++) {
        v[i] = ref_value(r, h->args[i]);
        at[i] = as_number(h->args[i]->type, v[i]);
        whole = whole && h->args[i]->type == HT_INT;
    }
    if (h->op == OP_abs && h->s && !(at[0] > 0)) {
        if (!has_failed(r))
            ref_fail(r, REF_USAGE, "%s: '%s' takes a number above 0, found %g",
                     ref_where(r, h->span), h->s, at[0]);
        return (HValue){.f = 1};
    }
    int64_t z;
    if (whole && whole_op(r, h, v[0].i, v[1].i, &z))
        return (HValue){.i = z, .b = z != 0};
    return from_number(h->type, interp_number(h->op, type_of(h->type), h->nargs, at));
}

/* What is not needed is not evaluated, so it cannot divide by zero. */
static HValue op_value(Ref *r, const HExpr *h) {
    HValue first = ref_value(r, h->args[0]);
    if (h->op == OP_where)
        return ref_value(r, h->args[first.b ? 1 : 2]);
    if ((h->op == OP_and && !first.b) || (h->op == OP_or && first.b))
        return first;
    if (h->args[0]->type != HT_STRING)
        return number_op(r, h);
    bool equal = strcmp(first.s, ref_value(r, h->args[1]).s) == 0;
    return (HValue){.b = equal == (h->op == OP_eq)};
}

const Tensor *ref_node(Ref *r, const Node *n) {
    if (r->kept[n->id])
        return r->kept[n->id];
    if (op_info[n->op].kind != KIND_LEAF)
        bug("oracle: node %d (%s) is read before its region ran", n->id, op_info[n->op].name);
    interp_forget(r->interp);
    return interp_value(r->interp, n);
}

static HValue constant_value(const HExpr *h) {
    return (HValue){.i = h->i, .b = h->i != 0, .f = h->f, .s = h->s};
}

static void put_format(Ref *r, const Format *f);

HValue ref_value(Ref *r, const HExpr *h) {
    switch (h->kind) {
    case HX_CONST:
        return constant_value(h);
    case HX_OPTION:
        for (int i = 0; i < r->p->options.n; i++)
            if (r->p->options.at[i] == h->option)
                return r->option[i];
        bug("oracle: option '%s' is not in the program", h->option->name);
    case HX_VAR:
        return r->var[h->var->id];
    case HX_NODE:
        return from_number(h->type, ref_node(r, h->node)->at[0]);
    case HX_HOME:
        return from_number(h->type, r->home[h->home->id]->at[0]);
    case HX_ROWS:
        return (HValue){.i = ref_data_rows(r, h->split)};
    case HX_OP:
        return op_value(r, h);
    case HX_FORMAT:
        put_format(r, h->format);
        return (HValue){.s = ref_take_text(r)};
    }
    bug("oracle: host expression of kind %d", (int)h->kind);
}

/* ---- text ---- */

static void put_value(Ref *r, const HExpr *h, const char *format) {
    if (h->kind == HX_FORMAT) {
        put_format(r, h->format);
        return;
    }
    bool is_f32 = (h->kind == HX_NODE && h->node->dtype == DT_F32) ||
                  (h->kind == HX_HOME && h->home->dtype == DT_F32);
    ref_put_value(r, h->type, ref_value(r, h), is_f32, format);
}

static void put_format(Ref *r, const Format *f) {
    for (int i = 0; f && i < f->n; i++) {
        const TextPart *part = &f->parts[i];
        if (part->tensor)
            ref_put_tensor(r, ref_node(r, part->tensor), part->tensor->dtype, part->format);
        else if (part->value)
            put_value(r, part->value, part->format);
        else if (part->text)
            ref_put_text(r, part->text);
    }
}

/* ---- statements ---- */

typedef enum Flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_STOP } Flow;

static Flow run_block(Ref *r, const HBlock *b);

/* What a loop does after a round of its body. */
static bool leaves(Flow f) {
    return f == FLOW_BREAK || f == FLOW_STOP;
}

static Flow after_loop(Flow f) {
    return f == FLOW_STOP ? FLOW_STOP : FLOW_NEXT;
}

static Flow run_for(Ref *r, const HStmt *s) {
    int64_t first = ref_value(r, s->value).i, limit = ref_value(r, s->limit).i;
    if (has_failed(r))
        return FLOW_STOP;
    Flow f = FLOW_NEXT;
    int64_t *i = &r->var[s->var->id].i;
    if (s->reverse)
        for (*i = limit; *i > first && !leaves(f);) {
            --*i;
            f = run_block(r, s->body);
        }
    else
        for (*i = first; *i < limit && !leaves(f); *i += !leaves(f))
            f = run_block(r, s->body);
    return after_loop(f);
}

static bool next_batches(Ref *r, const HStmt *s) {
    for (int i = 0; i < s->nloops; i++)
        if (!ref_data_batches_next(r, s->loops[i]))
            return false;
    return true;
}

static Flow run_batches(Ref *r, const HStmt *s) {
    for (int i = 0; i < s->nloops; i++) {
        const HExpr *steps = s->loops[i]->steps;
        if (!ref_data_batches_start(r, s->loops[i], steps ? ref_value(r, steps).i : 0))
            return FLOW_STOP;
    }
    Flow f = FLOW_NEXT;
    while (!leaves(f) && next_batches(r, s))
        f = run_block(r, s->body);
    return after_loop(f);
}

static Flow run_while(Ref *r, const HStmt *s) {
    Flow f = FLOW_NEXT;
    while (!leaves(f)) {
        if (run_block(r, s->cond) == FLOW_STOP)
            return FLOW_STOP;
        bool goes_on = ref_value(r, s->value).b;
        if (has_failed(r))
            return FLOW_STOP;
        if (!goes_on)
            break;
        f = run_block(r, s->body);
    }
    return after_loop(f);
}

static void run_expect(Ref *r, const HStmt *s) {
    bool holds = ref_value(r, s->value).b;
    ref_put_text(r, holds ? "ok: " : "failed: ");
    put_format(r, s->format);
    if (!holds && s->relation) {
        ref_put_text(r, " (found ");
        put_value(r, s->left, NULL);
        ref_put_text(r, ", wanted ");
        ref_put_text(r, s->relation);
        ref_put_text(r, " ");
        put_value(r, s->right, NULL);
        ref_put_text(r, ")");
    }
    ref_put_text(r, "\n");
    if (has_failed(r))
        return;
    ref_print(r);
    if (!holds)
        r->status = REF_EXPECT;
}

static void run_print(Ref *r, const HStmt *s) {
    put_format(r, s->format);
    ref_put_text(r, s->newline ? "\n" : "");
    if (has_failed(r))
        return;
    if (s->warning)
        ref_warn(r);
    else
        ref_print(r);
}

static void run_set(Ref *r, const HStmt *s) {
    HValue v = ref_value(r, s->value);
    r->var[s->var->id] = v;
}

static Flow run_if(Ref *r, const HStmt *s) {
    bool holds = ref_value(r, s->value).b;
    return has_failed(r) ? FLOW_STOP : run_block(r, holds ? s->body : s->other);
}

static Flow run_file(Ref *r, const HStmt *s) {
    const char *path = ref_value(r, s->value).s;
    if (has_failed(r))
        return FLOW_STOP;
    bool done = ref_data_store(r, s, path);
    return done ? FLOW_NEXT : FLOW_STOP;
}

static Flow run_stmt(Ref *r, const HStmt *s) {
    switch (s->kind) {
    case HS_REGION:
        return ref_region(r, s->region) ? FLOW_NEXT : FLOW_STOP;
    case HS_FOR:
        return run_for(r, s);
    case HS_BATCHES:
        return run_batches(r, s);
    case HS_WHILE:
        return run_while(r, s);
    case HS_IF:
        return run_if(r, s);
    case HS_BREAK:
        return FLOW_BREAK;
    case HS_CONTINUE:
        return FLOW_CONTINUE;
    case HS_SAVE:
    case HS_LOAD:
        return run_file(r, s);
    case HS_SET:
        run_set(r, s);
        return FLOW_NEXT;
    case HS_PRINT:
        run_print(r, s);
        return FLOW_NEXT;
    case HS_EXPECT:
        run_expect(r, s);
        return FLOW_NEXT;
    case HS_RECORD: /* nobody looks at a progress line here */
        return FLOW_NEXT;
    }
    bug("oracle: host statement of kind %d", (int)s->kind);
}

static Flow run_block(Ref *r, const HBlock *b) {
    Flow f = FLOW_NEXT;
    for (int i = 0; b && i < b->stmts.n && f == FLOW_NEXT; i++) {
        f = run_stmt(r, b->stmts.at[i]);
        if (has_failed(r))
            return FLOW_STOP;
    }
    return f;
}

bool ref_block(Ref *r, const HBlock *b) {
    return run_block(r, b) != FLOW_STOP;
}
