/* The oracle's run of whole programs, the files of traces, and the lock-step comparison. */
#include "front.h"
#include "ref.h"
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- programs ---- */

static Compiler *compiled(const char *text) {
    Arena *a = arena_new();
    Compiler *c = NEW(a, Compiler);
    char *path = arena_printf(a, "/tmp/test_ref_%ld.nn", (long)getpid());
    bool unreadable;
    cr_assert(write_file(path, text, strlen(text)));
    *c = (Compiler){.arena = a,
                    .names = interner_new(a),
                    .diag = diag_new(a),
                    .settings = {.input = path, .target = "ref"},
                    .lowered = NEW(a, Lowered)};
    c->program = front_end(c, &unreadable);
    diag_flush(c->diag, stderr, false);
    cr_assert(c->program);
    unlink(path);
    return c;
}

/* The exit code of a run with up to two words of arguments. */
static int run(const char *text, bool single, const char *option, const char *value) {
    char *argv[] = {(char *)"model", (char *)option, (char *)value, NULL};
    int status = ref_run(compiled(text), single, option ? 3 : 1, argv);
    fflush(NULL);
    return status;
}

Test(ref, statements, .init = cr_redirect_stdout) {
    const char *text = "option n = 4\n"
                       "param w: [3] = [1.0, 2.0, 4.0]\n"
                       "task train {\n"
                       "    var total = 0\n"
                       "    for i in 0..n {\n"
                       "        if i == 2 { continue }\n"
                       "        total = total + i * i\n"
                       "    }\n"
                       "    print \"total {total}\"\n"
                       "    for i in 0..n reverse { write \"{i} \" }\n"
                       "    print \"\"\n"
                       "    var k = 0\n"
                       "    var last = 0.0\n"
                       "    while k < 100 {\n"
                       "        k = k + 1\n"
                       "        last = sum(w)\n"
                       "        w = w * 0.5\n"
                       "        every 2 { write \"[{k}]\" }\n"
                       "        if last < 1.0 { break }\n"
                       "    }\n"
                       "    print \" stopped at {k}: {last:.4f}, {w}\"\n"
                       "    expect last > 1.0, \"larger than one\"\n"
                       "}\n";
    cr_assert_eq(run(text, false, "--n", "5"), REF_EXPECT);
    cr_assert_stdout_eq_str(
        "total 26\n4 3 2 1 0 \n[2][4] stopped at 4: 0.8750, [0.0625 0.125  0.25  ]\n"
        "failed: larger than one (found 0.875, wanted > 1.0)\n");
}

/* Writes are made at once, and values of earlier regions stay what they were. */
Test(ref, order_of_writes, .init = cr_redirect_stdout) {
    const char *text = "param a: [2] = [1.0, 2.0]\n"
                       "param b: [2] = [3.0, 4.0]\n"
                       "task train {\n"
                       "    let before = sum(a)\n"
                       "    print \"{before}\"\n"
                       "    for i in 0..3 {\n"
                       "        let t = a\n"
                       "        a = b\n"
                       "        b = t\n"
                       "    }\n"
                       "    print \"{a} {b} {before + sum(b)}\"\n"
                       "}\n";
    cr_assert_eq(run(text, false, NULL, NULL), REF_OK);
    cr_assert_stdout_eq_str("3.0\n[3. 4.] [1. 2.] 6.0\n");
}

Test(ref, division_by_zero, .init = cr_redirect_stderr) {
    const char *text = "option n = 0\n"
                       "task train {\n"
                       "    let ok = n != 0 and 3 // n > 1\n"
                       "    if ok { print \"never\" }\n"
                       "    print \"{3 // n}\"\n"
                       "}\n";
    cr_assert_eq(run(text, false, NULL, NULL), REF_USAGE);
    char *found = NULL;
    size_t size = 0;
    FILE *err = cr_get_redirected_stderr();
    cr_assert(getline(&found, &size, err) > 0);
    cr_assert(strstr(found, ":5: integer division by zero"), "%s", found);
    free(found);
}

