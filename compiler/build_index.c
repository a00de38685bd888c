/* build_index.c: x[…] as in Python, and x[…] = v.
 *
 * A position says what happens to one axis. Reading: one slice for all constant positions, then the
 * run-time ones, then the gather, then a reshape that drops and adds axes. Writing: a piece is
 * taken, changed by the positions that follow, and put back.
 */
#include "build_call.h"

typedef enum PositionKind {
    POS_PART, /* start, step, n: constants */
    POS_RUN,  /* n elements from a run-time start */
    POS_ROWS, /* gather by an index tensor */
    POS_NEW   /* an axis of 1 that was not there */
} PositionKind;

typedef struct Position {
    PositionKind kind;
    bool whole; /* the axis as it is */
    bool drop;  /* an integer: the axis goes */
    int64_t start, step, n;
    Node *node; /* start or index */
    Span span;
} Position;

typedef struct Positions {
    int n;
    Position at[2 * MAX_RANK];
} Positions;

/* ---- length of a run-time slice: hi - lo as a constant plus multiples of unknown terms ---- */

enum { MAX_TERMS = 8 };

typedef struct Linear {
    int64_t constant;
    int n;
    struct {
        Ast *term;
        int64_t factor;
    } at[MAX_TERMS];
    bool too_many;
} Linear;

static bool known_int(Build *b, Env *env, Ast *e, int64_t *out) {
    Value v = build_expr(b, env, e);
    bool known = v.kind == V_NUMBER && v.num.is_int && !v.num.count;
    *out = known ? v.num.i : 0;
    return known;
}

static void add_term(Linear *l, Ast *e, int64_t factor) {
    for (int i = 0; i < l->n; i++)
        if (ast_equal(l->at[i].term, e)) {
            l->at[i].factor += factor;
            return;
        }
    l->too_many = l->too_many || l->n == MAX_TERMS;
    if (l->too_many)
        return;
    l->at[l->n].term = e;
    l->at[l->n++].factor = factor;
}

static void add_linear(Build *b, Env *env, Linear *l, Ast *e, int64_t factor) {
    int64_t k;
    if (known_int(b, env, e, &k)) {
        l->constant += factor * k;
    } else if (e->kind == AST_UNARY && e->unary.op == UNARY_NEG) {
        add_linear(b, env, l, e->unary.x, -factor);
    } else if (e->kind == AST_BINARY &&
               (e->binary.op == BINARY_ADD || e->binary.op == BINARY_SUB)) {
        add_linear(b, env, l, e->binary.left, factor);
        add_linear(b, env, l, e->binary.right, e->binary.op == BINARY_ADD ? factor : -factor);
    } else if (e->kind == AST_BINARY && e->binary.op == BINARY_MUL &&
               known_int(b, env, e->binary.right, &k)) {
        add_linear(b, env, l, e->binary.left, factor * k);
    } else if (e->kind == AST_BINARY && e->binary.op == BINARY_MUL &&
               known_int(b, env, e->binary.left, &k)) {
        add_linear(b, env, l, e->binary.right, factor * k);
    } else {
        add_term(l, e, factor);
    }
}

static bool constant_length(Build *b, Env *env, const Ast *slice, int64_t *n) {
    if (!slice->slice.lo || !slice->slice.hi)
        return false;
    Linear l = {0};
    add_linear(b, env, &l, slice->slice.hi, 1);
    add_linear(b, env, &l, slice->slice.lo, -1);
    for (int i = 0; i < l.n; i++)
        if (l.at[i].factor)
            return false;
    *n = l.constant;
    return !l.too_many;
}

/* ---- slices ---- */

typedef struct Bounds {
    Value lo, hi;
    int64_t step;
} Bounds;

static bool is_constant(Value v) {
    return v.kind == V_NONE || (v.kind == V_NUMBER && !v.num.count);
}

