/* simplify.c: the pass: the graph built anew without dead nodes, with one node for equal values,
 * and with what the rules make of each node.
 *
 * Input and output: c->program->graph and all that refers to its nodes. A region's list of outputs
 * keeps its order and length. What a region writes to two homes stays two nodes.
 */
#include "simplify.h"
#include <string.h>

/* ---- making nodes ---- */

static void grow_table(Simplify *s) {
    int room = MAX(256, s->room * 2);
    Node **table = NEW_ARRAY(s->arena, Node *, room);
    for (int i = 0; i < s->room; i++) {
        if (!s->table[i])
            continue;
        uint32_t at = simplify_hash(s->table[i]) % (uint32_t)room;
        while (table[at])
            at = (at + 1) % (uint32_t)room;
        table[at] = s->table[i];
    }
    s->table = table;
    s->room = room;
}

static Node *append(Simplify *s, const Node *n) {
    Node *made = graph_node(s->g, n->op, n->nin, n->in, &n->attr, n->dtype, &n->shape);
    vec_push(s->arena, &s->uses, 0);
    vec_push(s->arena, &s->claimed, false);
    return made;
}

/* The node equal to n that is there already, or a new one. */
static Node *find_or_append(Simplify *s, const Node *n) {
    if (2 * s->g->nodes.n >= s->room)
        grow_table(s);
    uint32_t at = simplify_hash(n) % (uint32_t)s->room;
    while (s->table[at] && !simplify_same(s->table[at], n))
        at = (at + 1) % (uint32_t)s->room;
    if (!s->table[at])
        s->table[at] = append(s, n);
    return s->table[at];
}

static Node *simple(Simplify *s, const Node *n) {
    SimplifyRule *const rules[] = {simplify_move, simplify_algebra, simplify_fold};
    for (int i = 0; i < COUNT_OF(rules); i++) {
        Node *made = rules[i](s, n);
        if (made)
            return made;
    }
    return find_or_append(s, n);
}

Node *simplify_node(Simplify *s, Op op, int nin, Node *const *in, const Attr *attr, DType t,
                    const Shape *shape) {
    Node n = {.op = op, .dtype = t, .nin = nin, .in = (Node **)in, .region = s->g->region};
    if (attr)
        n.attr = *attr;
    if (shape)
        n.shape = *shape;
    op_info[op].shape(&n);
    return simple(s, &n);
}

/* ---- the old graph ---- */

typedef struct Old {
    Simplify *s;
    Node **nodes;
    int n;
    bool *live;
    int *uses;
    Home **home;  /* what the node is written to */
    bool *output; /* of its region */
    bool *shown;  /* the host prints it or writes it to a file */
    Node **map;   /* the new node */
} Old;

static void use(Old *o, const Node *n) {
    o->live[n->id] = true;
    o->uses[n->id]++;
}

static Node *use_root(void *context, Node *n) {
    use(context, n);
    return n;
}

static Node *mark(void *context, Node *n) {
    ((bool *)context)[n->id] = true;
    return n;
}

static void find_live(Old *o, Program *p) {
    program_map_nodes(p, use_root, o);
    program_map_shown(p, mark, o->shown);
    for (int i = o->n - 1; i >= 0; i--) {
        const Node *n = o->nodes[i];
        if (op_info[n->op].kind == KIND_EFFECT && n->region && n->region->used)
            o->live[i] = true;
        for (int k = 0; o->live[i] && k < n->nin; k++)
            use(o, n->in[k]);
    }
    for (int i = 0; i < p->regions.n; i++) {
        const Region *r = p->regions.at[i];
        for (int k = 0; k < r->writes.n; k++)
            o->home[r->writes.at[k].value->id] = r->writes.at[k].home;
        for (int k = 0; k < r->outputs.n; k++)
            o->output[r->outputs.at[k]->id] = true;
    }
}

/* Constants are not carried from one region to another. */
static Node *here(Simplify *s, Node *x, const Region *r) {
    bool constant = x->op == OP_constant || x->op == OP_iota;
    return constant && x->region != r ? find_or_append(s, &(Node){.op = x->op,
                                                                  .dtype = x->dtype,
                                                                  .shape = x->shape,
                                                                  .attr = x->attr,
                                                                  .region = s->g->region})
                                      : x;
}

