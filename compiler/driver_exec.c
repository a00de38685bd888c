/* driver_exec.c: runs the C compiler and the trainer.
 *
 * The cache (~/.cache/nnc, $XDG_CACHE_HOME/nnc) holds NAME-HASH.c and NAME-HASH; the text is
 * compared as a whole, so a hash that two texts share costs a compilation and never runs the wrong
 * program.
 */
#include "driver.h"
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int environment_error(const char *what, const char *about) {
    fprintf(stderr, "nnc: cannot %s '%s': %s\n", what, about, strerror(errno));
    return EXIT_ENVIRONMENT;
}

static const char *compiler_name(void) {
    const char *cc = getenv("CC");
    return cc && *cc ? cc : "cc";
}

/* Runs argv and waits; its exit code, or -1 when it could not be run (with a message). */
static int run_and_wait(char *const *argv) {
    pid_t child;
    int status;
    errno = posix_spawnp(&child, argv[0], NULL, NULL, argv, environ);
    if (errno) {
        environment_error("run", argv[0]);
        return -1;
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Through a temporary name, so that a broken compilation leaves no program behind. */
static int compile(Compiler *c, const char *source, const char *to) {
    char *made = arena_printf(c->arena, "%s.%ld.tmp", to, (long)getpid());
    const char *command[10];
    int n = 0;
    command[n++] = compiler_name();
    command[n++] = "-O2";
    command[n++] = "-o";
    command[n++] = made;
    command[n++] = source;
    command[n++] = "-lm";
    command[n++] = "-pthread";
    if (c->program->uses_gz)
        command[n++] = "-lz";
    command[n] = NULL;
    int status = run_and_wait((char *const *)(uintptr_t)command);
    if (status == 0 && rename(made, to) == 0)
        return EXIT_DONE;
    if (status == 0)
        environment_error("write", to);
    else if (status > 0)
        fprintf(stderr, "nnc: %s could not compile the trainer of '%s'\n", compiler_name(),
                c->settings.input);
    unlink(made);
    return EXIT_ENVIRONMENT;
}

int driver_build(Compiler *c, const char *text, const char *to) {
    const char *source = arena_printf(c->arena, "%s.%ld.c", to, (long)getpid());
    if (!write_file(source, text, strlen(text)))
        return environment_error("write", source);
    int status = compile(c, source, to);
    unlink(source);
    return status;
}

/* ---- cache ---- */

static bool make_folder(const char *path) {
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

/* The folder of the cache with its parent made; NULL with errno. */
static const char *cache_folder(Arena *a) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (!base || !*base)
        base = arena_printf(a, "%s/.cache", home && *home ? home : "/tmp");
    const char *folder = arena_printf(a, "%s/nnc", base);
    return make_folder(base) && make_folder(folder) ? folder : NULL;
}

static bool holds(Arena *a, const char *path, const char *text) {
    size_t n;
    const char *old = read_file(a, path, &n);
    return old && n == strlen(text) && memcmp(old, text, n) == 0;
}

/* The C compiler is part of the key: $CC may change between two runs. */
static uint32_t key_of(const char *text) {
    uint32_t h = hash_bytes(HASH_START, text, strlen(text));
    return hash_bytes(h, compiler_name(), strlen(compiler_name()));
}

static const char *folder_of(Arena *a, const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    return slash == path ? "/" : arena_strndup(a, path, (size_t)(slash - path));
}

char **driver_trainer_arguments(const Compiler *c, const Arguments *args, int *argc) {
    char **argv = NEW_ARRAY(c->arena, char *, args->nrest + 4);
    int n = 0;
    argv[n++] = arena_printf(c->arena, "%s", c->program->name);
    argv[n++] = arena_printf(c->arena, "--data");
    argv[n++] = arena_printf(c->arena, "%s", folder_of(c->arena, c->settings.input));
    for (int i = 0; i < args->nrest; i++)
        argv[n++] = args->rest[i];
    *argc = n;
    return argv;
}

static int become(Compiler *c, const char *program, const Arguments *args) {
    int argc;
    char **argv = driver_trainer_arguments(c, args, &argc);
    fflush(NULL);
    execv(program, argv);
    return environment_error("run", program);
}

int driver_run_cached(Compiler *c, const char *text, const Arguments *args) {
    const char *folder = cache_folder(c->arena);
    if (!folder)
        return environment_error("make a cache for", c->settings.input);
    const char *program =
        arena_printf(c->arena, "%s/%s-%08x", folder, c->program->name, key_of(text));
    const char *source = arena_printf(c->arena, "%s.c", program);
    if (access(program, X_OK) != 0 || !holds(c->arena, source, text)) {
        unlink(program); /* so that a program always belongs to the text beside it */
        if (!write_file(source, text, strlen(text)))
            return environment_error("write", source);
        int status = compile(c, source, program);
        if (status != EXIT_DONE)
            return status;
    }
    return become(c, program, args);
}
