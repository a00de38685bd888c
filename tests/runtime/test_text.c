/* test_text.c: printed values against what Python and NumPy print (text_cases.h), and growing
 * texts. */
#define _GNU_SOURCE 1
#include <criterion/criterion.h>
#include <limits.h>

#include "host.h"
#include "rt_array.h"

/* Long arrays; filled at start, and so in text_cases.py. */
static float counted_f32[1001], eighths_f32[1008];
static int32_t counted_i32[1200];

#include "text_cases.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

static struct host h;
static struct rt_buf b;

static void begin(void) {
    host_init(&h);
    rt_buf_init(&b, &h.rt, 1 << 20);
    for (int i = 0; i < 1200; i++) {
        counted_i32[i] = i;
        if (i < COUNT(counted_f32))
            counted_f32[i] = (float)i;
        if (i < COUNT(eighths_f32))
            eighths_f32[i] = (float)(i * 7919 % 2003 - 1000) / 8;
    }
}

static void end(void) {
    rt_buf_free(&b);
    cr_expect_eq(h.live, 0);
}

TestSuite(text, .init = begin, .fini = end);

static void expect_text(const char *want, const char *what) {
    cr_expect_str_eq(b.text ? b.text : "", want, "%s: got\n%s\nwanted\n%s", what, b.text, want);
    rt_buf_clear(&b);
}

Test(text, reals_by_format) {
    for (int i = 0; i < COUNT(real_cases); i++) {
        rt_print_real(&b, real_cases[i].x, false, real_cases[i].format);
        expect_text(real_cases[i].want, real_cases[i].format);
    }
}

Test(text, floats_are_shortest) {
    for (int i = 0; i < COUNT(float_cases); i++) {
        rt_print_real(&b, (double)float_cases[i].x, true, NULL);
        expect_text(float_cases[i].want, "float");
    }
}

Test(text, floats_are_shortest_when_denormals_are_flushed) {
    rt_flush_denormals();
    rt_print_real(&b, 0x1.5p-1060, false, NULL);
    expect_text("1.06244e-319", "denormal");
    rt_print_real(&b, 0.1, false, NULL);
    expect_text("0.1", "normal");
}

Test(text, integers_by_format) {
    for (int i = 0; i < COUNT(int_cases); i++) {
        rt_print_int(&b, int_cases[i].x, int_cases[i].format);
        expect_text(int_cases[i].want, int_cases[i].format);
    }
}

Test(text, texts_and_booleans) {
    rt_print_text(&b, "día", "6");
    expect_text("día   ", "padded by characters");
    rt_print_text(&b, "abcdef", ">5.3s");
    expect_text("  abc", "cut");
    rt_print_bool(&b, true, NULL);
    expect_text("true", "bool");
    rt_print_bool(&b, false, ">7");
    expect_text("  false", "bool");
    rt_print_bool(&b, true, "d");
    expect_text("1", "bool");
    rt_print_int(&b, 3, "q");
    expect_text("{bad format 'q'}", "bad");
}

Test(text, arrays) {
    for (int i = 0; i < COUNT(array_cases); i++) {
        rt_print_tensor(&b, array_cases[i].data, array_cases[i].type, array_cases[i].rank,
                        array_cases[i].dims, NULL);
        expect_text(array_cases[i].want, "array");
    }
}

Test(text, array_with_format_and_scalar) {
    const float x[4] = {1, 2.25f, -3, 4};
    const int64_t dims[2] = {2, 2};
    rt_print_tensor(&b, x, RT_F32, 2, dims, ".1f");
    expect_text("[[1.0 2.2]\n [-3.0 4.0]]", "format");
    rt_print_tensor(&b, x + 1, RT_F32, 0, NULL, NULL);
    expect_text("2.25", "scalar");
}

Test(text, limit_is_kept) {
    struct rt_buf small;
    rt_buf_init(&small, &h.rt, 10);
    rt_puts(&small, "12345678");
    rt_puts(&small, "9abc");
    rt_puts(&small, "x");
    cr_expect(small.failed);
    cr_expect_str_eq(small.text, "12345678");
    cr_expect_eq(rt_flush(&small, 1), RT_ENV);
    cr_expect_str_eq(h.out[0], "12345678");
    rt_buf_free(&small);
}

Test(text, no_memory_is_no_crash) {
    h.limit = 100;
    for (int i = 0; i < 100; i++)
        rt_putf(&b, "line %d, ", i);
    cr_expect(b.failed);
    h.limit = 0;
}

#include "rt_end.h"