/* A node of its own for a value that a region writes, unless m is one: home and value must be of
 * one region, and no two homes may share a value. Likewise an output belongs to its region, and
 * what the host shows lies in memory in its own shape: a reshape and a constant do not. */
static Node *own_node(Old *o, const Node *n, Node *m) {
    Home *home = o->home[n->id];
    bool foreign = m->region != n->region,
         bare = m->shape.rank && (m->op == OP_reshape || m->op == OP_constant);
    if (home && !foreign && m->op == OP_read && m->attr.home == home)
        return m; /* the home keeps its value */
    if ((home && (foreign || m->op == OP_read || o->s->claimed.at[m->id])) ||
        (o->output[n->id] && foreign) || (o->shown[n->id] && bare)) {
        Node stop = {.op = OP_stop, .nin = 1, .in = &m, .dtype = m->dtype, .shape = m->shape};
        m = append(o->s, &stop);
    }
    if (home)
        o->s->claimed.at[m->id] = true;
    return m;
}

static void rebuild(Old *o, Node *n) {
    Simplify *s = o->s;
    Node copy = *n;
    s->g->region = n->region;
    s->g->span = n->span;
    copy.in = NEW_ARRAY(s->arena, Node *, n->nin);
    for (int k = 0; k < n->nin; k++)
        copy.in[k] = here(s, o->map[n->in[k]->id], n->region);
    Node *m = own_node(o, n, simple(s, &copy));
    if (n->name && !m->name && m->region == n->region)
        m->name = n->name, m->place = n->place, m->counted = n->counted;
    if (!m->gradient_of && m->region == n->region)
        m->gradient_of = n->gradient_of;
    s->uses.at[m->id] += o->uses[n->id];
    o->map[n->id] = m;
}

static Node *replace(void *context, Node *n) {
    const Old *o = context;
    return n->id < o->n && o->nodes[n->id] == n ? o->map[n->id] : n;
}

/* ---- the new graph ---- */

/* What rules made and nobody uses goes; numbers are given anew. */
static void compact(Simplify *s, Program *p) {
    Graph *g = s->g;
    bool *live = NEW_ARRAY(s->arena, bool, g->nodes.n);
    int n = 0;
    program_map_nodes(p, mark, live);
    for (int i = g->nodes.n - 1; i >= 0; i--) {
        const Node *x = g->nodes.at[i];
        live[i] = live[i] || op_info[x->op].kind == KIND_EFFECT;
        for (int k = 0; live[i] && k < x->nin; k++)
            live[x->in[k]->id] = true;
    }
    for (int i = 0; i < g->nodes.n; i++)
        if (live[i]) {
            g->nodes.at[n] = g->nodes.at[i];
            g->nodes.at[n]->id = n;
            n++;
        }
    g->nodes.n = n;
}

static void drop_idle_writes(Program *p) {
    for (int i = 0; i < p->regions.n; i++) {
        Region *r = p->regions.at[i];
        int n = 0;
        for (int k = 0; k < r->writes.n; k++) {
            const Write w = r->writes.at[k];
            if (w.value->op != OP_read || w.value->region != r || w.value->attr.home != w.home)
                r->writes.at[n++] = w;
        }
        r->writes.n = n;
    }
}

void simplify(Compiler *c) {
    Program *p = c->program;
    Graph *g = p->graph;
    Simplify s = {.arena = arena_new(), .g = g};
    Old o = {.s = &s, .nodes = g->nodes.at, .n = g->nodes.n};
    s.interp = interp_new(s.arena, NULL, true);
    o.live = NEW_ARRAY(s.arena, bool, o.n);
    o.uses = NEW_ARRAY(s.arena, int, o.n);
    o.home = NEW_ARRAY(s.arena, Home *, o.n);
    o.output = NEW_ARRAY(s.arena, bool, o.n);
    o.shown = NEW_ARRAY(s.arena, bool, o.n);
    o.map = NEW_ARRAY(s.arena, Node *, o.n);
    find_live(&o, p);
    memset(&g->nodes, 0, sizeof g->nodes);
    Region *region = g->region;
    Span span = g->span;
    for (int i = 0; i < o.n; i++)
        if (o.live[i])
            rebuild(&o, o.nodes[i]);
    g->region = region;
    g->span = span;
    program_map_nodes(p, replace, &o);
    drop_idle_writes(p);
    compact(&s, p);
    interp_forget(s.interp);
    arena_free(s.arena);
}
