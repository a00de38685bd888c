/* test_store.c: safetensors files: there and back in both layouts, and files that do not fit. */
#define _GNU_SOURCE 1
#include <criterion/criterion.h>

#include "host.h"
#include "rt_store.h"

static struct host h;
static struct rt *rt;
static char folder[64], path[128];

static float w[2 * 5 * 16], bias[20], panel[48];
static int32_t count[1] = {42};
static struct rt_tensor model[] = {
    {"net.linear[0].w", RT_F32, RT_PANELS16, 2, {5, 20}, w},
    {"net.linear[0].b", RT_F32, RT_ROW_MAJOR, 1, {20}, bias},
    {"net.count", RT_I32, RT_ROW_MAJOR, 0, {0}, count},
    {"network.w", RT_F32, RT_PANELS16, 1, {40}, panel},
};
enum { N = 4 };

static void begin(void) {
    rt = host_init(&h);
    cr_assert(host_folder(folder, "store"));
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    float row_major[100];
    for (int i = 0; i < 100; i++)
        row_major[i] = (float)i + 0.5f;
    rt_tensor_import(&model[0], row_major);
    rt_tensor_import(&model[1], row_major + 50);
    rt_tensor_import(&model[3], row_major + 10);
    count[0] = 42;
}

static void end(void) {
    unlink(path);
    cr_expect_eq(rmdir(folder), 0, "a temporary file is left");
    cr_expect_eq(h.live, 0);
}

TestSuite(store, .init = begin, .fini = end);

/* Writes a file with this header and `n` zero bytes after it. */
static void write_file(const char *header, size_t n) {
    FILE *f = fopen(path, "wb");
    uint64_t size = strlen(header);
    cr_assert(f != NULL);
    fwrite(&size, 8, 1, f);
    fwrite(header, 1, size, f);
    for (size_t i = 0; i < n; i++)
        fputc(0, f);
    fclose(f);
}

static void expect_refused(const char *header, size_t n, int tensors, const char *want) {
    float kept = bias[0];
    write_file(header, n);
    cr_expect_eq(rt_load(rt, path, model, tensors, NULL), RT_USAGE);
    cr_expect(strstr(rt->message, want) != NULL, "got    %s\nwanted %s", rt->message, want);
    cr_expect_eq(bias[0], kept);
    cr_expect_eq(count[0], 42);
}

Test(store, panels) {
    float back[100];
    cr_expect_eq(w[0], 0.5f);
    cr_expect_eq(w[16], 20.5f);        /* row 1, column 0 */
    cr_expect_eq(w[5 * 16], 16.5f);    /* row 0, column 16 */
    cr_expect_eq(w[5 * 16 + 4], 0.0f); /* padding */
    cr_expect_eq(rt_tensor_bytes(&model[0]), sizeof w);
    cr_expect_eq(rt_tensor_bytes(&model[3]), sizeof panel);
    rt_tensor_export(&model[0], back);
    for (int i = 0; i < 100; i++)
        cr_expect_eq(back[i], (float)i + 0.5f);
}

Test(store, there_and_back) {
    float kept[sizeof w / 4], kept_bias[20];
    memcpy(kept, w, sizeof w);
    memcpy(kept_bias, bias, sizeof bias);
    cr_expect_eq(rt_save(rt, path, model, N, NULL), RT_OK, "%s", rt->message);
    memset(w, 1, sizeof w);
    memset(bias, 1, sizeof bias);
    count[0] = 0;
    cr_expect_eq(rt_load(rt, path, model, N, NULL), RT_OK, "%s", rt->message);
    cr_expect_arr_eq(w, kept, sizeof w);
    cr_expect_arr_eq(bias, kept_bias, sizeof bias);
    cr_expect_eq(count[0], 42);
}

