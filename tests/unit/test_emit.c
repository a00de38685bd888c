/* Emission of target c: a program made by hand is emitted, compiled by gcc, clang and g++, and run.
 *
 * The program: home w [4], filled with 1 by the start block; a loop over `steps` rounds in which
 * one region computes loss = w[0]^2 on thread 0, checks it, and then makes w -= lr*w in tiles; it
 * prints, expects and saves.
 */
#include "emit.h"
#include "loop.h"
#include "pass.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Bench {
    Compiler c;
    Program program;
    Lowered lowered;
    Arena *a;
    Home w;
    Option steps, lr, goal;
    HostVar round, last;
    Scalar rate;
    Region start, train;
    Node *loss;
    Buffer *at_w, *at_loss;
} Bench;

/* ---- the program ---- */

static HExpr *expr(Bench *b, HKind kind, HType type) {
    HExpr *h = NEW(b->a, HExpr);
    h->kind = kind;
    h->type = type;
    return h;
}

static HExpr *option(Bench *b, Option *o) {
    HExpr *h = expr(b, HX_OPTION, o->type);
    h->option = o;
    return h;
}

static HExpr *variable(Bench *b, HostVar *v) {
    HExpr *h = expr(b, HX_VAR, v->type);
    h->var = v;
    return h;
}

static HExpr *value(Bench *b, Node *n) {
    HExpr *h = expr(b, HX_NODE, HT_REAL);
    h->node = n;
    return h;
}

static HExpr *integer(Bench *b, int64_t i) {
    HExpr *h = expr(b, HX_CONST, HT_INT);
    h->i = i;
    return h;
}

static HExpr *text(Bench *b, const char *s) {
    HExpr *h = expr(b, HX_CONST, HT_STRING);
    h->s = s;
    return h;
}

static HExpr *compare(Bench *b, Op op, HExpr *x, HExpr *y) {
    HExpr *h = expr(b, HX_OP, HT_BOOL);
    h->op = op;
    h->nargs = 2;
    h->args[0] = x;
    h->args[1] = y;
    return h;
}

static HStmt *stmt(Bench *b, HBlock *block, HStmtKind kind) {
    HStmt *s = NEW(b->a, HStmt);
    s->kind = kind;
    vec_push(b->a, &block->stmts, s);
    return s;
}

static Format *format(Bench *b, int n, const TextPart *parts) {
    Format *f = NEW(b->a, Format);
    f->n = n;
    f->parts = NEW_ARRAY(b->a, TextPart, n);
    memcpy(f->parts, parts, sizeof *parts * (size_t)n);
    return f;
}

static Option an_option(const char *name, HType type, int64_t i, double f) {
    return (Option){.name = name, .type = type, .i = i, .f = f, .used = true};
}

static void make_body(Bench *b, HBlock *body) {
    HBlock *loop = NEW(b->a, HBlock), *last = NEW(b->a, HBlock);
    HStmt *f = stmt(b, body, HS_FOR);
    f->var = &b->round;
    f->value = integer(b, 0);
    f->limit = option(b, &b->steps);
    f->body = loop;
    stmt(b, loop, HS_REGION)->region = &b->train;
    HStmt *set = stmt(b, loop, HS_SET);
    set->var = &b->last;
    set->value = value(b, b->loss);
    HStmt *test = stmt(b, loop, HS_IF);
    test->value = compare(b, OP_lt, variable(b, &b->round), integer(b, 3));
    test->body = last;
    HStmt *print = stmt(b, last, HS_PRINT);
    print->newline = true;
    TextPart parts[] = {{.text = "round "},
                        {.value = variable(b, &b->round)},
                        {.text = ": loss "},
                        {.value = variable(b, &b->last), .format = ".3f"}};
    print->format = format(b, COUNT_OF(parts), parts);
    HStmt *expect = stmt(b, body, HS_EXPECT);
    expect->value = compare(b, OP_lt, variable(b, &b->last), option(b, &b->goal));
    expect->left = variable(b, &b->last);
    expect->right = option(b, &b->goal);
    expect->relation = "<";
    expect->format = format(b, 1, &(TextPart){.text = "w shrinks"});
    HStmt *save = stmt(b, body, HS_SAVE);
    save->value = text(b, "w.safetensors");
    save->nhomes = 1;
    save->homes = NEW(b->a, Home *);
    save->homes[0] = &b->w;
}

