/* trace.c: reads safetensors files: 8 bytes with the length of a JSON header, the header, the data.
 *
 * Header: {"KEY": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …}; "__metadata__"
 * is passed over. Sizes are checked before they are used.
 */
#include "ref.h"
#include <errno.h>
#include <string.h>

typedef struct Reader {
    Arena *arena;
    const char *at, *end; /* of what is left of the header */
    const char *data;
    size_t size;
    int64_t next; /* where the tensors so far end in the data */
    const char *why; /* the first thing that is wrong */
} Reader;

static bool wrong(Reader *r, const char *why) {
    if (!r->why)
        r->why = why;
    r->at = r->end;
    return false;
}

/* ---- JSON ---- */

static char peek(Reader *r) {
    while (r->at < r->end && strchr(" \t\r\n", *r->at))
        r->at++;
    return r->at < r->end ? *r->at : 0;
}

/* Takes the character if it is next. */
static bool take(Reader *r, char c) {
    if (peek(r) != c)
        return false;
    r->at++;
    return true;
}

static void expect(Reader *r, char c) {
    if (!take(r, c))
        wrong(r, "the header is not what a safetensors file has");
}

/* Keys are paths of the program: nothing in them needs an escape. */
static const char *read_string(Reader *r) {
    expect(r, '"');
    const char *start = r->at;
    while (r->at < r->end && *r->at != '"' && *r->at != '\\')
        r->at++;
    size_t n = (size_t)(r->at - start);
    expect(r, '"');
    return arena_strndup(r->arena, start, n);
}

static int64_t read_number(Reader *r) {
    int64_t x = 0;
    char c = peek(r);
    if (c < '0' || c > '9')
        wrong(r, "a number is missing in the header");
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        if (x > (INT64_MAX - 9) / 10) {
            wrong(r, "a number in the header is too large");
            return 0;
        }
        x = x * 10 + (*r->at - '0');
    }
    return x;
}

/* Numbers in brackets: at most `most`. */
static int read_numbers(Reader *r, int64_t *out, int most) {
    int n = 0;
    expect(r, '[');
    if (take(r, ']'))
        return 0;
    do {
        int64_t x = read_number(r);
        if (n == most) {
            wrong(r, "a list in the header is too long");
            return n;
        }
        out[n++] = x;
    } while (take(r, ','));
    expect(r, ']');
    return n;
}

/* ---- tensors ---- */

typedef struct Stored {
    const char *name;
    int bytes;
    double (*at)(const char *data);
} Stored;

#define STORED(name, T)                                                                            \
    static double stored_##name(const char *data) {                                                \
        T x;                                                                                       \
        memcpy(&x, data, sizeof x);                                                                \
        return (double)x;                                                                          \
    }
STORED(f32, float)
STORED(f64, double)
STORED(i64, int64_t)
STORED(i32, int32_t)
STORED(i16, int16_t)
STORED(u16, uint16_t)
STORED(i8, int8_t)
STORED(u8, uint8_t)

static const Stored stored_types[] = {
    {"F32", 4, stored_f32}, {"F64", 8, stored_f64}, {"I64", 8, stored_i64},
    {"I32", 4, stored_i32}, {"I16", 2, stored_i16}, {"U16", 2, stored_u16},
    {"I8", 1, stored_i8},   {"U8", 1, stored_u8},   {"BOOL", 1, stored_u8},
};

static const Stored *stored_type(Reader *r, const char *name) {
    for (int i = 0; i < COUNT_OF(stored_types); i++)
        if (strcmp(stored_types[i].name, name) == 0)
            return &stored_types[i];
    wrong(r, "a tensor has a type that traces do not have");
    return NULL;
}

static bool convert(Reader *r, const Stored *type, const int64_t *offsets, Tensor *t) {
    if (offsets[0] > offsets[1] || (uint64_t)offsets[1] > r->size)
        return wrong(r, "a tensor lies outside the file");
    if (offsets[0] != r->next) /* a trainer writes them in order */
        return wrong(r, "a tensor does not begin where the one before ends");
    r->next = offsets[1];
    int64_t n = 1, room = (offsets[1] - offsets[0]) / type->bytes;
    for (int i = 0; i < t->shape.rank; i++) {
        int64_t extent = t->shape.dim[i].n;
        if (extent && n > room / extent)
            return wrong(r, "a tensor is larger than its place in the file");
        n *= extent;
    }
    if (n * type->bytes != offsets[1] - offsets[0])
        return wrong(r, "a tensor does not fill its place in the file");
    t->at = NEW_ARRAY(r->arena, double, n);
    for (int64_t i = 0; i < n; i++)
        t->at[i] = type->at(r->data + offsets[0] + i * type->bytes);
    return true;
}

static bool read_tensor(Reader *r, Tensor *t) {
    const Stored *type = NULL;
    int64_t offsets[2] = {0}, dims[MAX_RANK];
    int given = 0;
    expect(r, '{');
    do {
        const char *member = read_string(r);
        expect(r, ':');
        if (strcmp(member, "dtype") == 0)
            type = stored_type(r, read_string(r));
        else if (strcmp(member, "shape") == 0)
            t->shape = shape_of(read_numbers(r, dims, MAX_RANK), dims);
        else if (strcmp(member, "data_offsets") == 0)
            given = read_numbers(r, offsets, 2);
        else
            return wrong(r, "the header describes a tensor by an unknown word");
    } while (take(r, ','));
    expect(r, '}');
    if (!type || given != 2)
        return wrong(r, "the header leaves out a tensor's type or place");
    return convert(r, type, offsets, t);
}

static void read_metadata(Reader *r) {
    expect(r, '{');
    while (peek(r) == '"') {
        read_string(r);
        expect(r, ':');
        read_string(r);
        take(r, ',');
    }
    expect(r, '}');
}

/* ---- files ---- */

static void read_header(Reader *r, Trace *out) {
    VEC(const char *) keys = {0};
    VEC(Tensor) tensors = {0};
    expect(r, '{');
    while (peek(r) == '"') {
        const char *key = read_string(r);
        expect(r, ':');
        Tensor t = {0};
        if (strcmp(key, "__metadata__") == 0) {
            read_metadata(r);
        } else if (read_tensor(r, &t)) {
            vec_push(r->arena, &keys, key);
            vec_push(r->arena, &tensors, t);
        }
        take(r, ',');
    }
    expect(r, '}');
    if (r->at < r->end && peek(r))
        wrong(r, "something follows the header");
    if (!r->why && (uint64_t)r->next != r->size)
        wrong(r, "bytes follow the last tensor");
    *out = (Trace){keys.n, keys.at, tensors.at};
}

int trace_read(Arena *a, const char *path, Trace *out, const char **why) {
    size_t n;
    const char *file = read_file(a, path, &n);
    if (!file) {
        *why = strerror(errno);
        return REF_ENVIRONMENT;
    }
    uint64_t header = 0;
    for (int i = 0; i < 8 && n >= 8; i++)
        header |= (uint64_t)(unsigned char)file[i] << (8 * i);
    if (n < 8 || header > n - 8) {
        *why = "the file is cut short";
        return REF_USAGE;
    }
    Reader r = {.arena = a, .at = file + 8, .end = file + 8 + header};
    r.data = r.end;
    r.size = n - 8 - header;
    read_header(&r, out);
    *why = r.why;
    return r.why ? REF_USAGE : REF_OK;
}

const Tensor *trace_find(const Trace *t, const char *key) {
    for (int i = 0; i < t->n; i++)
        if (strcmp(t->keys[i], key) == 0)
            return &t->tensors[i];
    return NULL;
}
