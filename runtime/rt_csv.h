/* rt_csv.h: tables of text: quotes, CRLF, headers, chosen columns, missing cells, classes.
 *
 * One pass over the text: each wanted cell is parsed where it stands. Numbers of at most 15 digits
 * and a small power of ten are exact products in f64; strtod does the rest. Lines count from 1,
 * columns from 0, as in columns=.
 */
#ifndef RT_CSV_H
#define RT_CSV_H

#include "rt_data.h"

/* Columns `first` … `first+count-1` (count -1: to the last one), or the one called `name`. */
struct rt_column {
    const char *name;
    int32_t first, count;
};

enum rt_header { RT_HEADER_AUTO, RT_HEADER_YES, RT_HEADER_NO };

struct rt_csv {
    const char *set; /* data set, for --data */
    const char *path;
    const struct rt_column *columns;
    int n_columns;
    enum rt_header header;
    int64_t skip; /* lines before the header or the first row */
    char separator;
    bool has_missing;
    double missing;             /* stands for an empty cell */
    const char *const *classes; /* NULL, or names: a cell becomes the number of its name */
    int n_classes;
};

struct rt_cell {
    const char *text; /* without quotes around it; followed by something that is no digit */
    size_t size;
};

struct rt_csv_state {
    struct rt *rt;
    const struct rt_field *field;
    const struct rt_csv *csv;
    const char *file; /* name without folders */
    const char *at, *end;
    int64_t line;
    const char *first; /* the first line after those skipped: names, when there is a header */
    int64_t head;      /* its number */
    bool header;
    int32_t columns;      /* cells of that line */
    int32_t *slot;        /* [columns] which element of the row a column is, or -1 */
    struct rt_buf quoted; /* a cell that had quotes in it */
    int64_t open;         /* the line of a quote that nothing closes, or 0 */
    int64_t behind;       /* the line where something follows a closing quote, or 0 */
};

/* ---- numbers ----------------------------------------------------------------------------------
 */

/* The decimal exponent at s, with its sign; false when there are no digits. */
RT_FN bool rt_parse_exponent(const char **s, const char *end, int *exponent) {
    const char *p = *s;
    bool negative = p < end && *p == '-';
    int e = 0;
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    const char *digits = p;
    for (; p < end && (unsigned)(*p - '0') < 10; p++)
        e = e < 100000 ? e * 10 + (*p - '0') : e;
    *exponent += negative ? -e : e;
    *s = p;
    return p > digits;
}

/* The number that all of s … end is; false when it is none. Correctly rounded to f64. */
RT_FN bool rt_parse_number(const char *s, const char *end, double *out) {
    static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *begin = s;
    bool negative = s < end && *s == '-';
    if (s < end && (*s == '-' || *s == '+'))
        s++;
    uint64_t m = 0;
    const char *digits = s, *point = NULL;
    for (; s < end; s++) {
        unsigned d = (unsigned)(*s - '0');
        if (d < 10)
            m = m * 10 + d; /* wraps only beyond 19 digits, which are not used */
        else if (*s == '.' && !point)
            point = s;
        else
            break;
    }
    ptrdiff_t count = s - digits - (point != NULL);
    int e = point ? -(int)(s - point - 1 < 100000 ? s - point - 1 : 100000) : 0;
    if (count == 0)
        return false;
    if (s < end && (*s == 'e' || *s == 'E')) {
        s++;
        if (!rt_parse_exponent(&s, end, &e))
            return false;
    }
    if (s != end)
        return false;
    if (count > 15 || e > 22 || e < -22) {
        *out = strtod(begin, NULL);
        return true;
    }
    double x = e < 0 ? (double)m / ten[-e] : (double)m * ten[e];
    *out = negative ? -x : x;
    return true;
}

/* As an f32: where the f64 lies exactly between two of them, the text itself must decide. */
RT_FN float rt_round_f32(double x, const char *text) {
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return (b & 0x1fffffff) == 0x10000000 ? strtof(text, NULL) : (float)x;
}

