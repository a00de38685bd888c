/* program_data.c: what a program's data is called on the command line, and where it saves. */
#include "program.h"
#include <string.h>

typedef VEC(const char *) NameVec;

static void add_once(Arena *a, NameVec *names, const char *name) {
    for (int i = 0; i < names->n; i++)
        if (strcmp(names->at[i], name) == 0)
            return;
    vec_push(a, names, name);
}

const char *const *program_data_names(Arena *a, const Program *p) {
    NameVec names = {0};
    for (int i = 0; i < p->sets.n; i++)
        add_once(a, &names, p->sets.at[i]->name);
    for (int i = 0; i < p->sources.n; i++)
        if (p->sources.at[i]->path)
            add_once(a, &names, path_base(p->sources.at[i]->path));
    vec_push(a, &names, NULL);
    return names.at;
}

void program_save_paths(Arena *a, const HBlock *b, SavePaths *out) {
    for (int i = 0; b && i < b->stmts.n; i++) {
        const HStmt *s = b->stmts.at[i];
        if (s->kind == HS_SAVE && (s->value->kind == HX_CONST || s->value->kind == HX_OPTION))
            vec_push(a, out, s->value);
        if (s->kind == HS_FOR || s->kind == HS_BATCHES || s->kind == HS_WHILE)
            program_save_paths(a, s->body, out);
    }
}
