/* print_kernel.c: a kernel as a C function, and its call.
 *
 * Kernels whose lanes are f64 or i64 are printed element by element, with the 32 lanes of a
 * reduction kept as an array.
 */
#include "print_kernel.h"

const char *c_type(DType t) {
    static const char *const name[DT_N] = {"float",   "double",        "int32_t",
                                           "int64_t", "unsigned char", "unsigned char"};
    return name[t];
}

/* How many subscripts the buffer has in the text, and their extents. */
int print_buffer_subscripts(Arena *a, const Buffer *b, int64_t *extent) {
    const Ix *sub[MAX_RANK], *at[3];
    for (int i = 0; i < b->shape.rank; i++)
        sub[i] = ix_const(a, 0);
    return layout_subscripts(a, b, sub, at, extent);
}

const char *c_print_buffer_rows(Arena *a, const Buffer *b) {
    int64_t extent[3];
    Text t = {.arena = a};
    int n = print_buffer_subscripts(a, b, extent);
    for (int i = 1; i < n; i++)
        text_printf(&t, "[%lld]", (long long)extent[i]);
    return t.n ? t.at : "";
}

static void buffer_declaration(Text *out, Arena *a, const Buffer *b, const char *declarator) {
    int64_t extent[3];
    int n = print_buffer_subscripts(a, b, extent);
    if (n == 1) {
        text_printf(out, "%s *%s", c_type(b->dtype), declarator);
        return;
    }
    text_printf(out, "%s (*%s)%s", c_type(b->dtype), declarator, c_print_buffer_rows(a, b));
}

void c_print_buffer_type(Text *out, const Buffer *b, const char *declarator) {
    buffer_declaration(out, out->arena, b, declarator);
}

void c_print_source_accessor(Text *out, const DataSource *s) {
    text_printf(out, "at_src_%s", c_source_name(out->arena, s));
}

