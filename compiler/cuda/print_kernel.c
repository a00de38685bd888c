/* print_kernel.c: a kernel's nest as a __global__ function (loop.h: threads).
 *
 * Expressions are printed by c/print_expr.c, one number at a time. What a row or a block stores
 * outside of its lanes is stored by its first thread.
 */
#include "../c/print_kernel.h"
#include "geometry.h"
#include <string.h>

typedef struct Cuda {
    Printer p;
    Geometry g;
    int in_tile, in_warp, in_thread; /* open loops; in_thread: what follows is one thread's own */
    const char *block; /* number of the block among those of the kernel or part; NULL: one */
    bool block_is_int; /* and not CUDA's unsigned one */
    bool in_part;
} Cuda;

/* ---- neighbours ---- */

/* By buffer of the kernel (print_buffers_of): does a thread use several elements side by side? */
typedef struct Neighbours {
    int n;
    const Buffer **buffer;
    bool *used;
} Neighbours;

static void note_neighbours(Neighbours *s, const Buffer *b) {
    for (int i = 0; i < s->n; i++)
        s->used[i] |= s->buffer[i] == b && layout_elements(b) >= 4;
}

static void find_loads(Neighbours *s, const Expr *e) {
    if (e && e->kind == EX_LOAD)
        note_neighbours(s, e->buffer);
    for (int i = 0; e && i < e->nin; i++)
        find_loads(s, e->in[i]);
}

static void find_neighbours(Neighbours *s, const Block *b, bool side_by_side) {
    for (int i = 0; i < b->stmts.n; i++) {
        const Stmt *st = b->stmts.at[i];
        if (side_by_side) {
            find_loads(s, st->value);
            find_loads(s, st->with);
        }
        if (side_by_side && st->kind == ST_STORE)
            note_neighbours(s, st->buffer);
        bool unrolled = st->kind == ST_LOOP && st->var->kind == LOOP_UNROLL &&
                        st->var->extent.n >= 4;
        find_neighbours(s, &st->body, side_by_side || unrolled);
    }
}

static void print_alignment(Printer *p, const Block *b) {
    const Kernel *k = p->kernel;
    int most = k->reads.n + k->writes.n + 1;
    Neighbours s = {.buffer = NEW_ARRAY(p->arena, const Buffer *, most),
                    .used = NEW_ARRAY(p->arena, bool, most)};
    s.n = print_buffers_of(k, s.buffer);
    find_neighbours(&s, b, false);
    Text list = {.arena = p->arena};
    for (int i = 0; i < s.n; i++)
        if (s.used[i])
            print_item(&list, print_text(p, "RT_ALIGNED(%s)", print_name(p, s.buffer[i])));
    if (list.n)
        emit_words(&p->e, "", list.at, ";");
}

/* ---- blocks ---- */

static void print_block(Cuda *c, const Block *b);

static void print_scope(Cuda *c, const Block *b) {
    int names = c->p.names.n;
    print_block(c, b);
    c->p.names.n = names;
}

/* The body under a condition; NULL: always. At the end of the function the others go. */
static void print_guarded(Cuda *c, const Stmt *st, const char *condition, const char *opposite) {
    const Block *all = &c->p.kernel->nest->body;
    bool last = st == all->stmts.at[all->stmts.n - 1] && !c->in_part;
    if (condition && last) {
        emit_begin(&c->p.e, "if (%s)", opposite);
        emit_line(&c->p.e, "return;");
        emit_end(&c->p.e, "");
    } else if (condition) {
        emit_begin(&c->p.e, "if (%s)", condition);
        print_scope(c, &st->body);
        emit_end(&c->p.e, "");
        return;
    }
    print_block(c, &st->body);
}

/* Only where the name is below the loop's extent; `exact`: it always is. */
static void print_below(Cuda *c, const Stmt *st, const char *name, bool exact) {
    Printer *p = &c->p;
    const LoopVar *v = st->var;
    if (exact && !v->extent.count) {
        print_guarded(c, st, NULL, NULL);
        return;
    }
    const char *limit = print_dim(p, v->extent);
    print_guarded(c, st, print_text(p, "%s < %s", name, limit),
                  print_text(p, "%s >= %s", name, limit));
}

/* ---- loops ---- */

