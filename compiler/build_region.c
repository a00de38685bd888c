/* build_region.c: regions, homes and the places where statements are put.
 *
 * A region is always open while build runs. Closing it appends its HS_REGION statement to the
 * current block (an empty region is forgotten) and opens the next one. A home has one current
 * version in the open region: the node that reads it, or the node that was written last.
 */
#include "build_data.h"
#include "build_host.h"

static void region_begin(Build *b) {
    Region *r = NEW(b->arena, Region);
    b->region = r;
    b->g->region = r;
    b->region_start = b->g->nodes.n;
    b->execution = NULL;
    for (int i = 0; i < b->current.n; i++)
        b->current.at[i] = NULL;
}

static bool region_is_empty(const Build *b) {
    if (b->region->writes.n)
        return false;
    for (int i = b->region_start; i < b->g->nodes.n; i++)
        if (b->g->nodes.at[i]->region == b->region)
            return false;
    return true;
}

/* A region that no statement opened begins where its first node comes from. */
static Span region_span(const Build *b) {
    for (int i = b->region_start; i < b->g->nodes.n; i++)
        if (b->g->nodes.at[i]->region == b->region && b->g->nodes.at[i]->span.file)
            return b->g->nodes.at[i]->span;
    return (Span){0};
}

/* "valid" where batches of such a split are walked, NULL elsewhere. */
static const char *word_of_loop(Build *b) {
    const LoopInfo *l = b->loop;
    while (l && !(l->stmt && l->stmt->nloops))
        l = l->parent;
    return l ? split_word(b, l->stmt->loops[0]->split) : NULL;
}

/* A region that no statement names is called after the batches it goes through (train_valid_batch),
 * or what it computes last for the user (train_acc), or the first home it sets. */
static const char *region_name(Build *b) {
    const Region *r = b->region;
    const char *task = b->task ? b->task->name : "start", *last = NULL, *split = word_of_loop(b);
    bool decides = false;
    if (r->name)
        return r->name;
    for (int i = b->region_start; i < b->g->nodes.n; i++) {
        const Node *n = b->g->nodes.at[i];
        if (n->region != r)
            continue;
        if (n->op == OP_batch && split)
            return arena_printf(b->arena, "%s_%s_batch", task, split);
        if (n->name)
            last = n->name;
        decides = n->dtype == DT_BOOL && n->shape.rank == 0;
    }
    if (last)
        return arena_printf(b->arena, "%s_%s", task, last);
    if (r->writes.n && b->task)
        return arena_printf(b->arena, "%s_set_%s", task, r->writes.at[0].home->name);
    return decides && b->task ? arena_printf(b->arena, "%s_condition", task) : task;
}

void region_close(Build *b) {
    if (region_is_empty(b))
        return;
    Region *r = b->region;
    if (!r->span.file)
        r->span = region_span(b);
    r->id = b->p->regions.n;
    r->name = build_identifier(b, region_name(b));
    r->word = word_of_loop(b) ? word_of_loop(b) : r->name;
    r->used = true;
    r->task = b->task;
    vec_push(b->arena, &b->p->regions, r);
    HStmt *s = NEW(b->arena, HStmt);
    s->kind = HS_REGION;
    s->region = r;
    s->span = r->span;
    vec_push(b->arena, &b->block->stmts, s);
    HostVar *runs = b->runs;
    b->runs = NULL;
    region_begin(b);
    if (runs) /* random numbers differ from one execution to the next */
        host_set(b, runs, host_op(b, OP_add, HT_INT, host_var(b, runs), host_const_int(b, 1), NULL),
                 r->span);
}

void region_open(Build *b, const char *name, Span at) {
    if (!b->region)
        region_begin(b);
    if (name)
        b->region->name = name;
    if (!b->region->span.file)
        b->region->span = at;
    b->g->span = at;
}

static Place place_now(const Build *b) {
    return (Place){b->block,    b->region,     b->region_start, b->execution,
                   b->runs,     b->task,       b->loop,         b->loop_start,
                   b->training, b->current.at, b->current.n,    b->current.cap};
}

static void place_set(Build *b, const Place *p) {
    b->block = p->block;
    b->region = p->region;
    b->g->region = p->region;
    b->region_start = p->region_start;
    b->execution = p->execution;
    b->runs = p->runs;
    b->task = p->task;
    b->loop = p->loop;
    b->loop_start = p->loop_start;
    b->training = p->training;
    b->current.at = p->current;
    b->current.n = p->ncurrent;
    b->current.cap = p->cap;
}

Place place_enter(Build *b, HBlock *block) {
    Place old = place_now(b);
    place_set(b, &(Place){.block = block});
    region_begin(b);
    return old;
}

void place_leave(Build *b, const Place *old) {
    region_close(b);
    place_set(b, old);
}

void build_at_start(Build *b, void (*body)(Build *b, void *arg), void *arg) {
    if (b->block == b->p->start) {
        body(b, arg);
        return;
    }
    Place old = place_now(b);
    place_set(b, &b->start); /* its region stays open until the end */
    body(b, arg);
    b->start = place_now(b);
    place_set(b, &old);
}

void region_start_leave(Build *b) {
    b->start = place_now(b);
    place_set(b, &(Place){0});
    region_begin(b);
}

void region_start_finish(Build *b) {
    place_set(b, &b->start);
    region_close(b);
}

Home *home_new(Build *b, HomeKind kind, const char *name, DType t, const Shape *s, Span at) {
    Home *h = NEW(b->arena, Home);
    h->id = b->p->homes.n;
    h->kind = kind;
    h->name = name;
    h->dtype = t;
    h->shape = *s;
    h->span = build_place(b, at);
    h->model = -1;
    vec_push(b->arena, &b->p->homes, h);
    return h;
}

