/* build_host.h: what build writes: host expressions and statements, regions, versions of homes. */
#ifndef NNC_BUILD_HOST_H
#define NNC_BUILD_HOST_H

#include "build.h"

/* ---- build_host.c: host expressions ---- */
HExpr *host_const_int(Build *b, int64_t i);
HExpr *host_const_real(Build *b, double f);
HExpr *host_const_bool(Build *b, bool x);
HExpr *host_const_string(Build *b, const char *s);
HExpr *host_var(Build *b, HostVar *v);
HExpr *host_op(Build *b, Op op, HType type, HExpr *x, HExpr *y, HExpr *z);
/* x as a real, which the statement `word` takes only above 0 */
HExpr *host_positive(Build *b, HExpr *x, const char *word, Span at);
/* round mod n for the statement `word`, which has its turn every n >= 1 rounds */
HExpr *host_turn(Build *b, HExpr *round, HExpr *n, const char *word, Span at);
HExpr *host_option(Build *b, Option *o);
HExpr *host_rows(Build *b, Split *s);
HExpr *host_format(Build *b, Format *f);
HExpr *host_node(Build *b, Node *n);
HExpr *host_home(Build *b, Home *home);
bool host_changes(
    const HExpr *h); /* reads a variable: a `let` of it must be kept in a variable of its own */
HostVar *host_new_var(Build *b, const char *name, HType type);
HStmt *host_stmt(Build *b, HStmtKind kind, Span at); /* closes the open region and appends */
void host_set(Build *b, HostVar *v, HExpr *value, Span at);

/* ---- build_region.c ---- */
void region_open(Build *b, const char *name, Span at); /* when none is open */
void region_close(Build *b);                           /* flushes writes, appends HS_REGION */
Node *home_value(Build *b, Home *h);                   /* in the open region */
void home_write(Build *b, Home *h, Node *value);       /* the next version */
void home_changed(Build *b, Home *h, Span at);         /* by something outside of the graph: load */
void home_reached(Build *b, const Home *h);
/* Sides of an `if`: each starts from the changes before it; afterwards the later ones count. */
typedef struct Changes {
    int n;
    Change *at;
} Changes;
Changes changes_copy(const Build *b);
void changes_set(Build *b, const Changes *c);
void changes_join(Build *b, const Changes *c);
Home *home_new(Build *b, HomeKind kind, const char *name, DType t, const Shape *s, Span at);
Home *home_of_version(const Build *b, const Node *n);
Node *node_here(Build *b, Node *n);         /* the same value for use in the open region */
Place place_enter(Build *b, HBlock *block); /* an empty place: no task, no loop */
void place_leave(Build *b, const Place *old);
HExpr *region_output(Build *b, Node *n); /* host value of a scalar node, for the next statement */
/* Runs `body` in the start block: saves and restores block, region, versions, training. */
void build_at_start(Build *b, void (*body)(Build *b, void *arg), void *arg);
void region_start_leave(
    Build *b); /* the open place is the start block's: build_at_start comes back */
void region_start_finish(Build *b); /* closes the start block's last region */
void region_finish(Build *b);       /* after all tasks: values that cross regions become outputs */
Node *random_execution(Build *b);
uint32_t random_place(Build *b);

#endif
