/* test_cli.c: the command line: what it sets, what it answers, what it refuses. */
#define _GNU_SOURCE 1
#include <criterion/criterion.h>

#include "host.h"
#include "rt_cli.h"

static struct host h;
static struct rt *rt;
static struct rt_cli cli;
static int64_t epochs;
static double rate;
static bool verbose;
static const char *name, *output;

static const struct rt_option options[] = {
    {"epochs", RT_OPT_INT, "passes over the data", &epochs, NULL},
    {"learning_rate", RT_OPT_REAL, NULL, &rate, NULL},
    {"verbose", RT_OPT_BOOL, "says more", &verbose, NULL},
    {"name", RT_OPT_STRING, "of the run", &name, NULL},
    {"output", RT_OPT_STRING, NULL, &output, "resample, sample"},
};
static const struct rt_task tasks[] = {{"sample", NULL}, {"train", "trains"}};
static const struct rt_tensor tensors[] = {{"net.w", RT_F32, RT_ROW_MAJOR, 2, {64, 10}, NULL}};
static const struct rt_field fields[] = {{"digits.image", RT_F32, 3, {8, 8, 1}, NULL, 0},
                                         {"digits.label", RT_I32, 0, {0}, NULL, 0}};

static const char *const data[] = {"digits", "digits.csv.gz", NULL};

static void begin(void) {
    rt = host_init(&h);
    epochs = 10;
    rate = 1e-3;
    verbose = false;
    name = "";
    output = "";
    memset(&cli, 0, sizeof cli);
    cli.program = "digits";
    cli.version = "digits, made by nnc 0.1";
    cli.tasks = tasks;
    cli.n_tasks = 2;
    cli.options = options;
    cli.n_options = 5;
    cli.tensors = tensors;
    cli.n_tensors = 1;
    cli.fields = fields;
    cli.n_fields = 2;
    cli.data = data;
}

static void end(void) {
    cr_expect_eq(h.live, 0);
}

TestSuite(cli, .init = begin, .fini = end);

/* Parses words that are separated by single spaces. */
static enum rt_status parse(const char *line) {
    static char text[256];
    char *argv[64];
    int argc = 1;
    argv[0] = (char *)(uintptr_t) "digits";
    snprintf(text, sizeof text, "%s", line);
    for (char *p = strtok(text, " "); p && argc < 63; p = strtok(NULL, " "))
        argv[argc++] = p;
    argv[argc] = NULL;
    return rt_cli_parse(rt, &cli, argc, argv);
}

static void expect_refused(const char *line, const char *want) {
    cr_expect_eq(parse(line), RT_USAGE, "%s", line);
    cr_expect(strstr(rt->message, want) != NULL, "%s\ngot    %s\nwanted %s", line, rt->message,
              want);
}

Test(cli, nothing_given) {
    cr_expect_eq(parse(""), RT_OK);
    cr_expect_eq(cli.task, 1, "train is the default task");
    cr_expect_eq(epochs, 10);
    cr_expect_eq(rt->threads, rt_cores());
    cr_expect_eq(cli.n_trace_steps, 4);
    cr_expect(!cli.stop && !rt->quiet && !rt->exact && !rt->untrained);
    cr_expect(!cli.trace_dir && !cli.log);
}

Test(cli, options_of_the_program) {
    cr_expect_eq(parse("--epochs 20 --learning-rate -0.5 --verbose sample --name=a=b"), RT_OK, "%s",
                 rt->message);
    cr_expect_eq(epochs, 20);
    cr_expect_eq(rate, -0.5);
    cr_expect(verbose);
    cr_expect_eq(cli.task, 0);
    cr_expect_str_eq(name, "a=b");
    cr_expect_eq(parse("sample --epochs=-3 --learning_rate 1e-2 --no-verbose -o y.npy"), RT_OK);
    cr_expect_eq(epochs, -3);
    cr_expect_eq(rate, 1e-2);
    cr_expect(!verbose);
    cr_expect_str_eq(output, "y.npy");
    output = "";
    cr_expect_eq(parse("--verbose true train"), RT_OK);
    cr_expect(verbose);
    cr_expect_eq(parse("--verbose false"), RT_OK);
    cr_expect(!verbose);
}

Test(cli, options_of_every_trainer) {
    cr_expect_eq(
        parse("--seed 7 --threads 3 --quiet --exact --untrained --log l.jsonl --trace out "
              "--trace-steps 1,5 --data /d --data digits=/e/x.csv --load w.st --load net=a/b=c.st"),
        RT_OK, "%s", rt->message);
    cr_expect(rt->seed == 7 && rt->threads == 3 && rt->quiet && rt->exact && rt->untrained);
    cr_expect_str_eq(cli.log, "l.jsonl");
    cr_expect_str_eq(cli.trace_dir, "out");
    cr_expect(cli.n_trace_steps == 2 && cli.trace_steps[1] == 5);
    cr_expect_eq(rt->data_paths, 2);
    cr_expect(!rt->data_path[0].name);
    cr_expect_str_eq(rt->data_path[1].path, "/e/x.csv");
    cr_expect_eq(rt->data_path[1].name_size, 6);
    cr_expect_eq(cli.n_load, 2);
    cr_expect(!cli.load[0].name);
    cr_expect_str_eq(cli.load[1].path, "a/b=c.st");
}

