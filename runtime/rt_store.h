/* rt_store.h: parameters and states in safetensors files, which PyTorch, JAX and others open.
 *
 * The file: 8 bytes, the length of a header (little-endian); the header, JSON: {"key": {"dtype":
 * "F32", "shape": [784, 128], "data_offsets": [from, to]}, …}; the numbers, row-major. A file is
 * loaded whole or not at all: everything is checked before the first number is copied.
 */
#ifndef RT_STORE_H
#define RT_STORE_H

#include "rt_data.h"

/* How a tensor lies in memory. Panels: the last dimension N is cut into panels of 16 columns; with
 * K the product of the other dimensions, [K][N] is kept as [(N+15)/16][K][16], padding lanes 0. */
enum rt_layout { RT_ROW_MAJOR, RT_PANELS16 };

/* A tensor of the model; a table of these in the generated file, `data` set at start. */
struct rt_tensor {
    const char *key; /* "net.linear[0].w" */
    enum rt_type type;
    enum rt_layout layout;
    int rank;
    int64_t dims[RT_MAX_RANK];
    void *data;
};

/* ---- layouts ----------------------------------------------------------------------------------
 */

RT_FN int64_t rt_tensor_elements(const struct rt_tensor *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

/* Bytes in memory, padding lanes counted. */
RT_FN size_t rt_tensor_bytes(const struct rt_tensor *t) {
    int64_t n = rt_tensor_elements(t);
    if (t->layout == RT_PANELS16 && t->rank && n) {
        int64_t N = t->dims[t->rank - 1];
        n = n / N * ((N + 15) / 16 * 16);
    }
    return (size_t)n * rt_type_size(t->type);
}

/* Copies between memory and a row-major block: columns of a panel are neighbours in both. */
RT_FN void rt_tensor_move(const struct rt_tensor *t, char *row_major, bool to_memory) {
    size_t size = rt_type_size(t->type);
    char *memory = (char *)t->data;
    int64_t n = rt_tensor_elements(t);
    if (t->layout == RT_ROW_MAJOR || t->rank == 0 || n == 0) {
        memcpy(to_memory ? memory : row_major, to_memory ? row_major : memory, (size_t)n * size);
        return;
    }
    int64_t N = t->dims[t->rank - 1], K = n / N;
    if (to_memory)
        memset(memory, 0, rt_tensor_bytes(t));
    for (int64_t p = 0; p < (N + 15) / 16; p++) {
        size_t columns = (size_t)(N - 16 * p < 16 ? N - 16 * p : 16);
        for (int64_t k = 0; k < K; k++) {
            char *panel = memory + (size_t)((p * K + k) * 16) * size;
            char *row = row_major + (size_t)(k * N + 16 * p) * size;
            memcpy(to_memory ? panel : row, to_memory ? row : panel, columns * size);
        }
    }
}

/* Fills a row-major block from the tensor. */
RT_FN void rt_tensor_export(const struct rt_tensor *t, void *row_major) {
    rt_tensor_move(t, (char *)row_major, false);
}

/* Sets the tensor from a row-major block. */
RT_FN void rt_tensor_import(const struct rt_tensor *t, const void *row_major) {
    rt_tensor_move(t, (char *)(uintptr_t)row_major, true);
}

/* Whether the key is the prefix itself or inside it ("net" holds "net.w" and "net[0].w", not
 * "network.w"); NULL holds all. */
RT_FN bool rt_key_in(const char *key, const char *prefix) {
    size_t n = prefix ? strlen(prefix) : 0;
    return n == 0 || (strncmp(key, prefix, n) == 0 && (!key[n] || key[n] == '.' || key[n] == '['));
}

/* ---- saving -----------------------------------------------------------------------------------
 */

RT_FN const char *rt_store_dtype(enum rt_type type) {
    static const char *const name[] = {"F32", "F64", "I32", "I64", "U8",
                                       "I8",  "I16", "U16", "BOOL"};
    return name[type];
}

RT_FN void rt_put_json(struct rt_buf *b, const char *text) {
    rt_put(b, "\"", 1);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            rt_put(b, "\\", 1);
        if ((unsigned char)*text < 0x20)
            rt_putf(b, "\\u%04x", *text);
        else
            rt_put(b, text, 1);
    }
    rt_put(b, "\"", 1);
}

