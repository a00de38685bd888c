/* test_math.c: the elementary functions against libm in f64 over the whole range of floats, and
 * their values at the ends. That all lanes and compilers agree is bits.sh's business. */
#define _GNU_SOURCE 1
#include <criterion/criterion.h>

#include "host.h"
#include "rt_math.h"
#include "rt_math_1.h"

/* Distance in units of the last place of an f32 near `want`; results below 2^-126 may be 0. */
static double ulps(float got, double want) {
    if (isnan(want))
        return isnan(got) ? 0 : INFINITY;
    if (fabs(want) < 0x1p-126)
        return fabs((double)got) <= 0x1p-126 ? 0 : INFINITY;
    if (fabs(want) >= 0x1.ffffffp127)
        return isinf(got) && (got > 0) == (want > 0) ? 0 : INFINITY;
    if (!isfinite(got))
        return INFINITY;
    int e;
    frexp(want, &e);
    return fabs((double)got - want) / ldexp(1.0, e - 24);
}

static float from_bits(uint32_t b) {
    float f;
    memcpy(&f, &b, sizeof f);
    return f;
}

/* The largest error of fn over every `stride`-th float in [lo, hi], where it is, and eight a time.
 */
static double worst(vf (*fn)(vf), double (*reference)(double), float lo, float hi,
                    uint32_t stride) {
    double bad = 0;
    float where = 0;
    uint32_t b = 0;
    do {
        float in[8], out[8];
        for (int i = 0; i < 8; i++, b += stride) {
            in[i] = from_bits(b);
            if (!(in[i] >= lo && in[i] <= hi) || (in[i] != 0 && fabsf(in[i]) < 0x1p-126f))
                in[i] = lo + (hi - lo) * (float)(b >> 8) * 0x1p-24f;
        }
        st8(out, fn(ld8(in)));
        for (int i = 0; i < 8; i++) {
            double u = ulps(out[i], reference((double)in[i]));
            if (u > bad) {
                bad = u;
                where = in[i];
            }
        }
    } while (b >= 8 * stride);
    if (getenv("SHOW_ULPS"))
        printf("%.3f ulp at %.9g\n", bad, (double)where);
    return bad;
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

/* Every so manieth float is tried. */
#ifdef __SANITIZE_ADDRESS__
#define STRIDE 32749
#else
#define STRIDE 1021
#endif

#define WITHIN(name, reference, lo, hi, most)                                                      \
    static vf call_##name(vf x) {                                                                  \
        return name##_v(x);                                                                        \
    }                                                                                              \
    Test(math, name) {                                                                             \
        double u = worst(call_##name, reference, lo, hi, STRIDE);                                  \
        cr_expect_leq(u, most, #name ": %.2f ulp", u);                                             \
    }

#define MOST 0x1.fffffep127f

WITHIN(exp, exp, -MOST, MOST, 1.0)
WITHIN(expm1, expm1, -MOST, MOST, 1.5)
WITHIN(sigmoid, sigmoid, -87.0f, MOST, 2.5)
WITHIN(tanh, tanh, -MOST, MOST, 4.6)
WITHIN(sinh, sinh, -MOST, MOST, 2.7)
WITHIN(cosh, cosh, -MOST, MOST, 2.7)
WITHIN(erf, erf, -MOST, MOST, 1.2)
WITHIN(log, log, -MOST, MOST, 1.0)
WITHIN(log1p, log1p, -MOST, MOST, 1.5)
WITHIN(sin, sin, -MOST, MOST, 1.6)
WITHIN(cos, cos, -MOST, MOST, 1.6)
WITHIN(tan, tan, -MOST, MOST, 3.5)
WITHIN(asin, asin, -1.0f, 1.0f, 2.4)
WITHIN(acos, acos, -1.0f, 1.0f, 2.0)
WITHIN(atan, atan, -MOST, MOST, 2.0)

Test(math, pow_over_random_pairs) {
    uint32_t s = 1;
    double bad = 0;
    for (int i = 0; i < 3000000; i++) {
        s = s * 1664525u + 1013904223u;
        float x = from_bits((s >> 9) + 0x3c000000u + ((s & 3) << 23)); /* about 1/128 to 2 */
        s = s * 1664525u + 1013904223u;
        float y = ldexpf((float)(int32_t)s * 0x1p-31f, (int)(s % 24) - 4);
        double u = ulps(pow_1(x, y), pow((double)x, (double)y));
        bad = u > bad ? u : bad;
    }
    cr_expect_leq(bad, 1.2, "%.2f ulp", bad);
}

Test(math, pow_of_decay_rates_over_many_steps) {
    const float base[] = {0.9f, 0.99f, 0.999f, 0.9999f, 0.99999f, 1.00001f};
    for (int k = 0; k < 6; k++) {
        for (float n = 1; n <= 16000000; n *= 1.5f) {
            float y = floorf(n);
            double u = ulps(pow_1(base[k], y), pow((double)base[k], (double)y));
            cr_expect_leq(u, 1.2, "%g^%g: %.2f ulp", (double)base[k], (double)y, u);
        }
    }
}

/* Equal as C's pow is, signs of zeros and NaN included, except that denormals count as 0. */
Test(math, pow_ends) {
    const float v[] = {0.0f, -0.0f, 1.0f,     -1.0f,     2.0f, -2.0f, 0.5f,   -0.5f,
                       3.0f, -3.0f, INFINITY, -INFINITY, NAN,  1e30f, -1e30f, 1.5f};
    int n = (int)(sizeof v / sizeof *v);
    for (int i = 0; i < n * n; i++) {
        float x = v[i / n], y = v[i % n], got = pow_1(x, y);
        float want = (float)pow((double)x, (double)y);
        if (isnan(want)) {
            cr_expect(isnan(got), "%g^%g is %g", (double)x, (double)y, (double)got);
            continue;
        }
        bool near = got == want || ulps(got, (double)want) <= 1;
        cr_expect(near && !signbit(got) == !signbit(want), "%g^%g is %g, not %g", (double)x,
                  (double)y, (double)got, (double)want);
    }
}

Test(math, atan2_ends_and_quadrants) {
    const float v[] = {0.0f, -0.0f, 1.0f, -1.0f, 2.5f, -1e-20f, 1e20f, INFINITY, -INFINITY, NAN};
    for (int i = 0; i < 100; i++) {
        float y = v[i / 10], x = v[i % 10], got = atan2_1(y, x);
        double want = atan2((double)y, (double)x);
        cr_expect_leq(ulps(got, want), 3, "atan2(%g, %g) is %g, not %g", (double)y, (double)x,
                      (double)got, want);
        cr_expect(isnan(want) || !signbit(got) == !signbit(want), "atan2(%g, %g) is %g, not %g",
                  (double)y, (double)x, (double)got, want);
    }
}

Test(math, ends) {
    float inf = INFINITY;
    cr_expect_eq(exp_1(-inf), 0.0f);
    cr_expect_eq(exp_1(inf), inf);
    cr_expect_eq(exp_1(0.0f), 1.0f);
    cr_expect_eq(expm1_1(-inf), -1.0f);
    cr_expect(signbit(expm1_1(-0.0f)));
    cr_expect_eq(log_1(0.0f), -inf);
    cr_expect_eq(log_1(1e-40f), -inf); /* a denormal is 0 */
    cr_expect_eq(log_1(inf), inf);
    cr_expect_eq(log_1(1.0f), 0.0f);
    cr_expect(isnan(log_1(-1.0f)) && isnan(log_1(-inf)));
    cr_expect_eq(log1p_1(-1.0f), -inf);
    cr_expect(isnan(log1p_1(-1.5f)));
    cr_expect_eq(tanh_1(inf), 1.0f);
    cr_expect_eq(tanh_1(-30.0f), -1.0f);
    cr_expect_eq(tanh_1(1e-20f), 1e-20f);
    cr_expect_eq(sigmoid_1(-inf), 0.0f);
    cr_expect_eq(sigmoid_1(inf), 1.0f);
    cr_expect_eq(erf_1(-inf), -1.0f);
    cr_expect(isnan(sin_1(inf)) && isnan(cos_1(-inf)) && isnan(tan_1(inf)));
    cr_expect_eq(cos_1(0.0f), 1.0f);
    cr_expect(signbit(sin_1(-0.0f)));
    cr_expect_eq(acos_1(1.0f), 0.0f);
    cr_expect(isnan(asin_1(1.0001f)) && isnan(acos_1(-2.0f)));
    cr_expect_eq(sinh_1(-inf), -inf);
    cr_expect_eq(cosh_1(-inf), inf);
}

Test(math, nan_goes_through) {
    float (*const one[])(float) = {exp_1,  expm1_1, sigmoid_1, tanh_1,  sinh_1,
                                   cosh_1, erf_1,   log_1,     log1p_1, sin_1,
                                   cos_1,  tan_1,   asin_1,    acos_1,  atan_1};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        cr_expect(isnan(one[i](NAN)), "function %zu", i);
}

Test(math, min_and_max) {
    float inf = INFINITY;
    cr_expect_eq(rt_maxf(1.0f, 2.0f), 2.0f);
    cr_expect(isnan(rt_maxf(NAN, 1.0f)) && isnan(rt_maxf(1.0f, NAN)));
    cr_expect(isnan(rt_minf(NAN, 1.0f)) && isnan(rt_minf(1.0f, NAN)));
    cr_expect(signbit(rt_maxf(-0.0f, 0.0f)) && !signbit(rt_maxf(0.0f, -0.0f)));
    float in[16] = {1, NAN, -inf, 0, 5, 6, -0.0f, 3, 2, 1, 4, NAN, 5, -6, 0.0f, inf}, out[8];
    st8(out, max8(ld8(in), ld8(in + 8)));
    for (int i = 0; i < 8; i++) {
        float want = rt_maxf(in[i], in[i + 8]);
        cr_expect(memcmp(&want, &out[i], 4) == 0 || (isnan(want) && isnan(out[i])));
    }
}

/* The order of a row sum is part of the language's results: 32 strided lanes, then 16 8 4 2 1. */
Test(math, sum32_has_the_fixed_order) {
    float x[32], tree[32];
    for (int i = 0; i < 32; i++)
        x[i] = tree[i] = ldexpf(1.0f + 0.3f * (float)i, i % 7 - 3);
    for (int half = 16; half; half /= 2)
        for (int i = 0; i < half; i++)
            tree[i] += tree[i + half];
    const v8 lanes[4] = {ld8(x), ld8(x + 8), ld8(x + 16), ld8(x + 24)};
    cr_expect_eq(rt_sum32(lanes), tree[0]);
}

Test(math, partial_loads_and_stores_touch_only_their_lanes) {
    float in[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int n = 0; n <= 8; n++) {
        float out[8] = {-1, -1, -1, -1, -1, -1, -1, -1}, all[8];
        st8(all, ld8n(in, n));
        st8n(out, n, ld8(in));
        for (int i = 0; i < 8; i++) {
            cr_expect_eq(all[i], i < n ? in[i] : 0.0f);
            cr_expect_eq(out[i], i < n ? in[i] : -1.0f);
        }
    }
}

#include "rt_end.h"
