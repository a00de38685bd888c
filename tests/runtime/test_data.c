/* test_data.c: npy, idx and raw files, paths, splits, folds, batches, standardisation. */
#define _GNU_SOURCE 1
#include <criterion/criterion.h>

#include "host.h"
#include "rt_batch.h"
#include "rt_npy.h"

static struct host h;
static struct rt *rt;
static char folder[64], path[128];
static struct rt_source got;

static void begin(void) {
    rt = host_init(&h);
    cr_assert(host_folder(folder, "data"));
    snprintf(path, sizeof path, "%s/t.bin", folder);
}

static void end(void) {
    rt_source_free(rt, &got);
    rt_files_drop(rt);
    unlink(path);
    rmdir(folder);
    cr_expect_eq(h.live, 0, "%d allocations are left", h.live);
}

TestSuite(data, .init = begin, .fini = end);

static void save(const void *bytes, size_t n) {
    rt_source_free(rt, &got);
    rt_files_drop(rt);
    FILE *f = fopen(path, "wb");
    cr_assert(f != NULL);
    cr_assert_eq(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

/* Writes an npy file: version, the dictionary, n bytes. */
static void save_npy(int version, const char *dict, const void *bytes, size_t n) {
    char file[4096];
    size_t head = strlen(dict), at = version == 1 ? 10 : 12;
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (char)version;
    file[7] = 0;
    for (size_t i = 8; i < at; i++)
        file[i] = (char)(head >> (8 * (i - 8)));
    memcpy(file + at, dict, head);
    memcpy(file + at + head, bytes, n);
    save(file, at + head + n);
}

static void expect_message(enum rt_status s, const char *want) {
    cr_expect_eq(s, RT_USAGE);
    cr_expect(strstr(rt->message, want) != NULL, "got    %s\nwanted %s", rt->message, want);
    cr_expect(got.data == NULL);
}

static const float numbers[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12.5f};
static struct rt_field four = {"d.x", RT_F32, 3, {2, 2, 1}, NULL, 0};

Test(data, npy_of_floats) {
    save_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 2), }", numbers, 48);
    cr_expect_eq(rt_npy_read(rt, &four, "d", path, &got), RT_OK, "%s", rt->message);
    cr_expect_eq(got.rows, 3);
    cr_expect_arr_eq(got.data, numbers, 48);
    save_npy(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}", numbers, 48);
    cr_expect_eq(rt_npy_read(rt, &four, "d", path, &got), RT_OK, "%s", rt->message);
    cr_expect_arr_eq(got.data, numbers, 48);
}

Test(data, npy_converts_types_and_byte_order) {
    const double d[2] = {0.5, -3};
    const unsigned char big[4] = {0x01, 0x02, 0xff, 0xfe};
    struct rt_field one = {"d.x", RT_F32, 0, {0}, NULL, 0},
                    label = {"d.k", RT_I32, 0, {0}, NULL, 0};
    save_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", d, 16);
    cr_expect_eq(rt_npy_read(rt, &one, "d", path, &got), RT_OK, "%s", rt->message);
    cr_expect_eq(((float *)got.data)[1], -3.0f);
    expect_message((rt_source_free(rt, &got), rt_npy_read(rt, &label, "d", path, &got)),
                   "'t.bin': row 0 (from 0) is 0.5, which does not fit d.k (i32)");
    const double large[2] = {1, -1e39};
    save_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", large, 16);
    expect_message(rt_npy_read(rt, &one, "d", path, &got),
                   "'t.bin': row 1 (from 0) is -9.9999999999999994e+38, which does not fit d.x");
    save_npy(1, "{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", big, 4);
    cr_expect_eq(rt_npy_read(rt, &label, "d", path, &got), RT_OK, "%s", rt->message);
    cr_expect_eq(((int32_t *)got.data)[0], 258);
    cr_expect_eq(((int32_t *)got.data)[1], -2);
    struct rt_field wide = {"d.w", RT_I64, 0, {0}, NULL, 0};
    const unsigned char long_big[8] = {0x40, 0, 0, 0, 0, 0, 0, 1}; /* no f64 holds 2^62 + 1 */
    rt_source_free(rt, &got);
    save_npy(1, "{'descr': '>i8', 'fortran_order': False, 'shape': (1,), }", long_big, 8);
    cr_expect_eq(rt_npy_read(rt, &wide, "d", path, &got), RT_OK, "%s", rt->message);
    cr_expect_eq(((int64_t *)got.data)[0], ((int64_t)1 << 62) + 1);
}