/* ---- cells ------------------------------------------------------------------------------------
 */

/* A cell with quotes: "" inside them is one. Its text goes to st->quoted. */
RT_FN const char *rt_csv_quoted(struct rt_csv_state *st, const char *p, struct rt_cell *cell) {
    int64_t line = st->line;
    bool closed = false;
    rt_buf_clear(&st->quoted);
    for (p++; p < st->end;) {
        const char *q = (const char *)memchr(p, '"', (size_t)(st->end - p));
        const char *stop = q ? q : st->end;
        for (const char *n = p; n < stop; n++)
            st->line += *n == '\n';
        rt_put(&st->quoted, p, (size_t)(stop - p));
        p = q ? q + 1 : st->end;
        closed = q && (p == st->end || *p != '"');
        if (!q || p == st->end || *p != '"')
            break;
        rt_put(&st->quoted, "\"", 1);
        p++;
    }
    rt_put(&st->quoted, "", 0);
    st->open = closed || st->open ? st->open : line;
    cell->text = st->quoted.text ? st->quoted.text : "";
    cell->size = st->quoted.size;
    for (; p < st->end && *p != st->csv->separator && *p != '\n'; p++)
        if (!st->behind && *p != ' ' && *p != '\t' && *p != '\r')
            st->behind = st->line;
    return p;
}

/* Reads the cell at st->at, spaces around it left out; true when another follows on the line. At
 * the end of the line st->at is after it. */
RT_INLINE bool rt_csv_cell(struct rt_csv_state *st, struct rt_cell *cell) {
    const char *p = st->at, *end = st->end;
    char separator = st->csv->separator;
    while (p < end && (*p == ' ' || *p == '\t') && *p != separator)
        p++;
    if (p < end && *p == '"') {
        p = rt_csv_quoted(st, p, cell);
    } else {
        cell->text = p;
        while (p < end && *p != separator && *p != '\n')
            p++;
        const char *last = p;
        while (last > cell->text && (last[-1] == ' ' || last[-1] == '\t' || last[-1] == '\r'))
            last--;
        cell->size = (size_t)(last - cell->text);
    }
    bool more = p < end && *p == separator;
    st->line += p < end && *p == '\n';
    st->at = p < end ? p + 1 : p;
    return more;
}

/* The common cell: a sign, digits, perhaps a point and digits, then the separator or the line's
 * end. Parsed where it is scanned, which is twice as fast. False, and nothing is read, for any
 * other. */
RT_INLINE bool rt_csv_quick(struct rt_csv_state *st, double *out, bool *more) {
    static const double ten[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const char *p = st->at; /* a 0 stands behind the text, so no digit is read past its end */
    bool negative = *p == '-';
    p += negative;
    const char *digits = p;
    uint64_t m = 0;
    unsigned d;
    for (; (d = (unsigned)(*p - '0')) < 10; p++)
        m = m * 10 + d;
    ptrdiff_t count = p - digits, fraction = 0;
    if (*p == '.') {
        const char *point = ++p;
        for (; (d = (unsigned)(*p - '0')) < 10; p++)
            m = m * 10 + d;
        fraction = p - point;
        count += fraction;
    }
    *more = *p == st->csv->separator;
    if (count < 1 || count > 15 || p >= st->end || (!*more && *p != '\n'))
        return false;
    double x = (double)(int64_t)m;
    if (fraction)
        x /= ten[fraction];
    *out = negative ? -x : x;
    st->line += !*more;
    st->at = p + 1;
    return true;
}

/* Passes empty lines; false at the end of the file. */
RT_INLINE bool rt_csv_line(struct rt_csv_state *st) {
    while (st->at < st->end && (*st->at == '\n' || *st->at == '\r')) {
        st->line += *st->at == '\n';
        st->at++;
    }
    return st->at < st->end;
}

/* The cell of the first line at `column`; the state stays where it was. */
RT_FN void rt_csv_first(struct rt_csv_state *st, int32_t column, struct rt_cell *cell) {
    const char *at = st->at;
    int64_t line = st->line;
    st->at = st->first;
    cell->text = "";
    cell->size = 0;
    for (int32_t c = 0; c <= column; c++)
        if (!rt_csv_cell(st, cell))
            break;
    st->at = at;
    st->line = line;
}

/* The first `most` bytes of a cell, those that are no text as '?'. */
RT_FN const char *rt_csv_shown(char *out, const struct rt_cell *cell, size_t most) {
    size_t n = cell->size < most ? cell->size : most;
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)cell->text[i] < ' ' ? '?' : cell->text[i];
    out[n] = 0;
    return out;
}

