/* build.h: shared by build*.c, which turn an AST into a Program and are the only files that see
 * both.
 *
 * build is an abstract interpreter: it runs the program with sizes, structure and functions known,
 * and tensors and options unknown. An expression gives a Value; tensor work becomes graph nodes of
 * the open region, host work HExpr trees. A call of a function or layer runs its body; every layer
 * call makes an Instance that owns its parameters.
 *
 * One mistake, one message: what failed is V_POISON, and whoever meets poison gives poison in
 * silence.
 */
#ifndef NNC_BUILD_H
#define NNC_BUILD_H

#include "build_value.h"
#include "embed.h"
#include <stdlib.h>
#include <string.h>

/* How a name is looked up. */
typedef enum BindKind {
    BIND_LET,
    BIND_VAR,   /* value may be replaced while nnc runs (functions, layers) */
    BIND_HOST,  /* scalar var of a task: HostVar */
    BIND_HOME,  /* tensor var of a task, param, state: current version of the home */
    BIND_FIELD, /* field of a batch: made once in every region that asks */
    BIND_DECL   /* top-level declaration, evaluated when first asked */
} BindKind;

typedef struct Binding {
    const char *name;
    BindKind kind;
    Value value;
    HostVar *var;
    Home *home;
    Ast *decl;
    struct FieldUse *field;
    Env *decl_env;
    bool busy; /* BIND_DECL: being evaluated (a cycle when met again) */
    bool used;
    Span span;
} Binding;

struct Env {
    Env *parent;
    VEC(Binding *) names;
    Build *library; /* of the library's scope: parses its declarations; else NULL */
};

/* Where a parameter's first value comes from: runs in the start block, again by `reset`. */
typedef struct Init {
    Ast *expr; /* NULL: copy of `from` */
    Env *env;
    Home *from;
    Instance *instance;
} Init;

/* One use of a layer: its parameters and the layers it calls. Paths are made when all instances
 * exist. */
struct Instance {
    const char *name; /* "net", "linear" */
    Instance *parent;
    const char *path; /* "net.linear[0]": set by instance_paths */
    /* The call that made it, and the round: the key for the next application of the parent. */
    const Ast *site;
    int round;
    VEC(Instance *) children;
    VEC(Home *) homes;     /* params and states declared by its body, in order */
    VEC(const Ast *) uses; /* call sites met in the application that runs (counts rounds) */
    FnValue *fn;           /* models and subs: what a call applies */
    Instance *copy_of;
    bool is_model;   /* top level */
    int model;       /* index in Program.models */
    Span first_call; /* the call that fixed the sizes of its parameters */
    int applied;     /* how often its body was run */
    int randoms;     /* random nodes made in it: their ordinals */
    Span span;
};

/* One activation of a function, layer or task. */
typedef struct Frame {
    struct Frame *parent;
    const Ast *decl;
    Span call;          /* where it was called */
    Instance *instance; /* NULL in functions */
} Frame;

typedef struct Yields {
    VEC(Node *) nodes;
    int times; /* yield statements met */
    bool single;
} Yields;

/* A loss that was differentiated in a loop: stale in the next round if its parameters change. */
typedef struct LossUse {
    const Home *home;
    int version; /* id of the node it was computed from */
    const char *name;
    Span at;
} LossUse;

/* The gradient of a home: called d_<path> once paths are known. */
typedef struct HomeGradient {
    Node *node;
    const Home *of;
} HomeGradient;

/* A model that a minimize trains, by `over` or because the loss depends on it. */
typedef struct TrainUse {
    const Ast *stmt;
    int model;
    bool named;
    Span at;
} TrainUse;

/* A save or load: its homes are listed when all parameters are known. */
typedef struct StoreItem {
    HStmt *stmt;
    Instance *model; /* NULL: home */
    Home *home;
    Span at;
} StoreItem;

/* A `minimize … accumulate K` of the task: executions so far. */
typedef struct Accumulation {
    HostVar *count;
    HExpr *k;
    Span at;
} Accumulation;

typedef struct LoopInfo { /* a run-time loop being built */
    struct LoopInfo *parent;
    HStmt *stmt;
    HBlock *outer; /* where the loop's statement stands */
    int index;     /* and at which place: what is set up for the loop goes before it */
    int start;     /* b->loop_start outside */
    Ast *reduce;   /* `mean for`: the expression, else NULL */
    Ast *into;     /* the pattern that gets its value, or NULL */
    struct Totals *totals;
    VEC(LossUse) uses;
    Yields *yields; /* `mean for`: what its body yields; NULL: a plain loop */
} LoopInfo;

