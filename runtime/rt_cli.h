/* rt_cli.h: the command line of a trainer: [TASK] [--OPTION VALUE …]. */
#ifndef RT_CLI_H
#define RT_CLI_H
#include "rt_store.h"

enum rt_option_kind { RT_OPT_INT, RT_OPT_REAL, RT_OPT_BOOL, RT_OPT_STRING };
/* An `option` of the program; *value holds the default before and the chosen value after. */
struct rt_option {
    const char *name; /* as in the program: weight_decay */
    enum rt_option_kind kind;
    const char *help; /* or NULL */
    void *value;      /* int64_t *, double *, bool *, const char ** */
};
struct rt_task {
    const char *name;
    const char *help; /* or NULL */
};
struct rt_cli {
    /* in */
    const char *program; /* "digits" */
    const char *version; /* what --version prints */
    const struct rt_task *tasks; /* the first is the default */
    int n_tasks;
    const struct rt_option *options;
    int n_options;
    const struct rt_tensor *tensors; /* for --list */
    int n_tensors;
    const struct rt_field *fields;   /* for --list */
    int n_fields;
    /* out */
    int task;
    bool stop; /* --help, --version or --list was printed: main returns 0 */
    struct rt_pair load[RT_MAX_PATHS];
    int n_load;
    const char *trace_dir;         /* or NULL */
    int64_t trace_steps[64];
    int n_trace_steps;
};
/* Also sets rt->seed, threads, quiet, exact, untrained, data_path. RT_USAGE: message says what. */
RT_FN enum rt_status rt_cli_parse(struct rt *rt, struct rt_cli *cli, int argc, char **argv);
#endif