/* Fails with "file:line: column 3 ('age'): 'x' what". */
RT_FN enum rt_status rt_csv_fail(struct rt_csv_state *st, int64_t line, int32_t column,
                                 const struct rt_cell *cell, const char *what) {
    char text[64], name[64] = "";
    const char *hint = "";
    rt_csv_shown(text, cell, 60);
    if (memchr(cell->text, '\r', cell->size)) {
        hint = "; lines end in LF or CRLF, not in CR alone";
    } else if (st->header) {
        struct rt_cell title;
        char shown[64];
        rt_csv_first(st, column, &title);
        snprintf(name, sizeof name, " ('%s')", rt_csv_shown(shown, &title, 50));
    } else if (st->csv->header == RT_HEADER_AUTO && line == 1 && !st->csv->classes) {
        hint = "; if line 1 names the columns, say header=true, and skip=1 leaves it out";
    }
    return rt_fail(st->rt, RT_USAGE, "%s:%lld: column %d%s: '%s' %s%s", st->file, (long long)line,
                   column, name, text, what, hint);
}

/* ---- the first line and the columns -----------------------------------------------------------
 */

/* `s`, unless a quote was left open or closed too early: that explains whatever else is wrong. */
RT_FN enum rt_status rt_csv_closed(struct rt_csv_state *st, enum rt_status s) {
    if (st->behind)
        return rt_fail(st->rt, RT_USAGE,
                       "%s:%lld: something follows a closing quote (in quotes, \"\" is a quote)",
                       st->file, (long long)st->behind);
    if (!st->open)
        return s;
    return rt_fail(st->rt, RT_USAGE, "%s:%lld: the quote that opens here is never closed", st->file,
                   (long long)st->open);
}

/* Counts the cells of the first line and decides whether it is a header. */
RT_FN enum rt_status rt_csv_head(struct rt_csv_state *st) {
    struct rt_cell cell;
    double x;
    bool more = true, numbers = false;
    for (int64_t i = 0; i < st->csv->skip && st->at < st->end; i++) {
        const char *n = (const char *)memchr(st->at, '\n', (size_t)(st->end - st->at));
        st->at = n ? n + 1 : st->end;
        st->line++;
    }
    if (!rt_csv_line(st))
        return rt_fail(st->rt, RT_USAGE, "'%s': no rows", st->file);
    st->first = st->at;
    const int64_t line = st->head = st->line;
    while (more) {
        if (st->columns == INT32_MAX - 1)
            return rt_fail(st->rt, RT_USAGE, "'%s': too many columns", st->file);
        more = rt_csv_cell(st, &cell);
        numbers |= rt_parse_number(cell.text, cell.text + cell.size, &x);
        st->columns++;
    }
    st->header =
        st->csv->header == RT_HEADER_YES || (st->csv->header == RT_HEADER_AUTO && !numbers);
    if (!st->header) {
        st->at = st->first;
        st->line = line;
    }
    return RT_OK;
}

/* The number of a column by its name in the header, the first from `from` on, or -1; with a NULL
 * name, puts all names into *names. */
