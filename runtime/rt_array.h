/* rt_array.h: tensors printed as NumPy prints arrays: nested brackets, elements of equal width,
 * lines of 75 characters, the middle left out beyond 1000 elements. */
#ifndef RT_ARRAY_H
#define RT_ARRAY_H

#include "rt_text.h"

enum { RT_MAX_RANK = 8, RT_LINE = 75, RT_EDGE = 3, RT_SHOWN = 1000, RT_FRACTION = 8 };

struct rt_array {
    const void *data; /* row-major */
    enum rt_type type;
    int rank;
    const int64_t *dims;
    const char *format; /* for each element, or NULL */
    bool summary;
    /* how reals look, from all elements that are shown: */
    bool scientific, other, negative_inf;
    double largest, smallest; /* of the finite ones that are not 0; smallest 0: there are none */
    int left, right;          /* characters before and after the point */
    int exponent;             /* digits of the exponent */
};

RT_FN bool rt_type_is_real(enum rt_type type) {
    return type == RT_F32 || type == RT_F64;
}

RT_FN double rt_real_at(const void *data, enum rt_type type, int64_t i) {
    return type == RT_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

RT_FN int64_t rt_int_at(const void *data, enum rt_type type, int64_t i) {
    switch (type) {
    case RT_I32:
        return ((const int32_t *)data)[i];
    case RT_I64:
        return ((const int64_t *)data)[i];
    case RT_I8:
        return ((const int8_t *)data)[i];
    case RT_I16:
        return ((const int16_t *)data)[i];
    case RT_U16:
        return ((const uint16_t *)data)[i];
    default:
        return ((const uint8_t *)data)[i];
    }
}

/* ---- elements ---------------------------------------------------------------------------------
 */

/* |x| without an exponent: the shortest digits, at most RT_FRACTION after the point, "1." */
RT_FN void rt_plain_text(char *out, double x, bool is_f32) {
    char digits[20];
    int e = 0, n = x == 0 ? 1 : rt_shortest(x, is_f32, digits, &e);
    int fraction = n - 1 - e < 0 ? 0 : n - 1 - e;
    if (x != 0 && fraction == 0 &&
        e >= n) { /* digits past the shortest are zeros, not the number's */
        snprintf(out, RT_NUMBER, "%s", digits);
        for (size_t at = strlen(out); (int)at <= e; at++)
            memcpy(out + at, "0", 2);
        strcat(out, ".");
        return;
    }
    snprintf(out, RT_NUMBER, "%.*f", fraction > RT_FRACTION ? RT_FRACTION : fraction, fabs(x));
    if (!strchr(out, '.')) {
        strcat(out, ".");
        return;
    }
    size_t end = strlen(out);
    while (out[end - 1] == '0')
        out[--end] = 0;
}

/* The digits after the point that d.ddde+xx needs, at most RT_FRACTION. */
RT_FN int rt_scientific_digits(double x, bool is_f32, int *exponent) {
    char digits[20];
    int e = 0, n = x == 0 ? 1 : rt_shortest(x, is_f32, digits, &e);
    *exponent = abs(e) > 99 ? 3 : 2;
    return n - 1 > RT_FRACTION ? RT_FRACTION : n - 1;
}

/* |x| as d.ddde+xx with so many digits after the point ("1.e+38" with none) and in the exponent. */
RT_FN void rt_scientific_text(char *out, double x, int digits, int exponent) {
    snprintf(out, RT_NUMBER, "%.*e", digits, fabs(x));
    size_t e = strcspn(out, "e");
    long power = labs(strtol(out + e + 1, NULL, 10));
    char sign = out[e + 1];
    if (digits == 0)
        out[e++] = '.';
    out[e++] = 'e';
    out[e++] = sign;
    for (int unit = exponent == 3 ? 100 : 10; unit; unit /= 10)
        out[e++] = (char)('0' + power / unit % 10);
    out[e] = 0;
}

RT_FN void rt_array_word(struct rt_buf *b, const struct rt_array *a, int64_t i) {
    char text[RT_NUMBER], padded[RT_NUMBER];
    if (a->format && a->format[0]) {
        if (rt_type_is_real(a->type))
            rt_print_real(b, rt_real_at(a->data, a->type, i), a->type == RT_F32, a->format);
        else if (a->type == RT_BOOL)
            rt_print_bool(b, rt_int_at(a->data, a->type, i) != 0, a->format);
        else
            rt_print_int(b, rt_int_at(a->data, a->type, i), a->format);
        return;
    }
    if (a->type == RT_BOOL) {
        rt_puts(b, rt_int_at(a->data, a->type, i) ? " true" : "false");
        return;
    }
    if (!rt_type_is_real(a->type)) {
        rt_putf(b, "%*lld", a->left, (long long)rt_int_at(a->data, a->type, i));
        return;
    }
    double x = rt_real_at(a->data, a->type, i);
    const char *sign = signbit(x) && !isnan(x) ? "-" : "";
    if (!isfinite(x)) {
        snprintf(text, sizeof text, "%s%s", sign, isnan(x) ? "nan" : "inf");
        rt_putf(b, "%*s", a->left + a->right + 1, text);
        return;
    }
    if (a->scientific)
        rt_scientific_text(text, x, a->right - a->exponent - 2, a->exponent);
    else
        rt_plain_text(text, x, a->type == RT_F32);
    int whole = (int)strcspn(text, ".e") + (int)strlen(sign);
    snprintf(padded, sizeof padded, "%*s%s%.400s", a->left - whole < 0 ? 0 : a->left - whole, "",
             sign, text);
    rt_putf(b, "%-*s", a->left + a->right + 1, padded);
}

/* First look at an element: sizes that decide between plain and scientific; widths of integers. */
RT_FN void rt_array_range(struct rt_array *a, int64_t i) {
    if (!rt_type_is_real(a->type)) {
        int n = snprintf(NULL, 0, "%lld", (long long)rt_int_at(a->data, a->type, i));
        a->left = n > a->left ? n : a->left;
        return;
    }
    double x = rt_real_at(a->data, a->type, i), size = fabs(x);
    if (!isfinite(x)) {
        a->other = true;
        a->negative_inf |= isinf(x) && x < 0;
    } else if (size > 0) {
        a->largest = size > a->largest ? size : a->largest;
        a->smallest = a->smallest == 0 || size < a->smallest ? size : a->smallest;
    }
}

/* Second look: characters before and after the point. */
RT_FN void rt_array_widths(struct rt_array *a, int64_t i) {
    char text[RT_NUMBER];
    double x = rt_real_at(a->data, a->type, i);
    if (!isfinite(x))
        return;
    int left = signbit(x) ? 2 : 1, right;
    if (a->scientific) {
        int exponent;
        right = rt_scientific_digits(x, a->type == RT_F32, &exponent);
        a->exponent = exponent > a->exponent ? exponent : a->exponent;
    } else {
        rt_plain_text(text, x, a->type == RT_F32);
        int whole = (int)strcspn(text, ".");
        left += whole - 1;
        right = (int)strlen(text) - whole - 1;
    }
    a->left = left > a->left ? left : a->left;
    a->right = right > a->right ? right : a->right;
}

/* ---- the whole --------------------------------------------------------------------------------
 */

/* Calls look for each element that is shown below axis `axis` of the sub-array at `at`. */
RT_FN void rt_array_each(struct rt_array *a, int axis, int64_t at, int64_t stride,
                         void (*look)(struct rt_array *, int64_t)) {
    if (axis == a->rank) {
        look(a, at);
        return;
    }
    int64_t n = a->dims[axis], step = stride / n;
    for (int64_t i = 0; i < n; i++) {
        if (a->summary && n > 2 * RT_EDGE && i == RT_EDGE)
            i = n - RT_EDGE;
        rt_array_each(a, axis + 1, at + i * step, step, look);
    }
}

RT_FN void rt_array_style(struct rt_array *a, int64_t size) {
    rt_array_each(a, 0, 0, size, rt_array_range);
    if (!rt_type_is_real(a->type))
        return;
    a->scientific = a->smallest > 0 &&
                    (a->largest >= 1e8 || a->smallest < 1e-4 || a->largest / a->smallest > 1000);
    rt_array_each(a, 0, 0, size, rt_array_widths);
    if (a->scientific)
        a->right += a->exponent + 2;
    int least = a->negative_inf ? 4 : 3;
    if (a->other && a->left + a->right + 1 < least)
        a->left = least - 1 - a->right;
}

/* Puts one word of the innermost axis, on a new line where this one is full; `line` counts it. */
RT_FN void rt_array_put(struct rt_buf *b, int axis, size_t *line, const char *word, size_t n) {
    size_t indent = (size_t)axis + 1;
    if (*line > indent && *line + n > (size_t)(RT_LINE - axis - 1)) {
        while (b->size && b->text[b->size - 1] == ' ')
            b->size--;
        rt_puts(b, "\n");
        rt_put_many(b, " ", 1, (int)indent);
        *line = indent;
    }
    rt_put(b, word, n);
    *line += (size_t)rt_width(word, n);
}

RT_FN void rt_array_walk(struct rt_buf *b, struct rt_buf *word, const struct rt_array *a, int axis,
                         int64_t at, int64_t stride) {
    int64_t n = a->dims[axis], step = stride / n;
    bool inner = axis == a->rank - 1, cut = a->summary && n > 2 * RT_EDGE;
    size_t line = (size_t)axis + 1;
    rt_puts(b, "[");
    for (int64_t i = 0; i < n; i++) {
        if (i && inner) {
            rt_puts(b, " ");
            line++;
        } else if (i) {
            rt_put_many(b, "\n", 1, a->rank - axis - 1);
            rt_put_many(b, " ", 1, axis + 1);
        }
        if (cut && i == RT_EDGE) {
            rt_array_put(b, axis, &line, "...", 3);
            i = n - RT_EDGE - 1;
            continue;
        }
        if (!inner) {
            rt_array_walk(b, word, a, axis + 1, at + i * step, step);
            continue;
        }
        rt_buf_clear(word);
        rt_array_word(word, a, at + i);
        if (word->size)
            rt_array_put(b, axis, &line, word->text, word->size);
    }
    rt_puts(b, "]");
}

RT_FN void rt_print_scalar(struct rt_buf *b, const void *data, enum rt_type type,
                           const char *format) {
    if (rt_type_is_real(type))
        rt_print_real(b, rt_real_at(data, type, 0), type == RT_F32, format);
    else if (type == RT_BOOL)
        rt_print_bool(b, rt_int_at(data, type, 0) != 0, format);
    else
        rt_print_int(b, rt_int_at(data, type, 0), format);
}

/* Prints a row-major tensor; rank 0 is a scalar. With a format each element is printed by it. */
RT_FN void rt_print_tensor(struct rt_buf *b, const void *data, enum rt_type type, int rank,
                           const int64_t *dims, const char *format) {
    int64_t size = 1;
    for (int i = 0; i < rank; i++)
        size *= dims[i];
    if (rank == 0) {
        rt_print_scalar(b, data, type, format);
        return;
    }
    if (size == 0) {
        rt_puts(b, "[]");
        return;
    }
    struct rt_array a;
    memset(&a, 0, sizeof a);
    a.data = data;
    a.type = type;
    a.rank = rank;
    a.dims = dims;
    a.format = format;
    a.summary = size > RT_SHOWN;
    rt_array_style(&a, size);
    struct rt_buf word;
    rt_buf_init(&word, b->rt, b->limit);
    rt_array_walk(b, &word, &a, 0, 0, size);
    b->failed |= word.failed;
    rt_buf_free(&word);
}

#endif
