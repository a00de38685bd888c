/* driver_exec.c: runs the compiler of the text, a C compiler or nvcc, and the trainer.
 *
 * The cache (~/.cache/nnc, $XDG_CACHE_HOME/nnc) holds NAME-HASH.c or .cu and NAME-HASH; the text is
 * compared as a whole, so a hash that two texts share costs a compilation and never runs the wrong
 * program.
 */
#include "driver.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

/* ---- where output goes ---- */

static const char *folder_of(Arena *a, const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    return slash == path ? "/" : arena_strndup(a, path, (size_t)(slash - path));
}

/* A file of the name that output has while it is written: made and removed again. */
static bool can_make(Arena *a, const char *path) {
    const char *temporary = arena_printf(a, "%s.%ld.tmp", path, (long)getpid());
    errno = ENOENT;
    int fd = *path ? open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
    return fd >= 0 && close(fd) == 0 && unlink(temporary) == 0;
}

int driver_check_output(Arena *a, const char *path, bool program) {
    struct stat st;
    bool there = stat(path, &st) == 0, other = there && !S_ISREG(st.st_mode);
    if (other && (program || S_ISDIR(st.st_mode))) {
        fprintf(stderr, "nnc: cannot write '%s': it is there and not a file\n", path);
        return EXIT_ENVIRONMENT;
    }
    if (other ? access(path, W_OK) == 0 : can_make(a, path))
        return EXIT_DONE;
    const char *folder = folder_of(a, path);
    int why = errno;
    if (*path && access(folder, F_OK) != 0) {
        fprintf(stderr, "nnc: cannot write '%s': there is no folder '%s'\n", path, folder);
        return EXIT_ENVIRONMENT;
    }
    errno = why;
    return environment_error("write", path);
}

int driver_shown(int status, int lost) {
    errno = lost;
    if (status || (fflush(stdout) == 0 && !ferror(stdout)))
        return status;
    fprintf(stderr, "nnc: cannot write standard output: %s\n", strerror(errno ? errno : EIO));
    return EXIT_ENVIRONMENT;
}

/* ---- the compiler of the text ---- */