static void make_program(Bench *b) {
    Program *p = &b->program;
    p->arena = b->a;
    p->diag = b->c.diag;
    p->name = "tiny";
    p->file = "tiny.nn";
    p->graph = graph_new(b->a, DT_F32);
    b->w = (Home){.kind = HOME_PARAM, .name = "w", .path = "w", .dtype = DT_F32, .trained = true};
    b->w.shape = shape_of(1, (int64_t[]){4});
    b->steps = an_option("steps", HT_INT, 3, 0);
    b->lr = an_option("lr", HT_REAL, 0, 0.5);
    b->goal = an_option("goal", HT_REAL, 0, 0.25);
    b->round = (HostVar){.name = "round", .type = HT_INT};
    b->last = (HostVar){.id = 1, .name = "double", .type = HT_REAL};
    b->start = (Region){.name = "start", .used = true};
    b->train = (Region){.id = 1, .name = "train", .used = true};
    b->rate = (Scalar){.name = "rate", .dtype = DT_F32, .region = &b->train};
    b->rate.value = option(b, &b->lr);
    vec_push(b->a, &p->homes, &b->w);
    vec_push(b->a, &p->options, &b->steps);
    vec_push(b->a, &p->options, &b->lr);
    vec_push(b->a, &p->options, &b->goal);
    vec_push(b->a, &p->vars, &b->round);
    vec_push(b->a, &p->vars, &b->last);
    vec_push(b->a, &p->scalars, &b->rate);
    vec_push(b->a, &p->regions, &b->start);
    vec_push(b->a, &p->regions, &b->train);
    p->start = NEW(b->a, HBlock);
    stmt(b, p->start, HS_REGION)->region = &b->start;
    Task *t = NEW(b->a, Task);
    t->name = "train";
    t->training = true;
    t->body = NEW(b->a, HBlock);
    vec_push(b->a, &p->tasks, t);
}

/* ---- its kernels ---- */

static Buffer *buffer(Bench *b, const char *name, Shape shape) {
    Buffer *x = NEW(b->a, Buffer);
    x->id = b->lowered.buffers.n;
    x->name = name;
    x->dtype = DT_F32;
    x->shape = shape;
    x->bytes = 64;
    vec_push(b->a, &b->lowered.buffers, x);
    return x;
}

static Kernel *kernel(Bench *b, const char *name, Region *r, int tiles) {
    Kernel *k = NEW(b->a, Kernel);
    k->id = k->same_as = b->lowered.kernels.n;
    k->name = name;
    k->note = name;
    k->region = r;
    k->tiles = tiles;
    k->nest = nest_new(b->a);
    vec_push(b->a, &b->lowered.kernels, k);
    return k;
}

static const Expr *load_w(Bench *b, const Ix *at) {
    return expr_load(b->a, b->at_w, &at);
}

static void make_fill(Bench *b) {
    Kernel *k = kernel(b, "fill_w", &b->start, 1);
    vec_push(b->a, &k->writes, (Access){.buffer = b->at_w});
    const Ix *at = ix_var(b->a, nest_loop(k->nest, LOOP_LANE, "i", dim_fixed(4)));
    nest_store(k->nest, b->at_w, &at, expr_const(b->a, DT_F32, 1));
    nest_end(k->nest);
}

static void make_loss(Bench *b) {
    Kernel *k = kernel(b, "loss_of_w", &b->train, 1);
    k->check = true;
    vec_push(b->a, &k->faults, b->loss->id);
    vec_push(b->a, &b->lowered.faults, (Fault){b->loss, FAULT_LOSS, 0});
    vec_push(b->a, &k->reads, (Access){.buffer = b->at_w});
    vec_push(b->a, &k->writes, (Access){.buffer = b->at_loss});
    const Expr *w = load_w(b, ix_const(b->a, 0));
    Local *loss = nest_let(k->nest, "l", expr_binary(b->a, OP_mul, w, w));
    const Expr *l = expr_local(b->a, loss, NULL);
    const Expr *finite = expr_op(b->a, OP_isfinite, DT_BOOL, 1, &l);
    nest_fault(k->nest, expr_op(b->a, OP_not, DT_BOOL, 1, &finite), b->loss->id, l);
    nest_store(k->nest, b->at_loss, NULL, l);
}

static void make_update(Bench *b) {
    Kernel *k = kernel(b, "update_w", &b->train, 2);
    vec_push(b->a, &k->reads, (Access){.buffer = b->at_w, .owner = true});
    vec_push(b->a, &k->writes, (Access){.buffer = b->at_w, .owner = true});
    vec_push(b->a, &k->scalars, &b->rate);
    const Ix *tile = ix_var(b->a, nest_loop(k->nest, LOOP_TILE, "tile", dim_fixed(2)));
    const Ix *in = ix_var(b->a, nest_loop(k->nest, LOOP_SEQ, "i", dim_fixed(2)));
    const Ix *at = ix_add(b->a, ix_scale(b->a, tile, 2), in);
    Expr *rate = NEW(b->a, Expr);
    rate->kind = EX_SCALAR;
    rate->dtype = DT_F32;
    rate->scalar = &b->rate;
    const Expr *step = expr_binary(b->a, OP_mul, rate, load_w(b, at));
    nest_store(k->nest, b->at_w, &at, expr_binary(b->a, OP_sub, load_w(b, at), step));
    nest_end(k->nest);
    nest_end(k->nest);
}