/* Of each kind of table, with the row that holds it. */
Test(data, numbers_out_of_range) {
    const int32_t k[6] = {0, 9, 3, 4, 12, 5};
    const unsigned char bytes[6] = {0, 1, 1, 0, 2, 0};
    const int64_t any[2] = {-1, 2};
    unsigned char idx[12 + 6] = {0, 0, 8, 2, 0, 0, 0, 3, 0, 0, 0, 2, 0, 9, 3, 4, 12, 5};
    struct rt_field one = {"d.k", RT_I32, 0, {0}, "m.nn:3", 10},
                    two = {"d.k", RT_I32, 1, {2}, "m.nn:3", 10},
                    flag = {"d.f", RT_BOOL, 0, {0}, NULL, 0};
    save_npy(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (6,), }", k, 24);
    expect_message(rt_npy_read(rt, &one, "d", path, &got),
                   "'t.bin': row 4 (from 0) is 12: d.k must be 0..9, because of m.nn:3");
    save(k, 24);
    expect_message(rt_raw_read(rt, &two, "d", path, RT_I32, 2, any, &got),
                   "'t.bin': row 2, element 0 (from 0) is 12: d.k must be 0..9");
    save(idx, sizeof idx);
    expect_message(rt_idx_read(rt, &two, "d", path, &got), "'t.bin': row 2, element 0 (from 0)");
    save_npy(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (6,), }", bytes, 6);
    expect_message(rt_npy_read(rt, &flag, "d", path, &got),
                   "'t.bin': row 4 (from 0) is 2, which does not fit d.f (bool)");
}

Test(data, npy_that_is_wrong) {
    save_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }", numbers, 48);
    expect_message(rt_npy_read(rt, &four, "d", path, &got),
                   "d.x: declared [2, 2, 1] (4 numbers a row), 't.bin' has rows of [3]");
    save_npy(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }", numbers, 48);
    expect_message(rt_npy_read(rt, &four, "d", path, &got), "Fortran order");
    save_npy(1, "{'descr': '<c8', 'fortran_order': False, 'shape': (3, 4), }", numbers, 48);
    expect_message(rt_npy_read(rt, &four, "d", path, &got), "type '<c8'");
    save_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", numbers, 47);
    expect_message(rt_npy_read(rt, &four, "d", path, &got), "are 48 bytes, the file holds 47");
    save_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }",
             numbers, 48);
    expect_message(rt_npy_read(rt, &four, "d", path, &got), "no memory holds");
    save_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 4), }",
             numbers, 48);
    expect_message(rt_npy_read(rt, &four, "d", path, &got), "rows are wanted");
    save_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", numbers, 4);
    expect_message(rt_npy_read(rt, &four, "d", path, &got), "rows are wanted");
    save("\x93NUMPY\x01\x00\xff\xff{'descr'", 18);
    expect_message(rt_npy_read(rt, &four, "d", path, &got), "cut short");
    save("hello", 5);
    expect_message(rt_npy_read(rt, &four, "d", path, &got), "'t.bin' is not an npy file: it is");
    save("PK\3\4 is a zip file", 18);
    expect_message(rt_npy_read(rt, &four, "d", path, &got), "file: those begin with \\x93NUMPY");
    save_npy(9, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", numbers, 48);
    expect_message(rt_npy_read(rt, &four, "d", path, &got), "version 1 to 3 are read, this is 9");
    save_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
                "3, 4), }", numbers, 48);
    expect_message(rt_npy_read(rt, &four, "d", path, &got),
                   "of 8 dimensions at most; its shape is (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 4)");
}

