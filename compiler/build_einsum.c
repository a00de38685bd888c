/* build_einsum.c: products: x @ y by NumPy's rules, and einsum for any labels.
 *
 * Everything comes down to dot, [b, m, k] x [b, k, n] -> [b, m, n], with permutes and reshapes
 * around it. einsum works from left to right: labels that nothing else needs are summed first, then
 * each operand is joined to the product so far.
 */
#include "build_builtin.h"

/* ---- joining two operands ---- */

enum { MAX_LABELS = 2 * MAX_RANK };

/* A tensor whose axes have labels; a label stands once. */
typedef struct Labelled {
    Node *node;
    int label[MAX_LABELS];
} Labelled;

typedef struct Labels {
    int n;
    int at[MAX_LABELS];
} Labels;

static int find_label(const Labelled *x, int label) {
    for (int i = 0; i < x->node->shape.rank; i++)
        if (x->label[i] == label)
            return i;
    return -1;
}

static bool has_label(const Labels *l, int label) {
    for (int i = 0; i < l->n; i++)
        if (l->at[i] == label)
            return true;
    return false;
}

static void add_label(Labels *l, int label) {
    l->at[l->n++] = label;
}

/* The axes in the given order of labels (all of them). */
static Node *in_order(Build *b, const Labelled *x, const Labels *order) {
    int perm[MAX_RANK];
    bool moved = false;
    for (int i = 0; i < order->n; i++) {
        perm[i] = find_label(x, order->at[i]);
        moved = moved || perm[i] != i;
    }
    return moved ? graph_permute(b->g, x->node, perm) : x->node;
}

static bool is_in_order(const Labelled *x, const Labels *first, const Labels *second,
                        const Labels *third) {
    const Labels *parts[] = {first, second, third};
    int axis = 0;
    for (int p = 0; p < 3; p++)
        for (int i = 0; i < parts[p]->n; i++)
            if (x->label[axis++] != parts[p]->at[i])
                return false;
    return true;
}

static Dim label_dim(const Labelled *x, int label) {
    return x->node->shape.dim[find_label(x, label)];
}

static bool group_dim(Build *b, const Labelled *x, const Labels *l, Span at, Dim *out) {
    *out = (Dim){1, NULL};
    for (int i = 0; i < l->n; i++)
        if (!dim_multiply(*out, label_dim(x, l->at[i]), out)) {
            build_error(b, at, "%s has two sizes that are known only at run time",
                        shape_text(b->arena, &x->node->shape));
            return false;
        }
    return true;
}

/* Permutes before a product are left to its choice of order. */
static Labelled without_permutes(const Labelled *x) {
    Labelled y = *x;
    while (y.node->op == OP_permute) {
        Labelled before = {.node = y.node->in[0]};
        for (int i = 0; i < y.node->shape.rank; i++)
            before.label[y.node->attr.perm[i]] = y.label[i];
        y = before;
    }
    return y;
}

/* x as [batch, first, second], each a product of labels. Says in *swapped whether the last two had
 * better lie the other way round, because that is how they are in memory. */
static Node *as_matrix(Build *b, const Labelled *x, const Labels *parts[3], Span at,
                       bool *swapped) {
    *swapped = !is_in_order(x, parts[0], parts[1], parts[2]) &&
               is_in_order(x, parts[0], parts[2], parts[1]);
    const Labels *p[3] = {parts[0], parts[*swapped ? 2 : 1], parts[*swapped ? 1 : 2]};
    Labels order = {0};
    Shape s = {.rank = 3};
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < p[k]->n; i++)
            add_label(&order, p[k]->at[i]);
        if (!group_dim(b, x, p[k], at, &s.dim[k]))
            return NULL;
    }
    return graph_reshape(b->g, in_order(b, x, &order), &s);
}

/* The labels of a pair: in both and needed later, in both and summed, in one. */
typedef struct Pair {
    Labels batch, sum, left, right;
} Pair;

static Pair sort_labels(const Labelled *x, const Labelled *y, const Labels *keep) {
    Pair p = {0};
    for (int i = 0; i < x->node->shape.rank; i++) {
        int l = x->label[i];
        bool both = find_label(y, l) >= 0;
        add_label(!both ? &p.left : has_label(keep, l) ? &p.batch : &p.sum, l);
    }
    for (int i = 0; i < y->node->shape.rank; i++)
        if (find_label(x, y->label[i]) < 0)
            add_label(&p.right, y->label[i]);
    return p;
}

