/* rt_text.h: growing texts, and how numbers, booleans and strings are printed.
 *
 * A format is Python's: [[fill]align][sign][0][width][,][.digits] and one of d e f g % s, each part
 * optional. Without a format a real prints as NumPy prints a scalar: the shortest digits that read
 * back as the same number, 1e-05 below 1e-4 and from 1e16 on.
 */
#ifndef RT_TEXT_H
#define RT_TEXT_H

#include "rt_base.h"

/* ---- a growing text ---------------------------------------------------------------------------
 */

/* What would pass `limit` or finds no memory is dropped and `failed` is set. */
struct rt_buf {
    struct rt *rt;
    char *text; /* terminated by 0 once anything was put; NULL before */
    size_t size, room, limit;
    bool failed;
};

RT_FN void rt_buf_init(struct rt_buf *b, struct rt *rt, size_t limit) {
    b->rt = rt;
    b->text = NULL;
    b->size = b->room = 0;
    b->limit = limit;
    b->failed = false;
}

RT_FN void rt_buf_free(struct rt_buf *b) {
    b->rt->release(b->rt, b->text);
    rt_buf_init(b, b->rt, b->limit);
}

/* Empties the text and keeps its memory. */
RT_FN void rt_buf_clear(struct rt_buf *b) {
    b->size = 0;
    b->failed = false;
    if (b->text)
        b->text[0] = 0;
}

/* Makes room for n more bytes and the end. */
RT_FN bool rt_buf_grow(struct rt_buf *b, size_t n) {
    if (b->failed || n > b->limit - b->size) {
        b->failed = true;
        return false;
    }
    if (b->size + n < b->room)
        return true;
    size_t room = 2 * (b->size + n) + 64;
    char *text = (char *)b->rt->alloc(b->rt, room);
    if (!text) {
        b->failed = true;
        return false;
    }
    if (b->text)
        memcpy(text, b->text, b->size);
    b->rt->release(b->rt, b->text);
    b->text = text;
    b->room = room;
    return true;
}

RT_FN void rt_put(struct rt_buf *b, const char *text, size_t n) {
    if (!rt_buf_grow(b, n))
        return;
    memcpy(b->text + b->size, text, n);
    b->size += n;
    b->text[b->size] = 0;
}

RT_FN void rt_puts(struct rt_buf *b, const char *text) {
    rt_put(b, text, strlen(text));
}

RT_FN void rt_put_many(struct rt_buf *b, const char *text, size_t n, int times) {
    for (int i = 0; i < times; i++)
        rt_put(b, text, n);
}

RT_FN __attribute__((format(printf, 2, 3))) void rt_putf(struct rt_buf *b, const char *format,
                                                         ...) {
    va_list ap, again;
    va_start(ap, format);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    if (n >= 0 && rt_buf_grow(b, (size_t)n)) {
        vsnprintf(b->text + b->size, (size_t)n + 1, format, again);
        b->size += (size_t)n;
    }
    va_end(again);
}

/* Writes the text to stream 1 or 2 and empties it. RT_ENV when part of it was dropped. */
RT_FN enum rt_status rt_flush(struct rt_buf *b, int stream) {
    bool failed = b->failed;
    if (b->size)
        b->rt->write(b->rt, stream, b->text, b->size);
    rt_buf_clear(b);
    return failed ? rt_fail(b->rt, RT_ENV, "no memory for a printed text") : RT_OK;
}

/* ---- formats ----------------------------------------------------------------------------------
 */

struct rt_format {
    const char *fill; /* one character of UTF-8 */
    int fill_size;
    char align; /* < > ^ = or 0 */
    char sign;  /* + - or space */
    bool comma;
    int width, digits; /* digits -1: not given */
    char type;         /* d e f g % s or 0 */
};

RT_FN int rt_utf8_size(const char *s) {
    unsigned char c = (unsigned char)s[0];
    int n = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    for (int i = 1; i < n; i++)
        if (((unsigned char)s[i] & 0xc0) != 0x80)
            return 1;
    return n;
}

RT_FN const char *rt_format_number(const char *s, int *value) {
    *value = 0;
    for (; *s >= '0' && *s <= '9'; s++)
        *value = *value < 10000 ? *value * 10 + (*s - '0') : *value;
    return s;
}