static Node **current_of(Build *b, const Home *h) {
    while (b->current.n <= h->id)
        vec_push(b->arena, &b->current, NULL);
    return &b->current.at[h->id];
}

Node *home_value(Build *b, Home *h) {
    Node **at = current_of(b, h);
    if (!*at) {
        *at = graph_read(b->g, h);
        (*at)->name = h->name;
    }
    return *at;
}

/* Which home a node is a version of, NULL: none. */
Home *home_of_version(const Build *b, const Node *n) {
    if (n->op == OP_read)
        return n->attr.home;
    return n->id < b->versions.n ? b->versions.at[n->id] : NULL;
}

void home_write(Build *b, Home *h, Node *value) {
    Region *r = b->region;
    *current_of(b, h) = value;
    while (b->versions.n <= value->id)
        vec_push(b->arena, &b->versions, NULL);
    b->versions.at[value->id] = h;
    while (b->changes.n <= h->id)
        vec_push(b->arena, &b->changes, (Change){0});
    b->changes.at[h->id] = (Change){value->id, b->g->span};
    for (int i = 0; i < r->writes.n; i++)
        if (r->writes.at[i].home == h) {
            r->writes.at[i].value = value;
            return;
        }
    vec_push(b->arena, &r->writes, (Write){h, value});
}

void home_changed(Build *b, Home *h, Span at) {
    while (b->changes.n <= h->id)
        vec_push(b->arena, &b->changes, (Change){0});
    b->changes.at[h->id] = (Change){b->g->nodes.n, at};
}

void home_reached(Build *b, const Home *h) {
    while (b->reached.n <= h->id)
        vec_push(b->arena, &b->reached, false);
    b->reached.at[h->id] = true;
}

Changes changes_copy(const Build *b) {
    Changes c = {b->changes.n, NEW_ARRAY(b->arena, Change, b->changes.n + 1)};
    if (c.n)
        memcpy(c.at, b->changes.at, sizeof(Change) * (size_t)c.n);
    return c;
}

void changes_set(Build *b, const Changes *c) {
    for (int i = 0; i < b->changes.n; i++)
        b->changes.at[i] = i < c->n ? c->at[i] : (Change){0};
}

void changes_join(Build *b, const Changes *c) {
    while (b->changes.n < c->n)
        vec_push(b->arena, &b->changes, (Change){0});
    for (int i = 0; i < c->n; i++)
        if (c->at[i].version > b->changes.at[i].version)
            b->changes.at[i] = c->at[i];
}

static void add_output(Build *b, Node *n) {
    Region *r = n->region;
    for (int i = 0; i < r->outputs.n; i++)
        if (r->outputs.at[i] == n)
            return;
    vec_push(b->arena, &r->outputs, n);
}

/* Whatever uses the value stands in a later statement, and host_stmt closes the region. */
HExpr *region_output(Build *b, Node *n) {
    if (n->op == OP_read && n->region == b->region && home_value(b, n->attr.home) == n)
        return host_home(b, n->attr.home);
    add_output(b, n);
    return host_node(b, n);
}

void region_finish(Build *b) {
    for (int i = 0; i < b->g->nodes.n; i++) {
        const Node *n = b->g->nodes.at[i];
        for (int k = 0; k < n->nin; k++)
            if (n->in[k]->region != n->region)
                add_output(b, n->in[k]);
    }
    for (int i = 0; i < b->p->regions.n; i++) {
        const Region *r = b->p->regions.at[i];
        for (int k = 0; k < r->writes.n; k++)
            if (r->writes.at[k].value->region != r)
                add_output(b, r->writes.at[k].value);
    }
}

/* Leaves are made anew in the region that uses them instead of being carried over in memory. */
Node *node_here(Build *b, Node *n) {
    if (n->region == b->region || op_info[n->op].kind != KIND_LEAF || n->op == OP_scalar)
        return n;
    if (n->op == OP_read) {
        const Home *h = n->attr.home;
        bool changed = h->id < b->changes.n && b->changes.at[h->id].version > n->id;
        bool settled = h->kind == HOME_CONST || (b->loop_start <= n->id && !changed);
        return settled ? home_value(b, n->attr.home) : n;
    }
    return graph_node(b->g, n->op, 0, NULL, &n->attr, n->dtype, &n->shape);
}

Node *random_execution(Build *b) {
    if (b->execution)
        return b->execution;
    if (b->block == b->p->start) {
        Shape s = shape_scalar();
        return b->execution = graph_constant(b->g, DT_I32, &s, 0);
    }
    b->runs = host_new_var(b, "runs", HT_INT);
    HExpr *count = host_var(b, b->runs);
    b->execution = value_to_node(b, value_host(count), DT_I32, b->g->span);
    return b->execution;
}

static uint32_t hash_instance(uint32_t h, const Instance *in) {
    if (!in)
        return h;
    h = hash_instance(h, in->parent);
    h = hash_bytes(h, in->name, strlen(in->name));
    return hash_bytes(h, &in->round, sizeof in->round);
}

/* Instance and ordinal: stable under changes elsewhere in the program. */
uint32_t random_place(Build *b) {
    uint32_t h = HASH_START;
    const Instance *in = b->frame ? b->frame->instance : NULL;
    if (b->task)
        h = hash_bytes(h, b->task->name, strlen(b->task->name));
    h = hash_instance(h, in);
    int *ordinal = in ? &b->frame->instance->randoms : &b->random_ordinal;
    ++*ordinal;
    return hash_bytes(h, ordinal, sizeof *ordinal);
}