/* ---- data ---- */

static const char line_fit[] =
    "option goal = 1e-3\n"
    "data line(x: real, y: real) {\n"
    "    all {\n"
    "        x = iota(50) / 50\n"
    "        y = 3 * (iota(50) / 50) - 1\n"
    "    }\n"
    "    split all { train: 0.8, test: 0.2 }\n"
    "}\n"
    "param a, b: real = normal(0, 1)\n"
    "task train {\n"
    "    var rounds = 0\n"
    "    for epoch in 0..60 {\n"
    "        for (x, y) in line.train.batches(8, shuffle=true) {\n"
    "            let loss = mean((a * x + b - y)^2)\n"
    "            minimize loss with sgd(0.3)\n"
    "            rounds = rounds + 1\n"
    "        }\n"
    "    }\n"
    "    let (sum_x, n) = sum for (x, y) in line.test.batches(4) { yield sum(x), sum(x * 0 + 1) }\n"
    "    print \"{rounds} {line.train.rows} {line.test.rows} {n} {a:.2f} {b:.2f} {sum_x < 10}\"\n"
    "    expect abs(a - 3) < goal, \"slope\"\n"
    "}\n";

Test(ref, training_and_a_smaller_last_batch, .init = cr_redirect_stdout) {
    cr_assert_eq(run(line_fit, false, NULL, NULL), REF_OK);
    cr_assert_stdout_eq_str("300 40 10 10.0 3.00 -1.00 true\nok: slope\n");
}

Test(ref, training_in_f32, .init = cr_redirect_stdout) {
    cr_assert_eq(run(line_fit, true, "--seed", "7"), REF_OK);
    cr_assert_stdout_eq_str("300 40 10 10.0 3.00 -1.00 true\nok: slope\n");
}

/* ---- regions from the outside ---- */

static Ref *started(const char *text, bool single, const char *seed) {
    Compiler *c = compiled(text);
    Ref *r = ref_new(c->arena, c, single);
    char *argv[] = {(char *)"model", (char *)"--seed", (char *)seed, NULL};
    const Task *task;
    bool stop;
    cr_assert(ref_data_command_line(r, 3, argv, &task, &stop));
    cr_assert(ref_block(r, r->p->start));
    return r;
}

static const char small_step[] = "param w: [3, 4] = normal(0, 1)\n"
                                 "param b: [4] = normal(0, 1)\n"
                                 "const rate = 0.1\n"
                                 "task train {\n"
                                 "    for i in 0..4 {\n"
                                 "        let y = tanh(w + b)\n"
                                 "        minimize mean(y * y) with sgd(rate)\n"
                                 "    }\n"
                                 "}\n";

Test(ref, seeds) {
    const Ref *r[] = {started(small_step, false, "1"), started(small_step, false, "1"),
                      started(small_step, true, "1"), started(small_step, false, "2")};
    for (int i = 0; i < 12; i++) {
        const double x = r[0]->home[0]->at[i];
        cr_assert_eq(r[1]->home[0]->at[i], x);
        cr_assert_float_eq(r[2]->home[0]->at[i], x, 1e-6);
        cr_assert_float_neq(r[3]->home[0]->at[i], x, 1e-6);
    }
}

static const Region *training_region(const Ref *r) {
    int i = 0;
    while (i < r->p->regions.n && !(r->p->regions.at[i]->task && r->p->regions.at[i]->writes.n))
        i++;
    cr_assert_lt(i, r->p->regions.n);
    return r->p->regions.at[i];
}

/* What diverges changes nothing. */
Test(ref, loss_that_is_not_finite) {
    Ref *r = started("param w: [2] = [0.5, 0.5]\n"
                     "task train {\n"
                     "    let far = sum(w) * 1e200 * 1e200\n"
                     "    minimize far with sgd(0.1)\n"
                     "}\n",
                     false, "0");
    cr_assert_not(ref_region(r, training_region(r)));
    cr_assert_eq(r->status, REF_DIVERGED);
    cr_assert(strstr(r->message, "far is inf at step 1"), "%s", r->message);
    cr_assert_eq(r->home[0]->at[0], 0.5);
}