static bool read_bounds(Build *b, Env *env, const Ast *e, Bounds *out) {
    *out = (Bounds){value_none, value_none, 1};
    if (e->slice.lo)
        out->lo = build_expr(b, env, e->slice.lo);
    if (e->slice.hi)
        out->hi = build_expr(b, env, e->slice.hi);
    if (out->lo.kind == V_POISON || out->hi.kind == V_POISON)
        return false;
    if (!e->slice.step)
        return true;
    if (!value_to_int(b, build_expr(b, env, e->slice.step), "the step of a slice",
                      e->slice.step->span, &out->step))
        return false;
    if (out->step == 0)
        build_error(b, e->slice.step->span, "the step of a slice cannot be 0");
    return out->step != 0;
}

static bool bound_at(Build *b, Value v, int64_t n, int64_t none, int64_t lo, int64_t hi, Span at,
                     int64_t *out) {
    *out = none;
    if (v.kind == V_NONE)
        return true;
    if (!value_to_int(b, v, "the bound of a slice", at, out))
        return false;
    if (*out < 0)
        *out += n;
    *out = MIN(MAX(*out, lo), hi);
    return true;
}

/* Python's rule: bounds beyond the ends are moved to them; *length may be 0. */
static bool python_slice(Build *b, const Bounds *s, int64_t n, Span at, int64_t *start,
                         int64_t *length) {
    bool up = s->step > 0;
    int64_t lo = up ? 0 : -1, hi = up ? n : n - 1, end;
    if (!bound_at(b, s->lo, n, up ? 0 : n - 1, lo, hi, at, start) ||
        !bound_at(b, s->hi, n, up ? n : -1, lo, hi, at, &end))
        return false;
    int64_t span = up ? end - *start : *start - end, step = up ? s->step : -s->step;
    *length = span > 0 ? (span - 1) / step + 1 : 0;
    return true;
}

/* Constant bounds on an axis whose extent is known at run time only. */
static bool slice_of_count(Build *b, const Bounds *s, Dim d, Position *p) {
    bool from_start = s->lo.kind == V_NONE || (s->lo.num.is_int && s->lo.num.i == 0);
    bool to_end = s->hi.kind == V_NONE ||
                  (s->hi.kind == V_NUMBER && s->hi.num.count == d.count && s->hi.num.i == d.n);
    p->whole = from_start && to_end && s->step == 1;
    if (p->whole)
        return true;
    bool inside = s->step == 1 && s->hi.kind == V_NUMBER && !s->hi.num.count && s->hi.num.is_int &&
                  s->hi.num.i <= d.n;
    p->start = from_start ? 0 : s->lo.num.is_int ? s->lo.num.i : -1;
    p->n = inside ? s->hi.num.i - p->start : 0;
    if (p->start < 0 || p->n < 1) {
        build_error(b, p->span,
                    "this slice needs the size of a dimension that is known only at run time (at "
                    "most %lld)",
                    (long long)d.n);
        return false;
    }
    if (p->start + p->n <= d.n / d.count->bound)
        return true;
    p->kind = POS_RUN;
    p->node = value_to_node(b, value_int(p->start), DT_I32, p->span);
    return true;
}

static bool run_time_slice(Build *b, Env *env, const Ast *e, const Bounds *s, Dim d, Position *p) {
    if (s->step != 1 || !constant_length(b, env, e, &p->n)) {
        build_error(b, e->span,
                    "a slice with a run-time bound needs a constant length, as in x[i:i+8]");
        return false;
    }
    if (p->n < 1 || p->n > d.n) {
        build_error(b, e->span, "this slice has the length %lld, the dimension %lld",
                    (long long)p->n, (long long)d.n);
        return false;
    }
    p->kind = POS_RUN;
    p->node = index_node(b, s->lo, d, e->slice.lo->span);
    return p->node != NULL;
}