/* The last write to a home, in the order of the text. */
typedef struct Change {
    int version; /* id of the node written, 0: never */
    Span span;
} Change;

/* Names of the library give way to what the program calls, and that to what it lets. */
typedef enum NameRank { NAME_OF_LIBRARY, NAME_OF_CALL, NAME_OF_LET } NameRank;

/* A value called as the layer whose instance made it. */
typedef struct NamedByLayer {
    Node *node;
    const Instance *instance;
} NamedByLayer;

/* What changes when build goes to another block of the program and comes back. */
typedef struct Place {
    HBlock *block;
    Region *region;
    int region_start;
    Node *execution;
    HostVar *runs;
    Task *task;
    LoopInfo *loop;
    int loop_start;
    bool training;
    Node **current;
    int ncurrent, cap;
} Place;

typedef struct LoadedFile {
    const char *path;
    bool open; /* being read: an import of it is a cycle */
} LoadedFile;

struct Build {
    Compiler *c;
    Arena *arena;
    Diag *diag;
    Graph *g;
    Program *p;
    Env *library, *user; /* top-level scopes */
    Frame *frame;
    int depth;   /* calls */
    int nesting; /* expressions */
    HBlock *block;    /* where host statements go */
    Region *region;   /* open region; its HS_REGION statement is made when it is closed */
    int region_start; /* number of the first node that can belong to the open region */
    VEC(Node *)
    current; /* by home id: the version that the open region has of it, NULL: not read yet */
    VEC(unsigned char) name_ranks; /* by node id: how much the name says, a NameRank */
    VEC(NamedByLayer) named_by_layers;
    VEC(Home *) versions; /* by node id: the home that a written value became a version of */
    VEC(Change) changes;  /* by home id */
    VEC(bool) reached;    /* by home id: has a gradient, is loaded or copied */
    VEC(TrainUse) train_uses;
    VEC(Accumulation) accumulations; /* of the task being built */
    VEC(HomeGradient) gradients;
    VEC(StoreItem) stores;
    int state_writes; /* how often a state was written: a call for that is no unused value */
    Ast *let_pattern;     /* of the `let` whose value is being built, NULL inside that value */
    Place start;          /* the start block while something else is built */
    int loop_start;       /* number of the first node made in the innermost run-time loop */
    HostVar *runs;        /* counts the executions of the open region; NULL: nobody asked */
    VEC(Init) inits;      /* by home id */
    Task *task;           /* NULL outside tasks */
    Ast *task_body;
    LoopInfo *loop;
    bool training;
    int random_ordinal;
    Node *
        execution; /* execution number for random nodes of the open region, made when first asked */
    VEC(Instance *) models;
    VEC(struct OptState *) opts;
    VEC(const char *) identifiers; /* C identifiers in use */
    Names *scalars;                /* those of Program.scalars */
    VEC(LoadedFile) files;
    bool unreadable; /* one of them cannot be opened */
    VEC(Ast *) user_files; /* FILE nodes */
    VEC(Ast *) runnable;                  /* tasks and exports, in order */
    VEC(struct DataInfo *) datas;
    struct FieldUse *field; /* the field whose expression is being built, else NULL */
    bool dry;               /* the field is only looked at */
    struct RuleUse *rule;   /* the optimizer update being built, else NULL */
    bool naming_model;      /* the layer being named gets the model's instance, none of its own */
    int names_made;         /* counter for unique identifiers */
};

/* ---- build.c ---- */
/* The user's call where `at` is in the library. */
Span build_place(const Build *b, Span at);
void build_error(Build *b, Span at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void build_warning(Build *b, Span at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
Span outer_call(const Build *b); /* the call in a task or at top level that led here */
/* Finds a name from inner to outer scopes; NULL (with an error) when there is none. */
Binding *build_find(Build *b, Env *env, const char *name, Span at);
Binding *build_lookup(Env *env, const char *name); /* NULL: unknown */
Binding *env_get(Env *env, const char *name);
Env *env_new(Build *b, Env *parent);
Binding *env_add(Build *b, Env *env, const char *name, BindKind kind, Value v, Span at);
Value build_binding(Build *b, Binding *bind, Span at);    /* the value a name has now */
/* An error when a trainer has an option of this name for itself. what: "option" */
void build_check_option(Build *b, const char *what, const char *name, Span at);
const char *build_identifier(Build *b, const char *wish); /* unique C identifier made from wish */
/* Calls a value so, unless its name says more, or as much and came first: then false. */
bool build_name(Build *b, Node *n, const char *name, NameRank rank);

#endif
