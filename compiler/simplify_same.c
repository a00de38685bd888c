/* simplify_same.c: when two nodes are the same value. */
#include "simplify.h"
#include <string.h>

typedef struct Parts { /* the bytes of the attributes that count */
    int n;
    struct {
        const void *at;
        size_t size;
    } part[3];
} Parts;

static void part(Parts *p, const void *at, size_t size) {
    p->part[p->n].at = at;
    p->part[p->n++].size = size;
}

static Parts attr_parts(const Node *n) {
    const Attr *a = &n->attr;
    Parts p = {0};
    size_t rank = (size_t)n->shape.rank;
    switch (op_info[n->op].attr) {
    case ATTR_VALUE:
        if (a->constant.data)
            part(&p, a->constant.data, sizeof(double) * (size_t)shape_elements(&n->shape));
        else
            part(&p, &a->constant.value, sizeof a->constant.value);
        break;
    case ATTR_HOME:
    case ATTR_SCALAR:
    case ATTR_COUNT:
    case ATTR_SOURCE: /* a pointer, all of them */
        part(&p, &a->home, sizeof a->home);
        break;
    case ATTR_AXIS:
        part(&p, &a->axis, sizeof a->axis);
        break;
    case ATTR_SCAN:
        part(&p, &a->cumsum.axis, sizeof a->cumsum.axis);
        part(&p, &a->cumsum.reverse, sizeof a->cumsum.reverse);
        break;
    case ATTR_AXES:
        part(&p, &a->axes, sizeof a->axes);
        break;
    case ATTR_PERM:
        part(&p, a->perm, rank * sizeof *a->perm);
        break;
    case ATTR_SLICE:
        part(&p, a->slice.start, rank * sizeof *a->slice.start);
        part(&p, a->slice.step, rank * sizeof *a->slice.step);
        break;
    case ATTR_PAD:
        part(&p, a->pad.lo, rank * sizeof *a->pad.lo);
        part(&p, &a->pad.value, sizeof a->pad.value);
        break;
    case ATTR_WINDOWS:
        part(&p, &a->windows, sizeof a->windows);
        break;
    case ATTR_DOT:
        part(&p, &a->dot, sizeof a->dot);
        break;
    case ATTR_RANDOM:
        part(&p, &a->random.place, sizeof a->random.place);
        part(&p, &a->random.lo, sizeof a->random.lo);
        part(&p, &a->random.hi, sizeof a->random.hi);
        break;
    case ATTR_NONE:
        break;
    }
    return p;
}

/* The inputs of a commutative op count in the order of their numbers. */
static int input_id(const Node *n, int k) {
    if (op_info[n->op].flags & OPF_COMM && n->nin == 2)
        return k == (n->in[0]->id > n->in[1]->id) ? n->in[0]->id : n->in[1]->id;
    return n->in[k]->id;
}

bool simplify_same(const Node *a, const Node *b) {
    if (a->op != b->op || a->dtype != b->dtype || a->region != b->region || a->nin != b->nin ||
        !shape_equal(&a->shape, &b->shape))
        return false;
    for (int k = 0; k < a->nin; k++)
        if (input_id(a, k) != input_id(b, k))
            return false;
    Parts p = attr_parts(a), q = attr_parts(b);
    for (int i = 0; i < p.n; i++)
        if (p.part[i].size != q.part[i].size || memcmp(p.part[i].at, q.part[i].at, p.part[i].size))
            return false;
    return p.n == q.n && (a->op != OP_constant || !a->attr.constant.data == !b->attr.constant.data);
}

uint32_t simplify_hash(const Node *n) {
    int key[] = {(int)n->op, (int)n->dtype, n->nin, n->shape.rank};
    uint32_t h = hash_bytes(HASH_START, key, sizeof key);
    h = hash_bytes(h, &n->region, sizeof n->region);
    for (int i = 0; i < n->shape.rank; i++)
        h = hash_bytes(h, &n->shape.dim[i].n, sizeof n->shape.dim[i].n);
    for (int k = 0; k < n->nin; k++) {
        int id = input_id(n, k);
        h = hash_bytes(h, &id, sizeof id);
    }
    Parts p = attr_parts(n);
    for (int i = 0; i < p.n; i++)
        h = hash_bytes(h, p.part[i].at, p.part[i].size);
    return h;
}
