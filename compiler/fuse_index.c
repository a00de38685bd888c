/* fuse_index.c: indices that cannot be out of range, from where their values come. Their loads
 * need no clamp and no fault. */
#include "fuse.h"

Node *fuse_behind_reshapes(Node *n) {
    while (n->op == OP_reshape)
        n = n->in[0];
    return n;
}

static int64_t index_bound(const Fuser *f, const Node *n);

/* Of what is computed once: the bound of all values it is given. */
static int64_t home_bound(const Fuser *f, const Home *h) {
    const Program *p = f->compiler->program;
    int64_t most = 0;
    for (int r = 0; r < p->regions.n && h->kind == HOME_CONST; r++)
        for (int w = 0; w < p->regions.at[r]->writes.n; w++) {
            const Write *write = &p->regions.at[r]->writes.at[w];
            if (write->home != h)
                continue;
            int64_t bound = index_bound(f, write->value);
            if (bound == 0)
                return 0;
            most = MAX(most, bound);
        }
    return most;
}

static int64_t of_both(const Fuser *f, const Node *x, const Node *y) {
    int64_t a = index_bound(f, x), b = index_bound(f, y);
    return a && b ? MAX(a, b) : 0;
}

/* Values lie in 0 … bound-1; 0: not known. */
static int64_t index_bound(const Fuser *f, const Node *n) {
    switch (n->op) {
    case OP_read:
        return home_bound(f, n->attr.home);
    case OP_batch:
        return n->attr.batch.source->limit;
    case OP_min:
        return index_bound(f, n->in[0]);
    case OP_where:
        return of_both(f, n->in[1], n->in[2]);
    case OP_iota:
        return n->shape.dim[n->attr.axis].n;
    case OP_permutation:
        return shape_elements(&n->shape);
    case OP_randint:
        return n->attr.random.lo >= 0 ? n->attr.random.hi : 0;
    case OP_constant:
        return n->attr.constant.data || n->attr.constant.value < 0
                   ? 0
                   : (int64_t)n->attr.constant.value + 1;
    default:
        if (op_info[n->op].flags & OPF_VIEW ||
            (n->op == OP_cast && dtype_is_int(n->in[0]->dtype)))
            return index_bound(f, n->in[0]);
        return 0;
    }
}

/* Indices that cannot be out of range. */
void fuse_prove_indices(Fuser *f) {
    for (int i = 0; i < f->graph->nodes.n; i++) {
        const Node *n = f->graph->nodes.at[i];
        int64_t extent = indexed_extent(n).n;
        if (extent == 0)
            continue;
        int64_t bound = index_bound(f, n->in[1]);
        const Node *index = fuse_behind_reshapes(n->in[1]);
        bool rows = index->op == OP_read && index->attr.home->kind == HOME_INDEX; /* of the data */
        f->out->proved[i] = rows || (bound > 0 && bound <= extent);
    }
}