RT_FN int32_t rt_csv_scan(struct rt_csv_state *st, const char *name, int32_t from,
                          struct rt_buf *names) {
    struct rt_cell cell;
    const char *at = st->at;
    int64_t line = st->line;
    int32_t found = -1;
    st->at = st->first;
    for (int32_t c = 0; c < st->columns && found < 0; c++) {
        rt_csv_cell(st, &cell);
        if (!name)
            rt_putf(names, "%s%.*s", c ? ", " : "", (int)(cell.size < 60 ? cell.size : 60),
                    cell.text);
        else if (c >= from && strlen(name) == cell.size && !memcmp(name, cell.text, cell.size))
            found = c;
    }
    st->at = at;
    st->line = line;
    return found;
}

RT_FN enum rt_status rt_csv_named(struct rt_csv_state *st, const char *name, int32_t *column) {
    if (!st->header)
        return rt_fail(st->rt, RT_USAGE,
                       "'%s': column '%s' is asked for by name, but the first line is not a "
                       "header%s",
                       st->file, name, st->csv->header == RT_HEADER_AUTO ? " (header=true?)" : "");
    *column = rt_csv_scan(st, name, 0, NULL);
    int32_t other = *column < 0 ? -1 : rt_csv_scan(st, name, *column + 1, NULL);
    if (other >= 0)
        return rt_fail(st->rt, RT_USAGE,
                       "%s:%lld: columns %d and %d are both called '%s': ask for one by its number",
                       st->file, (long long)st->head, *column, other, name);
    if (*column >= 0)
        return RT_OK;
    struct rt_buf names;
    rt_buf_init(&names, st->rt, 600);
    rt_csv_scan(st, NULL, 0, &names);
    rt_fail(st->rt, RT_USAGE, "'%s' has no column '%s'; it has %s%s", st->file, name,
            names.text ? names.text : "", names.failed ? ", …" : "");
    rt_buf_free(&names);
    return RT_USAGE;
}

RT_FN int rt_csv_class(const struct rt_csv *csv, const struct rt_cell *cell) {
    for (int k = 0; k < csv->n_classes; k++)
        if (strlen(csv->classes[k]) == cell->size &&
            !memcmp(csv->classes[k], cell->text, cell->size))
            return k;
    return -1;
}

/* A first line of classes is a row, one without numbers a header: the program must say which. */
RT_FN enum rt_status rt_csv_no_class(struct rt_csv_state *st) {
    struct rt_cell cell;
    char text[64];
    for (int32_t c = 0; c < st->columns; c++) {
        if (st->slot[c] < 0)
            continue;
        rt_csv_first(st, c, &cell);
        if (rt_csv_class(st->csv, &cell) >= 0)
            return rt_fail(st->rt, RT_USAGE,
                           "%s:%lld: column %d: '%s' is in classes=, and no cell of the line is a "
                           "number: say header=false, or true",
                           st->file, (long long)st->head, c, rt_csv_shown(text, &cell, 60));
    }
    return RT_OK;
}

/* Fills st->slot from the wanted columns and compares their number with the declared row. */
RT_FN enum rt_status rt_csv_columns(struct rt_csv_state *st) {
    int64_t taken = 0, want = rt_field_elements(st->field);
    char shape[128];
    for (int32_t c = 0; c < st->columns; c++)
        st->slot[c] = -1;
    for (int i = 0; i < st->csv->n_columns; i++) {
        const struct rt_column *col = &st->csv->columns[i];
        int32_t first = col->first, last;
        if (col->name) {
            enum rt_status s = rt_csv_named(st, col->name, &first);
            if (s)
                return s;
        }
        last = col->name ? first : col->count < 0 ? st->columns - 1 : first + col->count - 1;
        if (first < 0 || last >= st->columns)
            return rt_fail(st->rt, RT_USAGE,
                           "%s: declared %s (%lld numbers a row), '%s' has %d columns, from 0; "
                           "column %d is asked for%s",
                           st->field->name,
                           rt_shape_text(shape, sizeof shape, st->field->rank, st->field->dims),
                           (long long)want, st->file, st->columns, last,
                           st->columns == 1 ? " (another separator=?)" : "");
        for (int32_t c = first; c <= last; c++) {
            if (st->slot[c] >= 0)
                return rt_fail(st->rt, RT_USAGE, "'%s': column %d is asked for twice", st->file, c);
            st->slot[c] = (int32_t)taken++;
        }
    }
    if (taken != want)
        return rt_fail(st->rt, RT_USAGE,
                       "%s: declared %s (%lld numbers a row), %lld columns of '%s' are asked for",
                       st->field->name,
                       rt_shape_text(shape, sizeof shape, st->field->rank, st->field->dims),
                       (long long)want, (long long)taken, st->file);
    return st->header && st->csv->header == RT_HEADER_AUTO && st->csv->classes
               ? rt_csv_no_class(st)
               : RT_OK;
}