static const char *variable(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

static bool is_on_path(Arena *a, const char *program) {
    const char *path = variable("PATH", "");
    for (size_t n; *path; path += n + (path[n] == ':')) {
        n = strcspn(path, ":");
        if (access(arena_printf(a, "%.*s/%s", (int)n, path, program), X_OK) == 0)
            return true;
    }
    return false;
}

/* NULL with a message: there is none. */
static const char *find_nvcc(Arena *a) {
    const char *usual = "/usr/local/cuda/bin/nvcc", *named = variable("NVCC", NULL);
    if (named)
        return named;
    if (is_on_path(a, "nvcc"))
        return "nvcc";
    if (access(usual, X_OK) == 0)
        return usual;
    fprintf(stderr, "nnc: no nvcc on the PATH, none is '%s', and NVCC names none\n", usual);
    return NULL;
}

static const char *find_compiler(const Compiler *c) {
    return c->gpu ? find_nvcc(c->arena) : variable("CC", "cc");
}

/* While the compiler works, signals that end nnc are waited for, so that what it leaves is
 * removed first. */
typedef struct Guard {
    sigset_t signals, before;
    int ended_by; /* the signal that came, or 0 */
} Guard;

static void guard_begin(Guard *g) {
    g->ended_by = 0;
    sigemptyset(&g->signals);
    sigaddset(&g->signals, SIGINT);
    sigaddset(&g->signals, SIGTERM);
    sigaddset(&g->signals, SIGHUP);
    sigaddset(&g->signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &g->signals, &g->before);
}

/* Does not return when a signal came. */
static void guard_end(const Guard *g) {
    if (g->ended_by)
        raise(g->ended_by);
    sigprocmask(SIG_SETMASK, &g->before, NULL);
}

/* Waits for the child; a signal is passed on to it. */
static int wait_for(Guard *g, pid_t child) {
    int status;
    for (pid_t got = 0; got == 0;) {
        got = waitpid(child, &status, WNOHANG);
        if (got < 0)
            return -1;
        int signal = got ? 0 : sigwaitinfo(&g->signals, NULL);
        if (signal > 0 && signal != SIGCHLD) {
            g->ended_by = signal;
            kill(child, signal);
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Runs argv with `input` as its standard input and waits; its exit code, or -1 when it could not be
 * run (with a message). */
static int run_and_wait(char *const *argv, int input, Guard *g) {
    pid_t child;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &g->before);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    errno = posix_spawnp(&child, argv[0], &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (!errno)
        return wait_for(g, child);
    environment_error("run", argv[0]);
    return -1;
}

/* The text in a file without a name: nothing is left of it, however nnc ends. NULL with errno. */
static FILE *unnamed_file(const char *text) {
    FILE *f = tmpfile();
    size_t n = strlen(text);
    if (f && fwrite(text, 1, n, f) == n && fflush(f) == 0 && lseek(fileno(f), 0, SEEK_SET) == 0)
        return f;
    int why = errno;
    if (f)
        fclose(f);
    errno = why;
    return NULL;
}

/* Through a temporary name, so that a broken compilation leaves no program behind. */
static int compile(Compiler *c, const char *compiler, int source, const char *to, Guard *g) {
    char *made = arena_printf(c->arena, "%s.%ld.tmp", to, (long)getpid());
    const char *gz = c->program->uses_gz ? "-lz" : NULL;
    const char *cc[] = {compiler, "-O2",  "-Wno-psabi", "-o",       made, "-x", "c",
                        "-",      "-x",   "none",       "-lm", "-pthread", gz,  NULL};
    /* sm_80 and its PTX: every GPU that a trainer takes; the flags are those of equal bits. */
    const char *nvcc[] = {compiler,     "-O2",       "-std=c++17",  "-arch=sm_80",
                          "-fmad=false", "-ftz=true", "-Xcompiler", "-Wno-psabi",
                          "-o",          made,        "-x",          "cu",
                          "-",           gz,          NULL};
    int status = run_and_wait((char *const *)(uintptr_t)(c->gpu ? nvcc : cc), source, g);
    if (status == 0 && !g->ended_by && rename(made, to) == 0)
        return EXIT_DONE;
    if (status == 0 && !g->ended_by)
        environment_error("write", to);
    else if (status > 0 && !g->ended_by)
        fprintf(stderr, "nnc: %s could not compile the trainer of '%s'\n", compiler,
                c->settings.input);
    unlink(made);
    return EXIT_ENVIRONMENT;
}

static int build(Compiler *c, const char *compiler, const char *text, const char *to) {
    FILE *source = unnamed_file(text);
    if (!source)
        return environment_error("write a temporary file for", c->settings.input);
    Guard g;
    guard_begin(&g);
    int status = compile(c, compiler, fileno(source), to, &g);
    fclose(source);
    guard_end(&g);
    return status;
}

int driver_build(Compiler *c, const char *text, const char *to) {
    const char *compiler = find_compiler(c);
    return compiler ? build(c, compiler, text, to) : EXIT_ENVIRONMENT;
}

/* ---- cache ---- */

static bool make_folder(const char *path) {
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

/* The folder of the cache, made with its parent where it is not there; NULL with a message. */
static const char *cache_folder(Arena *a) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (!base || !*base)
        base = arena_printf(a, "%s/.cache", home && *home ? home : "/tmp");
    const char *folder = arena_printf(a, "%s/nnc", base);
    if (make_folder(base) && make_folder(folder))
        return folder;
    environment_error("make the cache", folder);
    return NULL;
}

static bool holds(Arena *a, const char *path, const char *text) {
    size_t n;
    const char *old = read_file(a, path, &n);
    return old && n == strlen(text) && memcmp(old, text, n) == 0;
}

/* The compiler is part of the key: $CC may change between two runs. */
static uint32_t key_of(const char *text, const char *compiler) {
    uint32_t h = hash_bytes(HASH_START, text, strlen(text));
    return hash_bytes(h, compiler, strlen(compiler));
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
    int status = driver_shown(EXIT_DONE, c->lost);
    if (status)
        return status;
    execv(program, argv);
    return environment_error("run", program);
}

int driver_run_cached(Compiler *c, const char *text, const Arguments *args) {
    const char *compiler = find_compiler(c);
    const char *folder = compiler ? cache_folder(c->arena) : NULL;
    if (!compiler || !folder)
        return EXIT_ENVIRONMENT;
    const char *program =
        arena_printf(c->arena, "%s/%s-%08x", folder, c->program->name, key_of(text, compiler));
    const char *source = arena_printf(c->arena, "%s.%s", program, c->gpu ? "cu" : "c");
    if (access(program, X_OK) != 0 || !holds(c->arena, source, text)) {
        unlink(program); /* so that a program always belongs to the text beside it */
        if (!write_file(source, text, strlen(text)))
            return environment_error("write", source);
        int status = build(c, compiler, text, program);
        if (status != EXIT_DONE)
            return status;
    }
    return become(c, program, args);
}
