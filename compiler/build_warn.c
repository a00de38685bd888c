/* build_warn.c: what is likely a slip, though it has a meaning. */
#include "build_call.h"
#include "build_stmt.h"

/* ---- declarations that nothing uses ---- */

static bool in_main_file(const Build *b, Span at) {
    return at.file == b->user_files.at[b->user_files.n - 1]->span.file;
}

void warn_declarations(Build *b) {
    for (int i = 0; i < b->user->names.n; i++) {
        const Binding *bind = b->user->names.at[i];
        if (!bind->used && in_main_file(b, bind->span))
            diag_warning(b->diag, bind->span, "'%s' is never used", bind->name);
    }
}

/* ---- training ---- */

void train_use(Build *b, const Ast *stmt, const Home *h, bool named, Span at) {
    for (int i = 0; i < b->train_uses.n; i++) {
        const TrainUse *u = &b->train_uses.at[i];
        if (u->stmt == stmt && u->model == h->model && u->named == named)
            return;
    }
    if (h->model >= 0)
        vec_push(b->arena, &b->train_uses, (TrainUse){stmt, h->model, named, at});
}

/* A minimize without `over` that trains what another one names. */
static void warn_trained_twice(Build *b) {
    for (int i = 0; i < b->train_uses.n; i++)
        for (int k = 0; k < b->train_uses.n; k++) {
            const TrainUse *rest = &b->train_uses.at[i], *named = &b->train_uses.at[k];
            bool twice = !rest->named && named->named && rest->model == named->model &&
                         rest->stmt != named->stmt;
            if (!twice)
                continue;
            diag_warning(b->diag, rest->at, "this trains '%s' too: 'over' says what to train",
                         b->p->models.at[rest->model].name);
            diag_note(b->diag, named->at, "this 'minimize' names it in 'over'");
            break;
        }
}

static bool untrained(const Build *b, const Home *h) {
    bool reached = h->id < b->reached.n && b->reached.at[h->id];
    return h->kind == HOME_PARAM && !h->trained && !reached;
}

static void warn_model(Build *b, Instance *in) {
    ParamSet set = {0};
    Text names = {.arena = b->arena};
    int n = 0;
    instance_params(b, in, false, &set);
    for (int i = 0; i < set.n; i++)
        if (untrained(b, set.homes[i]) && n++ < 3)
            text_printf(&names, "%s'%s'", names.n ? ", " : "", set.homes[i]->path);
    if (!n || in->copy_of)
        return;
    if (n > 3)
        text_printf(&names, " and %d more", n - 3);
    diag_warning(b->diag, in->span, "nothing trains %s: no minimize, grad or assignment reaches %s",
                 n == set.n ? arena_printf(b->arena, "'%s'", in->name) : names.at,
                 n == 1 || n == set.n ? "it" : "them");
}

void warn_training(Build *b) {
    bool trains = false;
    for (int i = 0; i < b->p->tasks.n; i++)
        trains = trains || b->p->tasks.at[i]->training;
    warn_trained_twice(b);
    if (!trains)
        return;
    for (int i = 0; i < b->models.n; i++)
        warn_model(b, b->models.at[i]);
    for (int i = 0; i < b->p->homes.n; i++) {
        const Home *h = b->p->homes.at[i];
        if (h->model < 0 && untrained(b, h))
            diag_warning(b->diag, h->span,
                         "nothing trains '%s': no minimize, grad or assignment reaches it",
                         h->name);
    }
}

/* ---- numbers ---- */

/* A reduction of one element. */
void warn_thin(Build *b, const Node *x, unsigned axes, const char *what, Span at) {
    int64_t n = 1;
    for (int i = 0; i < x->shape.rank; i++)
        if (axes & 1u << i)
            n = x->shape.dim[i].count || x->shape.dim[i].n > 1 ? 2 : n;
    if (axes && n == 1)
        build_warning(b, at, "%s over a dimension of size 1 of %s", what,
                      shape_text(b->arena, &x->shape));
}

/* A schedule whose value at step 1 is known now. */
void warn_negative(Build *b, FnValue *schedule, Span at) {
    Args one = {1, NEW(b->arena, Arg), at};
    one.at[0] = (Arg){.value = value_int(1), .span = at};
    Value v = schedule_apply(b, schedule, &one);
    if (v.kind == V_NUMBER && v.num.f < 0)
        build_warning(b, at, "%s is negative at its first step: %s", schedule->decl->name,
                      value_text(b, v));
}