static void print_for(Cuda *c, const Stmt *st, const char *from, const char *step) {
    Printer *p = &c->p;
    if (st->var->extent.n == 1 && print_known_limit(p, st->var) == 1) {
        print_block(c, &st->body); /* its variable stands nowhere */
        return;
    }
    int names = p->names.n;
    const char *limit = print_limit(p, st->var);
    if (st->var->base && print_known_limit(p, st->var) < 0) {
        const char *end = print_new_name(p, &st->body, "end");
        emit_line(&p->e, "const int %s = %s;", end, limit);
        limit = end;
        names++; /* stays in the open block */
    }
    const char *name = print_new_name(p, st->var, st->var->name);
    const char *next = step ? print_text(p, "%s += %s", name, step) : print_text(p, "%s++", name);
    int64_t unroll = st->var->kind == LOOP_UNROLL ? st->var->extent.n : st->var->unroll;
    if (unroll > 1)
        emit_line(&p->e, "RT_UNROLL_GPU(%lld)", (long long)unroll);
    emit_begin(&p->e, "for (int %s = %s; %s < %s; %s)", name, from, name, limit, next);
    print_block(c, &st->body);
    emit_end(&p->e, "");
    p->names.n = names;
}

/* Rounds shared among `workers` named `worker`: one each, or each takes every so-manieth. */
static void print_shared(Cuda *c, const Stmt *st, const char *worker, int workers) {
    Printer *p = &c->p;
    int64_t n = print_known_limit(p, st->var);
    if (n < 0 || n > workers) {
        print_for(c, st, worker, print_text(p, "%d", workers));
        return;
    }
    int names = p->names.n;
    vec_push(p->arena, &p->names, (PrintName){st->var, worker});
    if (n < workers) {
        emit_begin(&p->e, n == 1 ? "if (%s == 0)" : "if (%s < %lld)", worker, (long long)n);
        print_block(c, &st->body);
        emit_end(&p->e, "");
        p->names.n = names;
    } else {
        print_block(c, &st->body); /* its names stay in the open block */
    }
}

/* The variable of a loop of one round stands nowhere. */
static bool is_once(const LoopVar *v) {
    return v->extent.n == 1 && !v->extent.count;
}

/* Number i (0 is x) of the block or thread along the axes of extents n. */
static const char *place_along(Cuda *c, const char *all, int i, int last, const int64_t *n) {
    int64_t before = 1;
    for (int k = 0; k < i; k++)
        before *= n[k];
    const char *place = before > 1 ? print_text(&c->p, "%s / %lld", all, (long long)before) : all;
    return i < last ? print_text(&c->p, "%s %% %lld", place, (long long)n[i]) : place;
}

static void print_tile(Cuda *c, const Stmt *st) {
    static const char axis[] = "xyz";
    Printer *p = &c->p;
    const char *name = print_new_name(p, st->var, st->var->name);
    int i = c->g.tiles - 1;
    while (c->g.tile[c->g.tiles - 1 - i] != st->var)
        i--;
    if (!is_once(st->var) && c->in_part)
        emit_line(&p->e, "const int %s = %s;", name,
                  place_along(c, c->block, i, c->g.tiles - 1, c->g.grid));
    else if (!is_once(st->var))
        emit_line(&p->e, "const int %s = (int)blockIdx.%c;", name, axis[i]);
    c->in_tile++;
    print_below(c, st, name, true);
    c->in_tile--;
}

static void print_thread(Cuda *c, const Stmt *st) {
    static const char axis[] = "xy";
    Printer *p = &c->p;
    const char *name = print_new_name(p, st->var, st->var->name);
    const int64_t extent[2] = {c->g.block[0], c->g.block[1]};
    int i = c->g.threads - 1 - (st->var == c->g.thread[0] ? 0 : 1);
    if (!is_once(st->var) && c->in_part)
        emit_line(&p->e, "const int %s = %s;", name,
                  place_along(c, "(int)threadIdx.x", i, c->g.threads - 1, extent));
    else if (!is_once(st->var))
        emit_line(&p->e, "const int %s = (int)threadIdx.%c;", name, axis[i]);
    c->in_thread++;
    print_block(c, &st->body);
    c->in_thread--;
}

/* Number of the thread, or of what `part` (" / 32") makes of it, where blocks have `each` of them:
 * "(int)(256 * blockIdx.x + threadIdx.x)". */
static const char *place_text(Cuda *c, int each, const char *part) {
    if (!c->block)
        return print_text(&c->p, "(int)threadIdx.x%s", part);
    if (c->block_is_int)
        return print_text(&c->p, "%d * %s + (int)threadIdx.x%s", each, c->block, part);
    return print_text(&c->p, "(int)(%d * %s + threadIdx.x%s)", each, c->block, part);
}

