/* graph.c: the graph as a whole: new, verified, dumped. */
#include "program.h"
#include <string.h>

Graph *graph_new(Arena *a, DType real) {
    Graph *g = NEW(a, Graph);
    g->arena = a;
    g->real = real;
    return g;
}

const char *const *mutation_names(void) {
    static const char *const names[] = {"gradient",     "epilogue",   "barrier",    "offset",
                                       "cuda_barrier", "cuda_guard", "cuda_index", "cuda_order",
                                       "cuda_rows",    "cuda_wait",  NULL};
    return names;
}

bool mutated(const Graph *g, const char *fault) {
    return g && g->mutate && strcmp(g->mutate, fault) == 0;
}

/* ---- verify ---- */

static void verify_node(const Graph *g, int i) {
    const Node *n = g->nodes.at[i];
    const OpInfo *info = &op_info[n->op];
    if (n->id != i)
        bug("node %d (%s) stands at place %d", n->id, info->name, i);
    if (info->args >= 0 && n->nin != info->args)
        bug("node %d: %s with %d arguments", i, info->name, n->nin);
    if (n->shape.rank < 0 || n->shape.rank > MAX_RANK)
        bug("node %d: %s of rank %d", i, info->name, n->shape.rank);
    for (int k = 0; k < n->nin; k++) {
        const Node *x = n->in[k];
        if (x->id < 0 || x->id >= i || g->nodes.at[x->id] != x)
            bug("node %d: %s: argument %d is not an earlier node", i, info->name, k);
    }
    Node copy = *n;
    info->shape(&copy);
    if (copy.dtype != n->dtype || !shape_equal(&copy.shape, &n->shape))
        bug("node %d: %s: type or shape is not what its inputs give", i, info->name);
}

void graph_verify(const Graph *g) {
    for (int i = 0; i < g->nodes.n; i++)
        verify_node(g, i);
}

/* ---- dump ---- */

static void dump_list(Text *out, const char *name, const int64_t *x, int n) {
    text_printf(out, " %s=(", name);
    for (int i = 0; i < n; i++)
        text_printf(out, i ? ",%lld" : "%lld", (long long)x[i]);
    text_add(out, ")");
}

static void dump_axes(Text *out, unsigned axes) {
    const char *before = " axes=";
    for (int i = 0; i < MAX_RANK; i++)
        if (axes >> i & 1) {
            text_printf(out, "%s%d", before, i);
            before = ",";
        }
}

static void dump_attr(Text *out, const Node *n) {
    const Attr *a = &n->attr;
    int64_t perm[MAX_RANK];
    switch (op_info[n->op].attr) {
    case ATTR_VALUE:
        if (a->constant.data)
            text_add(out, " data");
        else
            text_printf(out, " %.9g", a->constant.value);
        break;
    case ATTR_HOME:
        text_printf(out, " %s", a->home->path ? a->home->path : a->home->name);
        break;
    case ATTR_SCALAR:
        text_printf(out, " %s", a->scalar->name);
        break;
    case ATTR_COUNT:
        text_printf(out, " %s", a->count->called);
        break;
    case ATTR_SOURCE:
        text_printf(out, " %s", a->batch.source->name);
        break;
    case ATTR_AXIS:
        text_printf(out, " axis=%d", a->axis);
        break;
    case ATTR_SCAN:
        text_printf(out, " axis=%d%s", a->cumsum.axis, a->cumsum.reverse ? " reverse" : "");
        break;
    case ATTR_AXES:
        dump_axes(out, a->axes);
        break;
    case ATTR_PERM:
        for (int i = 0; i < n->shape.rank; i++)
            perm[i] = a->perm[i];
        dump_list(out, "perm", perm, n->shape.rank);
        break;
    case ATTR_SLICE:
        dump_list(out, "start", a->slice.start, n->shape.rank);
        dump_list(out, "step", a->slice.step, n->shape.rank);
        break;
    case ATTR_PAD:
        dump_list(out, "lo", a->pad.lo, n->shape.rank);
        text_printf(out, " value=%.9g", a->pad.value);
        break;
    case ATTR_WINDOWS:
        text_printf(out, " axis=%d", a->windows.axis);
        dump_list(out, "start", a->windows.start, a->windows.n);
        dump_list(out, "step", a->windows.step, a->windows.n);
        dump_list(out, "apart", a->windows.apart, a->windows.n);
        break;
    case ATTR_DOT:
        text_add(out, a->dot.ta ? " ta" : "");
        text_add(out, a->dot.tb ? " tb" : "");
        break;
    case ATTR_RANDOM:
        if (a->random.lo < a->random.hi)
            text_printf(out, " %lld..%lld", (long long)a->random.lo, (long long)a->random.hi);
        break;
    case ATTR_NONE:
        break;
    }
}

static void dump_node(Text *out, const Node *n, const Diag *d) {
    text_printf(out, "%%%d = %s", n->id, op_info[n->op].name);
    for (int i = 0; i < n->nin; i++)
        text_printf(out, " %%%d", n->in[i]->id);
    dump_attr(out, n);
    text_printf(out, " : %s%s", dtype_name(n->dtype), shape_text(out->arena, &n->shape));
    if (n->name)
        text_printf(out, "  # %s", n->name);
    if (d && n->span.file) {
        int line, column;
        diag_position(d, n->span, &line, &column);
        text_printf(out, "  @ %s:%d", diag_file(d, n->span.file)->path, line);
    }
    text_add(out, "\n");
}

static void dump_uses(Text *out, const Region *r) {
    for (int i = 0; i < r->writes.n; i++)
        text_printf(out, "  write %s = %%%d\n", r->writes.at[i].home->path,
                    r->writes.at[i].value->id);
    for (int i = 0; i < r->outputs.n; i++)
        text_printf(out, "  output %%%d\n", r->outputs.at[i]->id);
}

/* Where the region changes in the order of the nodes, a line names it; writes and outputs follow
 * its last node. */
void graph_dump(const Graph *g, Text *out, const Diag *d) {
    VEC(const Region *) seen = {0};
    const Region *region = NULL;
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        if (n->region != region) {
            region = n->region;
            text_printf(out, "region %s\n", region ? region->name : "(none)");
            bool known = !region;
            for (int k = 0; k < seen.n; k++)
                known = known || seen.at[k] == region;
            if (!known)
                vec_push(g->arena, &seen, region);
        }
        text_add(out, "  ");
        dump_node(out, n, d);
    }
    for (int i = 0; i < seen.n; i++) {
        text_printf(out, "region %s leaves\n", seen.at[i]->name);
        dump_uses(out, seen.at[i]);
    }
}
