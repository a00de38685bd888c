/* rt_cli.h: the command line of a trainer: [TASK] [--OPTION VALUE …].
 *
 * What the program declares (tasks, options, parameters, data) comes in tables; --help and --list
 * are made from them. Names may be written with _ or -.
 */
#ifndef RT_CLI_H
#define RT_CLI_H

#include "rt_store.h"
#include "rt_team.h"

enum rt_option_kind { RT_OPT_INT, RT_OPT_REAL, RT_OPT_BOOL, RT_OPT_STRING };

/* An `option` of the program. *value holds the default before, the chosen value after. */
struct rt_option {
    const char *name; /* as in the program: weight_decay */
    enum rt_option_kind kind;
    const char *help; /* or NULL */
    void *value;      /* int64_t *, double *, bool * or const char ** */
    const char *only; /* a text that only these tasks take: "classify, embed"; NULL: all */
};

struct rt_task {
    const char *name;
    const char *help; /* or NULL */
};

enum { RT_MAX_TRACE = 64 };

struct rt_cli {
    /* from the program */
    const char *program; /* "digits" */
    const char *version;
    const struct rt_task *tasks; /* the first is the default, or the one called train */
    int n_tasks;
    const struct rt_option *options;
    int n_options;
    const struct rt_tensor *tensors; /* for --list */
    int n_tensors;
    const struct rt_field *fields; /* for --list */
    int n_fields;
    const char *const *data; /* names that --data knows: data sets and their files; NULL ends */
    /* from the command line */
    int task;
    bool stop; /* --help, --version or --list was answered: main returns 0 */
    struct rt_pair load[RT_MAX_PATHS];
    int n_load;
    const char *log;       /* where `record` writes, or NULL */
    const char *trace_dir; /* or NULL */
    int64_t trace_steps[RT_MAX_TRACE];
    int n_trace_steps;
};

/* ---- options of every trainer -----------------------------------------------------------------
 */

enum rt_common {
    RT_CLI_HELP,
    RT_CLI_VERSION,
    RT_CLI_LIST,
    RT_CLI_SEED,
    RT_CLI_THREADS,
    RT_CLI_DATA,
    RT_CLI_LOAD,
    RT_CLI_UNTRAINED,
    RT_CLI_QUIET,
    RT_CLI_LOG,
    RT_CLI_EXACT,
    RT_CLI_TRACE,
    RT_CLI_TRACE_STEPS,
    RT_CLI_COMMON
};

struct rt_common_option {
    const char *name;
    const char *value; /* NULL: a flag */
    const char *help;
};

RT_FN const struct rt_common_option *rt_cli_common(int i) {
    static const struct rt_common_option all[RT_CLI_COMMON] = {
        {"help", NULL, "prints this and ends"},
        {"version", NULL, "prints what made this trainer and ends"},
        {"list", NULL, "lists tasks, options, parameters and data, and ends"},
        {"seed", "N", "start of all random numbers (0)"},
        {"threads", "N", "threads that compute (one for each processor)"},
        {"data", "DIR", "folder of the data files; NAME=PATH: of one data set or file"},
        {"load", "FILE", "weights to start from; NAME=FILE: of one model"},
        {"untrained", NULL, "runs a task that needs weights without them"},
        {"quiet", NULL, "no progress on standard error"},
        {"log", "FILE", "what is recorded, as lines of JSON"},
        {"exact", NULL, "the same bits on all targets; in a trainer in C always so"},
        {"trace", "DIR", "writes what some steps read and leave there"},
        {"trace-steps", "LIST", "the steps for --trace (1,2,10,100)"},
    };
    return &all[i];
}

/* Equal, where _ and - are the same; b ends after n characters. */
RT_FN bool rt_cli_same(const char *a, const char *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char c = a[i] == '_' ? '-' : a[i], d = b[i] == '_' ? '-' : b[i];
        if (c != d || !c)
            return false;
    }
    return a[n] == 0;
}

