/* driver.h: the command line of nnc, and what its commands share. */
#ifndef NNC_DRIVER_H
#define NNC_DRIVER_H

#include "pass.h"

typedef enum Command {
    COMMAND_EMIT,  /* nnc model.nn -o model.c */
    COMMAND_CHECK, /* nnc check model.nn */
    COMMAND_RUN,   /* nnc run model.nn [-- ARGS] */
    COMMAND_BUILD, /* nnc build model.nn -o prog */
    COMMAND_LOCKSTEP, /* nnc lockstep model.nn TRACE_DIR */
    COMMAND_SHOW   /* --help, --version: all is printed already */
} Command;

typedef struct Arguments {
    Command command;
    Settings settings;
    bool ref, single;  /* --ref was given; it is f32 */
    const char *trace; /* folder that a trainer's --trace filled */
    bool seeded;       /* --seed was given */
    uint64_t seed;     /* of that trainer */
    int nrest; /* after --: for the trainer */
    char **rest;
} Arguments;

enum { EXIT_DONE = 0, EXIT_WRONG = 1, EXIT_ENVIRONMENT = 2 };

/* Is `target` ("c") one of those that --target names? */
bool settings_want(const Settings *s, const char *target);

/* false: a message was printed; exit code 1. */
bool driver_arguments(Arena *a, int argc, char **argv, Arguments *out);

/* Can a file be made at `path`, or replaced? What is there and no file (/dev/stdout, a pipe) is
 * written to, but not by a compiler (`program`). Else a message, and EXIT_ENVIRONMENT. */
int driver_check_output(Arena *a, const char *path, bool program);
/* `status`, or EXIT_ENVIRONMENT with a message when standard output has not taken everything; lost:
 * why, as far as that is known (errno), or 0. */
int driver_shown(int status, int lost);

/* Compiles text to the program `to` and reports what fails: C through the system's compiler ($CC,
 * else cc), CUDA through nvcc ($NVCC, else on the PATH, else /usr/local/cuda/bin/nvcc). */
int driver_build(Compiler *c, const char *text, const char *to);
/* The same with the program in the cache, then becomes that program; returns only when that fails.
 */
int driver_run_cached(Compiler *c, const char *text, const Arguments *args);

/* argv of a trainer run by nnc: its name, --data with the folder of the .nn file, the rest. */
char **driver_trainer_arguments(const Compiler *c, const Arguments *args, int *argc);

/* All of nnc; returns the exit code. */
int driver(int argc, char **argv);

#endif
