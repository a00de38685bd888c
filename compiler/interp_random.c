/* interp_random.c: the oracle's random numbers. The bits are those of the trainers
 * (runtime/rt_rng.h), written again so that each checks the other; normal numbers go through libm
 * and agree up to rounding.
 *
 * Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, 2011): key = seed, counter = (block, time step,
 * execution, place); element i takes word i%4 of block i/4. There are no time steps yet: 0.
 */
#include "interp.h"
#include <math.h>

static void philox(uint32_t c[4], uint64_t seed) {
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = 0xd2511f53ull * c[0], p1 = 0xcd9e8d57ull * c[2];
        uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k0, (uint32_t)p1,
                            (uint32_t)(p0 >> 32) ^ c[3] ^ k1, (uint32_t)p0};
        for (int i = 0; i < 4; i++)
            c[i] = next[i];
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
}

/* The four words of a block of the tensor n. */
static void block(Interp *in, const Node *n, const Tensor *execution, uint32_t number,
                  uint32_t out[4]) {
    out[0] = number;
    out[1] = 0;
    out[2] = (uint32_t)(int64_t)execution->at[0];
    out[3] = n->attr.random.place;
    philox(out, in->env->seed);
}

/* Elements are counted in the shape with its bounds: a smaller last batch draws the numbers a full
 * one would. */
static int64_t element(const Node *n, const Walk *w) {
    return shape_place(&n->shape, w->sub);
}

static uint32_t word_of(Interp *in, const Node *n, const Tensor *execution, int64_t i) {
    uint32_t w[4];
    block(in, n, execution, (uint32_t)(i / 4), w);
    return w[i % 4];
}

void interp_rand(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    WALK(w, &out->shape)
    out->at[w.at] = (double)(word_of(in, n, x[0], element(n, &w)) >> 8) * 0x1p-24;
}

/* Box and Muller: radius from the even word of a pair, angle from the odd one; cosine, then sine.
 */
void interp_randn(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    WALK(w, &out->shape) {
        int64_t i = element(n, &w);
        uint32_t even = word_of(in, n, x[0], i & ~1ll), odd = word_of(in, n, x[0], i | 1);
        double u = (double)((even >> 8) + 1) * 0x1p-24;
        double angle = (double)(odd >> 8) * 0x1p-24 * 6.283185307179586;
        out->at[w.at] = sqrt(-2 * log(u)) * (i & 1 ? sin(angle) : cos(angle));
    }
}

void interp_randint(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    uint64_t range = (uint64_t)(n->attr.random.hi - n->attr.random.lo);
    WALK(w, &out->shape) {
        uint64_t bits = word_of(in, n, x[0], element(n, &w));
        out->at[w.at] = (double)n->attr.random.lo + (double)(bits * range >> 32);
    }
}

/* ---- permutation: a keyed Feistel network, walked until the result is in range ---- */

static uint32_t mix(uint32_t half, uint32_t key, uint32_t key2) {
    uint64_t p = 0xd2511f53ull * (half ^ key);
    p = 0xcd9e8d57ull * ((uint32_t)(p >> 32) ^ (uint32_t)p ^ key2);
    return (uint32_t)(p >> 32) ^ (uint32_t)p;
}

static uint64_t feistel(uint64_t i, int bits, uint32_t k0, uint32_t k1) {
    int low = bits / 2;
    uint64_t low_mask = (1ull << low) - 1, high_mask = (1ull << (bits - low)) - 1;
    uint64_t l = i & low_mask, h = i >> low;
    for (int round = 0; round < 4; round++) {
        h = (h + mix((uint32_t)l, k0, k1)) & high_mask;
        l = (l + mix((uint32_t)h, k1, k0)) & low_mask;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return h << low | l;
}

void interp_permutation(Interp *in, const Node *n, const Tensor *const *x, Tensor *out) {
    uint64_t count = (uint64_t)shape_elements(&out->shape);
    uint32_t key[4];
    int bits = 0;
    block(in, n, x[0], 0xffffffffu, key);
    while (count > 1 && (count - 1) >> bits)
        bits++;
    WALK(w, &out->shape) {
        uint64_t to = (uint64_t)w.at;
        do
            to = bits ? feistel(to, bits, key[0], key[1]) : 0;
        while (to >= count);
        out->at[w.at] = (double)to;
    }
}
