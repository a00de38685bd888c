/* ranges.c: where an index comes straight from a field of a data set, the field's values must lie
 * in the range of what is indexed: source->limit and the place that asks for it. The data reader
 * checks every row once, so the kernels need not. Comparing a field with 0, 1, 2 … (one_hot) asks
 * for nothing: a value out of range is a row of zeros.
 *
 * Input: the graph. Output: limit and limit_span of the program's data sources.
 */
#include "pass.h"

/* The data source whose values, perhaps in another type and order, are those of n; NULL: computed
 * in between. */
static DataSource *source_of(const Node *n) {
    for (; n->op != OP_batch; n = n->in[0])
        if (!graph_keeps_numbers(n) || (n->op == OP_cast && n->dtype == DT_BOOL))
            return NULL;
    return n->attr.batch.source;
}

/* The extent that input 1 of n runs over; 0: n is no indexed op, or the extent is known at run time
 * only. */
static int64_t extent_of(const Node *n) {
    Dim d = indexed_extent(n);
    return d.count ? 0 : d.n;
}

void ranges(Compiler *c) {
    const Graph *g = c->program->graph;
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        int64_t extent = extent_of(n);
        DataSource *source = extent ? source_of(n->in[1]) : NULL;
        if (source && (!source->limit || extent < source->limit)) {
            source->limit = extent;
            source->limit_span = n->span;
        }
    }
}