static Bench *bench_new(void) {
    Arena *a = arena_new();
    Bench *b = NEW(a, Bench);
    b->a = b->c.arena = a;
    b->c.names = interner_new(a);
    b->c.diag = diag_new(a);
    b->c.program = b->lowered.program = &b->program;
    b->c.lowered = b->c.cpu = &b->lowered;
    b->c.settings.target = "c";
    make_program(b);
    Graph *g = b->program.graph;
    g->region = &b->train;
    Shape scalar = shape_scalar();
    Node *l = graph_constant(g, DT_F32, &scalar, 1);
    l->name = "loss";
    b->loss = graph_check(g, l);
    b->loss->name = "loss";
    b->at_w = buffer(b, "w", b->w.shape);
    b->at_w->home = &b->w;
    b->at_loss = buffer(b, "loss", scalar);
    b->at_loss->node = b->loss;
    vec_push(a, &b->train.outputs, b->loss);
    make_fill(b);
    make_loss(b);
    make_update(b);
    make_body(b, b->program.tasks.at[0]->body);
    plan(&b->c);
    const char *wrong = plan_check(&b->lowered);
    cr_assert_null(wrong, "%s", wrong);
    return b;
}

/* ---- compiling and running ---- */

/* Runs a command in the folder; its output (both streams) goes to *out. */
static int run(Bench *b, const char *folder, const char *command, char **out) {
    FILE *f = popen(arena_printf(b->a, "cd %s && (%s) 2>&1", folder, command), "r");
    cr_assert_not_null(f);
    Text t = {.arena = b->a};
    char part[4096];
    size_t n;
    while ((n = fread(part, 1, sizeof part, f)) > 0)
        text_addn(&t, part, n);
    int status = pclose(f);
    *out = t.n ? t.at : arena_printf(b->a, "%s", "");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *folder_with_source(Bench *b) {
    char *folder = arena_printf(b->a, "/tmp/nnc-emit-%06d", 0);
    memset(folder + strlen(folder) - 6, 'X', 6);
    cr_assert_not_null(mkdtemp(folder));
    const char *source = emit_c(&b->c);
    cr_assert(write_file(arena_printf(b->a, "%s/tiny.c", folder), source, strlen(source)));
    return folder;
}

static void compiles(Bench *b, const char *folder, const char *compiler) {
    char *out;
    if (run(b, folder, arena_printf(b->a, "command -v %.*s", (int)strcspn(compiler, " "), compiler),
            &out) != 0)
        cr_skip_test("%s is not there", compiler);
    const char *command =
        arena_printf(b->a, "%s -Wall -Wextra -Werror -O1 -o tiny tiny.c -lm -pthread", compiler);
    int status = run(b, folder, command, &out);
    cr_assert_eq(status, 0, "%s: %s", command, out);
}

static void remove_folder(Bench *b, const char *folder) {
    char *out;
    run(b, "/tmp", arena_printf(b->a, "rm -rf %s", folder), &out);
    arena_free(b->a);
}

Test(emit, long_lines_end_behind_what_binds_least) {
    Arena *a = arena_new();
    Emit e = {.text.arena = a, .depth = 1};
    const char *product = "some_long_name_of_a_factor * "
                          "(another_long_name + a_third_long_name_here)";
    emit_line(&e, "const float x = %s;", "short");
    emit_line(&e, "const float x = %s;", product);
    emit_line(&e, "const float x = a_first_term_of_the_sum + %s;", product);
    emit_line(&e, "put(\"%s\", second_argument, third_argument);",
              "a text, that is left whole whatever its commas say, or nobody finds it");
    cr_expect_str_eq(e.text.at, "    const float x = short;\n"
                                "    const float x = some_long_name_of_a_factor * "
                                "(another_long_name + a_third_long_name_here);\n"
                                "    const float x =\n"
                                "        a_first_term_of_the_sum +\n"
                                "            some_long_name_of_a_factor * "
                                "(another_long_name + a_third_long_name_here);\n"
                                "    put(\"a text, that is left whole whatever its commas say, or "
                                "nobody finds it\", second_argument,\n"
                                "        third_argument);\n");
    arena_free(a);
}

Test(emit, trains_prints_expects_and_saves) {
    Bench *b = bench_new();
    const char *folder = folder_with_source(b);
    char *out;
    compiles(b, folder, "gcc -std=gnu17");
    cr_assert_eq(run(b, folder, "./tiny --threads 2", &out), 0, "%s", out);
    cr_assert_str_eq(out, "round 0: loss 1.000\nround 1: loss 0.250\nround 2: loss 0.062\n"
                          "ok: w shrinks\n");
    cr_assert_eq(run(b, folder, "test -s w.safetensors", &out), 0, "nothing was saved");
    cr_assert_eq(run(b, folder, "./tiny --steps 1", &out), 4, "%s", out);
    cr_assert_not_null(strstr(out, "failed: w shrinks (found 1.0, wanted < 0.25)"), "%s", out);
    cr_assert_eq(run(b, folder, "./tiny --nonsense", &out), 1, "%s", out);
    remove_folder(b, folder);
}

Test(emit, a_loss_that_is_not_finite_stops_and_names_the_tensor) {
    Bench *b = bench_new();
    const char *folder = folder_with_source(b);
    char *out;
    compiles(b, folder, "gcc");
    cr_assert_eq(run(b, folder, "./tiny --lr 1e25 --threads 2", &out), 3, "%s", out);
    cr_assert_not_null(strstr(out, "loss is inf at step 2; first bad tensor: loss"), "%s", out);
    cr_assert_eq(run(b, folder, "test -e w.safetensors", &out), 1, "saved after a fault");
    cr_assert_eq(run(b, folder, "./tiny --lr 1e39 --threads 1", &out), 3, "%s", out);
    cr_assert_not_null(strstr(out, "step 2; first bad tensor: w"), "%s", out);
    remove_folder(b, folder);
}

Test(emit, threads_do_not_change_the_bits) {
    Bench *b = bench_new();
    const char *folder = folder_with_source(b);
    char *out;
    compiles(b, folder, "gcc");
    const char *command = "./tiny --lr 0.3 --goal 2 --threads 1 && mv w.safetensors one && "
                          "./tiny --lr 0.3 --goal 2 --threads 7 && cmp one w.safetensors";
    cr_assert_eq(run(b, folder, command, &out), 0, "%s", out);
    remove_folder(b, folder);
}

Test(emit, traces_hold_the_state_before_and_after) {
    Bench *b = bench_new();
    const char *folder = folder_with_source(b);
    char *out;
    compiles(b, folder, "gcc");
    cr_assert_eq(run(b, folder, "./tiny --trace t --trace-steps 2", &out), 0, "%s", out);
    cr_assert_eq(run(b, folder, "ls t", &out), 0, "%s", out);
    cr_assert_str_eq(out, "train-2-after.safetensors\ntrain-2-before.safetensors\n");
    cr_assert_eq(run(b, folder, "grep -c scalars.rate t/train-2-before.safetensors", &out), 0);
    cr_assert_eq(run(b, folder, "grep -c '\"loss\"' t/train-2-after.safetensors", &out), 0);
    remove_folder(b, folder);
}

Test(emit, is_clean_for_clang) {
    Bench *b = bench_new();
    const char *folder = folder_with_source(b);
    compiles(b, folder, "clang");
    remove_folder(b, folder);
}

Test(emit, is_clean_for_cxx) {
    Bench *b = bench_new();
    const char *folder = folder_with_source(b);
    compiles(b, folder, "g++ -std=gnu++17 -x c++");
    remove_folder(b, folder);
}

Test(emit, same_input_same_bytes) {
    Bench *b = bench_new(), *other = bench_new();
    cr_assert_str_eq(emit_c(&b->c), emit_c(&other->c));
}

/* ---- lines ---- */

Test(emit, lines_own_their_indentation) {
    Arena *a = arena_new();
    Emit e = {.text = {.arena = a}};
    emit_begin(&e, "if (%s)", "x");
    emit_lines(&e, "one;\ntwo;");
    emit_turn(&e, "else");
    emit_line(&e, "three;");
    emit_end(&e, ";");
    cr_assert_str_eq(e.text.at, "if (x) {\n    one;\n    two;\n} else {\n    three;\n};\n");
    arena_free(a);
}

Test(emit, literals_read_back) {
    Arena *a = arena_new();
    cr_assert_str_eq(emit_string(a, "a\"b\\c\n?\?="), "\"a\\\"b\\\\c\\n\\077?=\"");
    cr_assert_str_eq(emit_double(a, 3), "3.0");
    cr_assert_str_eq(emit_double(a, 0.1), "0.1");
    cr_assert_str_eq(emit_double(a, 1e-8), "1e-08");
    cr_assert_str_eq(emit_double(a, -2.5), "-2.5");
    cr_assert_str_eq(emit_name(a, "class"), "class_");
    cr_assert_str_eq(emit_name(a, "classes"), "classes");
    arena_free(a);
}