/* Letters to change, add or leave out to make b of a; 99 when either is long. */
RT_FN int rt_cli_distance(const char *a, const char *b) {
    int row[48], n = (int)strlen(a), m = (int)strlen(b);
    if (n > 40 || m > 40)
        return 99;
    for (int j = 0; j <= m; j++)
        row[j] = j;
    for (int i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            char c = a[i - 1] == '_' ? '-' : a[i - 1], d = b[j - 1] == '_' ? '-' : b[j - 1];
            int swap = diagonal + (c != d), drop = row[j] + 1, add = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = swap < drop ? swap : drop;
            row[j] = row[j] < add ? row[j] : add;
        }
    }
    return row[m];
}

/* Keeps the nearest name so far. */
RT_FN void rt_cli_nearer(const char *wrong, const char *name, const char **nearest, int *distance) {
    int d = rt_cli_distance(wrong, name);
    if (d < *distance) {
        *distance = d;
        *nearest = name;
    }
}

/* ---- --help and --list ------------------------------------------------------------------------
 */

/* "  --name VALUE      help", wide names on a line of their own. */
RT_FN void rt_cli_line(struct rt_buf *b, const char *name, const char *value, const char *help) {
    size_t from = b->size;
    rt_puts(b, "  ");
    for (; *name; name++)
        rt_put(b, *name == '_' ? "-" : name, 1);
    if (value)
        rt_putf(b, " %s", value);
    int width = rt_width(b->text + from, b->size - from);
    if (*help && width > 24) {
        rt_puts(b, "\n");
        width = 0;
    }
    if (*help)
        rt_putf(b, "%*s%s", 26 - width, "", help);
    rt_puts(b, "\n");
}

RT_FN void rt_cli_value(struct rt_buf *b, const struct rt_option *o) {
    switch (o->kind) {
    case RT_OPT_INT:
        rt_print_int(b, *(const int64_t *)o->value, NULL);
        break;
    case RT_OPT_REAL:
        rt_print_real(b, *(const double *)o->value, false, NULL);
        break;
    case RT_OPT_BOOL:
        rt_print_bool(b, *(const bool *)o->value, NULL);
        break;
    case RT_OPT_STRING:
        rt_putf(b, "\"%s\"", *(const char *const *)o->value);
        break;
    }
}

RT_FN void rt_cli_options(struct rt_buf *b, const struct rt_cli *cli) {
    static const char *const kinds[] = {"N", "X", NULL, "TEXT"};
    struct rt_buf help, name;
    rt_buf_init(&help, b->rt, b->limit);
    rt_buf_init(&name, b->rt, b->limit);
    for (int i = 0; i < cli->n_options; i++) {
        const struct rt_option *o = &cli->options[i];
        rt_buf_clear(&help);
        rt_buf_clear(&name);
        rt_putf(&name, o->kind == RT_OPT_BOOL ? "--[no-]%s" : "--%s", o->name);
        rt_putf(&help, "%s%s(", o->help ? o->help : "", o->help ? " " : "");
        rt_cli_value(&help, o);
        rt_puts(&help, ")");
        if (help.failed || name.failed)
            b->failed = true;
        else
            rt_cli_line(b, name.text, kinds[o->kind], help.text);
    }
    rt_buf_free(&help);
    rt_buf_free(&name);
}

RT_FN void rt_cli_tasks(struct rt_buf *b, const struct rt_cli *cli) {
    struct rt_buf help;
    rt_buf_init(&help, b->rt, b->limit);
    for (int i = 0; i < cli->n_tasks; i++) {
        const struct rt_task *t = &cli->tasks[i];
        rt_buf_clear(&help);
        rt_putf(&help, "%s%s", t->help ? t->help : "",
                i != cli->task ? ""
                : t->help      ? " (default)"
                               : "(default)");
        if (help.failed)
            b->failed = true;
        else
            rt_cli_line(b, t->name, NULL, help.text);
    }
    rt_buf_free(&help);
}

RT_FN void rt_cli_help(struct rt_buf *b, const struct rt_cli *cli) {
    char name[64];
    rt_putf(b, "usage: %s [TASK] [--OPTION VALUE ...]\n", cli->program);
    if (cli->n_tasks)
        rt_puts(b, "\ntasks\n");
    rt_cli_tasks(b, cli);
    if (cli->n_options)
        rt_puts(b, "\noptions of this program\n");
    rt_cli_options(b, cli);
    rt_puts(b, "\noptions of every trainer\n");
    for (int i = 0; i < RT_CLI_COMMON; i++) {
        const struct rt_common_option *o = rt_cli_common(i);
        snprintf(name, sizeof name, "--%s", o->name);
        rt_cli_line(b, name, o->value, o->help);
    }
    rt_puts(b, "\nends with 0 done, 1 wrong use or data, 2 file or memory missing, 3 training "
               "diverged, 4 an expectation failed\n");
}

