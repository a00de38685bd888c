/* rt_math.h: elementary functions in f32, eight lanes at once.
 *
 * name_v works on lanes. Its twin name_1 in rt_math_1.h, made from this text (tools/one.sed), works
 * on one number and has the bits of a lane. Every multiply-add is written out, and no result
 * depends on how a compiler treats denormals: results below 2^-126 are 0, and arguments below it
 * count as 0. Errors in units of the last place, measured by test_math over the whole range, stand
 * at each function.
 *
 * The polynomials are minimax fits to the functions on the reduced range, found by Lawson's
 * iteration on Chebyshev points in 40 digits, then rounded to f32.
 */
#ifndef RT_MATH_H
#define RT_MATH_H

#include "rt_one.h"

#ifndef RT_MATH_INLINE
#define RT_MATH_INLINE RT_INLINE
#define RT_MATH_FN     RT_HOT /* long ones: called */
#endif

/* ---- lanes ------------------------------------------------------------------------------------
 */

typedef v8 vf;
typedef v8i vi;

RT_MATH_INLINE vf bc_v(float x) {
    return bc8(x);
}

RT_MATH_INLINE vf fma_v(vf a, vf b, vf c) {
    return fma8(a, b, c);
}

/* a where the comparison holds, else b. Masks may be joined by & and |. */
RT_MATH_INLINE vf sel_v(vi mask, vf a, vf b) {
    return sel8(mask, a, b);
}

RT_MATH_INLINE vi bits_v(vf x) {
    return (vi)x;
}

RT_MATH_INLINE vf from_bits_v(vi x) {
    return (vf)x;
}

RT_MATH_INLINE vf i2f_v(vi x) {
    return i2f8(x);
}

RT_MATH_INLINE vi f2i_v(vf x) {
    return f2i8(x);
}

RT_MATH_INLINE vf round_v(vf x) {
    return round8(x);
}

RT_MATH_INLINE vf sqrt_v(vf x) {
    return sqrt8(x);
}

/* r and *q mended in the lanes where x is big. */
RT_MATH_INLINE vf reduce_big_v(vi big, vf x, vf r, vi *q) {
    for (int i = 0; any8(big) && i < 8; i++) {
        int32_t qi = (*q)[i];
        if (big[i])
            r[i] = rt_reduce_big(x[i], &qi);
        (*q)[i] = qi;
    }
    return r;
}

/* ---- signs: from here on the text has its twin in rt_math_1.h ----------------------------------
 */

RT_MATH_INLINE vf abs_v(vf x) {
    return from_bits_v(bits_v(x) & INT32_MAX);
}

/* x >= 0 with the sign of `sign`. */
RT_MATH_INLINE vf signed_v(vf x, vf sign) {
    return from_bits_v(bits_v(x) | (bits_v(sign) & RT_SIGN));
}

RT_MATH_INLINE vf negate_if_v(vi mask, vf x) {
    return sel_v(mask, -x, x);
}

/* ---- exp and its kin --------------------------------------------------------------------------
 */

/* Where exp is a normal number; other arguments are taken as 0 and mended by the caller. */
RT_MATH_INLINE vi exp_inside_v(vf x) {
    return (x >= -87.3365402f) & (x <= 88.7228317f);
}

/* x = n ln 2 + r, |r| <= ln 2 / 2. */
RT_MATH_INLINE vf exp_reduce_v(vf x, vf *n) {
    *n = round_v(x * 1.44269502f);
    return fma_v(*n, bc_v(-RT_LN2_LO), fma_v(*n, bc_v(-RT_LN2), x));
}

/* e^(n ln 2 + r) where that is normal: 1 + r + r^2 q(r), and n is added to the exponent. */
RT_MATH_INLINE vf exp_core_v(vf n, vf r) {
    vf q = fma_v(r, bc_v(0.00138143182f), bc_v(0.00836885162f));
    q = fma_v(q, r, bc_v(0.0416684002f));
    q = fma_v(q, r, bc_v(0.166665196f));
    q = fma_v(q, r, bc_v(0.49999994f));
    q = fma_v(r * r, q, r) + 1.0f;
    return from_bits_v(bits_v(q) + f2i_v(n) * 8388608);
}

/* Gives what lies outside: 0, infinity, NaN. */
RT_MATH_INLINE vf exp_ends_v(vi inside, vf x, vf inner) {
    vf outer = sel_v(x > 0.0f, bc_v(RT_INF), sel_v(x < 0.0f, bc_v(0.0f), x));
    return sel_v(inside, inner, outer);
}