Test(store, one_model_of_several) {
    cr_expect_eq(rt_save(rt, path, model, N, "net"), RT_OK);
    cr_expect_eq(rt_load(rt, path, model, N, NULL), RT_USAGE);
    cr_expect(strstr(rt->message, "'network.w' is missing") != NULL, "%s", rt->message);
    cr_expect(strstr(rt->message, "net.count") == NULL);
    bias[3] = -1;
    cr_expect_eq(rt_load(rt, path, model, N, "net"), RT_OK, "%s", rt->message);
    cr_expect_eq(bias[3], 53.5f);
}

Test(store, file_is_as_the_format_says) {
    char text[4096];
    cr_expect_eq(rt_save(rt, path, model + 1, 2, NULL), RT_OK);
    FILE *f = fopen(path, "rb");
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    uint64_t head;
    memcpy(&head, text, 8);
    cr_expect_eq(head % 8, 0);
    const char *want =
        "{\"net.linear[0].b\":{\"dtype\":\"F32\",\"shape\":[20],\"data_offsets\":[0,80]},"
        "\"net.count\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[80,84]}}";
    cr_expect_eq(strncmp(text + 8, want, strlen(want)), 0, "%.*s", (int)head, text + 8);
    cr_expect_eq(n, 8 + head + 84);
    cr_expect_arr_eq(text + 8 + head, bias, 80);
}

Test(store, any_order_spaces_and_metadata) {
    write_file(" { \"__metadata__\" : {\"format\":\"pt\", \"a\":\"b\"} ,\n"
               "\"net.count\": {\"data_offsets\": [0, 4], \"shape\": [ ], \"dtype\": \"I32\"},"
               "\"net.linear[0].\\u0062\": { \"shape\": [20], \"dtype\":\"F32\", "
               "\"data_offsets\":[4,84]} } ",
               84);
    cr_expect_eq(rt_load(rt, path, model + 1, 2, NULL), RT_OK, "%s", rt->message);
    cr_expect_eq(count[0], 0);
    cr_expect_eq(bias[7], 0.0f);
}

Test(store, all_that_does_not_fit_is_named) {
    expect_refused(
        "{\"net.linear[0].b\":{\"dtype\":\"F32\",\"shape\":[21],\"data_offsets\":[0,84]},"
        "\"other.w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[84,88]}}",
        88, 3,
        "m.safetensors' does not fit: 'net.linear[0].b' is F32 [21], the model has F32 [20]; "
        "'other.w' is not in the model; 'net.linear[0].w' is missing; 'net.count' is missing");
    expect_refused("{\"net.count\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4, 3,
                   "'net.count' is F32 one number, the model has I32 one number");
}

