/* rt_text.h: text buffers and how values are printed (language: Python's formats, NumPy's defaults). */
#ifndef RT_TEXT_H
#define RT_TEXT_H
#include "rt_base.h"

/* A growing text. What does not fit `limit` or memory is dropped and `failed` is set. */
struct rt_buf {
    struct rt *rt;
    char *text; /* terminated by 0 once anything was put; NULL before */
    size_t size, room, limit;
    bool failed;
};
RT_FN void rt_buf_init(struct rt_buf *b, struct rt *rt, size_t limit);
RT_FN void rt_buf_free(struct rt_buf *b);
RT_FN void rt_buf_clear(struct rt_buf *b); /* empty, keeps its memory */
RT_FN void rt_put(struct rt_buf *b, const char *text, size_t n);
RT_FN void rt_puts(struct rt_buf *b, const char *text);
RT_FN void rt_putf(struct rt_buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes the text to stream 1 or 2 and clears the buffer; RT_ENV when it had failed. */
RT_FN enum rt_status rt_flush(struct rt_buf *b, int stream);

/* format: [[fill]align][sign][0][width][,][.digits][d e f g % s] or NULL / "" for the default. */
RT_FN void rt_print_real(struct rt_buf *b, double x, bool is_f32, const char *format);
RT_FN void rt_print_int(struct rt_buf *b, int64_t x, const char *format);
RT_FN void rt_print_bool(struct rt_buf *b, bool x, const char *format);
RT_FN void rt_print_text(struct rt_buf *b, const char *x, const char *format);
/* A row-major tensor as NumPy prints an array; with a format, each element by it. rank 0: a scalar. */
RT_FN void rt_print_tensor(struct rt_buf *b, const void *data, enum rt_type type, int rank,
                           const int64_t *dims, const char *format);
#endif