RT_FN void rt_cli_list(struct rt_buf *b, const struct rt_cli *cli) {
    char shape[128];
    int64_t numbers = 0;
    rt_puts(b, "tasks\n");
    rt_cli_tasks(b, cli);
    rt_puts(b, "options\n");
    rt_cli_options(b, cli);
    rt_puts(b, "parameters and states\n");
    for (int i = 0; i < cli->n_tensors; i++) {
        const struct rt_tensor *t = &cli->tensors[i];
        numbers += rt_tensor_elements(t);
        rt_putf(b, "  %-40s %s %s\n", t->key, rt_type_name(t->type),
                rt_shape_text(shape, sizeof shape, t->rank, t->dims));
    }
    rt_putf(b, "  %lld numbers in all\n", (long long)numbers);
    rt_puts(b, "data, kept as\n");
    for (int i = 0; i < cli->n_fields; i++) {
        const struct rt_field *f = &cli->fields[i];
        rt_putf(b, "  %-40s %s %s\n", f->name, rt_type_name(f->type),
                rt_shape_text(shape, sizeof shape, f->rank, f->dims));
    }
}

/* ---- values -----------------------------------------------------------------------------------
 */

/* Where the parser stands. */
struct rt_cli_state {
    struct rt *rt;
    struct rt_cli *cli;
    int argc, at;
    char **argv;
    const char *name;  /* of the option, without -- */
    size_t size;       /* of the name */
    const char *value; /* after =, or NULL */
    bool steps;        /* --trace-steps was given */
};

/* The value of an option: after =, or the next argument unless that is an option too. */
RT_FN enum rt_status rt_cli_take(struct rt_cli_state *s, const char *what, const char **value) {
    if (!s->value && s->at + 1 < s->argc && strncmp(s->argv[s->at + 1], "--", 2) != 0)
        s->value = s->argv[++s->at];
    if (!s->value)
        return rt_fail(s->rt, RT_USAGE, "--%.*s needs %s", (int)s->size, s->name, what);
    *value = s->value;
    return RT_OK;
}

RT_FN enum rt_status rt_cli_int(struct rt_cli_state *s, int64_t least, int64_t most, int64_t *out) {
    const char *text;
    char *end;
    enum rt_status status = rt_cli_take(s, "a whole number", &text);
    if (status)
        return status;
    errno = 0;
    long long x = strtoll(text, &end, 10);
    if (end == text || *end)
        return rt_fail(s->rt, RT_USAGE, "--%.*s needs a whole number, not '%s'", (int)s->size,
                       s->name, text);
    if (errno || x < least || x > most)
        return rt_fail(s->rt, RT_USAGE, "--%.*s must be %lld to %lld: %s is too %s", (int)s->size,
                       s->name, (long long)least, (long long)most, text,
                       x > most || (errno && x > 0) ? "large" : "small");
    *out = x;
    return RT_OK;
}

RT_FN enum rt_status rt_cli_real(struct rt_cli_state *s, double *out) {
    const char *text;
    char *end;
    enum rt_status status = rt_cli_take(s, "a number", &text);
    if (status)
        return status;
    errno = 0;
    double x = strtod(text, &end);
    if (end == text || *end || isnan(x))
        return rt_fail(s->rt, RT_USAGE, "--%.*s needs a number, not '%s'", (int)s->size, s->name,
                       text);
    if (isinf(x) && errno == ERANGE)
        return rt_fail(s->rt, RT_USAGE, "--%.*s must be -1.79e308 to 1.79e308: %s is too %s",
                       (int)s->size, s->name, text, x > 0 ? "large" : "small");
    *out = x;
    return RT_OK;
}