/* e^x, 1.0 ulp. */
RT_MATH_INLINE vf exp_v(vf x) {
    vi inside = exp_inside_v(x);
    vf n, r = exp_reduce_v(sel_v(inside, x, bc_v(0.0f)), &n);
    return exp_ends_v(inside, x, exp_core_v(n, r));
}

/* e^x - 1 without cancellation, 1.5 ulp: e^r - 1 = r + r^2 q, scaled by 2^n, plus 2^n - 1. */
RT_MATH_FN vf expm1_v(vf x) {
    vi inside = (x > -17.5f) & (x < 60.0f);
    vf y = sel_v(inside, x, bc_v(0.0f));
    vf n, r = exp_reduce_v(y, &n);
    vf q = fma_v(r, bc_v(0.000198460533f), bc_v(0.00139407907f));
    q = fma_v(q, r, bc_v(0.00833338965f));
    q = fma_v(q, r, bc_v(0.0416663587f));
    q = fma_v(q, r, bc_v(0.166666657f));
    q = fma_v(r * r, fma_v(q, r, bc_v(0.5f)), r);
    vf s = from_bits_v((f2i_v(n) + 127) * 8388608);
    vf near = sel_v(n == 0.0f, q, fma_v(s, q, s - 1.0f));
    near = sel_v(y == 0.0f, y, near); /* keeps -0 */
    return sel_v(inside, near, sel_v(x < 0.0f, bc_v(-1.0f), exp_v(x)));
}

/* 1 / (1 + e^-x), 2.5 ulp. */
RT_MATH_INLINE vf sigmoid_v(vf x) {
    return 1.0f / (1.0f + exp_v(-x));
}

/* 4.6 ulp. x P(x^2) / Q(x^2) below 9.01, beyond it the nearest number is 1. */
RT_MATH_INLINE vf tanh_v(vf x) {
    vf a = abs_v(x), z = a * a;
    vf p = fma_v(z, bc_v(1.33841525e-8f), bc_v(2.06357217e-5f));
    p = fma_v(p, z, bc_v(0.00349745154f));
    p = fma_v(p, z, bc_v(0.133826822f));
    p = fma_v(p, z, bc_v(1.0f));
    vf q = fma_v(z, bc_v(7.79019217e-7f), bc_v(0.000328850729f));
    q = fma_v(q, z, bc_v(0.0258843377f));
    q = fma_v(q, z, bc_v(0.467160046f));
    q = fma_v(q, z, bc_v(1.0f));
    vf r = a * p / q;
    r = sel_v((r > 1.0f) | (a > 9.01f), bc_v(1.0f), r);
    return signed_v(r, x);
}

/* (e^x - e^-x) / 2, 2.7 ulp. */
RT_MATH_FN vf sinh_v(vf x) {
    vf a = abs_v(x), t = expm1_v(a);
    vf near = 0.5f * (t + t / (t + 1.0f));
    vf h = exp_v(a * 0.5f);
    return signed_v(sel_v(a < 9.0f, near, 0.5f * h * h), x);
}

/* 2.7 ulp. */
RT_MATH_FN vf cosh_v(vf x) {
    vf a = abs_v(x), t = exp_v(a), h = exp_v(a * 0.5f);
    return sel_v(a < 9.0f, 0.5f * (t + 1.0f / t), 0.5f * h * h);
}

/* 1.2 ulp. Small: x + x p(x^2). Large: 1 - exp(-p(|x|)), where erfc no longer matters much. */
RT_MATH_FN vf erf_v(vf x) {
    vf a = abs_v(x), z = a * a;
    vf p = fma_v(z, bc_v(8.1850907e-5f), bc_v(-0.000809770252f));
    p = fma_v(p, z, bc_v(0.0051969518f));
    p = fma_v(p, z, bc_v(-0.0268577058f));
    p = fma_v(p, z, bc_v(0.112836637f));
    p = fma_v(p, z, bc_v(-0.376126319f));
    p = fma_v(p, z, bc_v(0.128379166f));
    vf near = fma_v(a, p, a);
    vf t = sel_v(a < 4.0f, a, bc_v(4.0f));
    vf q = fma_v(t, bc_v(-0.000198220703f), bc_v(0.00306549971f));
    q = fma_v(q, t, bc_v(-0.0223152488f));
    q = fma_v(q, t, bc_v(0.104113743f));
    q = fma_v(q, t, bc_v(0.636976004f));
    q = fma_v(q, t, bc_v(1.12779725f));
    q = fma_v(q, t, bc_v(0.000166439087f));
    vf n, far = exp_reduce_v(-q, &n);
    far = 1.0f - exp_core_v(n, far);
    vf r = sel_v(a < 0.92f, near, far);
    return sel_v(x != x, x, signed_v(r, x));
}