const char *c_source_name(Arena *a, const DataSource *s) {
    char *name = arena_printf(a, "%s_%d", s->name ? s->name : "rows", s->id);
    for (char *c = name; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9')))
            *c = '_';
    return name;
}

bool print_writes(const Kernel *k, const Buffer *b) {
    for (int i = 0; i < k->writes.n; i++)
        if (k->writes.at[i].buffer == b)
            return true;
    return false;
}

/* Each buffer once: what is read first, then what is only written. */
int print_buffers_of(const Kernel *k, const Buffer **out) {
    int n = 0;
    for (int i = 0; i < k->reads.n; i++)
        out[n++] = k->reads.at[i].buffer;
    for (int i = 0; i < k->writes.n; i++) {
        bool seen = false;
        for (int r = 0; r < k->reads.n; r++)
            seen |= k->reads.at[r].buffer == k->writes.at[i].buffer;
        if (!seen)
            out[n++] = k->writes.at[i].buffer;
    }
    return n;
}

/* "a, b, c" grows by one. */
void print_item(Text *list, const char *item) {
    text_printf(list, "%s%s", list->n ? ", " : "", item);
}

static const char *print_parameter(Printer *p, const Buffer *b) {
    Text one = {.arena = p->arena};
    const char *name = print_new_name(p, b, b->name);
    int64_t extent[3];
    if (!print_writes(p->kernel, b))
        text_add(&one, print_buffer_subscripts(p->arena, b, extent) > 1 ? "rt_const " : "const ");
    buffer_declaration(&one, p->arena, b, print_text(p, "rt_restrict %s", name));
    return one.at;
}

void print_memory_parameters(Printer *p, Text *list) {
    const Kernel *k = p->kernel;
    const Buffer **buffer = NEW_ARRAY(p->arena, const Buffer *, k->reads.n + k->writes.n + 1);
    int n = print_buffers_of(k, buffer);
    p->first_buffer = p->names.n;
    for (int i = 0; i < n; i++)
        print_item(list, print_parameter(p, buffer[i]));
    p->buffers = n;
    for (int i = 0; i < k->sources.n; i++) {
        const DataSource *s = k->sources.at[i];
        const char *name = print_text(p, "src_%s", c_source_name(p->arena, s));
        print_item(list, print_text(p, "const %s *rt_restrict %s", c_type(s->dtype),
                                    print_new_name(p, s, name)));
    }
}

static const char *parameters(Printer *p) {
    const Kernel *k = p->kernel;
    Text list = {.arena = p->arena};
    print_memory_parameters(p, &list);
    for (int i = 0; i < k->scalars.n; i++)
        print_item(&list, print_text(p, "%s %s", print_scalar_type(k->scalars.at[i]->dtype),
                                   print_new_name(p, k->scalars.at[i], k->scalars.at[i]->name)));
    for (int i = 0; i < k->counts.n; i++)
        print_item(&list, print_text(p, "int %s",
                                   print_new_name(p, k->counts.at[i], k->counts.at[i]->called)));
    if (k->seed)
        print_item(&list, "uint64_t seed");
    for (int i = 0; i < k->places.n; i++)
        print_item(&list, print_text(p, "uint32_t %s",
                                   print_new_name(p, &k->places.at[i], "place")));
    if (k->check)
        print_item(&list, "struct rt *rt, int64_t step");
    for (int i = 0; i < k->faults.n; i++)
        print_item(&list, print_text(p, "int %s", print_new_name(p, &k->faults.at[i], "node")));
    if (k->tiles > 1)
        print_item(&list, "int t, int n");
    return list.n ? list.at : "void";
}

void print_note(Emit *e, const Kernel *k) {
    if (!k->note || !*k->note)
        return;
    emit_line(e, "/* %s%s", k->note, k->line ? "" : " */");
    if (k->line)
        emit_line(e, " *     %s */", k->line);
}

void c_print_kernel(Text *out, const Kernel *k) {
    Printer p = {.arena = out->arena, .kernel = k};
    p.e.text.arena = out->arena;
    p.one = print_is_wide(&p);
    print_note(&p.e, k);
    emit_begin(&p.e, "RT_KERNEL void %s(%s)", k->name, parameters(&p));
    print_tables(&p);
    print_statements(&p, &k->nest->body);
    emit_end(&p.e, "");
    text_addn(out, p.e.text.at, p.e.text.n);
}

void c_print_call(Text *out, const Kernel *k, const CallNames *names) {
    Arena *a = out->arena;
    const Buffer **buffer = NEW_ARRAY(a, const Buffer *, k->reads.n + k->writes.n + 1);
    int n = print_buffers_of(k, buffer);
    Text list = {.arena = a};
    for (int i = 0; i < n; i++)
        print_item(&list, names ? names->buffer(names->arg, buffer[i])
                              : arena_printf(a, "at_%s(nn)", buffer[i]->name));
    for (int i = 0; i < k->sources.n; i++)
        print_item(&list, arena_printf(a, "at_src_%s(nn)", c_source_name(a, k->sources.at[i])));
    for (int i = 0; i < k->scalars.n; i++)
        print_item(&list, arena_printf(a, "nn->scalars.%s", k->scalars.at[i]->name));
    for (int i = 0; i < k->counts.n; i++)
        print_item(&list, arena_printf(a, "(int)nn->counts.%s", k->counts.at[i]->name));
    if (k->seed)
        print_item(&list, "nn->rt.seed");
    for (int i = 0; i < k->places.n; i++)
        print_item(&list, names ? names->place(names->arg, i)
                              : arena_printf(a, "0x%08xu", k->places.at[i]));
    if (k->check)
        print_item(&list, "&nn->rt, nn->step");
    for (int i = 0; i < k->faults.n; i++)
        print_item(&list, names ? names->fault(names->arg, i)
                              : arena_printf(a, "%d", k->faults.at[i]));
    if (k->tiles > 1)
        print_item(&list, "t, n");
    text_printf(out, "%s(%s);", k->name, list.n ? list.at : "");
}