/* ---- files of traces ---- */

typedef struct File {
    Text header, data;
    int tensors;
} File;

static void add_tensor(File *f, const char *key, const Tensor *t) {
    size_t from = f->data.n;
    for (int64_t i = 0; i < shape_elements(&t->shape); i++) {
        float x = (float)t->at[i];
        text_addn(&f->data, (const char *)&x, sizeof x);
    }
    text_printf(&f->header, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[", f->tensors++ ? "," : "{",
                key);
    for (int i = 0; i < t->shape.rank; i++)
        text_printf(&f->header, "%s%lld", i ? "," : "", (long long)t->shape.dim[i].n);
    text_printf(&f->header, "],\"data_offsets\":[%zu,%zu]}", from, f->data.n);
}

static void write_raw(const char *path, uint64_t length, const char *header, const char *data,
                      size_t n) {
    FILE *to = fopen(path, "wb");
    cr_assert(to);
    for (int i = 0; i < 8; i++)
        fputc((int)(length >> (8 * i) & 255), to);
    fputs(header, to);
    fwrite(data, 1, n, to);
    fclose(to);
}

static void write_homes(const Ref *r, const char *folder, const char *side) {
    File f = {.header.arena = r->arena, .data.arena = r->arena};
    for (int i = 0; i < r->p->homes.n; i++)
        add_tensor(&f, r->p->homes.at[i]->path, r->home[i]);
    for (int i = 0; i < r->p->scalars.n; i++) {
        const Tensor t = {.shape = shape_scalar(), .at = &r->scalar[i]};
        add_tensor(&f, arena_printf(r->arena, "scalars.%s", r->p->scalars.at[i]->name), &t);
    }
    text_add(&f.header, "}");
    write_raw(arena_printf(r->arena, "%s/%s-3-%s.safetensors", folder, training_region(r)->name,
                           side),
              f.header.n, f.header.at, f.data.at, f.data.n);
}

/* The comparison's exit code when a trainer in f32 is `off` by so much at one weight of home 0. */
static int compared(const char *text, int weight, double off, char *printed, size_t room) {
    Ref *r = started(text, true, "5");
    const char *folder = arena_printf(r->arena, "/tmp/test_ref_%ld", (long)getpid());
    memset(printed, 0, room);
    cr_assert_eq(mkdir(folder, 0777), 0);
    write_homes(r, folder, "before");
    cr_assert(ref_region(r, training_region(r)));
    r->home[0]->at[weight] += off;
    write_homes(r, folder, "after");
    FILE *out = fmemopen(printed, room, "w");
    Compiler c = *r->c;
    char *model = arena_printf(r->arena, "%s/model.nn", folder);
    cr_assert(write_file(model, text, strlen(text)));
    c.settings.input = model;
    int status = lockstep(&c, folder, 5, out);
    fclose(out);
    cr_assert_eq(system(arena_printf(r->arena, "rm -r '%s'", folder)), 0);
    return status;
}

Test(lockstep, same_step_is_right) {
    char out[1000];
    cr_assert_eq(compared(small_step, 5, 0, out, sizeof out), 0, "%s", out);
    cr_assert(strstr(out, "ok, 3 of 3 tensors"), "%s", out);
    cr_assert(strstr(out, "1 executions, 0 wrong"), "%s", out);
}

/* The update is some hundredths: a thousandth of it is seen. */
Test(lockstep, wrong_weight_is_named) {
    char out[1000];
    cr_assert_eq(compared(small_step, 5, 1e-5, out, sizeof out), 1, "%s", out);
    cr_assert(strstr(out, "WRONG: 3 of 3 tensors, worst w[5]"), "%s", out);
    cr_assert_eq(compared(small_step, 5, (double)NAN, out, sizeof out), 1, "%s", out);
    cr_assert(strstr(out, "worst w[5]: error inf"), "%s", out);
}

/* Where all but rounding cancels, rounding may differ and more may not. */
Test(lockstep, cancellation) {
    char out[1000];
    const char *text = "param r: real = 0.0\n"
                       "param w: [3] = [1.0, 2.5, 2.9]\n"
                       "task train { r = abs(sum(softmax(w)) - 1.0) }\n";
    cr_assert_eq(compared(text, 0, 0, out, sizeof out), 0, "%s", out);
    cr_assert_eq(compared(text, 0, 0x1p-23, out, sizeof out), 0, "%s", out);
    cr_assert_eq(compared(text, 0, 1e-6, out, sizeof out), 1, "%s", out);
}

Test(lockstep, no_traces, .init = cr_redirect_stderr) {
    Ref *r = started(small_step, true, "5");
    const char *folder = arena_printf(r->arena, "/tmp/test_ref_%ld", (long)getpid());
    cr_assert_eq(mkdir(folder, 0777), 0);
    const char *model = arena_printf(r->arena, "%s/model.nn", folder);
    cr_assert(write_file(model, small_step, strlen(small_step)));
    Compiler c = *r->c;
    c.settings.input = model;
    cr_assert_eq(lockstep(&c, folder, 5, stdout), 2);
    cr_assert_eq(lockstep(&c, "/nonexistent", 5, stdout), 2);
    unlink(model);
    rmdir(folder);
}

static const char *why_not(uint64_t length, const char *header, size_t data) {
    Arena *a = arena_new();
    const char *path = arena_printf(a, "/tmp/test_ref_%ld.safetensors", (long)getpid());
    write_raw(path, length ? length : strlen(header), header, "0123456789abcdef", data);
    Trace t;
    const char *why = NULL;
    int status = trace_read(a, path, &t, &why);
    unlink(path);
    cr_assert_eq(status, why ? REF_USAGE : REF_OK);
    return why ? why : "";
}

Test(trace, good_files) {
    cr_assert_str_eq(why_not(0, "{}", 0), "");
    cr_assert_str_eq(why_not(0, "{\"__metadata__\":{\"a\":\"b\"}, \"x\": {\"dtype\": \"I16\", "
                                "\"shape\": [2, 4], \"data_offsets\": [0, 16]}}  ",
                             16),
                     "");
    cr_assert_str_eq(
        why_not(0, "{\"x\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]},"
                   "\"y\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[8,16]}}", 16), "");
}

Test(trace, bad_files) {
    static const char *const headers[] = {
        "",
        "{",
        "[]",
        "{\"x",
        "{\"x\":{}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,20]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,16]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[5],\"data_offsets\":[0,16]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[16,0]}}",
        "{\"x\":{\"dtype\":\"C64\",\"shape\":[2],\"data_offsets\":[0,16]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[-4],\"data_offsets\":[0,16]}}",
        "{\"x\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,16]}}",
        "{\"x\":{\"dtype\":\"U8\",\"shape\":[99999999999999999999],\"data_offsets\":[0,16]}}",
        "{\"x\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,16],\"data_offsets\":[0,16]}}",
        "{\"x\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[8,16]}}",
        "{\"x\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]}}",
        "{\"x\":{\"dtype\":\"U8\",\"shape\":[16],\"data_offsets\":[0,16]}} x",
    };
    for (int i = 0; i < COUNT_OF(headers); i++)
        cr_assert_str_not_empty(why_not(0, headers[i], 16), "%s", headers[i]);
    Trace none;
    const char *why;
    cr_assert_eq(trace_read(arena_new(), "/nonexistent", &none, &why), REF_ENVIRONMENT);
    cr_assert_str_not_empty(why_not(1000, "{}", 0));
    cr_assert_str_not_empty(why_not(UINT64_MAX, "{}", 0));
}