RT_FN void rt_store_header(struct rt_buf *b, const struct rt_tensor *tensors, int n,
                           const char *prefix) {
    int64_t at = 0;
    const char *comma = "";
    rt_puts(b, "{");
    for (int i = 0; i < n; i++) {
        const struct rt_tensor *t = &tensors[i];
        if (!rt_key_in(t->key, prefix))
            continue;
        int64_t bytes = rt_tensor_elements(t) * (int64_t)rt_type_size(t->type);
        rt_puts(b, comma);
        rt_put_json(b, t->key);
        rt_putf(b, ":{\"dtype\":\"%s\",\"shape\":[", rt_store_dtype(t->type));
        for (int d = 0; d < t->rank; d++)
            rt_putf(b, "%s%lld", d ? "," : "", (long long)t->dims[d]);
        rt_putf(b, "],\"data_offsets\":[%lld,%lld]}", (long long)at, (long long)(at + bytes));
        at += bytes;
        comma = ",";
    }
    rt_puts(b, "}");
    while (b->size % 8 && !b->failed)
        rt_puts(b, " "); /* the numbers are aligned in the file */
}

/* Saves the tensors inside `prefix` (NULL: all), in the order of the table. The file is replaced as
 * a whole. RT_ENV when it cannot be written. */
RT_FN enum rt_status rt_save(struct rt *rt, const char *path, const struct rt_tensor *tensors,
                             int n, const char *prefix) {
    struct rt_buf header;
    struct rt_out out;
    size_t most = 0;
    rt_buf_init(&header, rt, SIZE_MAX / 4);
    rt_store_header(&header, tensors, n, prefix);
    for (int i = 0; i < n; i++)
        if (tensors[i].layout != RT_ROW_MAJOR && rt_tensor_bytes(&tensors[i]) > most)
            most = rt_tensor_bytes(&tensors[i]);
    void *block = most ? rt->alloc(rt, most) : NULL;
    enum rt_status s = header.failed || (most && !block)
                           ? rt_fail(rt, RT_ENV, "no memory to save '%s'", path)
                           : rt_out_open(&out, rt, path);
    if (!s) {
        unsigned char size[8];
        for (int i = 0; i < 8; i++)
            size[i] = (unsigned char)((uint64_t)header.size >> 8 * i);
        rt_out_write(&out, size, 8);
        rt_out_write(&out, header.text, header.size);
        for (int i = 0; i < n; i++) {
            const struct rt_tensor *t = &tensors[i];
            if (!rt_key_in(t->key, prefix))
                continue;
            if (t->layout != RT_ROW_MAJOR)
                rt_tensor_export(t, block);
            rt_out_write(&out, t->layout == RT_ROW_MAJOR ? t->data : block,
                         (size_t)rt_tensor_elements(t) * rt_type_size(t->type));
        }
        s = rt_out_close(&out);
    }
    rt->release(rt, block);
    rt_buf_free(&header);
    return s;
}

/* ---- reading the header -----------------------------------------------------------------------
 */

/* One entry of a file's header. */
struct rt_entry {
    const char *at; /* its key in the header */
    char key[512];
    char dtype[16];
    int rank;
    int64_t dims[RT_MAX_RANK];
    int64_t from, to; /* bytes after the header */
};

struct rt_json {
    const char *at, *end;
};

RT_FN bool rt_json_char(struct rt_json *j, char c) {
    while (j->at < j->end && strchr(" \t\r\n", *j->at) && *j->at)
        j->at++;
    if (j->at == j->end || *j->at != c)
        return false;
    j->at++;
    return true;
}

/* A string into out[room]; longer ones are cut. Of \u escapes those below 0x80 only, which is how
 * keys are written. */
RT_FN bool rt_json_string(struct rt_json *j, char *out, size_t room) {
    size_t n = 0;
    if (!rt_json_char(j, '"'))
        return false;
    while (j->at < j->end && *j->at != '"') {
        char c = *j->at++;
        if (c == '\\') {
            if (j->at == j->end)
                return false;
            c = *j->at++;
            if (c == 'u') {
                char hex[5] = "";
                if (j->end - j->at < 4)
                    return false;
                memcpy(hex, j->at, 4);
                j->at += 4;
                long code = strtol(hex, NULL, 16);
                c = code < 0x80 ? (char)code : '?';
            } else if (c == 'n' || c == 't' || c == 'r') {
                c = c == 'n' ? '\n' : c == 't' ? '\t' : '\r';
            }
        }
        if (n + 1 < room)
            out[n++] = c;
    }
    out[n] = 0;
    return rt_json_char(j, '"');
}

