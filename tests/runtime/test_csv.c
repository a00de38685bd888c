/* test_csv.c: tables of text: what is read, and what each kind of wrong file is told. */
#define _GNU_SOURCE 1
#define RT_GZ       1
#include <criterion/criterion.h>

#include "host.h"
#include "rt_csv.h"

static struct host h;
static struct rt *rt;
static char folder[64];
static struct rt_source got;

static void begin(void) {
    rt = host_init(&h);
    cr_assert(host_folder(folder, "csv"));
    rt->data_path[0].name = NULL;
    rt->data_path[0].path = folder;
    rt->data_paths = 1;
}

static void end(void) {
    char name[128];
    rt_source_free(rt, &got);
    rt_files_drop(rt);
    snprintf(name, sizeof name, "%s/t.csv", folder);
    unlink(name);
    rmdir(folder);
    cr_expect_eq(h.live, 0, "%d allocations are left", h.live);
}

TestSuite(csv, .init = begin, .fini = end);

static void save(const char *bytes, size_t n) {
    char name[128];
    snprintf(name, sizeof name, "%s/t.csv", folder);
    FILE *f = fopen(name, "wb");
    cr_assert(f != NULL);
    cr_assert_eq(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static struct rt_field field = {"d.x", RT_F32, 1, {2}, NULL, 0};
static struct rt_column two = {NULL, 0, 2};

static struct rt_csv plain(void) {
    struct rt_csv c;
    memset(&c, 0, sizeof c);
    c.set = "d";
    c.path = "t.csv";
    c.columns = &two;
    c.n_columns = 1;
    c.separator = ',';
    return c;
}

static enum rt_status load(const char *text, const struct rt_field *f, const struct rt_csv *c) {
    rt_source_free(rt, &got);
    rt_files_drop(rt);
    save(text, strlen(text));
    return rt_csv_read(rt, f, c, &got);
}

static void expect_floats(int64_t rows, const float *want) {
    cr_assert_eq(got.rows, rows, "%lld rows: %s", (long long)got.rows, rt->message);
    for (int64_t i = 0; i < rows * got.row_elements; i++)
        cr_expect_eq(((float *)got.data)[i], want[i], "element %lld is %g", (long long)i,
                     (double)((float *)got.data)[i]);
}

static void expect_message(enum rt_status s, const char *want) {
    cr_expect_eq(s, RT_USAGE);
    cr_expect(strstr(rt->message, want) != NULL, "got    %s\nwanted %s", rt->message, want);
    cr_expect(got.data == NULL);
}

Test(csv, plain_numbers) {
    struct rt_csv c = plain();
    const float want[] = {1, 2.5f, -3, 4e2f, 0.1f, 6};
    cr_expect_eq(load("1,2.5,9\n-3,4e2,9\n .1 ,\t6,9", &field, &c), RT_OK);
    expect_floats(3, want);
}

Test(csv, crlf_empty_lines_and_byte_order_mark) {
    struct rt_csv c = plain();
    const float want[] = {1, 2, 3, 4};
    cr_expect_eq(load("\xef\xbb\xbf\r\n1,2\r\n\r\n3,4\r\n\n", &field, &c), RT_OK);
    expect_floats(2, want);
}

Test(csv, header_is_found_by_itself) {
    struct rt_csv c = plain();
    const float want[] = {1, 2};
    cr_expect_eq(load("a,b\n1,2\n", &field, &c), RT_OK);
    expect_floats(1, want);
}

Test(csv, columns_by_name_range_and_order) {
    struct rt_column cols[] = {{"c", 0, 0}, {NULL, 0, 1}};
    struct rt_csv c = plain();
    c.columns = cols;
    c.n_columns = 2;
    const float want[] = {3, 1, 6, 4};
    cr_expect_eq(load("a,b,\"c\"\n1,2,3\n4,5,6\n", &field, &c), RT_OK);
    expect_floats(2, want);
    struct rt_column rest = {NULL, 1, -1};
    c.columns = &rest;
    c.n_columns = 1;
    const float rest_want[] = {2, 3, 5, 6};
    cr_expect_eq(load("a,b,\"c\"\n1,2,3\n4,5,6\n", &field, &c), RT_OK);
    expect_floats(2, rest_want);
}

Test(csv, quotes_hold_separators_newlines_and_quotes) {
    static const char *const names[] = {"a,b", "say \"hi\"", "two\nlines"};
    struct rt_field f = {"d.k", RT_I32, 0, {0}, NULL, 0};
    struct rt_column one = {NULL, 1, 1};
    struct rt_csv c = plain();
    c.columns = &one;
    c.header = RT_HEADER_NO;
    c.classes = names;
    c.n_classes = 3;
    cr_expect_eq(load("\"1\",\"say \"\"hi\"\"\"\n2,\"two\nlines\" \n3,\"a,b\"\n", &f, &c), RT_OK,
                 "%s", rt->message);
    cr_assert_eq(got.rows, 3);
    cr_expect_eq(((int32_t *)got.data)[0], 1);
    cr_expect_eq(((int32_t *)got.data)[1], 2);
    cr_expect_eq(((int32_t *)got.data)[2], 0);
    expect_message(load("1,\"a,b\"\n2,\"a\n3,x\n", &f, &c),
                   "t.csv:2: the quote that opens here is never closed");
    expect_message(load("1,\"two\nlines\"\n2,other\n", &f, &c),
                   "t.csv:3: column 1: 'other' is not in");
}

Test(csv, separator_skip_and_missing) {
    struct rt_csv c = plain();
    c.separator = ';';
    c.skip = 2;
    c.has_missing = true;
    c.missing = -1;
    const float want[] = {1, -1, -1, 4};
    cr_expect_eq(load("# about\n\"x;\n1;\n;4\n", &field, &c), RT_OK, "%s", rt->message);
    expect_floats(2, want);
}

Test(csv, bad_cells) {
    struct rt_csv c = plain();
    expect_message(load("x,y\n1,2\n3,abc\n", &field, &c),
                   "t.csv:3: column 1 ('y'): 'abc' is not a number");
    expect_message(load("1,2\n3,\n", &field, &c),
                   "t.csv:2: column 1: '' is empty (missing= gives a value)");
    expect_message(load("1,y\n3,4\n", &field, &c),
                   "t.csv:1: column 1: 'y' is not a number; if line 1 names");
    expect_message(load("1,2\n3\n", &field, &c), "t.csv:2: 1 columns, the first line has 2");
    expect_message(load("1,2\n3,4,5\n", &field, &c), "t.csv:2: 3 columns");
    const char *const not_numbers[] = {"0x10,1", "1e,1",  "--1,1", "1.2.3,1", "1 2,1", "-,1",
                                       ".,1",    "inf,1", "nan,1", "1e5e5,1", "+,1"};
    for (size_t i = 0; i < sizeof not_numbers / sizeof *not_numbers; i++)
        expect_message(load(not_numbers[i], &field, &c), "is not a number");
    expect_message(load("1,2\n1e999,4\n", &field, &c), "t.csv:2: column 0: '1e999' is too large");
    expect_message(load("1,2\n4,-1e39\n", &field, &c), "t.csv:2: column 1: '-1e39' is too large");
    expect_message(load("1,2\n\"3,4\n5,6\n", &field, &c), "t.csv:2: the quote that opens here");
    expect_message(load("1,2\n\"3\"x,4\n", &field, &c), "t.csv:2: something follows a closing");
    expect_message(load("1,2,3\n4,5,\"say \"hi\"\"\n", &field, &c), "t.csv:2: something follows");
    expect_message(load("a,\"b\"c\n1,2\n", &field, &c), "t.csv:1: something follows");
    expect_message(load("1,2\r3,4\r", &field, &c),
                   "t.csv:1: column 1: '2?3' is not a number; lines end in LF or CRLF");
    expect_message(load("\xff\xfe" "1", &field, &c), "t.csv' is UTF-16 text: UTF-8 is wanted");
    expect_message(load("a,b\n", &field, &c), "'t.csv': no rows, only the header in line 1");
    rt_files_drop(rt);
    save("1,2\n3,4\0\n", 9);
    expect_message(rt_csv_read(rt, &field, &c, &got), "t.csv:2: column 1: '4?' is not a number");
    const float quoted[] = {1, 2};
    cr_expect_eq(load("\"1\" ,\t\"2\" \r\n", &field, &c), RT_OK, "%s", rt->message);
    expect_floats(1, quoted);
}

/* Not guessed: is the first line names, or a row of classes? */
Test(csv, classes_in_the_first_line) {
    static const char *const names[] = {"cat", "dog"};
    struct rt_field f = {"d.k", RT_I32, 0, {0}, NULL, 0};
    struct rt_column one = {NULL, 0, 1};
    struct rt_csv c = plain();
    c.columns = &one;
    c.classes = names;
    c.n_classes = 2;
    expect_message(load("dog,x\ncat,y\n", &f, &c),
                   "t.csv:1: column 0: 'dog' is in classes=, and no cell of the line is a number");
    cr_expect_eq(load("animal,dog\ncat,y\n", &f, &c), RT_OK, "%s", rt->message);
    cr_expect_eq(load("dog,1\ncat,2\n", &f, &c), RT_OK, "%s", rt->message);
    cr_expect_eq(got.rows, 2);
    c.header = RT_HEADER_YES;
    cr_expect_eq(load("dog,x\ncat,y\n", &f, &c), RT_OK, "%s", rt->message);
    cr_expect_eq(got.rows, 1);
    c.header = RT_HEADER_NO;
    cr_expect_eq(load("dog,x\ncat,y\n", &f, &c), RT_OK, "%s", rt->message);
    cr_expect_eq(got.rows, 2);
}

Test(csv, wrong_columns) {
    struct rt_csv c = plain();
    struct rt_field image = {"digits.image", RT_F32, 3, {8, 8, 1}, NULL, 0};
    struct rt_column many = {NULL, 0, 64};
    expect_message(
        load("1,2\n", &image, &c),
        "digits.image: declared [8, 8, 1] (64 numbers a row), 2 columns of 't.csv' are asked for");
    c.columns = &many;
    expect_message(load("1,2\n", &image, &c),
                   "digits.image: declared [8, 8, 1] (64 numbers a row), 't.csv' has 2 columns, "
                   "from 0; "
                   "column 63 is asked for");
    struct rt_column named[] = {{"a", 0, 0}, {"z", 0, 0}};
    c.columns = named;
    c.n_columns = 2;
    expect_message(load("a,b\n1,2\n", &field, &c), "'t.csv' has no column 'z'; it has a, b");
    expect_message(load("7,b\n1,2\n", &field, &c),
                   "'a' is asked for by name, but the first line is not");
    expect_message(load("\n a,z,b, a \n1,2,3,4\n", &field, &c),
                   "t.csv:2: columns 0 and 3 are both called 'a': ask for one by its number");
    struct rt_column others[] = {{"b", 0, 0}, {"z", 0, 0}}; /* what nobody asks for may be twice */
    c.columns = others;
    cr_expect_eq(load("a,z,b,a\n1,2,3,4\n", &field, &c), RT_OK, "%s", rt->message);
    struct rt_column twice[] = {{NULL, 0, 1}, {NULL, 0, 1}};
    c.columns = twice;
    expect_message(load("1,2\n", &field, &c), "column 0 is asked for twice");
    expect_message(load("", &field, &c), "'t.csv': no rows");
    expect_message(load("\n\r\n", &field, &c), "'t.csv': no rows");
}

Test(csv, integers_and_their_range) {
    struct rt_field f = {"digits.label", RT_U8, 0, {0}, "digits.nn:31", 10};
    struct rt_column one = {NULL, 0, 1};
    struct rt_csv c = plain();
    c.columns = &one;
    cr_expect_eq(load("3\n9\n2.0\n", &f, &c), RT_OK);
    cr_expect_eq(((uint8_t *)got.data)[1], 9);
    expect_message(load("3\n12\n", &f, &c),
                   "t.csv:2: column 0: '12' does not fit: digits.label must be 0..9, because of "
                   "digits.nn:31");
    expect_message(load("label\n\n3\n10\n", &f, &c), "t.csv:4: column 0 ('label'): '10' does not");
    c.has_missing = true;
    c.missing = 11;
    expect_message(load("3\n\"\"\n", &f, &c),
                   "t.csv:2: column 0: '' stands for 11, which does not fit: digits.label must be");
    c.has_missing = false;
    expect_message(load("3\n2.5\n", &f, &c), "t.csv:2: column 0: '2.5' does not fit an int");
    expect_message(load("3\n-1\n", &f, &c), "'-1' does not fit: digits.label must be 0..9");
    f.range_why = NULL;
    expect_message(load("3\n-1\n", &f, &c), "'-1' does not fit u8");
    expect_message(load("3\n256\n", &f, &c), "'256' does not fit u8");
}

/* Against strtof, at digits where two roundings (to f64, then to f32) would go wrong too. */
Test(csv, numbers_are_rounded_once) {
    struct rt_field f = {"d.x", RT_F32, 0, {0}, NULL, 0};
    struct rt_column one = {NULL, 0, 1};
    struct rt_csv c = plain();
    c.columns = &one;
    static char text[400000];
    size_t n = 0;
    const char *const hard[] = {"1.00000005960464477539",
                                "1.00000005960464477540",
                                "16777217",
                                "8388609.5",
                                "0.50000008940696716308",
                                "1e-30",
                                "3.4028235e38",
                                "123456789012345678901234567890",
                                "0.000000000000000000000000000001",
                                "7.038531e-26",
                                "1.17549435e-38",
                                "9007199254740993"};
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++)
        n += (size_t)sprintf(text + n, "%s\n", hard[i]);
    uint32_t s = 7;
    for (int i = 0; i < 20000; i++) {
        s = s * 1664525u + 1013904223u;
        n += (size_t)sprintf(text + n, "%.*g\n", 1 + (int)(s >> 28),
                             ldexp((double)s, (int)(s % 90) - 60));
    }
    cr_assert_eq(load(text, &f, &c), RT_OK, "%s", rt->message);
    const char *p = text;
    for (int64_t i = 0; i < got.rows; i++) {
        char *after;
        float want = strtof(p, &after);
        cr_expect_eq(((float *)got.data)[i], want, "line %lld: %.30s", (long long)i + 1, p);
        p = after + 1;
    }
}

Test(csv, gzip_whole_members_and_cut_short) {
    struct rt_csv c = plain();
    char name[128], bytes[4096];
    snprintf(name, sizeof name, "%s/t.csv", folder);
    gzFile z = gzopen(name, "wb");
    for (int i = 0; i < 3000; i++)
        gzprintf(z, "%d,%d\n", i, i * 7 % 1000);
    gzclose(z);
    z = gzopen(name, "ab"); /* a second member */
    gzprintf(z, "5,6\n");
    gzclose(z);
    cr_expect_eq(rt_csv_read(rt, &field, &c, &got), RT_OK, "%s", rt->message);
    cr_expect_eq(got.rows, 3001);
    cr_expect_eq(((float *)got.data)[2 * 2999 + 1], (float)(2999 * 7 % 1000));
    rt_source_free(rt, &got);
    rt_files_drop(rt);
    FILE *f = fopen(name, "rb");
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    save(bytes, n / 2);
    expect_message(rt_csv_read(rt, &field, &c, &got),
                   "t.csv' is not a whole gzip file: it is cut short");
    bytes[n / 3] ^= 0x55;
    save(bytes, n);
    expect_message(rt_csv_read(rt, &field, &c, &got), "t.csv' is not a whole gzip file: it is ");
}

Test(csv, absent_file_and_no_memory) {
    struct rt_csv c = plain();
    c.path = "absent.csv";
    cr_expect_eq(rt_csv_read(rt, &field, &c, &got), RT_ENV);
    cr_expect(strstr(rt->message, "absent.csv': No such file") != NULL, "%s", rt->message);
    c.path = "t.csv";
    save("1,2\n3,4\n", 8);
    h.limit = 60;
    cr_expect_eq(rt_csv_read(rt, &field, &c, &got), RT_ENV);
    h.limit = 0;
}

/* No text may crash the reader or make it read outside. */
Test(csv, random_texts) {
    static const char alphabet[] = "0123,,\n\n\"\" .e-x\r\t\xef\xbb";
    struct rt_csv c = plain();
    struct rt_column cols[] = {{"0", 0, 0}, {NULL, 1, -1}};
    uint32_t s = 3;
    for (int round = 0; round < 20000; round++) {
        char text[64];
        s = s * 1664525u + 1013904223u;
        size_t n = s >> 27;
        for (size_t i = 0; i < n; i++) {
            s = s * 1664525u + 1013904223u;
            text[i] = alphabet[(s >> 20) % (sizeof alphabet - 1)];
        }
        c.columns = round % 3 ? &two : cols;
        c.n_columns = round % 3 ? 1 : 2;
        c.has_missing = round % 2;
        c.skip = round % 5 == 0;
        rt_source_free(rt, &got);
        rt_files_drop(rt);
        /* In memory, to be quick: as rt_file_get would hold it. */
        struct rt_file *f = (struct rt_file *)rt->alloc(rt, sizeof *f);
        f->next = NULL;
        char path[128];
        snprintf(path, sizeof path, "%s/t.csv", folder);
        f->path = path;
        f->text = (char *)rt->alloc(rt, n + 1);
        memcpy(f->text, text, n);
        f->text[n] = 0;
        f->size = n;
        rt->files = f;
        enum rt_status status = rt_csv_read(rt, &field, &c, &got);
        cr_expect(status == RT_OK || status == RT_USAGE);
        cr_expect((status == RT_OK) == (got.data != NULL));
    }
}

#include "rt_end.h"