static bool result_labels(Build *b, const Labelled *x, const Labelled *y, const Pair *p, Span at,
                          Labelled *out, Shape *s) {
    const Labels *groups[] = {&p->batch, &p->left, &p->right};
    *s = (Shape){0};
    if (p->batch.n + p->left.n + p->right.n > MAX_RANK) {
        build_error(b, at, "a tensor has at most %d dimensions, this product would have %d",
                    MAX_RANK, p->batch.n + p->left.n + p->right.n);
        return false;
    }
    for (int g = 0; g < 3; g++)
        for (int i = 0; i < groups[g]->n; i++) {
            int l = groups[g]->at[i];
            out->label[s->rank] = l;
            s->dim[s->rank++] = label_dim(find_label(x, l) >= 0 ? x : y, l);
        }
    return shape_check(b, s, at);
}

/* Nothing is summed: an outer or element by element product. */
static Node *spread(Build *b, const Labelled *x, const Labelled *result, const Shape *s) {
    Labels order = {0};
    Shape wide = *s;
    for (int i = 0; i < s->rank; i++) {
        if (find_label(x, result->label[i]) >= 0)
            add_label(&order, result->label[i]);
        else
            wide.dim[i] = (Dim){1, NULL};
    }
    return graph_broadcast(b->g, graph_reshape(b->g, in_order(b, x, &order), &wide), s);
}

/* The product of two, with the labels that are not in `keep` summed. */
static bool join(Build *b, const Labelled *x, const Labelled *y, const Labels *keep, Span at,
                 Labelled *out) {
    Pair p = sort_labels(x, y, keep);
    Shape s;
    if (!result_labels(b, x, y, &p, at, out, &s))
        return false;
    if (p.sum.n == 0) {
        out->node = graph_binary(b->g, OP_mul, spread(b, x, out, &s), spread(b, y, out, &s));
        return true;
    }
    const Labels *left[] = {&p.batch, &p.left, &p.sum}, *right[] = {&p.batch, &p.sum, &p.right};
    bool ta, tb;
    Labelled lx = without_permutes(x), ly = without_permutes(y);
    Node *nx = as_matrix(b, &lx, left, at, &ta),
         *ny = nx ? as_matrix(b, &ly, right, at, &tb) : NULL;
    if (!ny)
        return false;
    out->node = graph_reshape(b->g, graph_dot(b->g, nx, ny, ta, tb), &s);
    return true;
}

/* ---- x @ y ---- */

static bool product_operands(Build *b, Value x, Value y, const char *what, Span at, Node **out) {
    const Value v[2] = {x, y};
    if (x.kind == V_POISON || y.kind == V_POISON ||
        !value_unify(b, v, 2, b->g->real, at, "multiply", out))
        return false;
    if (dtype_is_real(out[0]->dtype))
        return true;
    build_error(b, at, "%s multiplies real tensors, found %s and %s (cast(x, real) converts)", what,
                value_text(b, value_node(out[0])), value_text(b, value_node(out[1])));
    return false;
}

/* The leading dimensions are broadcast, as labels from the last one backwards: 0, 1, …; then -1
 * (rows), -2 (inner), -3. */
static bool label_matmul(Build *b, Node *n, bool left, const Shape *lead, Labelled *out) {
    int rank = n->shape.rank, own = MAX(rank - 2, 0);
    Shape s = {0};
    out->node = n;
    for (int i = 0; i < own; i++) {
        int label = own - 1 - i;
        Dim d = n->shape.dim[i], want = lead->dim[lead->rank - 1 - label];
        if (d.n == 1 && !d.count && !dim_equal(d, want))
            continue; /* serves all: its label goes */
        out->label[s.rank] = label;
        s.dim[s.rank++] = d;
    }
    for (int i = own; i < rank; i++) {
        bool inner = rank == 1 || (i == rank - 1) == left;
        out->label[s.rank] = inner ? -2 : left ? -1 : -3;
        s.dim[s.rank++] = n->shape.dim[i];
    }
    out->node = graph_reshape(b->g, n, &s);
    return true;
}