/* Every truncation and many damaged bytes of a good file: an answer, never a crash. */
Test(data, npy_cut_and_damaged_anywhere) {
    char file[256];
    save_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 2), }", numbers, 48);
    FILE *f = fopen(path, "rb");
    size_t n = fread(file, 1, sizeof file, f);
    fclose(f);
    for (size_t cut = 0; cut < n; cut++) {
        save(file, cut);
        cr_expect_eq(rt_npy_read(rt, &four, "d", path, &got), RT_USAGE);
    }
    uint32_t s = 1;
    for (int i = 0; i < 3000; i++) {
        char bad[256];
        memcpy(bad, file, n);
        for (int k = 0; k < 3; k++) {
            s = s * 1664525u + 1013904223u;
            bad[(s >> 8) % (n - 48)] = (char)(s >> 24);
        }
        save(bad, n);
        enum rt_status status = rt_npy_read(rt, &four, "d", path, &got);
        cr_expect((status == RT_OK) == (got.data != NULL));
    }
}

Test(data, idx) {
    unsigned char file[16 + 8] = {0, 0, 8, 3, 0, 0, 0, 2, 0,   0, 0, 2,
                                  0, 0, 0, 2, 1, 2, 3, 4, 250, 6, 7, 8};
    struct rt_field bytes = {"d.x", RT_U8, 3, {2, 2, 1}, NULL, 0};
    save(file, sizeof file);
    cr_expect_eq(rt_idx_read(rt, &bytes, "d", path, &got), RT_OK, "%s", rt->message);
    cr_expect_eq(got.rows, 2);
    cr_expect_eq(((uint8_t *)got.data)[4], 250);
    rt_source_free(rt, &got);
    cr_expect_eq(rt_idx_read(rt, &four, "d", path, &got), RT_OK, "%s", rt->message);
    cr_expect_eq(((float *)got.data)[4], 250.0f);
    save(file, sizeof file - 1);
    expect_message(rt_idx_read(rt, &bytes, "d", path, &got), "the file holds 7");
    file[2] = 10;
    save(file, sizeof file);
    expect_message(rt_idx_read(rt, &bytes, "d", path, &got), "not an IDX file: 0, 0, a type");
    save(file, 3);
    expect_message(rt_idx_read(rt, &bytes, "d", path, &got), "first; it is too short");
    file[2] = 8;
    save(file, 15);
    expect_message(rt_idx_read(rt, &bytes, "d", path, &got),
                   "3 dimensions have 12 bytes, the file holds 11");
}

Test(data, raw) {
    const int64_t any[4] = {-1, 2, 2, 1}, three[2] = {3, 4}, two[2] = {2, 4};
    save(numbers, 48);
    cr_expect_eq(rt_raw_read(rt, &four, "d", path, RT_F32, 4, any, &got), RT_OK, "%s", rt->message);
    cr_expect_eq(got.rows, 3);
    cr_expect_arr_eq(got.data, numbers, 48);
    rt_source_free(rt, &got);
    cr_expect_eq(rt_raw_read(rt, &four, "d", path, RT_F32, 2, three, &got), RT_OK);
    rt_source_free(rt, &got);
    expect_message(rt_raw_read(rt, &four, "d", path, RT_F32, 2, two, &got), "the file holds 48");
    save(numbers, 47);
    expect_message(rt_raw_read(rt, &four, "d", path, RT_F32, 4, any, &got), "not whole rows of 16");
}

Test(data, paths) {
    char out[256];
    struct rt_pair *p = rt->data_path;
    cr_expect_eq(rt_data_path(rt, "digits", "a/digits.csv", out, sizeof out), RT_OK);
    cr_expect_str_eq(out, "a/digits.csv");
    p[0].name = NULL;
    p[0].path = "/data";
    rt->data_paths = 1;
    rt_data_path(rt, "digits", "a/digits.csv", out, sizeof out);
    cr_expect_str_eq(out, "/data/a/digits.csv");
    rt_data_path(rt, "digits", "/abs/digits.csv", out, sizeof out);
    cr_expect_str_eq(out, "/abs/digits.csv");
    p[1].name = "digits=";
    p[1].name_size = 6;
    p[1].path = "other.csv";
    p[2].name = NULL;
    p[2].path = "/last";
    rt->data_paths = 3; /* a named one is stronger than a folder after it */
    rt_data_path(rt, "digits", "a/digits.csv", out, sizeof out);
    cr_expect_str_eq(out, "other.csv");
    rt_data_path(rt, "iris", "iris.csv", out, sizeof out);
    cr_expect_str_eq(out, "/last/iris.csv");
    p[1].path = folder; /* a folder: the file is in it */
    rt_data_path(rt, "digits", "digits.csv", out, sizeof out);
    cr_expect_eq(strncmp(out, folder, strlen(folder)), 0);
    cr_expect_eq(rt_data_path(rt, "iris", "iris.csv", out, 5), RT_USAGE);
}