/* [1, 2, …] into out; at most `most` numbers, none negative. Returns how many, or -1. */
RT_FN int rt_json_numbers(struct rt_json *j, int64_t *out, int most) {
    int n = 0;
    if (!rt_json_char(j, '['))
        return -1;
    if (rt_json_char(j, ']'))
        return 0;
    do {
        int64_t x = 0;
        rt_json_char(j, ' ');
        while (j->at < j->end && strchr(" \t\r\n", *j->at) && *j->at)
            j->at++;
        const char *digits = j->at;
        for (; j->at < j->end && (unsigned)(*j->at - '0') < 10; j->at++)
            if (__builtin_mul_overflow(x, 10, &x) || __builtin_add_overflow(x, *j->at - '0', &x))
                return -1;
        if (j->at == digits || n == most)
            return -1;
        out[n++] = x;
    } while (rt_json_char(j, ','));
    return rt_json_char(j, ']') ? n : -1;
}

/* {"text": "text", …}, which is passed over. */
RT_FN bool rt_json_metadata(struct rt_json *j) {
    char text[8];
    if (!rt_json_char(j, '{'))
        return false;
    if (rt_json_char(j, '}'))
        return true;
    do {
        if (!rt_json_string(j, text, sizeof text) || !rt_json_char(j, ':') ||
            !rt_json_string(j, text, sizeof text))
            return false;
    } while (rt_json_char(j, ','));
    return rt_json_char(j, '}');
}

/* {"dtype": …, "shape": …, "data_offsets": …} in any order, all three. */
RT_FN bool rt_json_entry(struct rt_json *j, struct rt_entry *e) {
    char name[32];
    int64_t offsets[2] = {0, 0};
    int seen = 0;
    if (!rt_json_char(j, '{'))
        return false;
    do {
        if (!rt_json_string(j, name, sizeof name) || !rt_json_char(j, ':'))
            return false;
        if (strcmp(name, "dtype") == 0) {
            if (!rt_json_string(j, e->dtype, sizeof e->dtype))
                return false;
            seen |= 1;
        } else if (strcmp(name, "shape") == 0) {
            e->rank = rt_json_numbers(j, e->dims, RT_MAX_RANK);
            if (e->rank < 0)
                return false;
            seen |= 2;
        } else if (strcmp(name, "data_offsets") == 0) {
            if (rt_json_numbers(j, offsets, 2) != 2)
                return false;
            seen |= 4;
        } else {
            return false;
        }
    } while (rt_json_char(j, ','));
    e->from = offsets[0];
    e->to = offsets[1];
    return seen == 7 && rt_json_char(j, '}');
}

/* The next entry: 1, or 0 at the end, or -1 when the header is broken. */
RT_FN int rt_store_next(struct rt_json *j, struct rt_entry *e, bool *first) {
    for (;;) {
        if (*first ? !rt_json_char(j, '{') : false)
            return -1;
        if (rt_json_char(j, '}'))
            return 0;
        if (!*first && !rt_json_char(j, ','))
            return -1;
        *first = false;
        e->at = j->at;
        if (!rt_json_string(j, e->key, sizeof e->key) || !rt_json_char(j, ':'))
            return -1;
        if (strcmp(e->key, "__metadata__") != 0)
            return rt_json_entry(j, e) ? 1 : -1;
        if (!rt_json_metadata(j))
            return -1;
    }
}

/* ---- loading ----------------------------------------------------------------------------------
 */

/* The bytes of an entry: from … to-1 after the header. */
struct rt_span {
    int64_t from, to;
    const char *key; /* where it stands in the header */
};

struct rt_load_state {
    struct rt *rt;
    const struct rt_tensor *tensors;
    int n;
    const char *prefix;
    const char *bytes; /* after the header */
    int64_t size;
    const char *path;
    struct rt_json header;
    int entries;         /* of the header */
    int64_t *from;       /* [n] where each tensor's numbers are, -1: not seen */
    struct rt_buf wrong; /* what does not fit, for the message */
    int problems;
};

/* Notes a problem; the first dozen are told. */
RT_FN __attribute__((format(printf, 2, 3))) void rt_load_wrong(struct rt_load_state *l,
                                                               const char *format, ...) {
    char text[700];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (l->problems++ < 12)
        rt_putf(&l->wrong, "%s%s", l->wrong.size ? "; " : "", text);
}

