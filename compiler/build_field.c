/* build_field.c: the value of a data field over a batch of rows.
 *
 * A field's expression has two parts: the source call, which becomes a DataSource that the trainer
 * reads and keeps in its stored type, and the rest, which is a graph over a batch. An expression
 * without a source is a tensor computed at start.
 */
#include "build_call.h"
#include "build_data.h"
#include "build_host.h"
#include "build_stmt.h"

Ast *field_expr(const DataInfo *info, int section, const char *field) {
    for (int i = 0, k = 0; i < info->decl->data.items.n; i++) {
        Ast *item = info->decl->data.items.at[i];
        if (item->kind != AST_SECTION || k++ != section)
            continue;
        for (int j = 0; j < item->section.assigns.n; j++) {
            Ast *a = item->section.assigns.at[j];
            if (a->assign.target->kind == AST_NAME && a->assign.target->name == field)
                return a->assign.value;
        }
    }
    return NULL;
}

typedef struct TensorField {
    DataInfo *info;
    FieldUse *use;
    Ast *expr;
    DataSource *source;
} TensorField;

static void run_tensor_field(Build *b, void *arg) {
    TensorField *t = (TensorField *)arg;
    Value v = build_expr(b, t->info->env, t->expr);
    Node *n = v.kind == V_POISON ? NULL : value_to_node(b, v, field_type(b, t->use), t->expr->span);
    if (!n)
        return;
    if (!n->shape.rank || shape_count(&n->shape)) {
        build_error(b, t->expr->span, "a field is a tensor with one row for each sample, found %s",
                    value_text(b, v));
        return;
    }
    Home *h = home_new(b, HOME_CONST, t->use->set->fields[t->use->field], n->dtype, &n->shape,
                       t->expr->span);
    h->path = t->source->name;
    home_write(b, h, graph_unary(b->g, OP_stop, n));
    t->source->tensor = h;
    t->source->rows = n->shape.dim[0].n;
    t->source->row = shape_without(&n->shape, 1);
    t->source->row_elements = shape_elements(&t->source->row);
    t->source->dtype = n->dtype;
}

/* A field that is computed, not read. */
static Value tensor_field(Build *b, DataInfo *info, FieldUse *f, Ast *e) {
    DataSource *s = data_source_of(info, e, f);
    if (!s) {
        s = NEW(b->arena, DataSource);
        s->kind = SRC_TENSOR;
        s->name = arena_printf(b->arena, "%s.%s", f->set->name, f->set->fields[f->field]);
        s->set = f->set;
        s->section = f->section;
        s->field = f->field;
        s->span = e->span;
        s->id = b->p->sources.n;
        s->used = true;
        TensorField t = {info, f, e, s};
        build_at_start(b, run_tensor_field, &t);
        if (!s->tensor)
            return value_poison;
        vec_push(b->arena, &b->p->sources, s);
        vec_push(b->arena, &info->sources, s);
        vec_push(b->arena, &info->calls, e);
    }
    return value_node(graph_gather(b->g, home_value(b, s->tensor), home_value(b, f->index)));
}

/* [B, what the expression gives] as [B, declared]; the same numbers in the same order. */
static Node *field_shape(Build *b, FieldUse *f, Node *n, Span at) {
    Shape row = field_row(b, f), want = {row.rank + 1, {f->batch}};
    for (int i = 0; i < row.rank; i++)
        want.dim[i + 1] = row.dim[i];
    const char *name = f->set->fields[f->field];
    if (!n->shape.rank || !dim_equal(n->shape.dim[0], f->batch) ||
        shape_elements(&n->shape) != shape_elements(&want)) {
        Shape have = n->shape.rank ? shape_without(&n->shape, 1) : n->shape;
        build_error(b, at, "'%s' is declared %s, its expression gives %s for a row", name,
                    shape_text(b->arena, &row), shape_text(b->arena, &have));
        return NULL;
    }
    n = graph_reshape(b->g, n, &want);
    DType t = field_type(b, f);
    if (n->dtype != t && dtype_is_real(n->dtype) && !dtype_is_real(t)) {
        build_error(b, at, "'%s' is declared %s, its expression gives %s (cast(…, %s) converts)",
                    name, dtype_name(t), dtype_name(n->dtype), dtype_name(t));
        return NULL;
    }
    return graph_cast(b->g, n, t);
}

static Node *standardized(Build *b, DataInfo *info, FieldUse *f, Node *n) {
    if (!info->mean[f->field])
        return n;
    Node *mean = graph_broadcast_to(b->g, home_value(b, info->mean[f->field]), &n->shape);
    Node *scale = graph_broadcast_to(b->g, home_value(b, info->scale[f->field]), &n->shape);
    return graph_binary(b->g, OP_mul, graph_binary(b->g, OP_sub, n, mean), scale);
}

/* The field before it is standardized. */
Node *field_raw(Build *b, DataInfo *info, FieldUse *f) {
    Ast *e = field_expr(info, f->section, f->set->fields[f->field]);
    if (!e)
        return NULL;
    FieldUse *outer = b->field;
    Frame *frame = b->frame;
    b->field = f;
    b->frame = NULL;
    Value v = data_has_source(e) ? build_expr(b, info->env, e) : tensor_field(b, info, f, e);
    b->field = outer;
    b->frame = frame;
    Node *n = v.kind == V_POISON ? NULL : value_to_node(b, v, field_type(b, f), e->span);
    return n ? field_shape(b, f, n, e->span) : NULL;
}

Value field_value(Build *b, FieldUse *f, Span at) {
    (void)at;
    if (f->made && f->region == b->region)
        return value_node(f->made);
    DataInfo *info = data_info(b, f->set);
    Node *n = field_raw(b, info, f);
    if (!n)
        return value_poison;
    n = standardized(b, info, f, n);
    if (!n->name)
        n->name = f->set->fields[f->field];
    f->made = n;
    f->region = b->region;
    return value_node(n);
}