/* ---- the rows ---------------------------------------------------------------------------------
 */

/* Is x a number of the type, not one that becomes infinite? */
RT_INLINE bool rt_csv_finite(enum rt_type type, double x) {
    return type == RT_F32 ? rt_f32_holds(x) : isfinite(x);
}

/* A number that the field cannot have: of another type, or outside of what is indexed with it. */
RT_FN enum rt_status rt_csv_unfit(struct rt_csv_state *st, int64_t line, int32_t column,
                                  const struct rt_cell *cell, double x) {
    const struct rt_field *f = st->field;
    char stands[48] = "", what[400];
    if (cell->size == 0 || st->csv->classes)
        snprintf(stands, sizeof stands, "stands for %g, which ", x);
    if (x != floor(x) || !f->range_why)
        snprintf(what, sizeof what, "%sdoes not fit %s", stands,
                 x == floor(x) ? rt_type_name(f->type) : "an int");
    else
        snprintf(what, sizeof what, "%sdoes not fit: %s must be 0..%lld, because of %s", stands,
                 f->name, (long long)f->range - 1, f->range_why);
    return rt_csv_fail(st, line, column, cell, what);
}

/* Any cell but a plain number in an f32 or f64 row: missing, classes, integers, errors. */
RT_FN enum rt_status rt_csv_value(struct rt_csv_state *st, struct rt_source *out, int64_t i,
                                  int64_t line, int32_t column, const struct rt_cell *cell) {
    double x;
    if (cell->size == 0) {
        if (!st->csv->has_missing)
            return rt_csv_fail(st, line, column, cell, "is empty (missing= gives a value)");
        x = st->csv->missing;
    } else if (st->csv->classes) {
        x = rt_csv_class(st->csv, cell);
        if (x < 0)
            return rt_csv_fail(st, line, column, cell, "is not in classes=");
    } else if (!rt_parse_number(cell->text, cell->text + cell->size, &x)) {
        return rt_csv_fail(st, line, column, cell, "is not a number");
    } else if (!rt_csv_finite(out->type, x)) {
        return rt_csv_fail(st, line, column, cell, "is too large");
    }
    if (!rt_source_put(out, i, x) ||
        (!rt_type_is_real(out->type) && !rt_field_takes(out->field, (int64_t)x)))
        return rt_csv_unfit(st, line, column, cell, x);
    return RT_OK;
}

