/* driver_args.c: reads nnc's command line. */
#include "driver.h"
#include "emit.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "nnc: turns a .nn file (network, data, training) into a trainer in plain C\n"
    "\n"
    "  nnc run model.nn                     compile and train; data is looked for beside model.nn\n"
    "  nnc run model.nn -- TASK --lr 0.01   the same with arguments for the trainer (-- --help)\n"
    "  nnc check model.nn                   errors and warnings only\n"
    "  nnc build model.nn -o model          the trainer as a program, made by $CC, or by $NVCC\n"
    "  nnc model.nn --target c -o model.c   the trainer as one C file; cc -O2 model.c -lm "
    "-pthread\n"
    "\n"
    "options\n"
    "  -o FILE             where the output goes (default: model.c, model)\n"
    "  --target c          what is made: a trainer in C\n"
    "  --target cuda       a trainer for NVIDIA GPUs: model.cu, for nvcc\n"
    "  --target cuda,c     one file with both; it chooses when it starts (--device)\n"
    "  --target ref        nnc run: no trainer is made, the oracle does the training, slowly\n"
    "  --ref f32           with --target ref: round every number to 32 bits (default f64)\n"
    "  -D NAME=VALUE       another value for a `const` of the file\n"
    "  --real f64          64-bit numbers (slow; to check gradients)\n"
    "  --cpu native        the processor the trainer is for: native or baseline\n"
    "  --dump PASS         print the program after a pass: build simplify ranges products fuse\n"
    "                      layout schedule plan\n"
    "  --stop-after PASS   go no further\n"
    "  --help, --version\n"
    "\n"
    "to look into a trainer\n"
    "  nnc lockstep model.nn DIR            compares what the trainer wrote with --trace DIR with\n"
    "                                       the oracle; --seed N and -D as the trainer had them\n"
    "\n"
    "exit codes: 0 done, 1 the file or the command is wrong, 2 a file or a program is missing,\n"
    "or one cannot be written or fails; of nnc run, where it gets so far, those of the trainer\n";

typedef struct Reader {
    Arena *arena;
    int argc, i;
    char **argv;
    Arguments *out;
} Reader;

static bool wrong(const char *what, const char *about) {
    fprintf(stderr, "nnc: %s '%s' (nnc --help)\n", what, about);
    return false;
}

/* The value of option `name` at argv[i]: after '=', or the next word. */
static const char *value_of(Reader *r, const char *name) {
    const char *arg = r->argv[r->i];
    size_t n = strlen(name);
    if (arg[n] == '=')
        return arg + n + 1;
    if (r->i + 1 < r->argc)
        return r->argv[++r->i];
    wrong("no value for", name);
    return NULL;
}

static bool is_option(const char *arg, const char *name) {
    size_t n = strlen(name);
    return strncmp(arg, name, n) == 0 && (arg[n] == 0 || (arg[n] == '=' && n > 2));
}

static bool read_text_option(Reader *r, bool *known) {
    Settings *s = &r->out->settings;
    const struct {
        const char *name;
        const char **to;
    } options[] = {
        {"-o", &s->output},       {"--output", &s->output}, {"--target", &s->target},
        {"--cpu", &s->cpu},       {"--dump", &s->dump},     {"--stop-after", &s->stop_after},
        {"--mutate", &s->mutate},
    };
    for (int i = 0; i < COUNT_OF(options); i++)
        if (is_option(r->argv[r->i], options[i].name)) {
            *known = true;
            *options[i].to = value_of(r, options[i].name);
            return *options[i].to != NULL;
        }
    *known = false;
    return true;
}

static bool read_define(Reader *r) {
    const char *arg = r->argv[r->i];
    const char *define = arg[2] ? arg + 2 : value_of(r, "-D");
    if (!define)
        return false;
    if (!strchr(define, '=') || define[0] == '=')
        return wrong("-D takes NAME=VALUE, found", define);
    Settings *s = &r->out->settings;
    const char **more = NEW_ARRAY(r->arena, const char *, s->ndefines + 1);
    for (int i = 0; i < s->ndefines; i++)
        more[i] = s->defines[i];
    more[s->ndefines++] = define;
    s->defines = more;
    return true;
}

static bool read_real(Reader *r) {
    const char *type = value_of(r, "--real");
    if (!type)
        return false;
    if (strcmp(type, "f32") != 0 && strcmp(type, "f64") != 0)
        return wrong("--real takes f32 or f64, found", type);
    r->out->settings.real64 = strcmp(type, "f64") == 0;
    return true;
}

static bool read_ref(Reader *r) {
    const char *type = value_of(r, "--ref");
    if (!type)
        return false;
    if (strcmp(type, "f32") != 0 && strcmp(type, "f64") != 0)
        return wrong("--ref takes f32 or f64, found", type);
    r->out->ref = true;
    r->out->single = strcmp(type, "f32") == 0;
    return true;
}

static bool read_seed(Reader *r) {
    const char *text = value_of(r, "--seed");
    char *end;
    r->out->seeded = true;
    if (!text)
        return false;
    errno = 0;
    long long seed = strtoll(text, &end, 10); /* as a trainer takes it */
    r->out->seed = (uint64_t)seed;
    if (end == text || *end)
        return wrong("--seed takes a whole number, found", text);
    return (!errno && seed >= 0) || wrong("--seed must be 0 to 9223372036854775807, found", text);
}