static struct rt_rows section(int64_t n) {
    static struct rt_source s;
    static const struct rt_source *const one[] = {&s};
    struct rt_rows all;
    s.rows = n;
    cr_assert_eq(rt_section(rt, "d.all", one, 1, &all), RT_OK);
    return all;
}

Test(data, split_by_exact_fractions) {
    struct rt_rows all = section(1797), out[3];
    const struct rt_part parts[] = {{"d.a", 7, 10}, {"d.b", 2, 10}, {"d.c", 1, 10}};
    cr_expect_eq(rt_split(rt, &all, true, 0, parts, 3, out), RT_OK);
    cr_expect_eq(out[0].count, 1257);
    cr_expect_eq(out[1].first, 1257);
    cr_expect_eq(out[1].count, 360);
    cr_expect_eq(out[2].first + out[2].count, 1797);
    cr_expect_eq(rt_row(&out[1], 3), 1260);
}

Test(data, shuffled_split_shares_out_all_rows) {
    struct rt_rows all = section(1000), out[2];
    const struct rt_part parts[] = {{"d.a", 600, 0}, {"d.b", 400, 0}};
    int hit[1000] = {0}, moved = 0;
    cr_expect_eq(rt_split(rt, &all, false, 5, parts, 2, out), RT_OK);
    for (int k = 0; k < 2; k++)
        for (int64_t p = 0; p < out[k].count; p++)
            hit[rt_row(&out[k], p)]++;
    for (int i = 0; i < 1000; i++) {
        cr_expect_eq(hit[i], 1);
        moved += i < 600 && rt_row(&out[0], i) != i;
    }
    cr_expect_geq(moved, 580);
    int64_t first = rt_row(&out[0], 0);
    int same = 0;
    rt->seed = 1;
    rt_split(rt, &all, false, 5, parts, 2, out);
    for (int s = 0; s < 20; s++) {
        rt->seed = (uint64_t)s;
        rt_split(rt, &all, false, 5, parts, 2, out);
        same += rt_row(&out[0], 0) == first;
    }
    cr_expect_leq(same, 3, "the seed shuffles");
}

Test(data, split_of_too_few_rows) {
    struct rt_rows all = section(50), out[2];
    const struct rt_part parts[] = {{"d.a", 40, 0}, {"d.b", 20, 0}};
    expect_message(rt_split(rt, &all, true, 0, parts, 2, out),
                   "the split of d.all wants 60 rows up to d.b; it has 50");
}

Test(data, folds_partition) {
    struct rt_rows all = section(103), train, test;
    int tested[103] = {0};
    for (int k = 0; k < 5; k++) {
        int hit[103] = {0};
        cr_expect_eq(rt_fold(rt, &all, false, 9, k, 5, &train, &test), RT_OK);
        cr_expect_eq(train.count + test.count, 103);
        for (int64_t p = 0; p < train.count; p++)
            hit[rt_row(&train, p)]++;
        for (int64_t p = 0; p < test.count; p++) {
            hit[rt_row(&test, p)]++;
            tested[rt_row(&test, p)]++;
        }
        for (int i = 0; i < 103; i++)
            cr_expect_eq(hit[i], 1);
    }
    for (int i = 0; i < 103; i++)
        cr_expect_eq(tested[i], 1);
}

Test(data, sections_need_equal_rows) {
    struct rt_field x = {"d.x", RT_F32, 0, {0}, NULL, 0}, y = {"d.y", RT_F32, 0, {0}, NULL, 0};
    struct rt_source a, b;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    a.field = &x, a.rows = 10, strcpy(a.file, "a.csv");
    b.field = &y, b.rows = 11, strcpy(b.file, "b.csv");
    const struct rt_source *const both[] = {&a, &b};
    struct rt_rows all;
    expect_message(rt_section(rt, "d.all", both, 2, &all),
                   "d.x has 10 rows (a.csv), d.y has 11 (b.csv)");
    a.rows = b.rows = 0;
    expect_message(rt_section(rt, "d.all", both, 2, &all), "d.all has no rows: 'a.csv' is empty");
}