static bool leading(Build *b, const Node *x, const Node *y, Span at, Shape *lead) {
    int nx = MAX(x->shape.rank - 2, 0), ny = MAX(y->shape.rank - 2, 0);
    lead->rank = MAX(nx, ny);
    for (int back = 1; back <= lead->rank; back++) {
        Dim dx = back <= nx ? x->shape.dim[nx - back] : (Dim){1, NULL};
        Dim dy = back <= ny ? y->shape.dim[ny - back] : (Dim){1, NULL};
        bool one_x = dx.n == 1 && !dx.count, one_y = dy.n == 1 && !dy.count;
        if (!dim_equal(dx, dy) && !one_x && !one_y) {
            build_error(b, at, "cannot multiply %s @ %s: the leading dimensions differ",
                        shape_text(b->arena, &x->shape), shape_text(b->arena, &y->shape));
            return false;
        }
        lead->dim[lead->rank - back] = one_x ? dy : dx;
    }
    return true;
}

/* Vectors as in NumPy (ruling D4): on the left a row, on the right a column, which the result does
 * not have. */
Value value_matmul(Build *b, Value x, Value y, Span at) {
    Node *n[2];
    if (!product_operands(b, x, y, "'@'", at, n))
        return value_poison;
    const Shape *sx = &n[0]->shape, *sy = &n[1]->shape;
    if (!sx->rank || !sy->rank) {
        build_error(b, at, "'@' needs vectors or matrices, found %s and %s (use '*' with scalars)",
                    value_text(b, x), value_text(b, y));
        return value_poison;
    }
    if (!dim_equal(sx->dim[sx->rank - 1], sy->dim[MAX(sy->rank - 2, 0)])) {
        build_error(
            b, at,
            "cannot multiply %s @ %s: the last dimension on the left must be the %s on the right",
            shape_text(b->arena, sx), shape_text(b->arena, sy),
            sy->rank == 1 ? "dimension" : "one before the last");
        return value_poison;
    }
    Shape lead = {0};
    Labelled lx, ly, out;
    if (!leading(b, n[0], n[1], at, &lead) || !label_matmul(b, n[0], true, &lead, &lx) ||
        !label_matmul(b, n[1], false, &lead, &ly))
        return value_poison;
    Labels keep = {0}, order = {0};
    for (int label = lead.rank - 1; label >= 0; label--)
        if (find_label(&lx, label) >= 0 || find_label(&ly, label) >= 0)
            add_label(&keep, label);
    order = keep;
    if (sx->rank > 1)
        add_label(&order, -1);
    if (sy->rank > 1)
        add_label(&order, -3);
    if (!join(b, &lx, &ly, &keep, at, &out))
        return value_poison;
    Node *r = in_order(b, &out, &order);
    Shape s = lead; /* leading extents of 1 on both sides had no label */
    for (int i = keep.n; i < order.n; i++)
        s.dim[s.rank++] = r->shape.dim[i];
    return value_node(graph_reshape(b->g, r, &s));
}

Value builtin_matmul(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    return value_matmul(b, a->at[0], a->at[1], a->span);
}

/* ---- einsum ---- */

enum {
    MAX_OPERANDS = 8,
    ELLIPSIS_LABEL = 256
}; /* labels are characters; those of `…` count from its last dimension */

typedef struct Einsum {
    int n;
    Labelled in[MAX_OPERANDS];
    Labels out;
    int ellipsis; /* dimensions of the longest `…` */
    Span at;
} Einsum;

/* One term of the text up to `end`: letters and at most one `...`; dots: how many dimensions that
 * stands for. */
static bool parse_term(Build *b, const char *p, const char *end, int dots, Span at, Labels *out) {
    bool seen = false;
    out->n = 0;
    for (; p < end; p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z');
        int more = letter ? 1 : dots;
        if (*p == ' ')
            continue;
        if (!letter && (seen || strncmp(p, "...", 3) != 0)) {
            build_error(b, at, "einsum: '%c' is no label (labels are letters)", *p);
            return false;
        }
        if (out->n + more > MAX_LABELS) {
            build_error(b, at, "einsum: too many labels");
            return false;
        }
        if (letter) {
            add_label(out, *p);
            continue;
        }
        for (int k = dots - 1; k >= 0; k--)
            add_label(out, ELLIPSIS_LABEL + k);
        seen = true;
        p += 2;
    }
    return true;
}

static int count_letters(const char *p, const char *end) {
    int n = 0;
    for (; p < end; p++)
        n += *p != '.' && *p != ' ';
    return n;
}

