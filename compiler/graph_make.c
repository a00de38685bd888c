/* graph_make.c: makers of nodes. What they give is checked by the shape rule of the op. */
#include "op_rules.h"
#include "program.h"

Node *graph_node(Graph *g, Op op, int nin, Node *const *in, const Attr *attr, DType dtype,
                 const Shape *shape) {
    const OpInfo *info = &op_info[op];
    if (info->args >= 0 && nin != info->args)
        bug("%s takes %d arguments, got %d", info->name, info->args, nin);
    Node *n = NEW(g->arena, Node);
    *n = (Node){.id = g->nodes.n,
                .op = op,
                .dtype = dtype,
                .nin = nin,
                .region = g->region,
                .span = g->span};
    n->in = NEW_ARRAY(g->arena, Node *, nin);
    for (int i = 0; i < nin; i++)
        n->in[i] = in[i];
    if (attr)
        n->attr = *attr;
    if (shape)
        n->shape = *shape;
    info->shape(n);
    vec_push(g->arena, &g->nodes, n);
    return n;
}

static Node *node1(Graph *g, Op op, Node *x, const Attr *attr, const Shape *shape) {
    return graph_node(g, op, 1, &x, attr, x->dtype, shape);
}

/* ---- maps ---- */

Node *graph_unary(Graph *g, Op op, Node *x) {
    return node1(g, op, x, NULL, NULL);
}

Node *graph_binary(Graph *g, Op op, Node *x, Node *y) {
    return graph_node(g, op, 2, (Node *[]){x, y}, NULL, x->dtype, NULL);
}

Node *graph_where(Graph *g, Node *c, Node *x, Node *y) {
    return graph_node(g, OP_where, 3, (Node *[]){c, x, y}, NULL, x->dtype, NULL);
}

Node *graph_fma(Graph *g, Node *a, Node *b, Node *c) {
    return graph_node(g, OP_fma, 3, (Node *[]){a, b, c}, NULL, a->dtype, NULL);
}

Node *graph_cast(Graph *g, Node *x, DType t) {
    return x->dtype == t ? x : graph_node(g, OP_cast, 1, &x, NULL, t, NULL);
}

/* ---- leaves ---- */

Node *graph_constant(Graph *g, DType t, const Shape *s, double value) {
    return graph_node(g, OP_constant, 0, NULL, &(Attr){.constant.value = value}, t, s);
}

Node *graph_data(Graph *g, DType t, const Shape *s, const double *data) {
    size_t n = (size_t)shape_elements(s);
    double *copy = NEW_ARRAY(g->arena, double, n);
    for (size_t i = 0; i < n; i++)
        copy[i] = data[i];
    return graph_node(g, OP_constant, 0, NULL, &(Attr){.constant.data = copy}, t, s);
}

Node *graph_read(Graph *g, Home *h) {
    return graph_node(g, OP_read, 0, NULL, &(Attr){.home = h}, h->dtype, NULL);
}

Node *graph_scalar(Graph *g, Scalar *s) {
    return graph_node(g, OP_scalar, 0, NULL, &(Attr){.scalar = s}, s->dtype, NULL);
}

Node *graph_count(Graph *g, const Count *c) {
    return graph_node(g, OP_count, 0, NULL, &(Attr){.count = c}, DT_I32, NULL);
}

Node *graph_iota(Graph *g, const Shape *s, int axis) {
    return graph_node(g, OP_iota, 0, NULL, &(Attr){.axis = axis}, DT_I32, s);
}

Node *graph_batch(Graph *g, DataSource *src, Node *index, const Shape *row) {
    if (row->rank == MAX_RANK)
        bug("batch: too many dimensions");
    Shape s = {.rank = row->rank + 1, .dim = {index->shape.dim[0]}};
    for (int i = 0; i < row->rank; i++)
        s.dim[i + 1] = row->dim[i];
    return graph_node(g, OP_batch, 1, &index, &(Attr){.batch.source = src}, src->dtype, &s);
}

Node *graph_random(Graph *g, Op op, Node *execution, uint32_t place, DType t, const Shape *s,
                   int64_t lo, int64_t hi) {
    Attr attr = {.random = {.place = place, .lo = lo, .hi = hi}};
    return graph_node(g, op, 1, &execution, &attr, t, s);
}

/* ---- reductions ---- */

Node *graph_reduce(Graph *g, Op op, Node *x, unsigned axes) {
    return axes ? node1(g, op, x, &(Attr){.axes = axes}, NULL) : x;
}

Node *graph_argreduce(Graph *g, Op op, Node *x, int axis) {
    return node1(g, op, x, &(Attr){.axis = axis}, NULL);
}

Node *graph_cumsum(Graph *g, Node *x, int axis, bool reverse) {
    return node1(g, OP_cumsum, x, &(Attr){.cumsum = {.axis = axis, .reverse = reverse}}, NULL);
}