Test(store, broken_files) {
    const char *const broken[] = {
        "",
        "{",
        "[]",
        "{\"a\"}",
        "{\"a\":{}}",
        "{\"a\":{\"dtype\":\"F32\"}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[99999999999999999999],\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}",
        "{\"a\\",
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        expect_refused(broken[i], 8, 3, "is not a whole safetensors file");
    expect_refused("{\"net.count\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[0,4]}}", 3, 3,
                   "does not fit: 'net.count' lies at bytes 0 to 4, there are 3; "
                   "'net.linear[0].w' is missing; "
                   "'net.linear[0].b' is missing");
    expect_refused("{\"net.count\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[0,3]}}", 4, 3,
                   "'net.count' has 3 bytes, its shape needs 4");
    expect_refused("{} \n x", 0, 0, "its header is wrong at byte 13");
    expect_refused("{\"a\":[]}", 0, 0, "its header is wrong at byte 13");
    FILE *f = fopen(path, "wb");
    fwrite("\xff\xff\xff\xff\xff\xff\xff\xff{}", 1, 10, f);
    fclose(f);
    cr_expect_eq(rt_load(rt, path, model, 3, NULL), RT_USAGE);
    cr_expect(strstr(rt->message, "should have 18446744073709551615 bytes, there are 2") != NULL);
    f = fopen(path, "wb");
    fwrite("1234567", 1, 7, f);
    fclose(f);
    cr_expect_eq(rt_load(rt, path, model, 3, NULL), RT_USAGE);
    cr_expect(strstr(rt->message, "8 bytes are wanted, it has 7") != NULL, "%s", rt->message);
}

/* Every byte after the header is of one tensor. */
Test(store, bytes_of_no_tensor_and_of_two) {
#define COUNT(from, to)                                                                            \
    "\"net.count\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[" #from "," #to "]}"
#define BIAS(from, to)                                                                             \
    "\"net.linear[0].b\":{\"dtype\":\"F32\",\"shape\":[20],\"data_offsets\":[" #from               \
    "," #to "]}"
    static struct rt_tensor *const two = model + 1;
    write_file("{" BIAS(4, 84) "," COUNT(0, 4) "} ", 84);
    cr_expect_eq(rt_load(rt, path, two, 2, NULL), RT_OK, "%s", rt->message);
    count[0] = 42;
    const struct {
        const char *header, *want;
        size_t bytes;
    } wrong[] = {
        {"{" BIAS(0, 80) "," COUNT(80, 84) "}",
         "m.safetensors': its tensors end at byte 84, there are 87", 87},
        {"{" BIAS(4, 84) "," COUNT(84, 88) "}", "bytes 0 to 4 belong to no tensor", 88},
        {"{" COUNT(84, 88) "," BIAS(0, 80) "}", "bytes 80 to 84 belong to no tensor", 88},
        {"{" COUNT(40, 44) "," BIAS(0, 80) "}",
         "'net.linear[0].b' and 'net.count' share bytes 40 to 44", 80},
        {"{" COUNT(0, 4) "," BIAS(4, 84) "," COUNT(0, 4) "}", "'net.count' stands there twice", 84},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_file(wrong[i].header, wrong[i].bytes);
        cr_expect_eq(rt_load(rt, path, two, 2, NULL), RT_USAGE, "%s", wrong[i].want);
        cr_expect(strstr(rt->message, wrong[i].want) != NULL, "%s", rt->message);
        cr_expect_eq(count[0], 42);
    }
    /* with one model of a file the places of the others count too */
    write_file("{" COUNT(0, 4) ",\"other.w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":"
               "[2,6]}}", 6);
    cr_expect_eq(rt_load(rt, path, model + 2, 1, "net"), RT_USAGE);
    cr_expect(strstr(rt->message, "'net.count' and 'other.w' share bytes 2 to 4") != NULL, "%s",
              rt->message);
}

/* A file cut anywhere, or with damaged bytes, changes nothing. */
Test(store, cut_and_damaged_anywhere) {
    static char good[4096], bad[4096];
    cr_expect_eq(rt_save(rt, path, model, N, NULL), RT_OK);
    FILE *f = fopen(path, "rb");
    size_t n = fread(good, 1, sizeof good, f);
    fclose(f);
    uint32_t s = 1;
    for (size_t i = 0; i < n + 4000; i++) {
        size_t size = i < n ? i : n;
        memcpy(bad, good, n);
        for (int k = 0; i >= n && k < 2; k++) {
            s = s * 1664525u + 1013904223u;
            bad[(s >> 8) % 400] = (char)(s >> 24);
        }
        f = fopen(path, "wb");
        fwrite(bad, 1, size, f);
        fclose(f);
        enum rt_status status = rt_load(rt, path, model, N, NULL);
        cr_expect(i >= n || status == RT_USAGE, "cut at %zu", i);
    }
}

Test(store, failed_save_keeps_the_old_file) {
    char gone[160], text[16];
    FILE *f = fopen(path, "wb");
    fputs("old", f);
    fclose(f);
    snprintf(gone, sizeof gone, "%s/absent/m.safetensors", folder);
    cr_expect_eq(rt_save(rt, gone, model, N, NULL), RT_ENV);
    cr_expect(strstr(rt->message, "cannot write") != NULL);
    h.limit = 8;
    cr_expect_eq(rt_save(rt, path, model, N, NULL), RT_ENV);
    h.limit = 0;
    f = fopen(path, "rb");
    cr_expect_eq(fread(text, 1, sizeof text, f), 3);
    fclose(f);
    cr_expect_eq(rt_load(rt, gone, model, N, NULL), RT_ENV);
}

#include "rt_end.h"