/* x[i, …, i, …] -> the diagonal, where two axes have one label */
static Node *diagonal(Build *b, Node *x, int i, int j) {
    int perm[MAX_RANK], k = 0, rank = x->shape.rank;
    for (int a = 0; a < rank; a++)
        if (a != i && a != j)
            perm[k++] = a;
    perm[k++] = i;
    perm[k] = j;
    Shape s = {.rank = rank - 1};
    x = graph_permute(b->g, x, perm);
    for (int a = 0; a < rank - 2; a++)
        s.dim[a] = x->shape.dim[a];
    int64_t n = x->shape.dim[rank - 1].n, start[MAX_RANK] = {0}, step[MAX_RANK];
    for (int a = 0; a < MAX_RANK; a++)
        step[a] = 1;
    s.dim[rank - 2] = (Dim){n * n, NULL};
    x = graph_reshape(b->g, x, &s);
    step[rank - 2] = n + 1;
    s.dim[rank - 2] = (Dim){n, NULL};
    return graph_slice(b->g, x, start, step, &s);
}

/* Takes diagonals until every label stands once. */
static bool label_operand(Build *b, Node *x, Labels l, Span at, Labelled *out) {
    for (int i = 0; i < l.n; i++)
        for (int j = i + 1; j < l.n; j++) {
            if (l.at[i] != l.at[j])
                continue;
            int label = l.at[i];
            Dim d = x->shape.dim[i];
            if (d.count || !dim_equal(d, x->shape.dim[j])) {
                build_error(b, at, "einsum: the dimensions of '%c' in %s must be equal and known",
                            label, shape_text(b->arena, &x->shape));
                return false;
            }
            x = diagonal(b, x, i, j);
            Labels rest = {0};
            for (int k = 0; k < l.n; k++)
                if (k != i && k != j)
                    add_label(&rest, l.at[k]);
            add_label(&rest, label);
            return label_operand(b, x, rest, at, out);
        }
    out->node = x;
    memcpy(out->label, l.at, sizeof l.at);
    return true;
}

static const char *label_text(Build *b, int label) {
    return label >= ELLIPSIS_LABEL ? "..." : arena_printf(b->arena, "%c", label);
}

/* One label, one size. */
static bool check_sizes(Build *b, const Einsum *e) {
    for (int i = 0; i < e->n; i++)
        for (int k = 0; k < e->in[i].node->shape.rank; k++)
            for (int j = 0; j < i; j++) {
                int axis = find_label(&e->in[j], e->in[i].label[k]);
                const Shape *s = &e->in[i].node->shape, *t = &e->in[j].node->shape;
                if (axis < 0 || dim_equal(s->dim[k], t->dim[axis]))
                    continue;
                build_error(b, e->at, "einsum: '%s' is %lld in %s and %lld in %s",
                            label_text(b, e->in[i].label[k]), (long long)t->dim[axis].n,
                            shape_text(b->arena, t), (long long)s->dim[k].n,
                            shape_text(b->arena, s));
                return false;
            }
    return true;
}

/* Without "->": the labels that stand once, in alphabetical order, after those of `…`. */
static void implied_output(Einsum *e, const Labels *all) {
    e->out.n = 0;
    for (int k = e->ellipsis - 1; k >= 0; k--)
        add_label(&e->out, ELLIPSIS_LABEL + k);
    for (int label = 'A'; label <= 'z'; label++) {
        int times = 0;
        for (int i = 0; i < e->n; i++)
            for (int k = 0; k < all[i].n; k++)
                times += all[i].at[k] == label;
        if (times == 1 && e->out.n < MAX_LABELS)
            add_label(&e->out, label);
    }
}

static bool check_output(Build *b, const Einsum *e) {
    for (int i = 0; i < e->out.n; i++) {
        bool known = false, twice = false;
        for (int k = 0; k < e->n; k++)
            known = known || find_label(&e->in[k], e->out.at[i]) >= 0;
        for (int k = 0; k < i; k++)
            twice = twice || e->out.at[k] == e->out.at[i];
        if (!known || twice) {
            build_error(b, e->at, "einsum: '%s' stands %s", label_text(b, e->out.at[i]),
                        known ? "twice after '->'" : "only after '->'");
            return false;
        }
    }
    if (e->out.n <= MAX_RANK)
        return true;
    build_error(b, e->at, "a tensor has at most %d dimensions, this one would have %d", MAX_RANK,
                e->out.n);
    return false;
}

