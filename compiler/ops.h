/* ops.h: the op table. Rows only; whoever includes it defines OP first.
 *
 * OP(name, args, kind, flags, shape, grad, form, form64)
 *   name    OP_name, and the spelling in dumps
 *   args    number of inputs, -1: any number
 *   kind    MAP (one output element from the same element of each input), REDUCE, MOVE (an index
 *           map), CONTRACT, INDEXED (an index that comes from data), RANDOM, SCAN (sums
 *           of several elements that are no reduction), LEAF, EFFECT
 *   flags   COMM commutative, ASSOC associative, CMP gives bool, COSTLY worth storing rather than
 *           computing twice, NOGRAD has no gradient (an error on the way from a loss), FLAT its
 *           gradient is zero everywhere, POLE may be infinite or NaN for finite arguments, FIRST
 *           and LAST: input 1 holds subscripts of the first, the last axis of input 0, TABLE input
 *           0 is read from memory, VIEW each element is one of input 0, OWN is a kernel of its own,
 *           WHOLE rounds, so that a whole number stays what it is, FN is called by its name:
 *           sqrt(x), minimum(x, y); AT(x) the member of Attr that it has: ATTR_x
 *   shape   shape_rule_<shape>() computes and checks dtype and shape
 *   grad    grad_rule_<grad>() builds the gradient; `none` with NOGRAD or FLAT
 * and by kind:
 *   MAP     form is the text for lanes of f32 and for integers, %0 %1 %2 are the arguments; form64
 *           the text for one lane of f64 and for numbers of the host where it differs, else NULL
 *   REDUCE  form is the map that joins two values, form64 what joining leaves as it is: ZERO, ONE,
 *           LEAST or MOST (of the type)
 *   MOVE    index_rule_<form>() finds the element of the input; `none` with OWN
 */

/* leaves */
OP(constant,    0, LEAF,     AT(VALUE),    constant,  leaf,      NULL, NULL)
OP(read,        0, LEAF,     AT(HOME),     read,      leaf,      NULL, NULL)
OP(scalar,      0, LEAF,     AT(SCALAR),   scalar,    leaf,      NULL, NULL)
OP(count,       0, LEAF,     AT(COUNT),    count,     leaf,      NULL, NULL)
OP(iota,        0, LEAF,     AT(AXIS),     iota,      leaf,      NULL, NULL)
/* rows of a data source, chosen by an i32 index vector: [B] -> [B, row...] */
OP(batch,       1, INDEXED,  AT(SOURCE),   batch,     leaf,      NULL, NULL)

/* one argument */
OP(cast,        1, MAP,      0,            cast,      cast,      "", NULL)
OP(stop,        1, MAP,      FLAT | FN,    same,      none,      "%0", NULL)
OP(neg,         1, MAP,      0,            same,      neg,       "(-%0)", NULL)
OP(abs,         1, MAP,      FN,           same,      abs,       "abs_v(%0)", "fabs(%0)")
OP(sign,        1, MAP,      FLAT | FN,    same,      none,      "sign_v(%0)", "rt_sign64(%0)")
OP(floor,       1, MAP,      FLAT | WHOLE | FN, real,      none,      "floor_v(%0)", "floor(%0)")
OP(ceil,        1, MAP,      FLAT | WHOLE | FN, real,      none,      "ceil_v(%0)", "ceil(%0)")
OP(round,       1, MAP,      FLAT | WHOLE | FN, real,      none,      "round_v(%0)", "nearbyint(%0)")
OP(exp,         1, MAP,      COSTLY | POLE | FN, real,     exp,       "exp_v(%0)", "exp(%0)")
OP(log,         1, MAP,      COSTLY | POLE | FN, real,     log,       "log_v(%0)", "log(%0)")
OP(log1p,       1, MAP,      COSTLY | POLE | FN, real,     log1p,     "log1p_v(%0)", "log1p(%0)")
OP(expm1,       1, MAP,      COSTLY | POLE | FN, real,     expm1,     "expm1_v(%0)", "expm1(%0)")
OP(sqrt,        1, MAP,      POLE | FN,    real,      sqrt,      "sqrt_v(%0)", "sqrt(%0)")
OP(rsqrt,       1, MAP,      POLE | FN,    real,      rsqrt,     "rsqrt_v(%0)", "(1.0 / sqrt(%0))")
OP(sin,         1, MAP,      COSTLY | FN,  real,      sin,       "sin_v(%0)", "sin(%0)")
OP(cos,         1, MAP,      COSTLY | FN,  real,      cos,       "cos_v(%0)", "cos(%0)")
OP(tan,         1, MAP,      COSTLY | POLE | FN, real,     tan,       "tan_v(%0)", "tan(%0)")
OP(asin,        1, MAP,      COSTLY | POLE | FN, real,     asin,      "asin_v(%0)", "asin(%0)")
OP(acos,        1, MAP,      COSTLY | POLE | FN, real,     acos,      "acos_v(%0)", "acos(%0)")
OP(atan,        1, MAP,      COSTLY | FN,  real,      atan,      "atan_v(%0)", "atan(%0)")
OP(sinh,        1, MAP,      COSTLY | POLE | FN, real,     sinh,      "sinh_v(%0)", "sinh(%0)")
OP(cosh,        1, MAP,      COSTLY | POLE | FN, real,     cosh,      "cosh_v(%0)", "cosh(%0)")
OP(tanh,        1, MAP,      COSTLY | FN,  real,      tanh,      "tanh_v(%0)", "tanh(%0)")
OP(sigmoid,     1, MAP,      COSTLY | FN,  real,      sigmoid,   "sigmoid_v(%0)", "rt_sigmoid64(%0)")
OP(erf,         1, MAP,      COSTLY | FN,  real,      erf,       "erf_v(%0)", "erf(%0)")
OP(not,         1, MAP,      FLAT,         boolean,   none,      "(~%0)", "(!%0)")
OP(isfinite,    1, MAP,      FLAT | FN,    test,      none,      "isfinite_v(%0)", "(%0 - %0 == 0)")