/* ---- log and its kin --------------------------------------------------------------------------
 */

/* x = 2^e m with m in [sqrt(1/2), sqrt(2)), for x normal and positive. */
RT_MATH_INLINE vf log_split_v(vf x, vf *m) {
    vi b = bits_v(x) - 0x3f3504f3; /* bits of sqrt(1/2) */
    vi e = b >> 23;
    *m = from_bits_v((b & 0x7fffff) + 0x3f3504f3);
    return i2f_v(e);
}

/* Where log is a plain number; other arguments are taken as 1 and mended by the caller. */
RT_MATH_INLINE vi log_inside_v(vf x) {
    return (x >= RT_TINY) & (x < RT_INF);
}

/* Gives what lies outside: 0 and denormals, negative numbers, infinity, NaN. */
RT_MATH_INLINE vf log_ends_v(vi inside, vf x, vf inner) {
    vf low = sel_v(x < 0.0f, bc_v(RT_NAN), bc_v(-RT_INF));
    return sel_v(inside, inner, sel_v(x < RT_TINY, low, x));
}

/* Natural logarithm, 0.8 ulp: log m = f - f^2/2 + f^3 p(f), f = m - 1. */
RT_MATH_INLINE vf log_v(vf x) {
    vi inside = log_inside_v(x);
    vf m, e = log_split_v(sel_v(inside, x, bc_v(1.0f)), &m);
    vf f = m - 1.0f;
    vf p = fma_v(f, bc_v(-0.0763442963f), bc_v(0.127615497f));
    p = fma_v(p, f, bc_v(-0.131601945f));
    p = fma_v(p, f, bc_v(0.142017618f));
    p = fma_v(p, f, bc_v(-0.166233569f));
    p = fma_v(p, f, bc_v(0.200012267f));
    p = fma_v(p, f, bc_v(-0.250008225f));
    p = fma_v(p, f, bc_v(0.333333313f));
    vf z = f * f;
    vf r = fma_v(z * f, p, e * RT_LN2_LO);
    r = fma_v(z, bc_v(-0.5f), r) + f;
    return log_ends_v(inside, x, fma_v(e, bc_v(RT_LN2), r));
}

/* log(1 + x), 1.5 ulp: what was lost in u = 1 + x comes back as a first-order term. */
RT_MATH_FN vf log1p_v(vf x) {
    vf u = 1.0f + x;
    vf lost = x - (u - 1.0f);
    vf r = log_v(u) + lost / u;
    r = sel_v(u == 1.0f, x, r);
    return log_ends_v((u > 0.0f) & (u < RT_INF), u, r);
}

/* log x as h + l, exact to about 2^-36 of it, for x normal and positive:
 * log m = 2 (s + s z (1/3 + z q(z))), s = (m - 1) / (m + 1), z = s^2. */
RT_MATH_INLINE vf log_long_v(vf x, vf *l) {
    vf m, e = log_split_v(x, &m);
    vf f = m - 1.0f, d = f + 2.0f;
    vf sh = f / d;
    vf sl = fma_v(-sh, f - (d - 2.0f), fma_v(-sh, d, f)) / d;
    vf zh = sh * sh, zl = fma_v(sh, sh, -zh) + 2.0f * sh * sl;
    vf q = fma_v(zh, bc_v(0.117217906f), bc_v(0.142730609f));
    q = zh * fma_v(q, zh, bc_v(0.200000808f));
    vf ch = 0.333333343f + q, cl = q - (ch - 0.333333343f) - 9.93410776e-9f;
    vf th = zh * ch, tl = fma_v(zh, ch, -th) + fma_v(zh, cl, zl * ch);
    vf wh = sh * th, wl = fma_v(sh, th, -wh) + fma_v(sh, tl, sl * th);
    vf ah = sh + wh, al = wh - (ah - sh) + (sl + wl);
    vf eh = e * RT_LN2, el = fma_v(e, bc_v(RT_LN2), -eh) + e * RT_LN2_LO;
    ah = 2.0f * ah;
    vf rh = eh + ah, rl = ah - (rh - eh) + fma_v(bc_v(2.0f), al, el);
    vf h = rh + rl;
    *l = rl - (h - rh);
    return h;
}