/* A row for each warp of the grid, or rounds for the warps of a block. */
static void print_warp(Cuda *c, const Stmt *st) {
    Printer *p = &c->p;
    c->in_warp++;
    if (c->in_tile) {
        print_shared(c, st, "warp", c->g.warps);
    } else {
        const char *name = print_new_name(p, st->var, st->var->name);
        bool exact = st->var->extent.n == c->g.grid[0] * c->g.warps;
        if (!is_once(st->var))
            emit_line(&p->e, "const int %s = %s;", name, place_text(c, c->g.warps, " / 32"));
        if (is_once(st->var) && !exact)
            print_guarded(c, st, "threadIdx.x < 32", "threadIdx.x >= 32");
        else
            print_below(c, st, name, exact);
    }
    c->in_warp--;
}

static void print_lane(Cuda *c, const Stmt *st) {
    Printer *p = &c->p;
    c->in_thread++;
    if (c->g.warps) {
        print_shared(c, st, "lane", 32);
    } else {
        const char *name = print_new_name(p, st->var, st->var->name);
        emit_line(&p->e, "const int %s = %s;", name, place_text(c, c->g.block[0], ""));
        print_below(c, st, name, st->var->extent.n == c->g.grid[0] * c->g.block[0]);
    }
    c->in_thread--;
}

static void print_at(Cuda *c, const Stmt *st) {
    Printer *p = &c->p;
    const LoopVar *v = st->var;
    int64_t lo, hi;
    ix_range(v->at, &lo, &hi);
    if (lo < 0)
        bug("position %s of kernel %s may be negative", v->name, p->kernel->name);
    const char *at = print_ix(p, v->at), *name = print_new_name(p, v, v->name);
    bool always = v->promised || hi < v->extent.n;
    if (!always || !is_once(v))
        emit_line(&p->e, "const int %s = %s;", name, at);
    print_below(c, st, name, always);
}

/* Each part has the blocks before its end, which is called after what the part makes. */
static const char **print_ends(Printer *p) {
    const Block *b = &p->kernel->nest->body;
    const char **end = NEW_ARRAY(p->arena, const char *, b->stmts.n + 1);
    Text list = {.arena = p->arena};
    int64_t blocks = 0;
    for (int i = 0; i < b->stmts.n; i++) {
        const LoopVar *part = b->stmts.at[i]->var;
        const char *what = part->makes ? print_name(p, part->makes) : "check";
        blocks += part->extent.n;
        end[i] = print_new_name(p, part, print_text(p, "end_of_%s", what));
        print_item(&list, print_text(p, "%s = %lld", end[i], (long long)blocks));
    }
    emit_line(&p->e, "enum { %s };", list.at);
    return end;
}

/* Blocks from the end of the part before (NULL: there is none) to its own (NULL: all others). */
static void print_part(Cuda *c, const Stmt *st, const char *from, const char *end) {
    Printer *p = &c->p;
    const Geometry all = c->g;
    int names = p->names.n;
    if (!from)
        emit_begin(&p->e, "if (blockIdx.x < %s)", end);
    else if (!end)
        emit_turn(&p->e, "else");
    else
        emit_turn(&p->e, "else if (blockIdx.x < %s)", end);
    if (*st->var->name)
        emit_line(&p->e, "/* %s */", st->var->name);
    print_alignment(p, &st->body);
    c->g = geometry_of_part(&st->body);
    c->block = st->var->extent.n > 1 ? "blockIdx.x" : NULL;
    c->block_is_int = from && c->block;
    if (c->block_is_int) {
        c->block = print_new_name(p, st, "local_block");
        emit_line(&p->e, "const int %s = (int)blockIdx.x - %s;", c->block, from);
    } else if (c->g.tiles > 1) {
        c->block = "(int)blockIdx.x";
    }
    if (c->g.one)
        emit_begin(&p->e, "if (threadIdx.x == 0)");
    print_block(c, &st->body);
    if (c->g.one)
        emit_end(&p->e, "");
    c->g = all;
    p->names.n = names;
}

static void print_parts(Cuda *c) {
    const Block *b = &c->p.kernel->nest->body;
    const char **end = print_ends(&c->p);
    c->in_part = true;
    for (int i = 0; i < b->stmts.n; i++)
        print_part(c, b->stmts.at[i], i ? end[i - 1] : NULL, i + 1 < b->stmts.n ? end[i] : NULL);
    emit_end(&c->p.e, "");
}