static bool read_slice(Build *b, Env *env, const Ast *e, Dim d, Position *p) {
    Bounds s;
    if (!read_bounds(b, env, e, &s))
        return false;
    p->step = s.step;
    bool to_end = s.hi.kind == V_NUMBER && s.hi.num.count && s.hi.num.count == d.count;
    if (d.count && is_constant(s.lo) && (is_constant(s.hi) || to_end))
        return slice_of_count(b, &s, d, p);
    if (!is_constant(s.lo) || !is_constant(s.hi))
        return run_time_slice(b, env, e, &s, d, p);
    if (!python_slice(b, &s, d.n, e->span, &p->start, &p->n))
        return false;
    p->whole = p->start == 0 && p->n == d.n && p->step == 1;
    if (p->n == 0)
        build_error(b, e->span, "this slice is empty: the dimension has %lld", (long long)d.n);
    return p->n != 0;
}

/* ---- integers and tensors ---- */

static bool known_index(Build *b, Value v, Dim d, Position *p) {
    int64_t i;
    if (!value_to_int(b, v, "an index", p->span, &i))
        return false;
    int64_t sure =
        d.count ? d.n / d.count->bound : d.n; /* elements that are there for every count */
    p->drop = true;
    p->n = 1;
    if (i < -d.n || i >= d.n) {
        build_error(b, p->span, "index %lld is out of range: the dimension has %s%lld",
                    (long long)i, d.count ? "at most " : "", (long long)d.n);
        return false;
    }
    p->start = i < 0 ? i + d.n : i;
    if (!d.count || (i >= 0 && i < sure))
        return true;
    p->kind = POS_RUN;
    Value at = i < 0 ? value_binary(b, OP_add, value_dim(d), v, p->span) : v;
    p->node = value_to_node(b, at, DT_I32, p->span);
    return p->node != NULL;
}

static bool read_value(Build *b, Value v, Dim d, Position *p) {
    if (v.kind == V_POISON)
        return false;
    if (v.kind == V_NUMBER && !v.num.count)
        return known_index(b, v, d, p);
    p->node = index_node(b, v, d, p->span);
    if (!p->node)
        return false;
    p->drop = p->node->shape.rank == 0;
    p->kind = p->drop ? POS_RUN : POS_ROWS;
    p->n = 1;
    return true;
}

static Position whole_axis(Dim d, Span at) {
    return (Position){.kind = POS_PART, .whole = true, .step = 1, .n = d.n, .span = at};
}

static int count_axes(const AstList *items) {
    int n = 0;
    for (int i = 0; i < items->n; i++)
        n += items->at[i]->kind != AST_NONE && items->at[i]->kind != AST_ELLIPSIS;
    return n;
}

static bool check_items(Build *b, const Ast *e, const Node *x) {
    const AstList *items = &e->index.items;
    int dots = 0, axes = count_axes(items);
    for (int i = 0; i < items->n; i++)
        dots += items->at[i]->kind == AST_ELLIPSIS;
    if (dots > 1)
        build_error(b, e->span, "an index has at most one '...'");
    else if (axes > x->shape.rank)
        build_error(b, e->span, "%d indices for %s", axes, value_text(b, value_node((Node *)x)));
    else if (items->n - axes - dots + x->shape.rank > 2 * MAX_RANK)
        build_error(b, e->span, "a tensor has at most %d dimensions", MAX_RANK);
    else
        return true;
    return false;
}

static bool read_item(Build *b, Env *env, Ast *item, Dim d, Position *p) {
    *p = (Position){.kind = POS_PART, .step = 1, .span = item->span};
    if (item->kind == AST_SLICE)
        return read_slice(b, env, item, d, p);
    return read_value(b, build_expr(b, env, item), d, p);
}