/* x^y as C's pow has it, 1 ulp also for results of many multiplications (0.999^100000): exp of
 * y log|x| with the product kept in two parts. */
RT_MATH_FN vf pow_v(vf x, vf y) {
    vf a = abs_v(x);
    vi normal = (a >= RT_TINY) & (a < RT_INF);
    vf l, h = log_long_v(sel_v(normal, a, bc_v(1.0f)), &l);
    vf ph = y * h, pl = fma_v(y, l, fma_v(y, h, -ph));
    ph = sel_v(a == 1.0f, bc_v(0.0f), ph); /* not infinity * 0 */
    vi inside = exp_inside_v(ph);
    pl = sel_v(inside & (a != 1.0f), pl, bc_v(0.0f));
    vf n, r = exp_reduce_v(sel_v(inside, ph, bc_v(0.0f)), &n);
    r = exp_ends_v(inside, ph, exp_core_v(n, r + pl));
    vf end = sel_v((a < 1.0f) == (y < 0.0f), bc_v(RT_INF), bc_v(0.0f)); /* a is 0 or infinity */
    r = sel_v(normal, r, sel_v((x == x) & (y == y), end, x + y));
    vi whole = round_v(y) == y;
    vi odd = whole & (round_v(y * 0.5f) * 2.0f != y);
    vi negative = bits_v(x) < 0;
    r = negate_if_v(negative & odd, r);
    r = sel_v((x <= -RT_TINY) & (x > -RT_INF) & (whole == 0) & (y == y), bc_v(RT_NAN), r);
    return sel_v((y == 0.0f) | (x == 1.0f), bc_v(1.0f), sel_v(y != y, y, r));
}

/* ---- circular functions -----------------------------------------------------------------------
 */

/* x = q pi/2 + r, |r| <= pi/4; r NaN where x is not finite. pi/2 in three parts while q has 15
 * bits. */
RT_MATH_INLINE vf reduce_v(vf x, vi *quadrant) {
    vi big = abs_v(x) > 48000.0f;
    vf y = sel_v(big | (x != x), bc_v(0.0f), x);
    vf n = round_v(y * 0.636619747f);
    vf r = fma_v(n, bc_v(-RT_HALF_PI), y);
    r = fma_v(n, bc_v(4.37113883e-8f), r);
    r = fma_v(n, bc_v(1.71512451e-15f), r);
    vi q = f2i_v(n);
    r = reduce_big_v(big, x, r, &q);
    *quadrant = q;
    return sel_v(abs_v(x) < RT_INF, r, bc_v(RT_NAN));
}

RT_MATH_INLINE vf sin_core_v(vf r) {
    vf z = r * r;
    vf p = fma_v(z, bc_v(-0.000195149565f), bc_v(0.00833215844f));
    p = fma_v(p, z, bc_v(-0.166666552f));
    return fma_v(z * r, p, r);
}

RT_MATH_INLINE vf cos_core_v(vf r) {
    vf z = r * r;
    vf p = fma_v(z, bc_v(2.44327839e-5f), bc_v(-0.0013887313f));
    p = fma_v(p, z, bc_v(0.0416666456f));
    return fma_v(z * z, p, fma_v(z, bc_v(-0.5f), bc_v(1.0f)));
}

/* The sine of r + q pi/2. */
RT_MATH_INLINE vf sin_quadrant_v(vf r, vi q) {
    vf s = sel_v((q & 1) != 0, cos_core_v(r), sin_core_v(r));
    return negate_if_v((q & 2) != 0, s);
}

/* 1.6 ulp, any argument. */
RT_MATH_FN vf sin_v(vf x) {
    vi q;
    vf r = reduce_v(x, &q);
    return sel_v(x == 0.0f, x, sin_quadrant_v(r, q));
}

RT_MATH_FN vf cos_v(vf x) {
    vi q;
    vf r = reduce_v(x, &q);
    return sin_quadrant_v(r, q + 1);
}

/* 3.5 ulp. */
RT_MATH_FN vf tan_v(vf x) {
    vi q;
    vf r = reduce_v(x, &q);
    vf s = sin_core_v(r), c = cos_core_v(r);
    vi odd = (q & 1) != 0;
    return sel_v(x == 0.0f, x, sel_v(odd, -c, s) / sel_v(odd, s, c));
}

