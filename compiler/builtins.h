/* builtins.h: the functions that the language cannot express itself; everything else is in std.nn.
 * Rows only.
 *
 * BUILTIN(name, run, op, signature)
 *   run        builtin_<run>() does the work
 *   op         for those that are one operation of the graph, else N
 *   signature  parameters with their defaults; "*x": all positional arguments; those after ";" by
 *              name only
 */

/* element by element; the ops with the flag FN need no row */
BUILTIN(atan2, binary, atan2, "y, x")
BUILTIN(where, where, where, "condition, x, y")
BUILTIN(cast, cast, cast, "x, type")

/* reductions: over all axes or the given ones */
BUILTIN(sum, reduce, sum, "x; axis=none, keepdims=false")
BUILTIN(prod, reduce, prod, "x; axis=none, keepdims=false")
BUILTIN(max, extreme, max, "*x; axis=none, keepdims=false")
BUILTIN(min, extreme, min, "*x; axis=none, keepdims=false")
BUILTIN(any, test, or, "x; axis=none, keepdims=false")
BUILTIN(all, test, and, "x; axis=none, keepdims=false")
BUILTIN(argmax, argreduce, argmax, "x; axis=-1, keepdims=false")
BUILTIN(argmin, argreduce, argmin, "x; axis=-1, keepdims=false")
BUILTIN(cumsum, cumsum, cumsum, "x, axis=-1")

/* shapes */
BUILTIN(shape, shape, N, "x")
BUILTIN(size, size, N, "x, axis=none")
BUILTIN(rank, rank, N, "x")
BUILTIN(len, len, N, "x")
BUILTIN(append, append, N, "list, x")
BUILTIN(reshape, reshape, reshape, "x, shape")
BUILTIN(permute, permute, permute, "x, axes")
BUILTIN(transpose, transpose, permute, "x, a=none, b=none")
BUILTIN(broadcast_to, broadcast_to, broadcast, "x, shape")
BUILTIN(concat, concat, concat, "*x, axis")
BUILTIN(stack, stack, concat, "*x, axis=0")
BUILTIN(split, split, slice, "x, parts, axis=-1")
BUILTIN(pad, pad, pad, "x, widths, value=0")
BUILTIN(flip, flip, slice, "x, axis=-1")

/* windows along the axes before the last, and their transposes */
BUILTIN(windows1d, windows1d, windows, "x, kernel, stride=1, padding=0, dilation=1, value=0")
BUILTIN(windows2d, windows2d, windows, "x, kernel, stride=1, padding=0, dilation=1, value=0")
BUILTIN(windows3d, windows3d, windows, "x, kernel, stride=1, padding=0, dilation=1, value=0")
BUILTIN(fold1d, fold1d, fold, "x, size, stride=1, padding=0, dilation=1")
BUILTIN(fold2d, fold2d, fold, "x, size, stride=1, padding=0, dilation=1")
BUILTIN(fold3d, fold3d, fold, "x, size, stride=1, padding=0, dilation=1")

/* indices that come from data */
BUILTIN(gather, take, gather, "x, index, axis=0")
BUILTIN(take, take, gather, "x, index, axis=0")
BUILTIN(pick, pick, pick, "x, index")
BUILTIN(scatter_add, scatter_add, scatter_add, "base, index, update")
BUILTIN(one_hot, one_hot, N, "index, n")

/* products */
BUILTIN(matmul, matmul, dot, "x, y")
BUILTIN(einsum, einsum, dot, "*operands")

/* new tensors */
BUILTIN(zeros, zeros, N, "shape, type=none")
BUILTIN(ones, ones, N, "shape, type=none")
BUILTIN(full, full, N, "shape, value, type=none")
BUILTIN(zeros_like, zeros_like, N, "x, type=none")
BUILTIN(ones_like, ones_like, N, "x, type=none")
BUILTIN(full_like, full_like, N, "x, value, type=none")
BUILTIN(iota, iota, iota, "n")
BUILTIN(rand, random, rand, "shape")
BUILTIN(randn, random, randn, "shape")
BUILTIN(rand_like, random_like, rand, "x")
BUILTIN(randn_like, random_like, randn, "x")
BUILTIN(randint, randint, randint, "shape, lo, hi")
BUILTIN(permutation, permutation, permutation, "n")

/* gradients */
BUILTIN(grad, grad, N, "y, x")
