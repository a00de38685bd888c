/* build_stmt.h: tasks and their statements. */
#ifndef NNC_BUILD_STMT_H
#define NNC_BUILD_STMT_H

#include "build_call.h"

/* ---- build_task.c, build_loop.c, build_train.c, build_text.c ---- */
void build_task(Build *b, Env *env, Ast *decl);
void build_export(Build *b, Env *env, Ast *decl);
void build_stmt(Build *b, Env *env, Ast *s);
void build_stmts(Build *b, Env *env, Ast *block);
HBlock *build_sub_block(Build *b, Env *env, Ast *block); /* statements in a block of their own */
void build_for(Build *b, Env *env, Ast *s);
void build_while(Build *b, Env *env, Ast *s);
void build_every(Build *b, Env *env, Ast *s);
void build_jump(Build *b, Ast *s);
void build_yield(Build *b, Env *env, Ast *s);
/* Opens a run-time loop: its statement, and the block its body goes to. */
void loop_begin(Build *b, LoopInfo *loop, HStmtKind kind, Span at);
void loop_end(Build *b, LoopInfo *loop);
void loop_losses(Build *b, LoopInfo *loop); /* build_loss.c */
/* Statements that `body` builds are put before the loop. */
void loop_before(Build *b, LoopInfo *loop, void (*body)(Build *b, void *arg), void *arg);
void reduce_round(Build *b, LoopInfo *loop);
Value build_reduce_for(Build *b, Env *env, Ast *e);
struct OptState *opt_new(Build *b, const char *name);
void build_minimize(Build *b, Env *env, Ast *s);
void build_update(Build *b, Env *env, Ast *s);
void train_task_end(Build *b); /* last in a task: what `accumulate` has left over */
Value build_grad(Build *b, const Actual *a);
Value build_each(Build *b, Env *env, Ast *e, bool sum);
void build_assign(Build *b, Env *env, Ast *s);
void home_assign(Build *b, Home *h, Value v, Span at);
Value build_string(Build *b, Env *env, Ast *e);
void build_print(Build *b, Env *env, Ast *s);
void build_record(Build *b, Env *env, Ast *s);
void build_save_load(Build *b, Env *env, Ast *s);
void build_stores_finish(Build *b);
void build_expect(Build *b, Env *env, Ast *s);
void build_tasks_finish(Build *b);

/* ---- build_warn.c ---- */
void train_use(Build *b, const Ast *stmt, const Home *h, bool named, Span at);
void warn_declarations(Build *b);
void warn_training(Build *b); /* after all tasks and paths */
void warn_thin(Build *b, const Node *x, unsigned axes, const char *what, Span at);
void warn_negative(Build *b, FnValue *schedule, Span at);

#endif
