/* print.h: kernels as C text.
 *
 * A kernel's parameters are, in this order: its buffers (each once), data sources, scalars, counts,
 * `uint64_t seed` when it draws random numbers, `struct rt *rt, int64_t step` when it may set the
 * fault word, and `int t, int n` (this thread, number of threads) when kernel->tiles > 1. A call
 * passes at_<buffer>(nn), at_src_<source>(nn), nn->scalars.<name>, nn->counts.<name>, nn->rt.seed,
 * &nn->rt, nn->step, t, n.
 */
#ifndef NNC_C_PRINT_H
#define NNC_C_PRINT_H

#include "loop.h"
#include "pass.h"

/* The function's text with its comment. */
void c_print_kernel(Text *out, const Kernel *k);
/* What a call hands over where it is not the plain accessor or number: calls in a loop. */
typedef struct CallNames {
    void *arg;
    const char *(*buffer)(void *arg, const Buffer *b);
    const char *(*place)(void *arg, int which); /* of the kernel's places */
    const char *(*fault)(void *arg, int which);
} CallNames;

/* One call, with semicolon and without newline; names NULL: all plain. */
void c_print_call(Text *out, const Kernel *k, const CallNames *names);
/* "float (*x)[784]", "float *x", "float (*w)[784][16]": a declaration of `declarator` as pointer to
 * the buffer. */
void c_print_buffer_type(Text *out, const Buffer *b, const char *declarator);
/* "[64][16]" behind the pointer to its memory; "" where that is to single numbers. */
const char *c_print_buffer_rows(Arena *a, const Buffer *b);
/* at_src_digits_image: the accessor of a source's rows; returns const T * of the stored type. */
void c_print_source_accessor(Text *out, const DataSource *s);
/* float, double, int32_t … unsigned char for bool: one element in memory */
const char *c_type(DType t);
/* digits_image_0: an identifier for a source */
const char *c_source_name(Arena *a, const DataSource *s);

#endif