/* A flag is true by itself; only `true` and `false` are taken for its value. */
RT_FN enum rt_status rt_cli_flag(struct rt_cli_state *s, bool *out) {
    const char *next = s->at + 1 < s->argc ? s->argv[s->at + 1] : "";
    if (!s->value && (strcmp(next, "true") == 0 || strcmp(next, "false") == 0))
        s->value = s->argv[++s->at];
    if (s->value && strcmp(s->value, "true") != 0 && strcmp(s->value, "false") != 0)
        return rt_fail(s->rt, RT_USAGE, "--%.*s is true or false, not '%s'", (int)s->size, s->name,
                       s->value);
    *out = !s->value || s->value[0] == 't';
    return RT_OK;
}

/* [NAME=]PATH; what stands before = is a name when it has no slash. */
RT_FN enum rt_status rt_cli_pair(struct rt_cli_state *s, const char *what, struct rt_pair *list,
                                 int *n) {
    const char *text;
    enum rt_status status = rt_cli_take(s, what, &text);
    if (status)
        return status;
    if (*n == RT_MAX_PATHS)
        return rt_fail(s->rt, RT_USAGE, "--%.*s is given more than %d times", (int)s->size, s->name,
                       RT_MAX_PATHS);
    size_t name = strcspn(text, "=/");
    struct rt_pair *p = &list[(*n)++];
    bool named = name > 0 && text[name] == '=';
    if (!text[named ? name + 1 : 0])
        return rt_fail(s->rt, RT_USAGE, "--%.*s needs %s, not '%s'", (int)s->size, s->name, what,
                       text);
    p->name = named ? text : NULL;
    p->name_size = named ? name : 0;
    p->path = named ? text + name + 1 : text;
    return RT_OK;
}

RT_FN enum rt_status rt_cli_steps(struct rt_cli_state *s) {
    struct rt_cli *cli = s->cli;
    const char *text;
    enum rt_status status = rt_cli_take(s, "steps, as in 1,2,10", &text);
    if (status)
        return status;
    cli->n_trace_steps = 0;
    s->steps = true;
    for (const char *p = text;; p++) {
        char *end;
        errno = 0;
        long long step = strtoll(p, &end, 10);
        bool last = *end == 0;
        if (end == p || step < 1 || errno || (!last && *end != ',') ||
            cli->n_trace_steps == RT_MAX_TRACE)
            return rt_fail(s->rt, RT_USAGE,
                           "--trace-steps needs up to %d steps of 1 to %lld, as in 1,2,10, not "
                           "'%s'",
                           RT_MAX_TRACE, (long long)INT64_MAX, text);
        cli->trace_steps[cli->n_trace_steps++] = step;
        p = end;
        if (last)
            return RT_OK;
    }
}

/* ---- parsing ----------------------------------------------------------------------------------
 */

RT_FN enum rt_status rt_cli_set(struct rt_cli_state *s, const struct rt_option *o) {
    switch (o->kind) {
    case RT_OPT_INT:
        return rt_cli_int(s, INT64_MIN, INT64_MAX, (int64_t *)o->value);
    case RT_OPT_REAL:
        return rt_cli_real(s, (double *)o->value);
    case RT_OPT_BOOL:
        return rt_cli_flag(s, (bool *)o->value);
    default:
        return rt_cli_take(s, "a text", (const char **)o->value);
    }
}

RT_FN enum rt_status rt_cli_set_common(struct rt_cli_state *s, int which) {
    struct rt *rt = s->rt;
    int64_t n = 0;
    enum rt_status status = RT_OK;
    switch (which) {
    case RT_CLI_SEED:
        status = rt_cli_int(s, 0, INT64_MAX, &n);
        rt->seed = (uint64_t)n;
        return status;
    case RT_CLI_THREADS:
        status = rt_cli_int(s, 1, RT_MAX_THREADS, &n);
        rt->threads = (int)n;
        return status;
    case RT_CLI_DATA:
        return rt_cli_pair(s, "a folder, or NAME=PATH", rt->data_path, &rt->data_paths);
    case RT_CLI_LOAD:
        return rt_cli_pair(s, "a file, or NAME=FILE", s->cli->load, &s->cli->n_load);
    case RT_CLI_UNTRAINED:
        return rt_cli_flag(s, &rt->untrained);
    case RT_CLI_QUIET:
        return rt_cli_flag(s, &rt->quiet);
    case RT_CLI_LOG:
        return rt_cli_take(s, "a file", &s->cli->log);
    case RT_CLI_EXACT:
        return rt_cli_flag(s, &rt->exact);
    case RT_CLI_TRACE:
        return rt_cli_take(s, "a folder", &s->cli->trace_dir);
    case RT_CLI_TRACE_STEPS:
        return rt_cli_steps(s);
    default: /* --help, --version, --list are answered before */
        return rt_fail(s->rt, RT_USAGE, "--%.*s takes no value", (int)s->size, s->name);
    }
}