static bool read_positions(Build *b, Env *env, const Ast *e, const Node *x, Positions *out) {
    const AstList *items = &e->index.items;
    int axis = 0, rest = x->shape.rank - count_axes(items);
    if (!check_items(b, e, x))
        return false;
    out->n = 0;
    for (int i = 0; i < items->n; i++) {
        Ast *item = items->at[i];
        if (item->kind == AST_NONE) {
            out->at[out->n++] = (Position){.kind = POS_NEW, .span = item->span};
        } else if (item->kind == AST_ELLIPSIS) {
            for (; rest; rest--)
                out->at[out->n++] = whole_axis(x->shape.dim[axis++], item->span);
        } else if (!read_item(b, env, item, x->shape.dim[axis++], &out->at[out->n++])) {
            return false;
        }
    }
    while (axis < x->shape.rank)
        out->at[out->n++] = whole_axis(x->shape.dim[axis++], e->span);
    return true;
}

/* ---- reading ---- */

static Node *slice_parts(Build *b, Node *x, const Positions *p) {
    int64_t start[MAX_RANK] = {0}, step[MAX_RANK];
    Shape s = x->shape;
    bool any = false;
    for (int i = 0; i < MAX_RANK; i++)
        step[i] = 1;
    for (int i = 0, axis = 0; i < p->n; i++) {
        const Position *q = &p->at[i];
        if (q->kind == POS_PART && !q->whole) {
            start[axis] = q->start;
            step[axis] = q->n == 1 ? 1 : q->step;
            s.dim[axis] = (Dim){q->n, NULL};
            any = true;
        }
        axis += q->kind != POS_NEW;
    }
    return any ? graph_slice(b->g, x, start, step, &s) : x;
}

static Node *run_part(Build *b, Node *x, const Position *p, int axis) {
    if (!x->shape.dim[axis].count)
        return graph_slice_at(b->g, x, p->node, axis, p->n);
    Shape s = shape_of(1, &p->n);
    Node *index =
        graph_binary(b->g, OP_add, graph_broadcast_to(b->g, p->node, &s), graph_iota(b->g, &s, 0));
    return node_take(b, x, index, axis, p->span);
}

/* The run-time positions; the axes keep their numbers up to the one that is gathered. */
static Node *take_parts(Build *b, Node *x, const Positions *p, int *rows) {
    int axis = 0, rows_axis = -1;
    const Position *gather = NULL;
    for (int i = 0; i < p->n && x; i++) {
        const Position *q = &p->at[i];
        if (q->kind == POS_RUN)
            x = run_part(b, x, q, axis);
        if (q->kind == POS_ROWS && gather) {
            build_error(
                b, q->span,
                "an index takes one tensor at most (pick(x, i) takes one element of each row)");
            return NULL;
        }
        if (q->kind == POS_ROWS) {
            gather = q;
            rows_axis = axis;
        }
        axis += q->kind != POS_NEW;
    }
    *rows = gather ? gather->node->shape.rank : 1;
    return gather && x ? node_take(b, x, gather->node, rows_axis, gather->span) : x;
}

static Value read_tensor(Build *b, Env *env, Ast *e, Node *x) {
    Positions p;
    int rows;
    if (!x || !read_positions(b, env, e, x, &p) ||
        !(x = take_parts(b, slice_parts(b, x, &p), &p, &rows)))
        return value_poison;
    Shape s = {0};
    for (int i = 0, axis = 0; i < p.n; i++) {
        const Position *q = &p.at[i];
        int axes = q->kind == POS_NEW ? 0 : q->kind == POS_ROWS ? rows : 1;
        int made = q->kind == POS_NEW ? 1 : q->drop ? 0 : axes;
        if (s.rank + made > MAX_RANK) {
            build_error(b, e->span, "a tensor has at most %d dimensions", MAX_RANK);
            return value_poison;
        }
        for (int k = 0; k < made; k++)
            s.dim[s.rank++] = q->kind == POS_NEW ? (Dim){1, NULL} : x->shape.dim[axis + k];
        axis += axes;
    }
    return value_node(graph_reshape(b->g, x, &s));
}

/* ---- lists and strings ---- */