Test(data, batches_keep_and_drop) {
    struct rt_rows all = section(10);
    struct rt_batches b;
    int32_t index[4];
    int64_t n, rows = 0, rounds = 0;
    cr_expect_eq(rt_batches_start(rt, &b, &all, 4, false, false, 0, 1, 0), RT_OK);
    while (rt_batches_next(&b, index, &n)) {
        for (int64_t i = 0; i < n; i++)
            cr_expect_eq(index[i], rows + i);
        rows += n;
        rounds++;
    }
    cr_expect(rows == 10 && rounds == 3);
    cr_expect_eq(rt_batches_start(rt, &b, &all, 4, false, true, 0, 1, 0), RT_OK);
    for (rounds = 0; rt_batches_next(&b, index, &n); rounds++)
        cr_expect_eq(n, 4);
    cr_expect_eq(rounds, 2);
    expect_message(rt_batches_start(rt, &b, &all, 11, false, true, 0, 1, 0),
                   "d.all has 10 rows, fewer than a batch of 11");
    cr_expect_eq(rt_batches_start(rt, &b, &all, 11, false, false, 0, 1, 0), RT_OK);
    all.count = 0;
    expect_message(rt_batches_start(rt, &b, &all, 4, false, false, 0, 1, 0), "d.all has no rows");
}

Test(data, shuffled_batches_visit_all_and_resume_anywhere) {
    struct rt_rows all = section(12);
    struct rt_batches b;
    int32_t index[7][4], again[4];
    int64_t n;
    cr_expect_eq(rt_batches_start(rt, &b, &all, 4, true, true, 7, 1, 0), RT_OK);
    for (int r = 0; r < 7; r++)
        cr_assert(rt_batches_next(&b, index[r], &n));
    cr_expect(!rt_batches_next(&b, again, &n));
    for (int epoch = 0; epoch < 2; epoch++) {
        int hit[12] = {0};
        for (int i = 0; i < 12; i++)
            hit[index[3 * epoch + i / 4][i % 4]]++;
        for (int i = 0; i < 12; i++)
            cr_expect_eq(hit[i], 1);
    }
    cr_expect(memcmp(index[0], index[3], 3 * sizeof *index) != 0, "each epoch has its own order");
    for (int r = 6; r >= 0; r--) {
        b.round = r;
        cr_assert(rt_batches_next(&b, again, &n));
        cr_expect_arr_eq(again, index[r], sizeof again);
    }
    rt_batches_start(rt, &b, &all, 4, true, true, 7, 1, 1);
    int same = 0;
    for (int r = 0; r < 3; r++) {
        rt_batches_next(&b, again, &n);
        same += memcmp(again, index[r], sizeof again) == 0;
    }
    cr_expect_lt(same, 3, "each entry has its own order");
}

Test(data, standardize_from_a_split) {
    float data[] = {1, 5, 0.1f, 3, 5, 0.1f, 5, 5, 0.1f, 1000, 7, 9}, mean[3], scale[3];
    struct rt_field f = {"d.x", RT_F32, 1, {3}, NULL, 0};
    struct rt_source s;
    memset(&s, 0, sizeof s);
    s.field = &f, s.type = RT_F32, s.rows = 4, s.row_elements = 3, s.data = data;
    struct rt_rows all = section(4), first;
    const struct rt_part part = {"d.a", 3, 0};
    rt_split(rt, &all, true, 0, &part, 1, &first);
    rt_standardize(&s, &first, mean, scale);
    cr_expect_float_eq(mean[0], 3.0f, 0.0f);
    cr_expect_float_eq(scale[0], (float)(1 / sqrt(8.0 / 3)), 1e-7f);
    cr_expect_float_eq(mean[1], 5.0f, 0.0f);
    cr_expect_eq(scale[1], 1.0f, "a column without spread is only centred");
    cr_expect_eq(mean[2], 0.1f);
    cr_expect_eq(scale[2], 1.0f);
}

#include "rt_end.h"
