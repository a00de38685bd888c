/* test_rng.c: Philox against its published vectors, lanes against single elements, distributions,
 * permutations. */
#define _GNU_SOURCE 1
#include <criterion/criterion.h>

#include "host.h"
#include "rt_rng.h"

/* The known-answer vectors that the authors of Philox publish for 4x32-10. */
Test(rng, known_answers) {
    static const struct {
        uint64_t key;
        uint32_t c[4], want[4];
    } v[] = {
        {0, {0, 0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {~(uint64_t)0, {~0u, ~0u, ~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x299f31d0a4093822u,
         {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (int i = 0; i < 3; i++) {
        uint32_t out[4];
        rt_philox(out, v[i].key, v[i].c[0], v[i].c[1], v[i].c[2], v[i].c[3]);
        cr_expect(memcmp(out, v[i].want, sizeof out) == 0, "vector %d", i);
    }
}

static const struct rt_place somewhere = {0x123456789abcdefu, 3, 77, 0xdeadbeef};

Test(rng, lanes_are_single_elements) {
    for (int64_t i = 0; i < 4096; i += 4) {
        v8w w = rt_bits8(&somewhere, i);
        v8 u = rt_uniform8(&somewhere, i), z = rt_normal8(&somewhere, i);
        v8i k = rt_integer8(&somewhere, i, -7, 1000003);
        for (int l = 0; l < 8; l++) {
            cr_expect_eq(w[l], rt_bits1(&somewhere, i + l));
            cr_expect_eq(u[l], rt_uniform1(&somewhere, i + l));
            cr_expect_eq(z[l], rt_normal1(&somewhere, i + l));
            cr_expect_eq(k[l], rt_integer1(&somewhere, i + l, -7, 1000003));
        }
    }
}

Test(rng, uniform_fills_its_cells_evenly) {
    enum { CELLS = 64, N = 1 << 20 };
    int cell[CELLS] = {0};
    for (int64_t i = 0; i < N; i += 8) {
        v8 u = rt_uniform8(&somewhere, i);
        for (int l = 0; l < 8; l++) {
            cr_assert(u[l] >= 0 && u[l] < 1);
            cell[(int)(u[l] * CELLS)]++;
        }
    }
    double chi = 0, want = (double)N / CELLS;
    for (int c = 0; c < CELLS; c++)
        chi += (cell[c] - want) * (cell[c] - want) / want;
    cr_expect_leq(chi, 120, "%g", chi); /* 63 degrees of freedom: above 120 once in 50,000 */
}

Test(rng, normal_has_its_moments) {
    enum { N = 1 << 20 };
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0, pair = 0;
    int far = 0;
    for (int64_t i = 0; i < N; i += 8) {
        v8 z = rt_normal8(&somewhere, i);
        for (int l = 0; l < 8; l++) {
            double x = (double)z[l];
            m1 += x, m2 += x * x, m3 += x * x * x, m4 += x * x * x * x;
            far += fabs(x) > 1.959964;
        }
        for (int l = 0; l < 8; l += 2)
            pair += (double)z[l] * (double)z[l + 1];
    }
    cr_expect_leq(fabs(m1 / N), 4e-3);
    cr_expect_leq(fabs(m2 / N - 1), 6e-3);
    cr_expect_leq(fabs(m3 / N), 0.015);
    cr_expect_leq(fabs(m4 / N - 3), 0.04);
    cr_expect_leq(fabs((double)far / N - 0.05), 1e-3);
    cr_expect_leq(fabs(pair / N), 4e-3);
}

Test(rng, integers_stay_inside) {
    int seen[5] = {0};
    for (int64_t i = 0; i < 50000; i++) {
        int32_t k = rt_integer1(&somewhere, i, -2, 3);
        cr_assert(k >= -2 && k < 3);
        seen[k + 2]++;
    }
    for (int c = 0; c < 5; c++)
        cr_expect(seen[c] > 9500 && seen[c] < 10500, "%d: %d", c - 2, seen[c]);
    for (int64_t i = 0; i < 1000; i++) {
        int32_t k = rt_integer1(&somewhere, i, INT32_MIN, INT32_MAX);
        cr_assert(k < INT32_MAX);
    }
}

Test(rng, places_differ) {
    struct rt_place a = somewhere;
    float base = rt_uniform1(&a, 0);
    a.step++;
    cr_expect_neq(rt_uniform1(&a, 0), base);
    a = somewhere, a.count++;
    cr_expect_neq(rt_uniform1(&a, 0), base);
    a = somewhere, a.place++;
    cr_expect_neq(rt_uniform1(&a, 0), base);
    a = somewhere, a.seed += (uint64_t)1 << 32;
    cr_expect_neq(rt_uniform1(&a, 0), base);
}

Test(rng, permutations_hit_every_row_once) {
    static unsigned char hit[5000];
    for (uint64_t n = 1; n < 5000; n = n * 5 / 4 + 1) {
        memset(hit, 0, sizeof hit);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t to = rt_permute(i, n, 99 + n);
            cr_assert_lt(to, n);
            cr_assert(!hit[to], "n %d: %d twice", (int)n, (int)to);
            hit[to] = 1;
        }
    }
}

/* Over many keys each row goes everywhere equally often, and all orders of three occur. */
Test(rng, permutations_are_even) {
    enum { N = 10, KEYS = 20000 };
    int to[N][N] = {{0}}, order[27] = {0};
    for (int k = 0; k < KEYS; k++) {
        struct rt_place at = {5, 0, (uint32_t)k, 1};
        uint64_t key = rt_key(&at);
        for (int i = 0; i < N; i++)
            to[i][rt_permute((uint64_t)i, N, key)]++;
        order[rt_permute(0, 3, key) * 9 + rt_permute(1, 3, key) * 3 + rt_permute(2, 3, key)]++;
    }
    double chi = 0;
    for (int i = 0; i < N * N; i++) {
        double d = to[i / N][i % N] - (double)KEYS / N;
        chi += d * d / ((double)KEYS / N);
    }
    cr_expect_leq(chi, 150, "%g", chi); /* 81 degrees of freedom */
    for (int o = 0; o < 27; o++)
        cr_expect(order[o] == 0 || abs(order[o] - KEYS / 6) < 400, "%d: %d", o, order[o]);
}

#include "rt_end.h"