RT_FN enum rt_status rt_csv_row(struct rt_csv_state *st, struct rt_source *out, int64_t row) {
    int64_t line = st->line;
    bool more = true, plain = out->type == RT_F32 && !st->csv->classes;
    int32_t c = 0;
    for (; more; c++) {
        struct rt_cell cell;
        double x;
        int32_t slot = c < st->columns ? st->slot[c] : -1;
        int64_t i = row * out->row_elements + slot;
        const char *text = st->at;
        if (plain && slot >= 0 && rt_csv_quick(st, &x, &more)) {
            ((float *)out->data)[i] = rt_round_f32(x, text);
            continue;
        }
        more = rt_csv_cell(st, &cell);
        if (slot < 0)
            continue;
        if (plain && rt_parse_number(cell.text, cell.text + cell.size, &x) &&
            rt_csv_finite(RT_F32, x)) {
            ((float *)out->data)[i] = rt_round_f32(x, cell.text);
            continue;
        }
        enum rt_status s = rt_csv_value(st, out, i, line, c, &cell);
        if (s)
            return s;
    }
    if (c != st->columns)
        return rt_fail(st->rt, RT_USAGE, "%s:%lld: %d columns, the first line has %d", st->file,
                       (long long)line, c, st->columns);
    return RT_OK;
}

/* Rows that can be in the rest of the text: no more than lines, nor than its bytes can hold. */
RT_FN int64_t rt_csv_bound(const struct rt_csv_state *st) {
    int64_t lines = 1, most = (st->end - st->at) / st->columns + 1;
    for (const char *p = st->at; p < st->end; lines++) {
        p = (const char *)memchr(p, '\n', (size_t)(st->end - p));
        if (!p)
            break;
        p++;
    }
    return lines < most ? lines : most;
}

RT_FN enum rt_status rt_csv_rows(struct rt_csv_state *st, struct rt_source *out) {
    enum rt_status s = rt_source_begin(st->rt, out, st->field, st->file, rt_csv_bound(st));
    if (s)
        return s;
    int64_t row = 0;
    while (!s && rt_csv_line(st))
        s = rt_csv_row(st, out, row++);
    out->rows = row;
    s = rt_csv_closed(st, s);
    if (!s && row == 0)
        s = rt_fail(st->rt, RT_USAGE, "'%s': no rows, only the header in line %lld", st->file,
                    (long long)st->head);
    if (!s && st->quoted.failed)
        s = rt_fail(st->rt, RT_ENV, "'%s': no memory for a quoted cell", st->file);
    if (s)
        rt_source_free(st->rt, out);
    return s;
}

/* Reads the wanted columns of a table as rows of the field. RT_ENV: no file, no memory. RT_USAGE:
 * what the file holds is not what was declared; the message names file, line, column and cell. */
RT_FN enum rt_status rt_csv_read(struct rt *rt, const struct rt_field *field,
                                 const struct rt_csv *csv, struct rt_source *out) {
    char path[4096];
    const struct rt_file *file = NULL;
    enum rt_status s = rt_data_path(rt, csv->set, csv->path, path, sizeof path);
    out->data = NULL;
    if (!s)
        s = rt_file_get(rt, path, &file);
    if (s)
        return s;
    struct rt_csv_state st;
    memset(&st, 0, sizeof st);
    st.rt = rt;
    st.field = field;
    st.csv = csv;
    st.file = rt_base_name(path);
    st.at = file->text;
    st.end = file->text + file->size;
    st.line = 1;
    rt_buf_init(&st.quoted, rt, file->size + 1);
    if (file->size >= 3 && memcmp(file->text, "\xef\xbb\xbf", 3) == 0)
        st.at += 3; /* byte order mark */
    if (file->size >= 2 &&
        (memcmp(file->text, "\xff\xfe", 2) == 0 || memcmp(file->text, "\xfe\xff", 2) == 0))
        s = rt_fail(rt, RT_USAGE, "'%s' is UTF-16 text: UTF-8 is wanted", path);
    if (!s)
        s = rt_csv_closed(&st, rt_csv_head(&st));
    if (!s) {
        st.slot = (int32_t *)rt->alloc(rt, (size_t)st.columns * sizeof *st.slot);
        s = st.slot ? rt_csv_columns(&st) : rt_fail(rt, RT_ENV, "no memory for '%s'", path);
    }
    if (!s)
        s = rt_csv_rows(&st, out);
    rt->release(rt, st.slot);
    rt_buf_free(&st.quoted);
    return s;
}

#endif