static bool read_option(Reader *r) {
    const char *arg = r->argv[r->i];
    if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
        fputs(help, stdout);
        r->out->command = COMMAND_SHOW;
        return true;
    }
    if (strcmp(arg, "--version") == 0) {
        puts("nnc " NNC_VERSION);
        r->out->command = COMMAND_SHOW;
        return true;
    }
    if (strncmp(arg, "-D", 2) == 0)
        return read_define(r);
    if (is_option(arg, "--real"))
        return read_real(r);
    if (is_option(arg, "--ref"))
        return read_ref(r);
    if (is_option(arg, "--seed"))
        return read_seed(r);
    bool known;
    bool ok = read_text_option(r, &known);
    if (!known && r->out->command == COMMAND_RUN)
        return wrong("what is for the trainer stands after --, as in: nnc run model.nn --", arg);
    return known ? ok : wrong("unknown option", arg);
}

/* A first word that cannot be a file: files have an ending or lie in a folder, or are there. */
static bool is_no_command(const char *word) {
    return !strpbrk(word, "./") && access(word, F_OK) != 0;
}

static bool read_word(Reader *r) {
    static const struct {
        const char *name;
        Command command;
    } commands[] = {{"check", COMMAND_CHECK},
                  {"run", COMMAND_RUN},
                  {"build", COMMAND_BUILD},
                  {"lockstep", COMMAND_LOCKSTEP}};
    const char *arg = r->argv[r->i];
    for (int i = 0; r->i == 1 && i < COUNT_OF(commands); i++)
        if (strcmp(arg, commands[i].name) == 0) {
            r->out->command = commands[i].command;
            return true;
        }
    if (r->out->settings.input && r->out->command == COMMAND_LOCKSTEP && !r->out->trace) {
        r->out->trace = arg;
        return true;
    }
    if (r->out->settings.input)
        return wrong("one file at a time; what is", arg);
    if (r->i == 1 && is_no_command(arg))
        return wrong("there is run, check, build and lockstep, but no command", arg);
    r->out->settings.input = arg;
    return true;
}

bool settings_want(const Settings *s, const char *target) {
    size_t n = strlen(target);
    for (const char *at = s->target; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == n && strncmp(at, target, n) == 0)
            return true;
    return false;
}

static bool known_targets(const Settings *s) {
    return strcmp(s->target, "c") == 0 || strcmp(s->target, "cuda") == 0 ||
           strcmp(s->target, "cuda,c") == 0 || strcmp(s->target, "c,cuda") == 0;
}

static bool check_arguments(const Arguments *a) {
    const Settings *s = &a->settings;
    if (!s->input) {
        fputs("nnc: no file given (nnc --help)\n", stderr);
        return false;
    }
    bool oracle = strcmp(s->target, "ref") == 0;
    if (oracle && a->command != COMMAND_RUN)
        return wrong("this target is for nnc run:", s->target);
    if (oracle && (s->dump || s->stop_after))
        return wrong("the oracle runs the program as built, before any pass:",
                     s->dump ? "--dump" : "--stop-after");
    if (!oracle && !known_targets(s))
        return wrong("--target takes c, cuda or cuda,c (and ref), found", s->target);
    if (settings_want(s, "cuda") && a->command == COMMAND_LOCKSTEP)
        return wrong("lockstep takes traces of all targets, and no option", "--target");
    if (a->command == COMMAND_LOCKSTEP && !a->trace)
        return wrong("lockstep needs the folder of a trace of", s->input);
    if (a->seeded && a->command == COMMAND_RUN)
        return wrong("a trainer's seed stands after --, as in: nnc run model.nn --", "--seed N");
    if (a->seeded && a->command != COMMAND_LOCKSTEP)
        return wrong("only nnc lockstep takes", "--seed");
    if (a->ref && !oracle)
        return wrong("it belongs to nnc run --target ref:", "--ref");
    if (s->cpu && strcmp(s->cpu, "native") != 0 && strcmp(s->cpu, "baseline") != 0)
        return wrong("--cpu takes native or baseline, found", s->cpu);
    if (a->nrest && a->command != COMMAND_RUN)
        return wrong("arguments for a trainer belong to nnc run:", a->rest[0]);
    if (s->output && s->stop_after)
        return wrong("with --stop-after nothing is written: -o", s->output);
    if (s->output && a->command != COMMAND_EMIT && a->command != COMMAND_BUILD)
        return wrong("only nnc build and nnc alone write a file: -o", s->output);
    return true;
}

bool driver_arguments(Arena *a, int argc, char **argv, Arguments *out) {
    *out = (Arguments){.settings = {.target = "c"}};
    Reader r = {.arena = a, .argc = argc, .argv = argv, .out = out};
    for (r.i = 1; r.i < argc; r.i++) {
        const char *arg = argv[r.i];
        if (strcmp(arg, "--") == 0) {
            out->rest = argv + r.i + 1;
            out->nrest = argc - r.i - 1;
            break;
        }
        if (!(arg[0] == '-' && arg[1] ? read_option(&r) : read_word(&r)))
            return false;
        if (out->command == COMMAND_SHOW)
            return true;
    }
    return check_arguments(out);
}