/* two arguments of one type and shape */
OP(add,         2, MAP,      COMM | ASSOC, same,      add,       "(%0 + %1)", NULL)
OP(sub,         2, MAP,      0,            same,      sub,       "(%0 - %1)", NULL)
OP(mul,         2, MAP,      COMM | ASSOC, same,      mul,       "(%0 * %1)", NULL)
/* 0 where the first is 0, else the product: a zero gradient may be multiplied with infinity */
OP(mul_zero,    2, MAP,      0,            real,      mul_zero,  "mul_zero_v(%0, %1)", "(%0 == 0 ? 0 : %0 * %1)")
OP(div,         2, MAP,      POLE,         real,      div,       "(%0 / %1)", NULL)
OP(floordiv,    2, MAP,      FLAT,         same,      none,      "floordiv_v(%0, %1)", "floor(%0 / %1)")
OP(mod,         2, MAP,      POLE,         same,      mod,       "mod_v(%0, %1)", "rt_mod64(%0, %1)")
OP(minimum,     2, MAP,      ASSOC | FN,   same,      minimum,   "min_v(%0, %1)", "rt_min64(%0, %1)")
OP(maximum,     2, MAP,      ASSOC | FN,   same,      maximum,   "max_v(%0, %1)", "rt_max64(%0, %1)")
OP(pow,         2, MAP,      COSTLY | POLE, real,     pow,       "pow_v(%0, %1)", "pow(%0, %1)")
OP(atan2,       2, MAP,      COSTLY,       real,      atan2,     "atan2_v(%0, %1)", "atan2(%0, %1)")
OP(eq,          2, MAP,      COMM | CMP | FLAT, compare, none,   "(%0 == %1)", NULL)
OP(ne,          2, MAP,      COMM | CMP | FLAT, compare, none,   "(%0 != %1)", NULL)
OP(lt,          2, MAP,      CMP | FLAT,   compare,   none,      "(%0 < %1)", NULL)
OP(le,          2, MAP,      CMP | FLAT,   compare,   none,      "(%0 <= %1)", NULL)
OP(and,         2, MAP,      COMM | ASSOC | FLAT, boolean, none, "(%0 & %1)", "(%0 && %1)")
OP(or,          2, MAP,      COMM | ASSOC | FLAT, boolean, none, "(%0 | %1)", "(%0 || %1)")

/* three arguments */
OP(where,       3, MAP,      0,            where,     where,     "sel_v(%0, %1, %2)", "(%0 ? %1 : %2)")
/* a*b + c with one rounding */
OP(fma,         3, MAP,      0,            real,      fma,       "fma_v(%0, %1, %2)", "fma(%0, %1, %2)")