typedef struct Pick { /* elements of a list or string */
    bool one;
    int64_t start, step, n;
} Pick;

/* 1: picked, 0: an error was given, -1: the index is not known now */
static int pick_known(Build *b, Env *env, Ast *item, int64_t n, Pick *out) {
    if (item->kind == AST_SLICE) {
        Bounds s;
        if (!read_bounds(b, env, item, &s))
            return 0;
        out->one = false;
        out->step = s.step;
        if (!is_constant(s.lo) || !is_constant(s.hi))
            return -1;
        return python_slice(b, &s, n, item->span, &out->start, &out->n);
    }
    if (item->kind == AST_NONE || item->kind == AST_ELLIPSIS)
        return -1;
    Value v = build_expr(b, env, item);
    if (v.kind == V_POISON)
        return 0;
    if (v.kind != V_NUMBER || v.num.count)
        return -1;
    int64_t i;
    if (!value_to_int(b, v, "an index", item->span, &i))
        return 0;
    if (i < -n || i >= n) {
        build_error(b, item->span, "index %lld is out of range: there are %lld", (long long)i,
                    (long long)n);
        return 0;
    }
    *out = (Pick){true, i < 0 ? i + n : i, 1, 1};
    return 1;
}

static bool holds_tensors(Value v) {
    for (int i = 0; i < v.list->n; i++) {
        ValueKind k = v.list->at[i].kind;
        if (k != V_LIST && k != V_TENSOR && k != V_NUMBER && k != V_BOOL && k != V_HOST)
            return false;
    }
    return true;
}

static Value index_list(Build *b, Env *env, Ast *e, Value base) {
    const AstList *items = &e->index.items;
    Pick p;
    int found = items->n == 1 ? pick_known(b, env, items->at[0], base.list->n, &p) : -1;
    if (found == 0)
        return value_poison;
    if (found < 0 && holds_tensors(base))
        return read_tensor(b, env, e, value_to_node(b, base, DT_N, e->index.base->span));
    if (found < 0) {
        build_error(b, e->span, "a list takes one index that is known when nnc runs");
        return value_poison;
    }
    if (p.one)
        return base.list->at[p.start];
    Value *at = NEW_ARRAY(b->arena, Value, p.n + 1);
    for (int64_t i = 0; i < p.n; i++)
        at[i] = base.list->at[p.start + i * p.step];
    return value_list(b, at, (int)p.n, base.list->tuple);
}

static Value index_string(Build *b, Env *env, Ast *e, const char *s) {
    const AstList *items = &e->index.items;
    Pick p;
    int found = items->n == 1 ? pick_known(b, env, items->at[0], (int64_t)strlen(s), &p) : -1;
    if (found < 0)
        build_error(b, e->span, "a string takes one index that is known when nnc runs");
    if (found <= 0)
        return value_poison;
    Text t = {.arena = b->arena};
    for (int64_t i = 0; i < p.n; i++)
        text_addn(&t, s + p.start + i * p.step, 1);
    return value_string(t.n ? t.at : "");
}

Value build_index(Build *b, Env *env, Ast *e) {
    Value base = build_expr(b, env, e->index.base);
    switch (base.kind) {
    case V_POISON:
        return base;
    case V_LIST:
        return index_list(b, env, e, base);
    case V_STRING:
        return index_string(b, env, e, base.string);
    case V_TENSOR:
        return read_tensor(b, env, e, value_to_node(b, base, DT_N, e->index.base->span));
    default:
        build_error(b, e->span, "%s cannot be indexed", value_text(b, base));
        return value_poison;
    }
}

/* ---- writing ---- */

/* Shape of what the positions select, with or without the axes of integers. */
static Shape selected(const Shape *x, const Positions *p, bool dropped) {
    Shape s = {0};
    for (int i = 0; i < p->n; i++)
        if (!dropped || !p->at[i].drop)
            s.dim[s.rank++] = p->at[i].whole ? x->dim[i] : (Dim){p->at[i].n, NULL};
    return s;
}