/* Finds the tensor of an entry and compares; -1 and a note when it does not fit. */
RT_FN void rt_load_entry(struct rt_load_state *l, const struct rt_entry *e) {
    char have[128], want[128];
    bool outside = e->from < 0 || e->to < e->from || e->to > l->size;
    for (int i = 0; i < l->n; i++) {
        const struct rt_tensor *t = &l->tensors[i];
        if (strcmp(t->key, e->key) != 0 || !rt_key_in(t->key, l->prefix))
            continue;
        bool same = e->rank == t->rank && !strcmp(e->dtype, rt_store_dtype(t->type));
        for (int d = 0; d < t->rank && same; d++)
            same = e->dims[d] == t->dims[d];
        if (l->from[i] >= 0)
            rt_load_wrong(l, "'%s' stands there twice", e->key);
        else if (!same)
            rt_load_wrong(l, "'%s' is %s %s, the model has %s %s", e->key, e->dtype,
                          rt_shape_text(have, sizeof have, e->rank, e->dims),
                          rt_store_dtype(t->type),
                          rt_shape_text(want, sizeof want, t->rank, t->dims));
        else if (outside)
            rt_load_wrong(l, "'%s' lies at bytes %lld to %lld, there are %lld", e->key,
                          (long long)e->from, (long long)e->to, (long long)l->size);
        else if (e->to - e->from != rt_tensor_elements(t) * (int64_t)rt_type_size(t->type))
            rt_load_wrong(l, "'%s' has %lld bytes, its shape needs %lld", e->key,
                          (long long)(e->to - e->from),
                          (long long)rt_tensor_elements(t) * (long long)rt_type_size(t->type));
        l->from[i] = outside ? 0 : e->from;
        return;
    }
    if (rt_key_in(e->key, l->prefix))
        rt_load_wrong(l, "'%s' is not in the model", e->key);
}

/* What is no safetensors file at all. */
RT_FN enum rt_status rt_load_broken(struct rt_load_state *l, const char *what, uint64_t found) {
    return rt_fail(l->rt, RT_USAGE, "'%s' is not a whole safetensors file: %s %llu", l->path, what,
                   (unsigned long long)found);
}

/* Finds the header and what follows it. */
RT_FN enum rt_status rt_load_frame(struct rt_load_state *l, const char *text, size_t size) {
    uint64_t header = 0;
    if (size < 8)
        return rt_load_broken(l, "8 bytes are wanted, it has", size);
    for (int i = 0; i < 8; i++)
        header |= (uint64_t)(unsigned char)text[i] << 8 * i;
    if (header > size - 8) {
        char what[80];
        snprintf(what, sizeof what, "its header should have %llu bytes, there are",
                 (unsigned long long)header);
        return rt_load_broken(l, what, size - 8);
    }
    l->header.at = text + 8;
    l->header.end = l->bytes = text + 8 + header;
    l->size = (int64_t)(size - 8 - header);
    return RT_OK;
}

/* Goes through the header: only spaces follow its last brace. */
RT_FN enum rt_status rt_load_header(struct rt_load_state *l) {
    struct rt_entry e;
    struct rt_json j = l->header;
    bool first = true;
    int more;
    for (int i = 0; i < l->n; i++)
        l->from[i] = -1;
    for (l->entries = 0; (more = rt_store_next(&j, &e, &first)) > 0; l->entries++)
        rt_load_entry(l, &e);
    while (more == 0 && j.at < j.end && strchr(" \t\r\n", *j.at) && *j.at)
        j.at++;
    if (more < 0 || j.at < j.end)
        return rt_load_broken(l, "its header is wrong at byte",
                              (uint64_t)(j.at - l->header.at) + 8);
    return RT_OK;
}

RT_FN int rt_span_order(const void *a, const void *b) {
    const struct rt_span *x = (const struct rt_span *)a, *y = (const struct rt_span *)b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to == y->to ? 0 : x->to < y->to ? -1 : 1;
}

/* "key" in the header, for messages: as it stands there, cut. */
RT_FN int rt_span_name(const struct rt_span *s, const char **name) {
    const char *quote = strchr(s->key, '"');
    size_t n = quote ? strcspn(quote + 1, "\"") : 0;
    *name = quote ? quote + 1 : "";
    return n < 200 ? (int)n : 200;
}