/* ---- whole data: one batch of all rows, read before the task ---- */

static FieldUse *one_loop(Build *b, LoopInfo *loop, Split *split, int field, int64_t size,
                          bool keep, Span at) {
    bool no = false;
    HExpr *steps = NULL;
    BatchesValue one = {1, &split, &size, &no, &keep, &steps, at};
    loop_begin(b, loop, HS_BATCHES, at);
    return data_loops(b, &one, loop->stmt, field, at);
}

Home *field_whole(Build *b, DataInfo *info, Split *split, int field, int64_t rows, Span at) {
    for (int i = 0; i < info->wholes.n; i++) {
        const Whole *w = &info->wholes.at[i];
        if (w->split == split && w->field == field)
            return w->home;
    }
    const char *name = info->set->fields[field];
    Place old = place_enter(b, info->set->prologue);
    b->region->name = arena_printf(b->arena, "read_%s", name);
    LoopInfo loop = {0};
    FieldUse *use = one_loop(b, &loop, split, field, rows, false, at);
    Value v = field_value(b, use, at);
    Home *h = NULL;
    if (v.kind == V_TENSOR) {
        h = home_new(b, HOME_CONST, name, v.node->dtype, &v.node->shape, at);
        h->path = arena_printf(b->arena, "%s.%s", split->name, name);
        home_write(b, h, graph_unary(b->g, OP_stop, v.node));
    }
    loop_end(b, &loop);
    place_leave(b, &old);
    vec_push(b->arena, &info->wholes, (Whole){split, field, h});
    return h;
}

/* ---- standardize: mean and deviation of a split, two passes in f64, when the set is read ---- */

typedef struct Stat {
    DataInfo *info;
    int field;
    Split *split;
    Home *total, *rows;
    Span span;
} Stat;

/* One pass over the split: total += the sum over the batch of x, or of (x - mean)^2. */
static void stat_pass(Build *b, Stat *s, Home *mean) {
    enum { ROWS = 256 };
    Shape scalar = shape_scalar();
    home_write(b, s->total, graph_constant(b->g, DT_F64, &s->total->shape, 0));
    home_write(b, s->rows, graph_constant(b->g, DT_F64, &scalar, 0));
    LoopInfo loop = {0};
    FieldUse *use = one_loop(b, &loop, s->split, s->field, ROWS, true, s->span);
    Node *x = field_raw(b, s->info, use);
    if (x) {
        x = graph_cast(b->g, x, DT_F64);
        if (mean) {
            x = graph_binary(
                b->g, OP_sub, x,
                graph_broadcast_to(b->g, graph_cast(b->g, home_value(b, mean), DT_F64), &x->shape));
            x = graph_binary(b->g, OP_mul, x, x);
        }
        home_write(
            b, s->total,
            graph_binary(b->g, OP_add, home_value(b, s->total), graph_reduce(b->g, OP_sum, x, 1)));
        Node *n = graph_cast(b->g, graph_count(b->g, use->batch.count), DT_F64);
        home_write(b, s->rows, graph_binary(b->g, OP_add, home_value(b, s->rows), n));
    }
    loop_end(b, &loop);
}

static Node *stat_mean(Build *b, const Stat *s) {
    Node *t = home_value(b, s->total);
    return graph_binary(b->g, OP_div, t,
                        graph_broadcast_to(b->g, home_value(b, s->rows), &t->shape));
}

void field_standardize(Build *b, DataInfo *info, int field, Split *split, Span at) {
    FieldUse use = {.set = info->set, .section = split->section, .field = field};
    Shape row = field_row(b, &use), scalar = shape_scalar();
    const char *name = info->set->fields[field];
    if (!dtype_is_real(field_type(b, &use))) {
        build_error(b, at, "'%s' is not real: only real fields are standardized", name);
        return;
    }
    Stat s = {info, field, split, NULL, NULL, at};
    s.total = home_new(b, HOME_VAR, arena_printf(b->arena, "%s_total", name), DT_F64, &row, at);
    s.rows = home_new(b, HOME_VAR, arena_printf(b->arena, "%s_rows", name), DT_F64, &scalar, at);
    Home *mean =
        home_new(b, HOME_CONST, arena_printf(b->arena, "%s_mean", name), b->g->real, &row, at);
    Home *scale =
        home_new(b, HOME_CONST, arena_printf(b->arena, "%s_scale", name), b->g->real, &row, at);
    mean->path = arena_printf(b->arena, "%s.%s.mean", info->set->name, name);
    scale->path = arena_printf(b->arena, "%s.%s.scale", info->set->name, name);
    Place old = place_enter(b, info->set->prologue);
    b->region->name = arena_printf(b->arena, "standardize_%s", name);
    stat_pass(b, &s, NULL);
    home_write(b, mean, graph_cast(b->g, stat_mean(b, &s), b->g->real));
    region_close(b);
    stat_pass(b, &s, mean);
    Node *variance = stat_mean(b, &s);
    Node *zero = graph_constant(b->g, DT_F64, &variance->shape, 0),
         *one = graph_constant(b->g, DT_F64, &variance->shape, 1);
    Node *flat =
        graph_binary(b->g, OP_le, variance, zero); /* a column without spread is only centred */
    Node *d = graph_where(b->g, flat, one, graph_unary(b->g, OP_sqrt, variance));
    home_write(b, scale, graph_cast(b->g, graph_binary(b->g, OP_div, one, d), b->g->real));
    place_leave(b, &old);
    info->mean[field] = mean;
    info->scale[field] = scale;
}
