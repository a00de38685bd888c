/* layout.c: how buffers lie in memory.
 *
 * A contraction reads its right operand [k, n] as panels of 16 columns. A parameter, or a value of
 * one region, that is such an operand lies in panels for good when everything else that touches it
 * takes them as well: results and epilogues of contractions (which are made panel by panel), sums
 * of columns, a second contraction that copies it anyway, and what fills a parameter at the start.
 * All else is row-major; a contraction then copies what it needs (schedule_dot.c).
 */
#include "schedule.h"

typedef VEC(Buffer *) BufferVec;

typedef struct Layouts {
    Compiler *c;
    const Fusion *fusion;
    bool *wanted, *barred; /* by buffer id */
    int *seen;             /* by node id: the last walk that came by */
    int walk;
} Layouts;

static bool is_candidate(const Buffer *b) {
    const Shape *s = &b->shape;
    if (b->id < 0 || b->dtype != DT_F32 || s->rank != 2 || shape_count(s) || s->dim[1].n < 2)
        return false;
    return b->home ? b->home->kind == HOME_PARAM : b->region != NULL;
}

static void bar(Layouts *l, const Buffer *b) {
    if (b->id >= 0)
        l->barred[b->id] = true;
}

/* The buffer whose whole value n is, behind reshapes; NULL: none. */
static const Buffer *whole_buffer(const Layouts *l, const Node *n) {
    while (!l->fusion->buffer_of[n->id] && n->op == OP_reshape)
        n = n->in[0];
    return l->fusion->buffer_of[n->id];
}

/* [.., m, n] in a contraction and [m, n] in the buffer: rows are rows. */
static bool has_rows_of(const Buffer *b, const Node *n) {
    return shape_elements(&b->shape) == shape_elements(&n->shape) &&
           b->shape.dim[b->shape.rank - 1].n == n->shape.dim[n->shape.rank - 1].n;
}

/* Buffers that n is made from and that do not lie in the rows of `like` (NULL: all of them). */
static void bar_inputs(Layouts *l, const Group *g, const Node *n, const Node *like) {
    for (int i = 0; i < n->nin; i++) {
        const Node *in = n->in[i];
        const Buffer *b = l->fusion->buffer_of[in->id];
        if (l->seen[in->id] == l->walk)
            continue;
        l->seen[in->id] = l->walk;
        if (b && l->fusion->group_of[in->id] != g) {
            if (!like || !has_rows_of(b, like))
                bar(l, b);
        } else if (in != g->anchor || g->kind != GROUP_DOT) {
            bar_inputs(l, g, in, like);
        }
    }
}

static void look_at_operands(Layouts *l, const Node *dot) {
    const Buffer *left = whole_buffer(l, dot->in[0]), *right = whole_buffer(l, dot->in[1]);
    bool one = dot->in[1]->shape.dim[0].n == 1;
    if (left)
        bar(l, left);
    if (!right || right->id < 0 || !is_candidate(right))
        return;
    if (dot->dtype != DT_F32 || !one || !has_rows_of(right, dot->in[1]))
        bar(l, right);
    else if (!dot->attr.dot.tb)
        l->wanted[right->id] = true;
}

/* A sliced operand is read where it lies. */
static void bar_slices(Layouts *l, const Node *n) {
    while (!l->fusion->buffer_of[n->id] && n->nin) {
        if (n->op != OP_reshape && l->fusion->buffer_of[n->in[0]->id])
            bar(l, l->fusion->buffer_of[n->in[0]->id]);
        n = n->in[0];
    }
}

static void look_at_dot(Layouts *l, const Group *g) {
    look_at_operands(l, g->anchor);
    bar_slices(l, g->anchor->in[0]);
    bar_slices(l, g->anchor->in[1]);
    for (int i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i] != g->anchor)
            bar_inputs(l, g, g->nodes.at[i], g->anchor);
    for (int i = 0; i < g->stores.n; i++)
        if (!has_rows_of(g->stores.at[i].buffer, g->anchor))
            bar(l, g->stores.at[i].buffer);
}

/* Only what is made from nothing that changes: the values a parameter starts with. */
static bool fills_at_start(const Group *g, const Buffer *b) {
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->nin; k++)
            if (g->nodes.at[i]->in[k]->op == OP_read)
                return false;
    return g->kind == GROUP_MAP && b->home;
}

static void look_at_group(Layouts *l, const Group *g) {
    const Node *like = NULL; /* of a sum of columns: what is summed */
    if (g->kind == GROUP_DOT) {
        look_at_dot(l, g);
        return;
    }
    if (g->kind == GROUP_COLUMN && g->rows == g->inner)
        like = g->anchor->in[0];
    for (int i = 0; i < g->nodes.n; i++)
        bar_inputs(l, g, g->nodes.at[i], like);
    for (int i = 0; i < g->stores.n; i++) {
        const GroupStore *st = &g->stores.at[i];
        const Buffer *from = l->fusion->buffer_of[st->node->id];
        if (!fills_at_start(g, st->buffer))
            bar(l, st->buffer);
        if (from && l->fusion->group_of[st->node->id] != g)
            bar(l, from);
    }
}

void layout(Compiler *c) {
    Lowered *lowered = c->lowered;
    Layouts l = {.c = c, .fusion = c->fusion};
    l.wanted = NEW_ARRAY(c->arena, bool, lowered->buffers.n + 1);
    l.barred = NEW_ARRAY(c->arena, bool, lowered->buffers.n + 1);
    l.seen = NEW_ARRAY(c->arena, int, c->program->graph->nodes.n + 1);
    for (int i = 0; i < c->fusion->groups.n; i++) {
        l.walk = i + 1;
        look_at_group(&l, c->fusion->groups.at[i]);
    }
    for (int i = 0; i < lowered->buffers.n; i++) {
        Buffer *b = lowered->buffers.at[i];
        bool panels = l.wanted[i] && !l.barred[i] && is_candidate(b);
        b->layout = panels ? LAYOUT_PANELS16 : LAYOUT_ROWS;
        b->bytes = (layout_elements(b) * dtype_size(b->dtype) + 63) / 64 * 64;
    }
}