/* The numbers of the entries must be all that follows the header, each byte of one entry: then no
 * part of the file is lost or read twice. */
RT_FN enum rt_status rt_load_tiles(struct rt_load_state *l, const struct rt_span *spans) {
    int64_t at = 0;
    const char *name, *before;
    for (int i = 0; i < l->entries; at = spans[i++].to) {
        const struct rt_span *s = &spans[i];
        if (s->from > at)
            return rt_fail(l->rt, RT_USAGE, "'%s': bytes %lld to %lld belong to no tensor", l->path,
                           (long long)at, (long long)s->from);
        int n = rt_span_name(s, &name);
        if (s->to < s->from || s->to > l->size)
            return rt_fail(l->rt, RT_USAGE,
                           "'%s': '%.*s' lies at bytes %lld to %lld, there are %lld", l->path, n,
                           name, (long long)s->from, (long long)s->to, (long long)l->size);
        int m = s->from < at ? rt_span_name(s - 1, &before) : 0;
        if (s->from < at)
            return rt_fail(l->rt, RT_USAGE, "'%s': '%.*s' and '%.*s' share bytes %lld to %lld",
                           l->path, m, before, n, name, (long long)s->from,
                           (long long)(s->to < at ? s->to : at));
    }
    if (at < l->size)
        return rt_fail(l->rt, RT_USAGE,
                       "'%s': its tensors end at byte %lld, there are %lld: what follows is of no "
                       "tensor",
                       l->path, (long long)at, (long long)l->size);
    return RT_OK;
}

RT_FN enum rt_status rt_load_spans(struct rt_load_state *l) {
    struct rt_span *spans =
        (struct rt_span *)l->rt->alloc(l->rt, (size_t)l->entries * sizeof *spans + 1);
    struct rt_json j = l->header;
    struct rt_entry e;
    bool first = true;
    if (!spans)
        return rt_fail(l->rt, RT_ENV, "no memory for '%s'", l->path);
    for (int i = 0; i < l->entries && rt_store_next(&j, &e, &first) > 0; i++) {
        spans[i].from = e.from;
        spans[i].to = e.to;
        spans[i].key = e.at;
    }
    qsort(spans, (size_t)l->entries, sizeof *spans, rt_span_order);
    enum rt_status s = rt_load_tiles(l, spans);
    l->rt->release(l->rt, spans);
    return s;
}

RT_FN enum rt_status rt_load_all(struct rt_load_state *l, const char *text, size_t size) {
    enum rt_status s = rt_load_frame(l, text, size);
    if (!s)
        s = rt_load_header(l);
    if (s)
        return s;
    for (int i = 0; i < l->n; i++)
        if (l->from[i] < 0 && rt_key_in(l->tensors[i].key, l->prefix))
            rt_load_wrong(l, "'%s' is missing", l->tensors[i].key);
    if (l->problems)
        return rt_fail(l->rt, RT_USAGE, "'%s' does not fit: %s%s", l->path,
                       l->wrong.text ? l->wrong.text : "", l->problems > 12 ? "; and more" : "");
    s = rt_load_spans(l);
    for (int i = 0; i < l->n && !s; i++)
        if (l->from[i] >= 0)
            rt_tensor_import(&l->tensors[i], l->bytes + l->from[i]);
    return s;
}

/* Sets the tensors inside `prefix` (NULL: all) from a file. RT_USAGE with every missing, unexpected
 * or misshapen key in the message, RT_ENV when the file cannot be read; then no tensor has changed.
 */
RT_FN enum rt_status rt_load(struct rt *rt, const char *path, const struct rt_tensor *tensors,
                             int n, const char *prefix) {
    char *text = NULL;
    size_t size = 0;
    enum rt_status s = rt_file_read(rt, path, &text, &size);
    if (s)
        return s;
    struct rt_load_state l;
    memset(&l, 0, sizeof l);
    l.rt = rt;
    l.tensors = tensors;
    l.n = n;
    l.prefix = prefix;
    l.path = path;
    l.from = (int64_t *)rt->alloc(rt, (size_t)n * sizeof *l.from + 1);
    rt_buf_init(&l.wrong, rt, 16384);
    s = l.from ? rt_load_all(&l, text, size)
               : rt_fail(rt, RT_ENV, "no memory for '%s'", path);
    rt_buf_free(&l.wrong);
    rt->release(rt, l.from);
    rt->release(rt, text);
    return s;
}

#endif