Test(cli, wrong_use) {
    expect_refused("--epoch 3", "unknown option --epoch; did you mean --epochs?");
    expect_refused("--tread 3", "did you mean --threads?");
    expect_refused("--xyzzy", "unknown option --xyzzy (--help lists them all)");
    expect_refused("--epochs", "--epochs needs a whole number");
    expect_refused("--epochs --quiet", "--epochs needs a whole number");
    expect_refused("--epochs 2.5", "--epochs needs a whole number, not '2.5'");
    expect_refused("--epochs 99999999999999999999",
                   "--epochs must be -9223372036854775808 to 9223372036854775807: "
                   "99999999999999999999 is too large");
    expect_refused("--epochs -99999999999999999999", "-99999999999999999999 is too small");
    expect_refused("--seed 9223372036854775808",
                   "--seed must be 0 to 9223372036854775807: 9223372036854775808 is too large");
    expect_refused("--threads 257", "--threads must be 1 to 256: 257 is too large");
    expect_refused("--learning-rate 1e999", "--learning-rate must be -1.79e308 to 1.79e308: 1e999");
    expect_refused("--learning-rate -1e999", "-1e999 is too small");
    expect_refused("--trace-steps 1,99999999999999999999", "steps of 1 to 9223372036854775807");
    expect_refused("--learning-rate fast", "--learning-rate needs a number, not 'fast'");
    expect_refused("--learning-rate nan", "needs a number");
    expect_refused("--verbose=yes", "--verbose is true or false, not 'yes'");
    expect_refused("--threads 0", "--threads must be 1 to 256: 0 is too small");
    expect_refused("--seed -1", "--seed must be 0 to");
    expect_refused("--no-epochs", "unknown option");
    expect_refused("trian", "unknown task 'trian'; did you mean train?");
    expect_refused("train sample", "one task at a time: 'sample' stands after 'train'");
    expect_refused("-e 3", "'-e' is not an option");
    expect_refused("--trace-steps 1,x", "--trace-steps needs up to 64 steps");
    expect_refused("--trace-steps 0", "--trace-steps needs");
    expect_refused("--", "unknown option");
    expect_refused("--name", "--name needs a text");
    expect_refused("-o y.npy", "--output is for resample, sample, not for train");
    expect_refused("-o y.npy train", "--output is for resample, sample, not for train");
    begin();
    cr_expect_eq(parse("-o y.npy sample"), RT_OK, "%s", rt->message);
    begin();
    expect_refused("--trace-steps 3", "--trace-steps is for --trace DIR, which is not given");
    expect_refused("--list=1", "--list takes no value");
    expect_refused("--version=2", "--version takes no value");
    expect_refused("--load=", "--load needs a file, or NAME=FILE, not ''");
    expect_refused("--load net=", "--load needs a file, or NAME=FILE, not 'net='");
    expect_refused("--data digits=", "--data needs a folder, or NAME=PATH, not 'digits='");
    expect_refused("--data iris=d", "--data iris=…: no data set or file is called so; there is "
                                    "digits, digits.csv.gz");
    char many[256] = "";
    for (int i = 0; i < 17; i++)
        strcat(many, "--data d ");
    expect_refused(many, "--data is given more than 16 times");
}

Test(cli, help_version_list) {
    cr_expect_eq(parse("--epochs 3 --help"), RT_OK);
    cr_expect(cli.stop);
    const char *const help[] = {
        "usage: digits [TASK] [--OPTION VALUE ...]\n",
        "  sample\n",
        "  train                   trains (default)\n",
        "  --epochs N              passes over the data (10)\n",
        "  --learning-rate X       (0.001)\n",
        "  --[no-]verbose          says more (false)\n",
        "  --name TEXT             of the run (\"\")\n",
        "  --seed N                start of all random numbers (0)\n",
        "  --data DIR              folder of the data files",
    };
    for (size_t i = 0; i < sizeof help / sizeof *help; i++)
        cr_expect(strstr(h.out[0], help[i]) != NULL, "missing: %s\nin\n%s", help[i], h.out[0]);
    begin();
    static char text[1001];
    memset(text, 'x', sizeof text - 1);
    const struct rt_task told[] = {{"train", text}};
    cli.tasks = told;
    cli.n_tasks = 1;
    cr_expect_eq(parse("--help"), RT_OK);
    const char *train = strstr(h.out[0], "  train                   ");
    cr_assert(train != NULL);
    cr_expect_eq(strspn(train + 26, "x"), 1000, "a text is cut");
    begin();
    cr_expect_eq(parse("--version"), RT_OK);
    cr_expect(cli.stop);
    cr_expect_str_eq(h.out[0], "digits, made by nnc 0.1\n");
    begin();
    cr_expect_eq(parse("--list"), RT_OK);
    cr_expect(cli.stop);
    cr_expect(strstr(h.out[0], "net.w ") &&
                  strstr(h.out[0], "f32 [64, 10]\n  640 numbers in all\n"),
              "%s", h.out[0]);
    cr_expect(strstr(h.out[0], "digits.label ") && strstr(h.out[0], "i32 one number\n"));
}

#include "rt_end.h"