/* Reads a format (NULL is the empty one); false when it is none. */
RT_FN bool rt_format_parse(const char *s, struct rt_format *f) {
    f->fill = " ";
    f->fill_size = 1;
    f->align = f->type = 0;
    f->sign = '-';
    f->comma = false;
    f->width = 0;
    f->digits = -1;
    if (!s || !*s)
        return true;
    int n = rt_utf8_size(s);
    if (s[n] && strchr("<>^=", s[n])) {
        f->fill = s;
        f->fill_size = n;
        f->align = s[n];
        s += n + 1;
    } else if (strchr("<>^=", *s)) {
        f->align = *s++;
    }
    if (*s == '+' || *s == '-' || *s == ' ')
        f->sign = *s++;
    if (*s == '0') {
        s++;
        if (!f->align) {
            f->fill = "0";
            f->align = '=';
        }
    }
    s = rt_format_number(s, &f->width);
    if (*s == ',') {
        f->comma = true;
        s++;
    }
    if (*s == '.') {
        const char *from = s + 1;
        s = rt_format_number(from, &f->digits);
        if (s == from)
            return false;
    }
    if (*s && strchr("defg%s", *s))
        f->type = *s++;
    return *s == 0;
}

/* Characters, not bytes, of n bytes of UTF-8. */
RT_FN int rt_width(const char *text, size_t n) {
    int width = 0;
    for (size_t i = 0; i < n; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

/* Puts sign and text, padded to the width; `align` is what an absent one means. */
RT_FN void rt_put_padded(struct rt_buf *b, const struct rt_format *f, char align, const char *sign,
                         const char *text, size_t n) {
    int pad = f->width - rt_width(text, n) - (int)strlen(sign);
    if (pad < 0)
        pad = 0;
    if (f->align)
        align = f->align;
    int before = align == '<' ? 0 : align == '^' ? pad / 2 : pad;
    if (align == '=')
        rt_puts(b, sign);
    rt_put_many(b, f->fill, (size_t)f->fill_size, before);
    if (align != '=')
        rt_puts(b, sign);
    rt_put(b, text, n);
    rt_put_many(b, f->fill, (size_t)f->fill_size, pad - before);
}

/* Puts a number given as sign and unsigned text: thousands separated, then padded. */
RT_FN void rt_put_number(struct rt_buf *b, const struct rt_format *f, bool negative,
                         const char *text) {
    char sign[2] = {negative ? '-' : f->sign == '-' ? (char)0 : f->sign, 0};
    int whole = (int)strspn(text, "0123456789");
    if (!f->comma || whole == 0) {
        rt_put_padded(b, f, '>', sign, text, strlen(text));
        return;
    }
    /* Leading zeros take part in the grouping, as Python does it. */
    int zeros = 0, rest = (int)strlen(text) - whole + (int)strlen(sign);
    if (f->align == '=' && f->fill[0] == '0')
        while (whole + zeros + (whole + zeros - 1) / 3 + rest < f->width)
            zeros++;
    struct rt_buf grouped;
    rt_buf_init(&grouped, b->rt, b->limit);
    for (int i = 0; i < zeros + whole; i++) {
        if (i && (zeros + whole - i) % 3 == 0)
            rt_put(&grouped, ",", 1);
        rt_put(&grouped, i < zeros ? "0" : text + i - zeros, 1);
    }
    rt_puts(&grouped, text + whole);
    if (grouped.failed)
        b->failed = true;
    else
        rt_put_padded(b, f, '>', sign, grouped.text, grouped.size);
    rt_buf_free(&grouped);
}

/* ---- numbers ----------------------------------------------------------------------------------
 */

enum { RT_NUMBER = 512 }; /* holds %f of any double with 60 digits, and more digits are not given */

/* The fewest digits d1 d2 … that read back as |x| (finite): |x| is d1.d2… * 10^*exponent. Gives
 * how many there are. The bits are compared: with denormals flushed, tiny numbers all look equal.
 */
RT_FN int rt_shortest(double x, bool is_f32, char digits[20], int *exponent) {
    char text[40];
    for (int n = 1;; n++) {
        snprintf(text, sizeof text, "%.*e", n - 1, fabs(x));
        double back = strtod(text, NULL);
        float back32 = strtof(text, NULL), x32 = (float)fabs(x);
        double x64 = fabs(x);
        bool same =
            is_f32 ? memcmp(&back32, &x32, sizeof x32) == 0 : memcmp(&back, &x64, sizeof x64) == 0;
        if (!same && n < (is_f32 ? 9 : 17))
            continue;
        *exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
        digits[0] = text[0];
        memcpy(digits + 1, text + 2, (size_t)n - 1);
        while (n > 1 && digits[n - 1] == '0')
            n--;
        digits[n] = 0;
        return n;
    }
}

/* |x| as NumPy writes a scalar. */
RT_FN void rt_real_default(char *out, double x, bool is_f32) {
    char digits[20];
    int e, n = 0;
    if (!isfinite(x)) {
        strcpy(out, isnan(x) ? "nan" : "inf");
        return;
    }
    int count = rt_shortest(x, is_f32, digits, &e);
    if (digits[0] != '0' && (fabs(x) < 1e-4 || fabs(x) >= 1e16)) {
        snprintf(out, RT_NUMBER, "%c%s%se%+03d", digits[0], count > 1 ? "." : "", digits + 1, e);
        return;
    }
    int last = e - count + 1 < -1 ? e - count + 1 : -1;
    for (int power = e < 0 ? 0 : e; power >= last; power--) {
        if (power == -1)
            out[n++] = '.';
        out[n++] = power <= e && power > e - count ? digits[e - power] : '0';
    }
    out[n] = 0;
}

/* |x| with so many digits and no type: 1.0, 12.5, and 1.25e+01 where g would show no fraction. */
RT_FN void rt_real_precise(char *out, double x, int digits) {
    snprintf(out, RT_NUMBER, "%.*e", digits - 1, x);
    char *e = strchr(out, 'e');
    if (!e)
        return; /* inf, nan */
    long exponent = strtol(e + 1, NULL, 10);
    if (exponent >= -4 && exponent < digits - 1) {
        snprintf(out, RT_NUMBER, "%.*g", digits, x);
        if (!strpbrk(out, "."))
            strcat(out, ".0");
        return;
    }
    char *end = e;
    while (strchr(out, '.') && end[-1] == '0')
        end--;
    if (end[-1] == '.')
        end--;
    memmove(end, e, strlen(e) + 1);
}

/* |x| by the type and digits of the format. */
RT_FN void rt_real_text(char *out, const struct rt_format *f, double x, bool is_f32) {
    int digits = f->digits < 0 ? 6 : f->digits > 60 ? 60 : f->digits;
    x = fabs(x);
    switch (f->type) {
    case 'e':
        snprintf(out, RT_NUMBER, "%.*e", digits, x);
        break;
    case 'f':
        snprintf(out, RT_NUMBER, "%.*f", digits, x);
        break;
    case 'g':
        snprintf(out, RT_NUMBER, "%.*g", digits ? digits : 1, x);
        break;
    case '%':
        snprintf(out, RT_NUMBER, "%.*f%%", digits, x * 100);
        break;
    case 'd':
        snprintf(out, RT_NUMBER, "%.0f", x);
        break;
    default:
        if (f->digits < 0) {
            rt_real_default(out, x, is_f32);
            break;
        }
        rt_real_precise(out, x, digits ? digits : 1);
    }
}

/* A format that is none cannot come from nnc; it is shown where the value would stand. */
RT_FN bool rt_format_or_note(struct rt_buf *b, const char *format, struct rt_format *f) {
    if (rt_format_parse(format, f))
        return true;
    rt_putf(b, "{bad format '%s'}", format);
    return false;
}

/* Prints a real that was an f32 or f64 (the default form has the digits of that type). */
RT_FN void rt_print_real(struct rt_buf *b, double x, bool is_f32, const char *format) {
    struct rt_format f;
    char text[RT_NUMBER];
    if (!rt_format_or_note(b, format, &f))
        return;
    rt_real_text(text, &f, x, is_f32);
    rt_put_number(b, &f, !isnan(x) && signbit(x), text);
}

RT_FN void rt_print_int(struct rt_buf *b, int64_t x, const char *format) {
    struct rt_format f;
    char text[RT_NUMBER];
    if (!rt_format_or_note(b, format, &f))
        return;
    if (f.type && strchr("efg%", f.type)) {
        rt_real_text(text, &f, (double)x, false);
    } else {
        uint64_t size = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
        snprintf(text, sizeof text, "%llu", (unsigned long long)size);
    }
    rt_put_number(b, &f, x < 0, text);
}

/* digits cuts the text to so many characters. */
RT_FN void rt_print_text(struct rt_buf *b, const char *x, const char *format) {
    struct rt_format f;
    if (!rt_format_or_note(b, format, &f))
        return;
    size_t n = 0;
    for (int i = 0; x[n] && (f.digits < 0 || i < f.digits); i++)
        n += (size_t)rt_utf8_size(x + n);
    rt_put_padded(b, &f, '<', "", x, n);
}

RT_FN void rt_print_bool(struct rt_buf *b, bool x, const char *format) {
    struct rt_format f;
    if (rt_format_parse(format, &f) && f.type && f.type != 's')
        rt_print_int(b, x, format);
    else
        rt_print_text(b, x ? "true" : "false", format);
}

#endif
