/* driver.c: from a command to an exit code: front end, passes, output. */
#include "driver.h"
#include "emit.h"
#include "front.h"
#include "ref.h"
#include "target.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In order. Graph passes rewrite the graph, the others fill c->lowered, once for each target. */
static const Pass passes[] = {
    {"simplify", simplify, "one node a value, no dead nodes"},
    {"ranges", ranges, "limits of data fields that are used as indices"},
    {"products", products, "sums of products as one op"},
    {"fuse", fuse, "groups: what becomes one kernel"},
    {"layout", layout, "a layout for each buffer"},
    {"schedule", schedule, "kernels in order"},
    {"plan", plan, "offsets and barriers"},
};
enum { GRAPH_PASSES = 3, PASSES = COUNT_OF(passes) };

static bool verifies(void) {
#ifdef NNC_DEBUG
    return true;
#else
    return getenv("NNC_VERIFY") != NULL;
#endif
}

/* ---- dumps ---- */

static void dump_accesses(Text *t, const char *how, const Access *at, int n) {
    for (int i = 0; i < n; i++)
        text_printf(t, "%s%s%s", i ? " " : how, at[i].buffer->name,
                    at[i].owner ? "*" : "");
}

static void dump_lowered(const Lowered *l, Text *t) {
    for (int i = 0; i < l->buffers.n; i++) {
        const Buffer *b = l->buffers.at[i];
        text_printf(t, "buffer %s: %s%s%s, %lld bytes at %lld%s%s\n", b->name, dtype_name(b->dtype),
                    shape_text(t->arena, &b->shape),
                    b->layout == LAYOUT_PANELS16 ? " in panels" : "", (long long)b->bytes,
                    (long long)b->offset, b->home ? ", home " : "", b->home ? b->home->path : "");
    }
    for (int i = 0; i < l->kernels.n; i++) {
        const Kernel *k = l->kernels.at[i];
        text_printf(t, "kernel %d %s in %s: %d tiles%s,", k->id, k->name, k->region->name, k->tiles,
                    k->check ? ", checks" : "");
        dump_accesses(t, " reads ", k->reads.at, k->reads.n);
        dump_accesses(t, " writes ", k->writes.at, k->writes.n);
        text_add(t, l->barrier_after && l->barrier_after[i] ? "; barrier\n" : "\n");
    }
}

static void dump_after(Compiler *c, const char *pass) {
    if (!c->settings.dump || strcmp(c->settings.dump, pass) != 0)
        return;
    Text t = {.arena = c->arena};
    if (c->lowered && c->lowered->buffers.n)
        dump_lowered(c->lowered, &t);
    else
        graph_dump(c->program->graph, &t, c->diag);
    if ((fputs(t.n ? t.at : "", stdout) < 0 || fflush(stdout) != 0) && !c->lost)
        c->lost = errno;
}

/* ---- passes ---- */

static bool stops_after(const Compiler *c, const char *pass) {
    return c->settings.stop_after && strcmp(c->settings.stop_after, pass) == 0;
}

/* The place of a pass, from 1 (0 is build); -1: none is called so. */
static int pass_place(const char *name) {
    for (int i = 0; i < PASSES; i++)
        if (strcmp(passes[i].name, name) == 0)
            return i + 1;
    return strcmp(name, "build") == 0 ? 0 : -1;
}

static void check_plan(const Compiler *c) {
    const char *wrong = plan_check(c->lowered);
    if (wrong && !c->settings.mutate)
        bug("plan: %s", wrong);
    if (wrong) /* a deliberate fault is found, and goes on to the tests of the trainer */
        fprintf(stderr, "nnc: plan: %s\n", wrong);
}

/* Passes first … past-1; false: stopped on the way, by wish or by errors. */
static bool run_range(Compiler *c, int first, int past) {
    for (int i = first; i < past; i++) {
        passes[i].run(c);
        if (i < GRAPH_PASSES && verifies())
            graph_verify(c->program->graph);
        dump_after(c, passes[i].name);
        if (diag_errors(c->diag) || stops_after(c, passes[i].name))
            return false;
    }
    return true;
}

/* From the graph to kernels for one target; NULL: stopped on the way. */
static Lowered *lower_for(Compiler *c, const Target *target) {
    c->target = target;
    c->lowered = NEW(c->arena, Lowered);
    if (!run_range(c, GRAPH_PASSES, PASSES))
        return NULL;
    check_plan(c);
    return c->lowered;
}

static void run_passes(Compiler *c) {
    dump_after(c, "build");
    if (stops_after(c, "build") || !run_range(c, 0, GRAPH_PASSES))
        return;
    if (settings_want(&c->settings, "cuda"))
        c->gpu = lower_for(c, &target_cuda);
    if (settings_want(&c->settings, "c"))
        c->cpu = lower_for(c, &target_c);
}

/* ---- commands ---- */

/* models/digits.nn -> digits.c */
static const char *default_output(Compiler *c, const char *ending) {
    return arena_printf(c->arena, "%s%s", c->program->name, ending);
}