static void print_loop(Cuda *c, const Stmt *st) {
    switch (st->var->kind) {
    case LOOP_TILE:
        print_tile(c, st);
        return;
    case LOOP_THREAD:
        print_thread(c, st);
        return;
    case LOOP_WARP:
        print_warp(c, st);
        return;
    case LOOP_LANE:
        print_lane(c, st);
        return;
    case LOOP_AT:
        print_at(c, st);
        return;
    case LOOP_SEQ:
    case LOOP_UNROLL:
        print_for(c, st, "0", NULL);
        return;
    case LOOP_PART:
        break;
    }
    bug("part of kernel %s inside of another", c->p.kernel->name);
}

/* ---- statements ---- */

static void print_array(Cuda *c, const Stmt *st) {
    Printer *p = &c->p;
    const Local *l = st->local;
    const char *zeros =
        st->kind == ST_FILL ? print_text(p, " = %s", print_zeros(p, l->rank)) : "";
    emit_line(&p->e, "%s%s %s%s%s;", l->shared ? "__shared__ __align__(16) " : "",
              c_type(l->dtype), print_new_array(p, l, l->name), print_extents(p, l), zeros);
}

static void print_let(Cuda *c, const Stmt *st) {
    Printer *p = &c->p;
    const Local *l = st->local;
    if (!st->value || (l->rank && !l->lanes)) {
        print_array(c, st);
        return;
    }
    const char *value = print_expr(p, st->value, false);
    emit_line(&p->e, "%s%s %s = %s;", l->changes ? "" : "const ", print_scalar_type(l->dtype),
              print_new_name(p, l, l->name), value);
}

/* Element e of a row goes to lane e mod 32: the thread that has it. */
static void print_accumulate(Cuda *c, const Stmt *st) {
    const char *lane = print_name(&c->p, st->local);
    if (st->with)
        print_add_product(&c->p, lane, st->value, st->with);
    else
        print_join(&c->p, st->op, lane, st->value);
}

static void print_join_lanes(Cuda *c, const Stmt *st) {
    Printer *p = &c->p;
    const Local *l = st->local;
    const char *value = print_text(p, "rt_warp_%s_%s(%s)", op_info[st->op].name,
                                   l->dtype == DT_BOOL ? "u8" : dtype_name(l->dtype),
                                   print_name(p, st->from));
    emit_line(&p->e, "%s%s %s = %s;", l->changes ? "" : "const ", print_scalar_type(l->dtype),
              print_new_name(p, l, l->name), value);
}

/* The thread that acts for what stands outside of lanes; NULL: this one. */
static const char *first_thread(const Cuda *c) {
    if (c->in_thread || (c->g.warps == 0 && c->g.threads == 0))
        return NULL;
    return c->in_warp ? "lane == 0" : "threadIdx.x == 0";
}

static void print_fault(Cuda *c, const Stmt *st) {
    Printer *p = &c->p;
    const char *when = print_expr(p, st->value, false), *first = first_thread(c);
    const char *node = print_name(p, &p->kernel->faults.at[kernel_fault(p->kernel, st->node)]);
    if (first)
        when = print_text(p, strpbrk(when, "|?") ? "%s && (%s)" : "%s && %s", first, when);
    emit_begin(&p->e, "if (%s)", when);
    emit_line(&p->e, "rt_fault_raise_%s(fault, %s, %s, block->step);",
              dtype_name(st->with->dtype), node, print_expr(p, st->with, false));
    emit_end(&p->e, "");
}

static void print_if(Cuda *c, const Stmt *st) {
    emit_begin(&c->p.e, "if (%s)", print_expr(&c->p, st->value, false));
    print_scope(c, &st->body);
    emit_end(&c->p.e, "");
}

static void print_statement(Cuda *c, const Stmt *st) {
    switch (st->kind) {
    case ST_LOOP:
        print_loop(c, st);
        return;
    case ST_LET:
    case ST_FILL:
        print_let(c, st);
        return;
    case ST_SET:
        print_assign(&c->p, st, false);
        return;
    case ST_STORE:
        print_store(&c->p, st);
        return;
    case ST_GATHER_LANES:
        print_accumulate(c, st);
        return;
    case ST_JOIN_LANES:
        print_join_lanes(c, st);
        return;
    case ST_IF:
        print_if(c, st);
        return;
    case ST_FAULT:
        print_fault(c, st);
        return;
    case ST_BARRIER:
        emit_line(&c->p.e, c->in_warp ? "__syncwarp();" : "__syncthreads();");
        return;
    case ST_TRANSPOSE:
        break;
    }
    bug("statement of another target in kernel %s", c->p.kernel->name);
}