static bool parse_operand(Build *b, Einsum *e, Node *x, const char *p, const char *end,
                          Labels *labels) {
    int dots = x->shape.rank - count_letters(p, end);
    bool has_dots = memchr(p, '.', (size_t)(end - p)) != NULL;
    if (dots < 0 || (dots > 0 && !has_dots)) {
        build_error(b, e->at, "einsum: '%.*s' has %d labels, the tensor is %s", (int)(end - p), p,
                    count_letters(p, end), shape_text(b->arena, &x->shape));
        return false;
    }
    e->ellipsis = MAX(e->ellipsis, has_dots ? dots : 0);
    return parse_term(b, p, end, dots, e->at, labels) &&
           label_operand(b, x, *labels, e->at, &e->in[e->n++]);
}

static bool parse_einsum(Build *b, Einsum *e, const char *text, Node *const *x, int n) {
    Labels all[MAX_OPERANDS];
    const char *arrow = strstr(text, "->"), *end = arrow ? arrow : text + strlen(text), *p = text;
    for (int i = 0; i < n; i++) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        if (!comma != (i == n - 1)) {
            build_error(b, e->at, "einsum: \"%s\" does not describe %d tensor%s", text, n,
                        n == 1 ? "" : "s");
            return false;
        }
        if (!parse_operand(b, e, x[i], p, comma ? comma : end, &all[i]))
            return false;
        p = comma ? comma + 1 : end;
    }
    if (!arrow)
        implied_output(e, all);
    else if (!parse_term(b, arrow + 2, text + strlen(text), e->ellipsis, e->at, &e->out))
        return false;
    return check_output(b, e) && check_sizes(b, e);
}

/* Sums the labels of x that neither the output nor another operand has. */
static void sum_alone(Build *b, Labelled *x, const Labels *keep) {
    Labelled out = {0};
    unsigned axes = 0;
    int k = 0;
    for (int i = 0; i < x->node->shape.rank; i++) {
        if (has_label(keep, x->label[i]))
            out.label[k++] = x->label[i];
        else
            axes |= 1u << i;
    }
    out.node = node_reduce(b, OP_sum, x->node, axes, false);
    *x = out;
}

/* What is needed beside operand `self` and those before `from`. */
static Labels needed(const Einsum *e, int from, int self) {
    Labels keep = {0};
    for (int i = 0; i < e->out.n; i++)
        add_label(&keep, e->out.at[i]);
    for (int i = from; i < e->n; i++)
        for (int k = 0; i != self && k < e->in[i].node->shape.rank; k++)
            if (!has_label(&keep, e->in[i].label[k]) && keep.n < MAX_LABELS)
                add_label(&keep, e->in[i].label[k]);
    return keep;
}

static Value run_einsum(Build *b, Einsum *e) {
    Labels keep;
    for (int i = 0; i < e->n; i++) {
        keep = needed(e, 0, i);
        sum_alone(b, &e->in[i], &keep);
    }
    Labelled product = e->in[0];
    for (int i = 1; i < e->n; i++) {
        Labelled next;
        keep = needed(e, i + 1, -1);
        if (!join(b, &product, &e->in[i], &keep, e->at, &next))
            return value_poison;
        product = next;
    }
    return value_node(in_order(b, &product, &e->out));
}

/* einsum("bthd,bshd->bhts", q, k) */
Value builtin_einsum(Build *b, const Builtin *self, const Actual *a) {
    (void)self;
    int n = a->nrest - 1;
    if (a->rest[0].kind != V_STRING || n < 1 || n > MAX_OPERANDS) {
        build_error(b, a->span, "einsum takes a text such as \"ij,jk->ik\" and 1 to %d tensors",
                    MAX_OPERANDS);
        return value_poison;
    }
    Node *x[MAX_OPERANDS];
    if (!value_unify(b, a->rest + 1, n, b->g->real, a->span, "multiply", x))
        return value_poison;
    for (int i = 0; i < n; i++)
        if (!dtype_is_real(x[i]->dtype)) {
            build_error(b, a->span,
                        "einsum multiplies real tensors, found %s (cast(x, real) converts)",
                        value_text(b, a->rest[i + 1]));
            return value_poison;
        }
    Einsum e = {.at = a->span};
    return parse_einsum(b, &e, a->rest[0].string, x, n) ? run_einsum(b, &e) : value_poison;
}
