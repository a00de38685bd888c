/* print_names.c: what things are called in the text of one kernel: short, after what they are, and
 * different from everything else that the function can see. */
#include "print_kernel.h"
#include <string.h>

static const PrintName *find_name(const Printer *p, const void *of) {
    for (int i = p->names.n - 1; i >= 0; i--)
        if (p->names.at[i].of == of)
            return &p->names.at[i];
    return NULL;
}

const char *print_name(const Printer *p, const void *of) {
    const PrintName *found = find_name(p, of);
    if (!found)
        bug("kernel %s uses a name that it does not declare", p->kernel->name);
    return found->name;
}

static bool equal(const char *x, const char *y) {
    return x[0] == y[0] && strcmp(x, y) == 0;
}

static bool is_taken(const Printer *p, const char *name) {
    const Kernel *k = p->kernel;
    const struct {
        const char *name;
        bool taken;
    } reserved[] = {{"t", k->tiles > 1}, {"n", k->tiles > 1}, {"rt", k->check}, {"step", k->check},
                    {"seed", k->seed},   {"v8", true},        {"v8i", true},    {"v8u", true}};
    for (int i = 0; i < COUNT_OF(reserved); i++)
        if (reserved[i].taken && equal(reserved[i].name, name))
            return true;
    for (int i = 0; i < OP_N; i++) /* functions of C are called by these names */
        if (op_info[i].kind == KIND_MAP && equal(op_info[i].name, name))
            return true;
    for (int i = 0; i < p->names.n; i++)
        if (equal(p->names.at[i].name, name))
            return true;
    return false;
}

/* An element that is named as the buffer where it lies: x_ij. */
static const char *element_name(Printer *p, const char *name) {
    static const char *const suffix[] = {"_value", "_i", "_ij", "_ijk"};
    int64_t extent[3];
    for (int i = p->first_buffer; i < p->first_buffer + p->buffers; i++) {
        const Buffer *b = p->names.at[i].of;
        if (equal(p->names.at[i].name, name))
            return print_text(p, "%s%s", name,
                              suffix[layout_elements(b) == 1
                                         ? 0
                                         : print_buffer_subscripts(p->arena, b, extent)]);
    }
    return name;
}

/* What is named after a buffer is called as the buffer is in this function. */
static const char *name_in_function(const Kernel *k, const char *name) {
    for (int i = 0; i < k->reads.n + k->writes.n; i++) {
        const Access *x = i < k->reads.n ? &k->reads.at[i] : &k->writes.at[i - k->reads.n];
        if (x->called && equal(x->buffer->name, name))
            return x->called;
    }
    return name;
}

static const char *new_name(Printer *p, const void *of, const char *wanted, bool element) {
    wanted = emit_name(p->arena, name_in_function(p->kernel, wanted));
    if (element && is_taken(p, wanted))
        wanted = element_name(p, wanted);
    const char *name = wanted;
    size_t end = strlen(wanted);
    const char *joint = end && wanted[end - 1] >= '0' && wanted[end - 1] <= '9' ? "_" : "";
    for (int i = 2; is_taken(p, name); i++)
        name = print_text(p, "%s%s%d", wanted, joint, i);
    vec_push(p->arena, &p->names, (PrintName){of, name});
    return name;
}

const char *print_new_name(Printer *p, const void *of, const char *wanted) {
    return new_name(p, of, wanted, true);
}

const char *print_new_array(Printer *p, const void *of, const char *wanted) {
    return new_name(p, of, wanted, false);
}