/* Is the output a file that the program was read from? Links count: what they lead to is compared.
 */
static bool output_is_source(const Compiler *c) {
    struct stat to, from;
    const char *output = c->settings.output;
    if (stat(output, &to) != 0)
        return false;
    for (uint32_t i = 1; diag_file(c->diag, i); i++) {
        const SourceFile *f = diag_file(c->diag, i);
        if (f->library || stat(f->path, &from) != 0 || from.st_dev != to.st_dev ||
            from.st_ino != to.st_ino)
            continue;
        fprintf(stderr, "nnc: the output '%s' is the source '%s': it would be lost\n", output,
                f->path);
        return true;
    }
    return false;
}

static int write_output(Compiler *c) {
    const char *text = emit_c(c), *to = c->settings.output;
    if (write_file(to, text, strlen(text)))
        return EXIT_DONE;
    fprintf(stderr, "nnc: cannot write '%s': %s\n", to, strerror(errno));
    return EXIT_ENVIRONMENT;
}

/* Where the output goes is looked at before the work that is put there. */
static int check_output(Compiler *c, const Arguments *args) {
    Settings *s = &c->settings;
    if (s->stop_after || (args->command != COMMAND_EMIT && args->command != COMMAND_BUILD))
        return EXIT_DONE;
    if (!s->output)
        s->output = default_output(c, args->command == COMMAND_BUILD   ? ""
                                      : settings_want(s, "cuda") ? ".cu"
                                                                       : ".c");
    if (output_is_source(c))
        return EXIT_WRONG;
    return driver_check_output(c->arena, s->output, args->command == COMMAND_BUILD);
}

static int finish(Compiler *c, const Arguments *args) {
    if (c->settings.stop_after || args->command == COMMAND_CHECK)
        return EXIT_DONE;
    if (args->command == COMMAND_LOCKSTEP)
        return lockstep(c, args->trace, args->seed, stdout);
    if (args->command == COMMAND_EMIT)
        return write_output(c);
    const char *text = emit_c(c);
    if (args->command == COMMAND_BUILD)
        return driver_build(c, text, c->settings.output);
    return driver_run_cached(c, text, args);
}

/* The oracle runs the program as it was built. */
static int run_oracle(Compiler *c, const Arguments *args) {
    int argc;
    char **argv = driver_trainer_arguments(c, args, &argc);
    return ref_run(c, args->single, argc, argv);
}

static int compile_file(Compiler *c, const Arguments *args) {
    bool unreadable = false, oracle = strcmp(c->settings.target, "ref") == 0;
    c->program = front_end(c, &unreadable);
    if (unreadable && !diag_errors(c->diag)) {
        fprintf(stderr, "nnc: cannot open '%s': %s\n", c->settings.input, strerror(errno));
        return EXIT_ENVIRONMENT;
    }
    int status = !c->program || diag_errors(c->diag) ? EXIT_WRONG : check_output(c, args);
    if (!status && !oracle)
        run_passes(c);
    if (!status && diag_errors(c->diag))
        status = EXIT_WRONG;
    diag_flush(c->diag, stderr, isatty(STDERR_FILENO) == 1);
    if (status)
        return unreadable ? EXIT_ENVIRONMENT : status;
    return oracle ? run_oracle(c, args) : finish(c, args);
}

static bool settings_name_passes(const Settings *s) {
    const char *names[] = {s->dump, s->stop_after};
    for (int i = 0; i < COUNT_OF(names); i++)
        if (names[i] && pass_place(names[i]) < 0) {
            fprintf(stderr, "nnc: no pass is called '%s' (nnc --help)\n", names[i]);
            return false;
        }
    if (!s->dump || !s->stop_after || pass_place(s->dump) <= pass_place(s->stop_after))
        return true;
    fprintf(stderr, "nnc: --stop-after %s does not get to --dump %s\n", s->stop_after, s->dump);
    return false;
}

static bool settings_name_fault(const Settings *s) {
    const char *const *name = mutation_names();
    if (!s->mutate)
        return true;
    while (*name && strcmp(*name, s->mutate) != 0)
        name++;
    if (*name)
        return true;
    fprintf(stderr, "nnc: no deliberate fault is called '%s'; there is", s->mutate);
    for (name = mutation_names(); *name; name++)
        fprintf(stderr, " %s", *name);
    fputs("\n", stderr);
    return false;
}

int driver(int argc, char **argv) {
    Arena *a = arena_new();
    Arguments args;
    int status = EXIT_WRONG;
    if (driver_arguments(a, argc, argv, &args)) {
        Compiler c = {.arena = a,
                      .names = interner_new(a),
                      .diag = diag_new(a),
                      .settings = args.settings};
        if (args.command == COMMAND_SHOW)
            status = EXIT_DONE;
        else if (settings_name_passes(&c.settings) && settings_name_fault(&c.settings))
            status = compile_file(&c, &args);
        status = driver_shown(status, c.lost);
    }
    arena_free(a);
    return status;
}
