/* util.h: memory, strings and growable arrays of the compiler.
 *
 * All memory of a compilation comes from arenas; only util.c calls malloc. An arena hands out
 * zeroed, 16-byte aligned memory and is freed as a whole. Running out of memory ends the program
 * (exit 2).
 */
#ifndef NNC_UTIL_H
#define NNC_UTIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Arena Arena;

Arena *arena_new(void);
void *arena_alloc(Arena *a, size_t bytes);
/* Forgets everything in it; the memory is used again. */
void arena_reset(Arena *a);
void arena_free(Arena *a);

/* The string that printf would print, in the arena. */
char *arena_printf(Arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *a, const char *fmt, va_list ap);
char *arena_strndup(Arena *a, const char *s, size_t n);
/* What follows the last slash. */
const char *path_base(const char *path);
/* A C identifier from a name or path: "net.linear[0].w" gives net_linear_0_w. */
const char *arena_identifier(Arena *a, const char *path);
/* Three or more equal words of a name in a row as one with their number: a_a_a_b: a_3_b. */
const char *arena_fold_words(Arena *a, const char *name);
/* The text with one word in place of another; words are made of letters, digits and _. */
const char *arena_replace_word(Arena *a, const char *text, const char *word, const char *with);

#define NEW(arena, T) ((T *)arena_alloc(arena, sizeof(T)))
#define NEW_ARRAY(arena, T, n) ((T *)arena_alloc(arena, sizeof(T) * (size_t)(n)))

/* A growable array in an arena: VEC(Node *) nodes; vec_push(arena, &nodes, n); nodes.at[i],
 * nodes.n. Growing copies; the old block stays in the arena until that is freed. */
#define VEC(T)  \
    struct {    \
        T *at;  \
        int n;  \
        int cap; \
    }
#define vec_push(arena, v, ...)                                                                    \
    do {                                                                                           \
        if ((v)->n == (v)->cap)                                                                    \
            (v)->at = vec_grow(arena, (v)->at, sizeof *(v)->at, (v)->n, &(v)->cap);                \
        (v)->at[(v)->n++] = (__VA_ARGS__);                                                         \
    } while (0)
void *vec_grow(Arena *a, const void *at, size_t item, int n, int *cap);

/* A growing string; `at` is always terminated once anything was added. */
typedef struct Text {
    Arena *arena;
    char *at;
    size_t n, cap;
} Text;

void text_add(Text *t, const char *s);
void text_addn(Text *t, const char *s, size_t n);
void text_printf(Text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(Text *t, const char *fmt, va_list ap);

/* Interned strings: equal text, equal pointer. */
typedef struct Interner Interner;
Interner *interner_new(Arena *a);
const char *intern(Interner *in, const char *s, size_t n);
const char *intern_str(Interner *in, const char *s);

/* Gives names that differ: `wanted` itself the first time, then wanted2, wanted3 … with `joint`
 * before the number. */
typedef struct Names Names;
Names *names_new(Arena *a);
void names_reserve(Names *names, const char *name);
bool names_has(Names *names, const char *name);
const char *names_unique(Names *names, const char *wanted, const char *joint);

/* Whole file in the arena, terminated; NULL (and errno) when it cannot be read. */
char *read_file(Arena *a, const char *path, size_t *n);
/* Writes to a temporary name and renames; false (and errno) when that fails: nothing is left. What
 * is there and no file (/dev/stdout) is written to as it is. */
bool write_file(const char *path, const char *text, size_t n);

/* 32-bit FNV-1a; places of random numbers and structural hashes. */
uint32_t hash_bytes(uint32_t h, const void *p, size_t n);
#define HASH_START 2166136261u

/* An error in nnc itself: prints it and aborts. */
_Noreturn void bug_at(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#define bug(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)

/* Arguments are evaluated once: they may be calls that go deep. */
#define MIN(a, b) LESSER_OR_GREATER(min, (a), (b))
#define MAX(a, b) LESSER_OR_GREATER(max, (a), (b))
#define LESSER_OR_GREATER(which, a, b)                                                             \
    _Generic(a + b, int: which##_int, unsigned: which##_unsigned, long: which##_long,              \
             unsigned long: which##_size, double: which##_double)(a, b)
#define MIN_AND_MAX(T, name)                                                                       \
    static inline T min_##name(T a, T b) {                                                         \
        return a < b ? a : b;                                                                      \
    }                                                                                              \
    static inline T max_##name(T a, T b) {                                                         \
        return a > b ? a : b;                                                                      \
    }
MIN_AND_MAX(int, int)
MIN_AND_MAX(unsigned, unsigned)
MIN_AND_MAX(long, long)
MIN_AND_MAX(unsigned long, size)
MIN_AND_MAX(double, double)
#define COUNT_OF(a) ((int)(sizeof(a) / sizeof *(a)))

#endif