Node *graph_size(Graph *g, const Shape *s, unsigned axes, DType t) {
    const Shape scalar = shape_scalar();
    const Count *count = NULL;
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++) {
        if (!(axes >> i & 1))
            continue;
        count = s->dim[i].count ? s->dim[i].count : count;
        n *= s->dim[i].count ? s->dim[i].n / s->dim[i].count->bound : s->dim[i].n;
    }
    Node *fixed = graph_constant(g, t, &scalar, (double)n);
    return count ? graph_binary(g, OP_mul, graph_cast(g, graph_count(g, count), t), fixed) : fixed;
}

/* ---- movement ---- */

Node *graph_reshape(Graph *g, Node *x, const Shape *s) {
    return shape_equal(&x->shape, s) ? x : node1(g, OP_reshape, x, NULL, s);
}

Node *graph_permute(Graph *g, Node *x, const int *perm) {
    Attr attr = {0};
    bool moves = false;
    for (int i = 0; i < x->shape.rank; i++) {
        attr.perm[i] = perm[i];
        moves = moves || perm[i] != i;
    }
    return moves ? node1(g, OP_permute, x, &attr, NULL) : x;
}

Node *graph_broadcast(Graph *g, Node *x, const Shape *s) {
    return shape_equal(&x->shape, s) ? x : node1(g, OP_broadcast, x, NULL, s);
}

Node *graph_broadcast_to(Graph *g, Node *x, const Shape *s) {
    int more = s->rank - x->shape.rank;
    if (more < 0)
        bug("broadcast to fewer dimensions");
    Shape wide = {.rank = s->rank};
    for (int i = 0; i < s->rank; i++)
        wide.dim[i] = i < more ? (Dim){.n = 1} : x->shape.dim[i - more];
    return graph_broadcast(g, graph_reshape(g, x, &wide), s);
}

Node *graph_slice(Graph *g, Node *x, const int64_t *start, const int64_t *step, const Shape *s) {
    Attr attr = {0};
    bool all = shape_equal(&x->shape, s);
    for (int i = 0; i < x->shape.rank; i++) {
        attr.slice.start[i] = start[i];
        attr.slice.step[i] = step[i];
        all = all && (step[i] == 1 || s->dim[i].n == 1);
    }
    return all ? x : node1(g, OP_slice, x, &attr, s);
}

Node *graph_pad(Graph *g, Node *x, const int64_t *lo, const Shape *s, double value) {
    Attr attr = {.pad.value = value};
    for (int i = 0; i < x->shape.rank; i++)
        attr.pad.lo[i] = lo[i];
    return shape_equal(&x->shape, s) ? x : node1(g, OP_pad, x, &attr, s);
}

Node *graph_concat(Graph *g, int n, Node *const *x, int axis) {
    if (n == 1)
        return x[0];
    return graph_node(g, OP_concat, n, x, &(Attr){.axis = axis}, x[0]->dtype, NULL);
}

Node *graph_slice_at(Graph *g, Node *x, Node *start, int axis, int64_t length) {
    Shape s = x->shape;
    if (axis < 0 || axis >= s.rank)
        bug("slice_at: axis out of range");
    s.dim[axis] = (Dim){.n = length};
    return graph_node(g, OP_slice_at, 2, (Node *[]){x, start}, &(Attr){.axis = axis}, x->dtype, &s);
}

Node *graph_put_at(Graph *g, Node *base, Node *piece, Node *start, int axis) {
    Node *in[] = {base, piece, start};
    return graph_node(g, OP_put_at, 3, in, &(Attr){.axis = axis}, base->dtype, NULL);
}

bool graph_keeps_numbers(const Node *n) {
    bool view = op_info[n->op].kind == KIND_MOVE && op_info[n->op].flags & OPF_VIEW;
    return view || n->op == OP_cast || n->op == OP_stop;
}

int64_t graph_run(const Node *n) {
    const Node *piece = n->op == OP_slice_at ? n : n->op == OP_put_at ? n->in[1] : NULL;
    return piece ? piece->shape.dim[n->attr.axis].n : 1;
}

/* ---- contraction, indices, effects ---- */

Node *graph_dot(Graph *g, Node *a, Node *b, bool ta, bool tb) {
    return graph_node(g, OP_dot, 2, (Node *[]){a, b}, &(Attr){.dot = {ta, tb}}, a->dtype, NULL);
}

Node *graph_gather(Graph *g, Node *x, Node *index) {
    return graph_node(g, OP_gather, 2, (Node *[]){x, index}, NULL, x->dtype, NULL);
}

Node *graph_pick(Graph *g, Node *x, Node *index) {
    return graph_node(g, OP_pick, 2, (Node *[]){x, index}, NULL, x->dtype, NULL);
}

Node *graph_scatter_add(Graph *g, Node *base, Node *index, Node *update) {
    return graph_node(g, OP_scatter_add, 3, (Node *[]){base, index, update}, NULL, base->dtype,
                      NULL);
}

Node *graph_check(Graph *g, Node *loss) {
    return graph_unary(g, OP_check, loss);
}