/* asin r for 0 <= r <= 1/2: r + r z p(z), z = r^2. */
RT_MATH_INLINE vf asin_core_v(vf r, vf z) {
    vf p = fma_v(z, bc_v(0.0421782061f), bc_v(0.0241729636f));
    p = fma_v(p, z, bc_v(0.0454716049f));
    p = fma_v(p, z, bc_v(0.0749528855f));
    p = fma_v(p, z, bc_v(0.166667521f));
    return fma_v(r * z, p, r);
}

/* 2.4 ulp; beyond 1/2 by asin a = pi/2 - 2 asin sqrt((1 - a) / 2). NaN outside [-1, 1]. */
RT_MATH_FN vf asin_v(vf x) {
    vf a = abs_v(x);
    vi high = a > 0.5f;
    vf z = sel_v(high, 0.5f - 0.5f * a, a * a);
    vf s = asin_core_v(sel_v(high, sqrt_v(z), a), z);
    vf r = sel_v(high, fma_v(bc_v(-2.0f), s, bc_v(RT_HALF_PI)), s);
    return sel_v(a <= 1.0f, signed_v(r, x), bc_v(RT_NAN));
}

RT_MATH_FN vf acos_v(vf x) {
    vf a = abs_v(x);
    vi high = a > 0.5f;
    vf z = sel_v(high, 0.5f - 0.5f * a, a * a);
    vf s = asin_core_v(sel_v(high, sqrt_v(z), a), z);
    vf far = sel_v(x < 0.0f, fma_v(bc_v(-2.0f), s, bc_v(RT_PI)), 2.0f * s);
    vf near = RT_HALF_PI - (signed_v(s, x) + 4.37113883e-8f);
    return sel_v(a <= 1.0f, sel_v(high, far, near), bc_v(RT_NAN));
}

/* atan t for 0 <= t <= 1. */
RT_MATH_INLINE vf atan_core_v(vf t) {
    vf z = t * t;
    vf p = fma_v(z, bc_v(-0.00179359387f), bc_v(0.0109144812f));
    p = fma_v(p, z, bc_v(-0.0311776139f));
    p = fma_v(p, z, bc_v(0.0579573587f));
    p = fma_v(p, z, bc_v(-0.0840343684f));
    p = fma_v(p, z, bc_v(0.109521814f));
    p = fma_v(p, z, bc_v(-0.142642409f));
    p = fma_v(p, z, bc_v(0.199985489f));
    p = fma_v(p, z, bc_v(-0.333332986f));
    return fma_v(z * t, p, t);
}

/* 2 ulp. */
RT_MATH_FN vf atan_v(vf x) {
    vf a = abs_v(x);
    vi high = a > 1.0f;
    vf t = atan_core_v(sel_v(high, 1.0f / a, a));
    return signed_v(sel_v(high, RT_HALF_PI - (t + 4.37113883e-8f), t), x);
}

/* The angle of the point (x, y) in (-pi, pi], as C's atan2, 2.5 ulp. */
RT_MATH_FN vf atan2_v(vf y, vf x) {
    vf ay = abs_v(y), ax = abs_v(x);
    vi high = ay > ax;
    vf small = sel_v(high, ax, ay), large = sel_v(high, ay, ax);
    vf t = sel_v(small == large, bc_v(1.0f), small / large); /* also two infinities */
    t = sel_v(large == 0.0f, bc_v(0.0f), t);
    vf r = atan_core_v(t);
    r = sel_v(high, RT_HALF_PI - (r + 4.37113883e-8f), r);
    r = sel_v(bits_v(x) < 0, RT_PI - (r + 8.74227766e-8f), r);
    return sel_v((x != x) | (y != y), x + y, signed_v(r, y));
}

/* A standard normal number from two words (Box and Muller): radius from the first, angle from the
 * second; the odd one of a pair takes the sine, the even one the cosine. */
RT_MATH_INLINE vf normal_v(vi first, vi second, vi odd) {
    vf u = i2f_v(((first >> 8) & 0xffffff) + 1) * 0x1p-24f; /* (0, 1] */
    vi turn = (second >> 8) & 0xffffff;                     /* of 2^24 */
    vi q = (turn + (1 << 21)) >> 22;
    vf r = i2f_v(turn - q * (1 << 22)) * 3.74507039e-7f; /* pi/2 * 2^-22 */
    return sqrt_v(-2.0f * log_v(u)) * sin_quadrant_v(r, q + 1 - odd);
}

#endif
