/* lower.c: buffers: how one is made, which one holds a node or a home; the lists of a kernel. */
#include "lower.h"

int64_t layout_elements(const Buffer *b) {
    if (b->layout == LAYOUT_PANELS16)
        return (b->shape.dim[1].n + 15) / 16 * 16 * b->shape.dim[0].n;
    return MAX(shape_elements(&b->shape), 1);
}

void layout_set(Buffer *b, Layout layout) {
    b->layout = layout;
    b->bytes = (layout_elements(b) * dtype_size(b->dtype) + 63) / 64 * 64;
}

Buffer *lower_buffer(Arena *a, Lowered *l, Buffer like) {
    Buffer *b = NEW(a, Buffer);
    *b = like;
    b->id = l->buffers.n;
    layout_set(b, LAYOUT_ROWS);
    vec_push(a, &l->buffers, b);
    return b;
}

Buffer *lower_buffer_of_home(const Lowered *l, const Home *h) {
    if (h->id < l->buffers.n && l->buffers.at[h->id]->home == h) /* they are made first */
        return l->buffers.at[h->id];
    for (int i = 0; i < l->buffers.n; i++)
        if (l->buffers.at[i]->home == h)
            return l->buffers.at[i];
    return NULL;
}

Buffer *lower_buffer_of_node(const Lowered *l, const Node *n) {
    for (;;) {
        for (int i = 0; i < l->buffers.n; i++)
            if (l->buffers.at[i]->node == n)
                return l->buffers.at[i];
        if (n->op == OP_read)
            return lower_buffer_of_home(l, n->attr.home);
        if (n->op != OP_reshape) /* a reshape lies where its input lies */
            return NULL;
        n = n->in[0];
    }
}

bool run_decides_first(const Lowered *l, Run run) {
    return l->decide_before[run.first + run.period];
}

bool run_waits_first(const Lowered *l, Run run) {
    int last = run.first + run.period * run.copies - 1;
    bool outside = l->decide_before[run.first] && !run_decides_first(l, run);
    return l->barrier_after[last - run.period] && !l->barrier_after[last] && !outside &&
           run.first > 0 && l->kernels.at[run.first - 1]->region == l->kernels.at[last]->region &&
           l->barrier_after[run.first - 1];
}

bool kernel_writes_home(const Kernel *k) {
    for (int i = 0; i < k->writes.n; i++)
        if (k->writes.at[i].buffer->home)
            return true;
    return false;
}

static bool touches(const Kernel *k, const Buffer *b) {
    for (int i = 0; i < k->reads.n; i++)
        if (k->reads.at[i].buffer == b)
            return true;
    for (int i = 0; i < k->writes.n; i++)
        if (k->writes.at[i].buffer == b)
            return true;
    return false;
}

bool kernel_writes_touched(const Kernel *a, const Kernel *b) {
    for (int i = 0; i < a->writes.n; i++)
        if (touches(b, a->writes.at[i].buffer))
            return true;
    return false;
}

int kernel_place(const Kernel *k, uint32_t place) {
    for (int i = 0; i < k->places.n; i++)
        if (k->places.at[i] == place)
            return i;
    return -1;
}

int kernel_fault(const Kernel *k, int node) {
    for (int i = 0; i < k->faults.n; i++)
        if (k->faults.at[i] == node)
            return i;
    return -1;
}

const Fault *lower_fault(const Lowered *l, int node) {
    for (int i = 0; i < l->faults.n; i++)
        if (l->faults.at[i].node->id == node)
            return &l->faults.at[i];
    return NULL;
}