static bool writable(Build *b, const Node *x, const Positions *p) {
    for (int i = 0; i < p->n; i++) {
        const Position *q = &p->at[i];
        const char *why = q->kind == POS_ROWS
                              ? "by an index tensor (scatter_add(base, index, update) adds to rows)"
                          : q->kind == POS_NEW ? "with a new axis"
                          : q->step != 1       ? "with a step"
                          : x->shape.dim[i].count && !q->whole
                              ? "to a part of a dimension known only at run time"
                              : NULL;
        if (why) {
            build_error(b, q->span, "assigning %s is not possible", why);
            return false;
        }
    }
    return true;
}

/* v as the piece that is selected, of base's type */
static Node *piece_node(Build *b, const Node *base, const Positions *p, Value v, Span at) {
    Node *n = value_to_node(b, v, base->dtype, at);
    if (!n)
        return NULL;
    if (!dtype_is_real(n->dtype) && dtype_is_real(base->dtype))
        n = graph_cast(b->g, n, base->dtype);
    Shape want = selected(&base->shape, p, true);
    bool fits = n->dtype == base->dtype && n->shape.rank <= want.rank;
    for (int i = 0; fits && i < n->shape.rank; i++) {
        Dim d = n->shape.dim[i];
        fits = dim_equal(d, want.dim[want.rank - n->shape.rank + i]) || (d.n == 1 && !d.count);
    }
    if (!fits) {
        build_error(b, at, "the elements are %s%s, the value is %s", dtype_name(base->dtype),
                    shape_text(b->arena, &want), value_text(b, value_node(n)));
        return NULL;
    }
    Shape full = selected(&base->shape, p, false);
    return graph_reshape(b->g, graph_broadcast_to(b->g, n, &want), &full);
}

static Node *put(Build *b, Node *base, const Positions *p, int axis, Node *v) {
    while (axis < p->n && p->at[axis].whole)
        axis++;
    if (axis == p->n)
        return v;
    const Position *q = &p->at[axis];
    bool run = q->kind == POS_RUN;
    Node *start = run ? q->node : value_to_node(b, value_int(q->start), DT_I32, q->span);
    Node *piece = run ? graph_slice_at(b->g, base, start, axis, q->n)
                      : node_part(b, base, axis, q->start, q->n);
    return graph_put_at(b->g, base, put(b, piece, p, axis + 1, v), start, axis);
}

static Value assign_list(Build *b, Env *env, Ast *index, Value base, Value v) {
    const AstList *items = &index->index.items;
    Pick p = {0};
    int found = items->n == 1 ? pick_known(b, env, items->at[0], base.list->n, &p) : -1;
    if (found < 0 || (found > 0 && !p.one))
        build_error(b, index->span,
                    "an element of a list is assigned by one index that is known when nnc runs");
    if (found <= 0 || !p.one)
        return value_poison;
    Value copy = value_list(b, base.list->at, base.list->n, base.list->tuple);
    copy.list->at[p.start] = v;
    return copy;
}

Value value_index_assign(Build *b, Env *env, Ast *index, Value base, Value v) {
    if (base.kind == V_POISON || v.kind == V_POISON)
        return value_poison;
    if (base.kind == V_LIST)
        return assign_list(b, env, index, base, v);
    if (base.kind != V_TENSOR) {
        build_error(b, index->span, "%s has no elements that could be assigned to",
                    value_text(b, base));
        return value_poison;
    }
    Node *x = value_to_node(b, base, DT_N, index->span);
    Positions p;
    if (!read_positions(b, env, index, x, &p) || !writable(b, x, &p))
        return value_poison;
    Node *piece = piece_node(b, x, &p, v, index->span);
    return piece ? value_node(put(b, x, &p, 0, piece)) : value_poison;
}
