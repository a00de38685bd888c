/* program_nodes.c: every place outside the graph where a program holds a node. */
#include "simplify.h"

typedef struct Mapper {
    Node *(*map)(void *context, Node *n);
    void *context;
    bool shown; /* only what the host prints or writes as a tensor */
} Mapper;

static void map_node(const Mapper *m, Node **n) {
    if (*n)
        *n = m->map(m->context, *n);
}

static void map_expr(const Mapper *m, HExpr *e);

static void map_format(const Mapper *m, Format *f) {
    for (int i = 0; f && i < f->n; i++) {
        map_expr(m, f->parts[i].value);
        map_node(m, &f->parts[i].tensor);
    }
}

static void map_expr(const Mapper *m, HExpr *e) {
    if (!e)
        return;
    if (!m->shown)
        map_node(m, &e->node);
    map_format(m, e->format);
    for (int i = 0; i < e->nargs; i++)
        map_expr(m, e->args[i]);
}

static void map_block(const Mapper *m, HBlock *b) {
    for (int i = 0; b && i < b->stmts.n; i++) {
        HStmt *s = b->stmts.at[i];
        HExpr *exprs[] = {s->value, s->limit, s->left, s->right};
        HBlock *blocks[] = {s->cond, s->body, s->other};
        for (int k = 0; k < COUNT_OF(exprs); k++)
            map_expr(m, exprs[k]);
        for (int k = 0; k < COUNT_OF(blocks); k++)
            map_block(m, blocks[k]);
        for (int k = 0; k < s->nloops; k++)
            map_expr(m, s->loops[k]->steps);
        map_format(m, s->format);
    }
}

static void map_host(Program *p, const Mapper m) {
    for (int i = 0; i < p->scalars.n; i++)
        map_expr(&m, p->scalars.at[i]->value);
    for (int i = 0; i < p->sets.n; i++)
        map_block(&m, p->sets.at[i]->prologue);
    for (int i = 0; i < p->tasks.n; i++)
        map_block(&m, p->tasks.at[i]->body);
    for (int i = 0; i < p->exports.n; i++)
        for (int k = 0; k < p->exports.at[i]->noutputs; k++)
            map_node(&m, &p->exports.at[i]->outputs[k]);
    map_block(&m, p->start);
}

void program_map_nodes(Program *p, Node *(*map)(void *context, Node *n), void *context) {
    const Mapper m = {map, context, false};
    for (int i = 0; i < p->regions.n; i++) {
        Region *r = p->regions.at[i];
        for (int k = 0; k < r->writes.n; k++)
            map_node(&m, &r->writes.at[k].value);
        for (int k = 0; k < r->outputs.n; k++)
            map_node(&m, &r->outputs.at[k]);
    }
    map_host(p, m);
}

void program_map_shown(Program *p, Node *(*map)(void *context, Node *n), void *context) {
    map_host(p, (Mapper){map, context, true});
}