RT_FN enum rt_status rt_cli_unknown(struct rt_cli_state *s) {
    char wrong[48]; /* as much as could be near a name */
    const char *nearest = "";
    int distance = (int)s->size < 6 ? 3 : 4;
    snprintf(wrong, sizeof wrong, "%.*s", (int)(s->size < 47 ? s->size : 47), s->name);
    for (int i = 0; i < RT_CLI_COMMON; i++)
        rt_cli_nearer(wrong, rt_cli_common(i)->name, &nearest, &distance);
    for (int i = 0; i < s->cli->n_options; i++)
        rt_cli_nearer(wrong, s->cli->options[i].name, &nearest, &distance);
    if (*nearest)
        return rt_fail(s->rt, RT_USAGE,
                       "unknown option --%.*s; did you mean --%s? (--help lists them all)",
                       (int)s->size, s->name, nearest);
    return rt_fail(s->rt, RT_USAGE, "unknown option --%.*s (--help lists them all)", (int)s->size,
                   s->name);
}

/* The option at s->at; names of the program go before those of every trainer. */
RT_FN enum rt_status rt_cli_option(struct rt_cli_state *s) {
    const char *arg = s->argv[s->at];
    s->name = arg + 2;
    s->size = strcspn(s->name, "=");
    s->value = s->name[s->size] ? s->name + s->size + 1 : NULL;
    if (strcmp(arg, "-o") == 0) { /* as in: classify --image x.npy -o y.npy */
        s->name = "output";
        s->size = 6;
        s->value = NULL;
    }
    bool negated = strncmp(s->name, "no-", 3) == 0 || strncmp(s->name, "no_", 3) == 0;
    for (int i = 0; i < s->cli->n_options; i++) {
        const struct rt_option *o = &s->cli->options[i];
        if (rt_cli_same(o->name, s->name, s->size))
            return rt_cli_set(s, o);
        if (negated && o->kind == RT_OPT_BOOL && !s->value &&
            rt_cli_same(o->name, s->name + 3, s->size - 3)) {
            *(bool *)o->value = false;
            return RT_OK;
        }
    }
    for (int i = 0; i < RT_CLI_COMMON; i++)
        if (rt_cli_same(rt_cli_common(i)->name, s->name, s->size))
            return rt_cli_set_common(s, i);
    return rt_cli_unknown(s);
}

RT_FN enum rt_status rt_cli_task(struct rt_cli_state *s, bool *chosen) {
    const char *name = s->argv[s->at], *nearest = "";
    struct rt_cli *cli = s->cli;
    int distance = 4;
    if (*chosen)
        return rt_fail(s->rt, RT_USAGE, "one task at a time: '%s' stands after '%s'", name,
                       cli->tasks[cli->task].name);
    for (int i = 0; i < cli->n_tasks; i++) {
        if (strcmp(name, cli->tasks[i].name) == 0) {
            cli->task = i;
            *chosen = true;
            return RT_OK;
        }
        rt_cli_nearer(name, cli->tasks[i].name, &nearest, &distance);
    }
    if (*nearest)
        return rt_fail(s->rt, RT_USAGE, "unknown task '%s'; did you mean %s?", name, nearest);
    return rt_fail(s->rt, RT_USAGE, "unknown task '%s' (--help lists them all)", name);
}

/* Answers --help, --version or --list, wherever it stands: with the defaults, before any is
 * changed. */
