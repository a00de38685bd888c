/* interp_move.c: the oracle's index maps: which element of which input an element of the result is.
 */
#include "interp.h"

void interp_reshape(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    (void)in, (void)n;
    WALK(w, &out->shape)
    out->at[w.at] = x[0]->at[w.at];
}

void interp_permute(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    (void)in;
    WALK(w, &out->shape) {
        int64_t sub[MAX_RANK] = {0};
        for (int i = 0; i < out->shape.rank; i++)
            sub[n->attr.perm[i]] = w.sub[i];
        out->at[w.at] = x[0]->at[shape_place(&x[0]->shape, sub)];
    }
}

void interp_broadcast(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    (void)in;
    const Shape *declared = &n->in[0]->shape;
    WALK(w, &out->shape) {
        int64_t sub[MAX_RANK] = {0};
        for (int i = 0; i < out->shape.rank; i++)
            sub[i] = dim_equal(declared->dim[i], n->shape.dim[i]) ? w.sub[i] : 0;
        out->at[w.at] = x[0]->at[shape_place(&x[0]->shape, sub)];
    }
}

void interp_slice(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    (void)in;
    WALK(w, &out->shape) {
        int64_t sub[MAX_RANK] = {0};
        for (int i = 0; i < out->shape.rank; i++)
            sub[i] = n->attr.slice.start[i] + w.sub[i] * n->attr.slice.step[i];
        out->at[w.at] = x[0]->at[shape_place(&x[0]->shape, sub)];
    }
}

void interp_windows(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    (void)in;
    WALK(w, &out->shape) {
        int64_t sub[MAX_RANK];
        windows_place(&n->attr.windows, x[0]->shape.rank, w.sub, sub);
        out->at[w.at] = x[0]->at[shape_place(&x[0]->shape, sub)];
    }
}

void windows_place(const Windows *w, int rank, const int64_t *sub, int64_t *place) {
    for (int d = 0; d < rank; d++) {
        int i = d - w->axis;
        place[d] = sub[i < w->n ? d : d + w->n];
        if (i >= 0 && i < w->n)
            place[d] = w->start[i] + place[d] * w->step[i] + sub[d + w->n] * w->apart[i];
    }
}

void interp_pad(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    (void)in;
    WALK(w, &out->shape) {
        int64_t sub[MAX_RANK] = {0};
        bool inside = true;
        for (int i = 0; i < out->shape.rank; i++) {
            sub[i] = w.sub[i] - n->attr.pad.lo[i];
            inside = inside && sub[i] >= 0 && sub[i] < x[0]->shape.dim[i].n;
        }
        out->at[w.at] = inside ? x[0]->at[shape_place(&x[0]->shape, sub)] : n->attr.pad.value;
    }
}

void interp_concat(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    (void)in;
    int axis = n->attr.axis;
    WALK(w, &out->shape) {
        int k = 0;
        while (w.sub[axis] >= x[k]->shape.dim[axis].n)
            w.sub[axis] -= x[k++]->shape.dim[axis].n;
        out->at[w.at] = x[k]->at[shape_place(&x[k]->shape, w.sub)];
        for (int i = 0; i < k; i++) /* back, for the walk */
            w.sub[axis] += x[i]->shape.dim[axis].n;
    }
}
