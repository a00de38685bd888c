/* lower.c: where the value of a node or a home lies; the lists of a kernel. */
#include "lower.h"

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