/* reductions over the axes of the attribute; the result loses them */
OP(sum,         1, REDUCE,   COMM | ASSOC | AT(AXES), reduce,    sum,       add, ZERO)
OP(prod,        1, REDUCE,   COMM | ASSOC | AT(AXES), reduce,    prod,      mul, ONE)
OP(max,         1, REDUCE,   COMM | ASSOC | AT(AXES), reduce,    max,       maximum, LEAST)
OP(min,         1, REDUCE,   COMM | ASSOC | AT(AXES), reduce,    min,       minimum, MOST)
/* the sum of the products of two inputs, each added by one fma; products.c makes it */
OP(sum_mul,     2, REDUCE,   AT(AXES),     sum_mul,   sum_mul,   add, ZERO)
/* one axis, i32 result, ties to the first; NaN is the largest (argmax) or never chosen (argmin).
 * simplify makes two reductions of each */
OP(argmax,      1, REDUCE,   FLAT | AT(AXIS), argreduce, none,      maximum, LEAST)
OP(argmin,      1, REDUCE,   FLAT | AT(AXIS), argreduce, none,      minimum, MOST)

/* index maps */
OP(reshape,     1, MOVE,     VIEW,         reshape,   reshape,   reshape, NULL)
OP(permute,     1, MOVE,     VIEW | AT(PERM), permute,   permute,   permute, NULL)
OP(broadcast,   1, MOVE,     VIEW,         broadcast, broadcast, broadcast, NULL)
OP(slice,       1, MOVE,     VIEW | AT(SLICE), slice,     slice,     slice, NULL)
OP(pad,         1, MOVE,     OWN | AT(PAD), pad,       pad,       none, NULL)
/* windows along neighbouring axes: [b, x, c] -> [b, o, k, c], element (o, k) is number
 * start + o*step + k*apart of the axis; of two axes [b, x, y, c] -> [b, o, p, k, l, c] */
OP(windows,     1, MOVE,     TABLE | VIEW | AT(WINDOWS), windows, windows, windows, NULL)
OP(concat,     -1, MOVE,     OWN | AT(AXIS), concat,    concat,    none, NULL)
/* a slice of fixed length along one axis that starts at a run-time i32 scalar; and its mirror:
 * base with the piece put in */
OP(slice_at,    2, INDEXED,  TABLE | VIEW | AT(AXIS), slice_at,  slice_at,  NULL, NULL)
OP(put_at,      3, INDEXED,  OWN | AT(AXIS), put_at,    put_at,    NULL, NULL)

/* [b, m, k] x [b, k, n] -> [b, m, n]; ta, tb say which operand lies transposed */
OP(dot,         2, CONTRACT, AT(DOT),      dot,       dot,       NULL, NULL)

/* indices that come from data (i32) */
/* x [d, rest...], index [i...] -> [i..., rest...] */
OP(gather,      2, INDEXED,  FIRST | TABLE | VIEW, gather,    gather,    NULL, NULL)
/* x [i..., d], index [i...] -> [i...]: one element of each row */
OP(pick,        2, INDEXED,  LAST | VIEW,  pick,      pick,      NULL, NULL)
/* base [d, rest...], index [i...], update [i..., rest...]: base with every update added at its row,
 * positions ascending */
OP(scatter_add, 3, INDEXED,  FIRST | OWN,  scatter_add, scatter_add, NULL, NULL)
/* running sum along one axis */
OP(cumsum,      1, SCAN,     OWN | AT(SCAN), scan,      cumsum,    NULL, NULL)
/* the transpose of windows: each element is the sum of what windows take from it, k ascending */
OP(fold,        1, SCAN,     OWN | AT(WINDOWS), fold,   fold,      NULL, NULL)

/* random numbers; the input is the execution number (i32 scalar) */
OP(rand,        1, RANDOM,   COSTLY | FLAT | AT(RANDOM), random,    none,      NULL, NULL)
OP(randn,       1, RANDOM,   COSTLY | FLAT | AT(RANDOM), random,    none,      NULL, NULL)
OP(randint,     1, RANDOM,   COSTLY | FLAT | AT(RANDOM), random,    none,      NULL, NULL)
/* a random order of 0..n-1 (i32) */
OP(permutation, 1, RANDOM,   COSTLY | FLAT | AT(RANDOM), random,    none,      NULL, NULL)

/* sets the fault word when the scalar is not finite, and gives it. Writes to homes come after it */
OP(check,       1, EFFECT,   0,            same,      check,     NULL, NULL)