RT_FN enum rt_status rt_cli_answer(struct rt_cli_state *s) {
    struct rt_buf b;
    rt_buf_init(&b, s->rt, (size_t)1 << 24);
    for (int i = 1; i < s->argc && !s->cli->stop; i++) {
        s->cli->stop = true;
        if (strcmp(s->argv[i], "--help") == 0 || strcmp(s->argv[i], "-h") == 0)
            rt_cli_help(&b, s->cli);
        else if (strcmp(s->argv[i], "--version") == 0)
            rt_putf(&b, "%s\n", s->cli->version);
        else if (strcmp(s->argv[i], "--list") == 0)
            rt_cli_list(&b, s->cli);
        else
            s->cli->stop = false;
    }
    enum rt_status status = rt_flush(&b, 1);
    rt_buf_free(&b);
    return status;
}

/* Is the name among those of "one, two"? */
RT_FN bool rt_cli_among(const char *names, const char *name) {
    size_t n = strlen(name);
    for (const char *at = names; *at; at += strcspn(at, ","), at += *at ? 2 : 0)
        if (strcspn(at, ",") == n && memcmp(at, name, n) == 0)
            return true;
    return false;
}

/* What the chosen task would not look at is a mistake. */
RT_FN enum rt_status rt_cli_used(struct rt_cli_state *s) {
    const struct rt_cli *cli = s->cli;
    const char *task = cli->n_tasks ? cli->tasks[cli->task].name : "";
    for (int i = 0; i < cli->n_options; i++) {
        const struct rt_option *o = &cli->options[i];
        if (o->only && **(const char *const *)o->value && !rt_cli_among(o->only, task))
            return rt_fail(s->rt, RT_USAGE, "--%s is for %s, not for %s", o->name, o->only, task);
    }
    if (s->steps && !cli->trace_dir)
        return rt_fail(s->rt, RT_USAGE, "--trace-steps is for --trace DIR, which is not given");
    return RT_OK;
}

/* Every NAME= of --data must be one. */
RT_FN enum rt_status rt_cli_data_names(struct rt *rt, const struct rt_cli *cli) {
    for (int i = 0; i < rt->data_paths; i++) {
        const struct rt_pair *p = &rt->data_path[i];
        const char *const *known = cli->data;
        while (p->name && *known &&
               (strlen(*known) != p->name_size || memcmp(*known, p->name, p->name_size) != 0))
            known++;
        if (!p->name || *known)
            continue;
        struct rt_buf names;
        rt_buf_init(&names, rt, 600);
        for (known = cli->data; *known; known++)
            rt_putf(&names, "%s%s", known == cli->data ? "" : ", ", *known);
        rt_fail(rt, RT_USAGE, "--data %.*s=…: no data set or file is called so; there is %s%s",
                (int)p->name_size, p->name, names.text ? names.text : "none",
                names.failed ? ", …" : "");
        rt_buf_free(&names);
        return RT_USAGE;
    }
    return RT_OK;
}

/* Reads the command line into cli, the options and rt (seed, threads, quiet, exact, untrained,
 * data_path). RT_USAGE with a message when it is wrong. */
RT_FN enum rt_status rt_cli_parse(struct rt *rt, struct rt_cli *cli, int argc, char **argv) {
    static const int64_t steps[] = {1, 2, 10, 100};
    struct rt_cli_state s = {rt, cli, argc, 1, argv, NULL, 0, NULL, false};
    bool chosen = false;
    cli->task = 0;
    for (int i = 0; i < cli->n_tasks; i++)
        if (strcmp(cli->tasks[i].name, "train") == 0)
            cli->task = i;
    cli->stop = false;
    cli->n_load = 0;
    cli->log = NULL;
    cli->trace_dir = NULL;
    cli->n_trace_steps = 4;
    memcpy(cli->trace_steps, steps, sizeof steps);
    rt->threads = rt_cores() < RT_MAX_THREADS ? rt_cores() : RT_MAX_THREADS;
    enum rt_status status = rt_cli_answer(&s);
    for (; s.at < argc && !status && !cli->stop; s.at++) {
        if (strncmp(argv[s.at], "--", 2) == 0 || strcmp(argv[s.at], "-o") == 0)
            status = rt_cli_option(&s);
        else if (argv[s.at][0] == '-')
            status = rt_fail(rt, RT_USAGE, "'%s' is not an option: they begin with --", argv[s.at]);
        else
            status = rt_cli_task(&s, &chosen);
    }
    if (!status && !cli->stop)
        status = rt_cli_used(&s);
    return status || cli->stop ? status : rt_cli_data_names(rt, cli);
}

#endif