static bool is_seen_by_others(const Stmt *st) {
    return st->kind == ST_STORE || (st->kind == ST_SET && st->local->shared);
}

static void print_block(Cuda *c, const Block *b) {
    for (int i = 0; i < b->stmts.n; i++) {
        const char *first = is_seen_by_others(b->stmts.at[i]) ? first_thread(c) : NULL;
        if (!first) {
            print_statement(c, b->stmts.at[i]);
            continue;
        }
        emit_begin(&c->p.e, "if (%s)", first);
        for (; i < b->stmts.n && is_seen_by_others(b->stmts.at[i]); i++)
            print_statement(c, b->stmts.at[i]);
        i--;
        emit_end(&c->p.e, "");
    }
}

/* ---- functions ---- */

static bool needs_block(const Kernel *k) {
    return k->scalars.n || k->counts.n || k->seed || k->check;
}

/* The buffers that move; returns how many. */
static int moving_buffers(Printer *p, const bool *moves, const Buffer ***out) {
    const Kernel *k = p->kernel;
    const Buffer **buffer = NEW_ARRAY(p->arena, const Buffer *, k->reads.n + k->writes.n + 1);
    int all = moves ? print_buffers_of(k, buffer) : 0, n = 0;
    for (int i = 0; i < all; i++)
        if (moves[i])
            buffer[n++] = buffer[i];
    *out = buffer;
    return n;
}

static const char *parameters(Printer *p, const bool *moves) {
    const Kernel *k = p->kernel;
    Text list = {.arena = p->arena};
    print_memory_parameters(p, &list);
    if (needs_block(k))
        print_item(&list, "const struct nn_block *rt_restrict block");
    for (int i = 0; i < k->places.n; i++)
        print_item(&list, print_text(p, "uint32_t %s",
                                     print_new_name(p, &k->places.at[i], "place")));
    if (k->check || k->obeys)
        print_item(&list, "struct rt_fault *fault");
    for (int i = 0; i < k->faults.n; i++)
        print_item(&list, print_text(p, "int %s", print_new_name(p, &k->faults.at[i], "node")));
    const Buffer **moving;
    int n = moving_buffers(p, moves, &moving);
    for (int i = 0; i < n; i++)
        print_item(&list, print_text(p, "int64_t %s_step", print_name(p, moving[i])));
    return list.n ? list.at : "void";
}

/* Buffers as the layer of this block has them. */
static void print_moves(Printer *p, const bool *moves) {
    const Buffer **moving;
    int n = moving_buffers(p, moves, &moving);
    for (int i = 0; i < n; i++) {
        const Buffer *b = moving[i];
        const char *name = print_name(p, b);
        const char *is_const = print_writes(p->kernel, b) ? "" : "const ";
        Text type = {.arena = p->arena};
        c_print_buffer_type(&type, b, "");
        emit_line(&p->e, "%s = (%s%s)(%svoid *)((%sunsigned char *)%s + blockIdx.z * %s_step);",
                  name, is_const, type.at, is_const, is_const, name, name);
    }
}

/* What the kernel needs of the block. */
static void print_block_values(Printer *p) {
    const Kernel *k = p->kernel;
    for (int i = 0; i < k->scalars.n; i++) {
        const Scalar *s = k->scalars.at[i];
        emit_line(&p->e, "const %s %s = block->scalars.%s;", print_scalar_type(s->dtype),
                  print_new_name(p, s, s->name), s->name);
    }
    for (int i = 0; i < k->counts.n; i++) {
        const Count *s = k->counts.at[i];
        emit_line(&p->e, "const int %s = (int)block->counts.%s;", print_new_name(p, s, s->name),
                  s->name);
    }
    if (k->seed)
        emit_line(&p->e, "const uint64_t seed = block->seed;");
}

/* Names that the text uses by itself. */
static void reserve_names(Cuda *c) {
    static const char *const names[] = {"block", "fault", "lane", "warp"};
    for (int i = 0; i < COUNT_OF(names); i++)
        print_new_name(&c->p, names[i], names[i]);
}

/* Names for the thread in its warp and the warp in its block, where they are used. */
static void print_who(Cuda *c) {
    const Geometry *g = &c->g;
    const Block *b = &c->p.kernel->nest->body;
    bool lane = g->warps > 0, warp = g->warps > 0 && g->tiles > 0;
    for (int i = 0; i < g->parts; i++) {
        const Geometry part = geometry_of_part(&b->stmts.at[i]->body);
        lane |= part.warps > 0;
        warp |= part.warps > 0 && part.tiles > 0;
    }
    if (warp)
        emit_line(&c->p.e, "const int warp = (int)threadIdx.x / 32;");
    if (lane)
        emit_line(&c->p.e, "const int lane = (int)threadIdx.x%s;", g->warps == 1 ? "" : " % 32");
}

static void print_head(Cuda *c, const bool *moves) {
    Printer *p = &c->p;
    const Geometry *g = &c->g;
    const Kernel *k = p->kernel;
    int threads = g->block[0] * g->block[1] * g->block[2];
    print_note(&p->e, k);
    emit_line(&p->e, "__global__ void __launch_bounds__(%d)", threads);
    emit_begin(&p->e, "%s(%s)", k->name, parameters(p, moves));
    if (k->obeys) {
        emit_begin(&p->e, "if (fault->node >= 0)");
        emit_line(&p->e, "return;");
        emit_end(&p->e, "");
    }
    print_moves(p, moves);
    if (!g->parts)
        print_alignment(p, &k->nest->body);
    print_block_values(p);
    print_who(c);
}

void cuda_print_kernel(Text *out, const Kernel *k, const bool *moves) {
    Cuda c = {.p = {.arena = out->arena, .kernel = k, .one = true}, .g = geometry_of(k)};
    c.block = "blockIdx.x";
    c.p.e.text.arena = out->arena;
    reserve_names(&c);
    print_head(&c, moves);
    print_tables(&c.p);
    if (c.g.parts)
        print_parts(&c);
    else
        print_block(&c, &k->nest->body);
    emit_end(&c.p.e, "");
    text_addn(out, c.p.e.text.at, c.p.e.text.n);
}

static const char *dim3_text(Arena *a, int64_t x, int64_t y, int64_t z) {
    if (z > 1)
        return arena_printf(a, "dim3(%lld, %lld, %lld)", (long long)x, (long long)y, (long long)z);
    if (y > 1)
        return arena_printf(a, "dim3(%lld, %lld)", (long long)x, (long long)y);
    return arena_printf(a, "%lld", (long long)x);
}

void cuda_print_launch(Text *out, const Kernel *k, const char *stream, const CallNames *names,
                       const LaunchLayers *layers) {
    Arena *a = out->arena;
    const Geometry g = geometry_of(k);
    const Buffer **buffer = NEW_ARRAY(a, const Buffer *, k->reads.n + k->writes.n + 1);
    int n = print_buffers_of(k, buffer);
    Text list = {.arena = a};
    for (int i = 0; i < n; i++)
        print_item(&list, names ? names->buffer(names->arg, buffer[i])
                              : arena_printf(a, "dev_%s(nn)", buffer[i]->name));
    for (int i = 0; i < k->sources.n; i++)
        print_item(&list, arena_printf(a, "dev_src_%s(nn)", c_source_name(a, k->sources.at[i])));
    if (needs_block(k))
        print_item(&list, "its_block(nn)");
    for (int i = 0; i < k->places.n; i++)
        print_item(&list, names ? names->place(names->arg, i)
                              : arena_printf(a, "0x%08xu", k->places.at[i]));
    if (k->check || k->obeys)
        print_item(&list, "its_fault(nn)");
    for (int i = 0; i < k->faults.n; i++)
        print_item(&list, names ? names->fault(names->arg, i)
                              : arena_printf(a, "%d", k->faults.at[i]));
    for (int i = 0; layers && layers->moves && i < n; i++)
        if (layers->moves[i])
            print_item(&list, arena_printf(a, "%lld", (long long)layers->step[i]));
    int64_t deep = layers && layers->copies > 1 ? layers->copies : g.grid[2];
    text_printf(out, "RT_LAUNCH(%s, %s, %s, 0, %s, %s)", k->name,
                dim3_text(a, g.grid[0], g.grid[1], deep),
                dim3_text(a, g.block[0], g.block[1], g.block[2]), stream, list.at);
}
