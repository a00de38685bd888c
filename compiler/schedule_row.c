/* schedule_row.c: reductions over rows and the maps between them, in one kernel: softmax, norms,
 * losses.
 *
 * Phases. A reduction whose input needs the results of p levels of reductions runs in loop p over
 * the row, and so does a stored value that needs p levels. What costs more than a load and is
 * needed again in a later loop is kept in an array as long as the row. Order of a row: element e
 * goes to lane e mod 32, the lanes are joined by an xor tree; rows over 1024 elements in chunks of
 * 1024, the chunks' results as one row by the same lanes and tree.
 *
 * One long row, or few, is cut into its chunks for the threads; a second kernel joins them (only
 * one phase then).
 */
#include "target.h"

/* MOST: chunks whose results a thread keeps on its stack, or a block in its shared memory. */
enum { CHUNK = 1024, KEPT = 4096, LONG = 32768, FEW = 8, MOST = 16384, MOST_SHARED = 2048 };

typedef struct Rows {
    Sched *s;
    const Ix *row;
    int *phase; /* by node id, -1: not known yet */
    int loops;
    Local **kept; /* by number in group->nodes: the array that holds it */
} Rows;

static bool is_reduction(const Node *n) {
    return op_info[n->op].kind == KIND_REDUCE;
}

static bool is_member(const Rows *r, const Node *n) {
    return r->s->fusion->group_of[n->id] == r->s->group;
}

/* Values of other groups stand in memory: phase 0. */
static bool is_outside(const Rows *r, const Node *n) {
    return !is_member(r, n) && r->s->fusion->buffer_of[n->id];
}

static int phase_of(Rows *r, const Node *n) {
    if (is_outside(r, n))
        return 0;
    if (r->phase[n->id] >= 0)
        return r->phase[n->id];
    int p = 0;
    for (int i = 0; i < n->nin; i++)
        p = MAX(p, phase_of(r, n->in[i]));
    p += is_member(r, n) && is_reduction(n);
    return r->phase[n->id] = p;
}

static bool is_full(const Group *g, const Node *n) {
    return shape_elements(&n->shape) == g->rows * g->length && !(g->length == 1 && is_reduction(n));
}

static void element_subscripts(Rows *r, const Node *n, const Ix *element, const Ix **sub) {
    const Ix *flat =
        ix_add(r->s->arena, ix_scale(r->s->arena, r->row, r->s->group->length), element);
    ix_unflat(r->s->arena, &n->shape, flat, sub);
}

static void row_subscripts(Rows *r, const Node *n, const Ix **sub) {
    ix_unflat(r->s->arena, &n->shape, r->row, sub);
}

/* The loop that a reduction's inputs are known in. */
static int input_phase(Rows *r, const Node *n) {
    int p = 0;
    for (int i = 0; i < n->nin; i++)
        p = MAX(p, phase_of(r, n->in[i]));
    return p;
}

/* ---- values kept for later loops ---- */

static bool is_costly(const Rows *r, const Node *n) {
    if (is_outside(r, n) || is_reduction(n))
        return false;
    if (op_info[n->op].flags & OPF_COSTLY)
        return true;
    for (int i = 0; i < n->nin; i++)
        if (!is_member(r, n->in[i]) && is_costly(r, n->in[i]))
            return true;
    return false;
}

/* Is n made from m at the same row without a reduction between? Not through another value that is
 * kept by then, and not by a pick: it computes another element anew. */
static bool needs(Rows *r, const Node *n, const Node *m) {
    if (n == m)
        return true;
    if (is_outside(r, n) || (is_member(r, n) && is_reduction(n)))
        return false;
    for (int i = op_info[n->op].flags & OPF_LAST ? 1 : 0; i < n->nin; i++) {
        const Node *x = n->in[i];
        bool kept = x != m && is_member(r, x) && is_full(r->s->group, x) && is_costly(r, x) &&
                    phase_of(r, x) <= phase_of(r, m);
        if (!kept && needs(r, x, m))
            return true;
    }
    return false;
}

static bool is_needed_after(Rows *r, const Node *m, int phase) {
    const Group *g = r->s->group;
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        for (int k = 0; is_reduction(n) && input_phase(r, n) > phase && k < n->nin; k++)
            if (needs(r, n->in[k], m))
                return true;
    }
    for (int i = 0; i < g->stores.n; i++)
        if (phase_of(r, g->stores.at[i].node) > phase && needs(r, g->stores.at[i].node, m))
            return true;
    return false;
}

static void declare_kept(Rows *r) {
    const Group *g = r->s->group;
    if (g->length > KEPT || r->s->target->threads)
        return;
    int64_t padded = (g->length + 7) / 8 * 8;
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        if (!is_reduction(n) && is_full(g, n) && is_costly(r, n) &&
            is_needed_after(r, n, phase_of(r, n)))
            r->kept[i] = nest_array(r->s->nest, n->name ? n->name : op_info[n->op].name, n->dtype,
                                    1, &padded);
    }
}

/* In loop `phase`: values kept by an earlier loop are read back, those of this one computed and
 * kept. */
static void use_kept(Rows *r, int phase, const Ix *element) {
    Sched *s = r->s;
    const Ix *sub[MAX_RANK];
    for (int i = 0; i < s->group->nodes.n; i++) {
        const Node *n = s->group->nodes.at[i];
        if (!r->kept[i] || phase_of(r, n) > phase)
            continue;
        element_subscripts(r, n, element, sub);
        if (phase_of(r, n) == phase)
            nest_set(s->nest, r->kept[i], &element, value_at(s, n, sub));
        else
            value_bind(s, n, sub, expr_local(s->arena, r->kept[i], &element));
    }
}

/* ---- one loop over the row ---- */

static bool reduces_in(Rows *r, const Node *n, int phase) {
    return is_reduction(n) && input_phase(r, n) == phase;
}

/* A value that updates a home in place waits until nothing reads the old one. */
static int store_phase(Rows *r, const GroupStore *st) {
    return st->buffer->home ? r->loops - 1 : phase_of(r, st->node);
}

static void store_full(Rows *r, int phase, const Ix *element) {
    Sched *s = r->s;
    const Ix *sub[MAX_RANK];
    for (int pass = 0; pass < 2; pass++) /* all values before the first store */
        for (int i = 0; i < s->group->stores.n; i++) {
            const GroupStore *st = &s->group->stores.at[i];
            if (!is_full(s->group, st->node) || store_phase(r, st) != phase)
                continue;
            element_subscripts(r, st->node, element, sub);
            if (pass == 1)
                sched_store(s, st, sub);
            else
                sched_keep(s, st, sub);
        }
}

static void accumulate_all(Rows *r, int phase, Local *const *acc, const Ix *element,
                           const Ix *lane) {
    Sched *s = r->s;
    const Ix *sub[MAX_RANK];
    for (int i = 0; i < s->group->nodes.n; i++) {
        const Node *n = s->group->nodes.at[i];
        if (!reduces_in(r, n, phase))
            continue;
        element_subscripts(r, n->in[0], element, sub);
        const Expr *e = value_at(s, n->in[0], sub);
        const Expr *times = n->nin > 1 ? value_at(s, n->in[1], sub) : NULL;
        nest_accumulate(s->nest, acc[i], n->op, lane, e, times);
    }
}

static const char *result_name(const Node *n) {
    if (n->name)
        return n->name;
    static const char *const of_join[OP_N] = {
        [OP_add] = "total", [OP_mul] = "product", [OP_maximum] = "top", [OP_minimum] = "least"};
    return of_join[op_info[n->op].join];
}

static void start_all(Rows *r, int phase, Local **acc) {
    Sched *s = r->s;
    for (int i = 0; i < s->group->nodes.n; i++) {
        const Node *n = s->group->nodes.at[i];
        if (reduces_in(r, n, phase))
            acc[i] = nest_accumulator(s->nest, arena_printf(s->arena, "%s_lanes", result_name(n)),
                                      n->op, n->dtype);
    }
}

static void bind_row(Rows *r, const Node *n, const Expr *e) {
    const Ix *sub[MAX_RANK];
    row_subscripts(r, n, sub);
    value_bind(r->s, n, sub, e);
}

static bool loop_is_empty(Rows *r, int phase) {
    const Group *g = r->s->group;
    for (int i = 0; i < g->nodes.n; i++)
        if (reduces_in(r, g->nodes.at[i], phase))
            return false;
    for (int i = 0; i < g->stores.n; i++)
        if (is_full(g, g->stores.at[i].node) && store_phase(r, &g->stores.at[i]) == phase)
            return false;
    for (int i = 0; i < g->nodes.n; i++)
        if (r->kept[i] && phase_of(r, g->nodes.at[i]) == phase)
            return false;
    return true;
}

/* The extent of the loop over the accumulators is known. */
static void unroll_accumulators(const Rows *r, Local *const *acc) {
    for (int i = 0; i < r->s->group->nodes.n; i++)
        if (acc[i])
            acc[i]->by_four = true;
}

static void short_loop(Rows *r, int phase) {
    Sched *s = r->s;
    Dim length = {s->group->length, s->group->length_count};
    Local **acc = NEW_ARRAY(s->arena, Local *, s->group->nodes.n + 1);
    start_all(r, phase, acc);
    const Ix *j = ix_var(s->arena, nest_loop(s->nest, LOOP_LANE, "j", length));
    use_kept(r, phase, j);
    accumulate_all(r, phase, acc, j, j);
    store_full(r, phase, j);
    nest_end(s->nest);
    if (!length.count)
        unroll_accumulators(r, acc);
    for (int i = 0; i < s->group->nodes.n; i++) {
        const Node *n = s->group->nodes.at[i];
        if (acc[i])
            bind_row(r, n,
                     expr_local(s->arena, nest_join(s->nest, result_name(n), n->op, acc[i]), NULL));
    }
}

/* Joins `count` partial results by the rule of rows: at(k) is partial k. */
static const Expr *join_partials(Sched *s, const Node *n, const Buffer *memory, const Local *array,
                                 const Ix *row, int64_t count) {
    Local *acc = nest_accumulator(s->nest, arena_printf(s->arena, "%s_chunks", result_name(n)),
                                  n->op, n->dtype);
    const Ix *k = ix_var(s->arena, nest_loop(s->nest, LOOP_LANE, "k", dim_fixed(count)));
    acc->by_four = true;
    const Ix *sub[2] = {row, k};
    const Expr *e = memory ? expr_load(s->arena, memory, sub) : expr_local(s->arena, array, &k);
    nest_accumulate(s->nest, acc, n->op, k, e, NULL);
    nest_end(s->nest);
    return expr_local(s->arena, nest_join(s->nest, result_name(n), n->op, acc), NULL);
}

/* Chunk number `chunk`, of `length` elements; 0: CHUNK or what is left of the row. */
static void chunk_body(Rows *r, int phase, const Ix *chunk, int64_t length, Local **acc) {
    Sched *s = r->s;
    start_all(r, phase, acc);
    const Ix *base = ix_scale(s->arena, chunk, CHUNK);
    Dim all = {s->group->length, s->group->length_count};
    const LoopVar *v = length ? nest_loop(s->nest, LOOP_LANE, "j", dim_fixed(length))
                              : nest_loop_to(s->nest, LOOP_LANE, "j", CHUNK, base, all);
    const Ix *j = ix_var(s->arena, v);
    const Ix *element = ix_add(s->arena, base, j);
    use_kept(r, phase, element);
    accumulate_all(r, phase, acc, element, j);
    store_full(r, phase, element);
    nest_end(s->nest);
    if (length)
        unroll_accumulators(r, acc);
}

static void one_chunk(Rows *r, int phase, const Ix *chunk, int64_t length, Local *const *part) {
    Sched *s = r->s;
    Local **acc = NEW_ARRAY(s->arena, Local *, s->group->nodes.n + 1);
    chunk_body(r, phase, chunk, length, acc);
    for (int i = 0; i < s->group->nodes.n; i++)
        if (acc[i]) {
            const Local *one = nest_join(s->nest, "part", s->group->nodes.at[i]->op, acc[i]);
            nest_set(s->nest, part[i], &chunk, expr_local(s->arena, one, NULL));
        }
}

/* One chunk after the other: whole ones, then what is left of the row. */
static void chunks_in_turn(Rows *r, int phase, Local *const *part) {
    Sched *s = r->s;
    const Group *g = s->group;
    int64_t whole = g->length / CHUNK, rest = g->length % CHUNK;
    if (g->length_count)
        whole = (g->length + CHUNK - 1) / CHUNK;
    if (whole > 1) {
        const LoopVar *v = nest_loop(s->nest, LOOP_SEQ, "chunk", dim_fixed(whole));
        one_chunk(r, phase, ix_var(s->arena, v), g->length_count ? 0 : CHUNK, part);
        nest_end(s->nest);
    } else {
        one_chunk(r, phase, ix_const(s->arena, 0), CHUNK, part);
    }
    if (rest && !g->length_count)
        one_chunk(r, phase, ix_const(s->arena, whole), rest, part);
}

/* The warps of a block share the chunks of a row. */
static void chunks_by_warps(Rows *r, int phase, Local *const *part) {
    Sched *s = r->s;
    const Group *g = s->group;
    Dim chunks = dim_fixed((g->length + CHUNK - 1) / CHUNK);
    const LoopVar *v = nest_loop(s->nest, LOOP_WARP, "chunk", chunks);
    one_chunk(r, phase, ix_var(s->arena, v), g->length % CHUNK || g->length_count ? 0 : CHUNK,
              part);
    nest_end(s->nest);
}

static void chunked_loop(Rows *r, int phase) {
    Sched *s = r->s;
    const Group *g = s->group;
    bool threads = s->target->threads, parts = false;
    int64_t chunks = (g->length + CHUNK - 1) / CHUNK, most = threads ? MOST_SHARED : MOST;
    if (chunks > most)
        diag_error(s->compiler->diag, g->nodes.at[0]->span,
                   "not supported yet: %lld elements in one row of reductions that build on each "
                   "other, at most %lld",
                   (long long)g->length, (long long)most * CHUNK);
    Local **part = NEW_ARRAY(s->arena, Local *, g->nodes.n + 1);
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        if (!reduces_in(r, n, phase))
            continue;
        const char *name = arena_printf(s->arena, "%s_parts", result_name(n));
        part[i] = threads ? nest_shared(s->nest, name, n->dtype, 1, &chunks)
                          : nest_array(s->nest, name, n->dtype, 1, &chunks);
        parts = true;
    }
    if (threads)
        chunks_by_warps(r, phase, part);
    else
        chunks_in_turn(r, phase, part);
    if (threads && parts)
        nest_barrier(s->nest);
    for (int i = 0; i < g->nodes.n; i++)
        if (part[i])
            bind_row(r, g->nodes.at[i],
                     join_partials(s, g->nodes.at[i], NULL, part[i], NULL, chunks));
}

/* ---- the row ---- */

static void store_rows(Rows *r) {
    Sched *s = r->s;
    const Shape rows = shape_of(1, &s->group->rows);
    const Ix *sub[MAX_RANK];
    sched_checks(s, &rows, &r->row);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < s->group->stores.n; i++) {
            const GroupStore *st = &s->group->stores.at[i];
            if (is_full(s->group, st->node))
                continue;
            row_subscripts(r, st->node, sub);
            if (pass == 1)
                sched_store(s, st, sub);
            else
                sched_keep(s, st, sub);
        }
}

static void row_body(Rows *r) {
    declare_kept(r);
    for (int p = 0; p < r->loops; p++) {
        if (loop_is_empty(r, p))
            continue;
        if (r->s->group->length > CHUNK)
            chunked_loop(r, p);
        else
            short_loop(r, p);
    }
    store_rows(r);
}

static void count_loops(Rows *r) {
    const Group *g = r->s->group;
    for (int i = 0; i < g->nodes.n; i++)
        if (is_reduction(g->nodes.at[i]))
            r->loops = MAX(r->loops, phase_of(r, g->nodes.at[i]));
    for (int i = 0; i < g->stores.n; i++)
        if (is_full(g, g->stores.at[i].node))
            r->loops = MAX(r->loops, phase_of(r, g->stores.at[i].node) + 1);
}

/* ---- long rows ---- */

static bool is_split(Rows *r) {
    const Group *g = r->s->group;
    return g->rows < FEW && g->length >= LONG && r->loops == 1;
}

static void split_rows(Rows *r) {
    Sched *s = r->s;
    const Group *g = s->group;
    int64_t chunks = (g->length + CHUNK - 1) / CHUNK;
    Local **acc = NEW_ARRAY(s->arena, Local *, g->nodes.n + 1);
    Buffer **part = NEW_ARRAY(s->arena, Buffer *, g->nodes.n + 1);
    int64_t tiles = g->rows * chunks;
    LoopKind kind = s->target->threads ? LOOP_WARP : LOOP_TILE;
    const Ix *t = ix_var(s->arena, nest_loop(s->nest, kind, "tile", dim_fixed(tiles)));
    s->kernel->tiles = s->target->threads ? 1 : (int)tiles;
    const Ix *sub[2] = {ix_div(s->arena, t, chunks), ix_mod(s->arena, t, chunks)};
    r->row = sub[0];
    chunk_body(r, 0, sub[1], g->length % CHUNK || g->length_count ? 0 : CHUNK, acc);
    for (int i = 0; i < g->nodes.n; i++)
        if (acc[i]) {
            const Node *n = g->nodes.at[i];
            part[i] = sched_buffer(s, arena_printf(s->arena, "%s_parts", result_name(n)), n->dtype,
                                   shape_of(2, (const int64_t[]){g->rows, chunks}));
            sched_put(s, part[i], sub,
                      expr_local(s->arena, nest_join(s->nest, "part", n->op, acc[i]), NULL));
        }
    nest_end(s->nest);
    sched_next_kernel(s, "join");
    bool loop = g->rows > 1 || s->target->threads;
    kind = s->target->threads ? LOOP_WARP : LOOP_SEQ;
    const Ix *row = loop ? ix_var(s->arena, nest_loop(s->nest, kind, "i", dim_fixed(g->rows)))
                         : ix_const(s->arena, 0);
    r->row = row;
    for (int i = 0; i < g->nodes.n; i++)
        if (acc[i]) {
            sched_reads(s, part[i]);
            bind_row(r, g->nodes.at[i],
                     join_partials(s, g->nodes.at[i], part[i], NULL, row, chunks));
        }
    store_rows(r);
    if (loop)
        nest_end(s->nest);
}

/* Of one row, in nanoseconds: vectors, and the ends of its reductions. */
static double row_cost(const Rows *r) {
    const Group *g = r->s->group;
    double ns = (double)((g->length + 7) / 8 * 8) * sched_cost(r->s);
    for (int i = 0; i < g->nodes.n; i++)
        ns += is_reduction(g->nodes.at[i]) ? 5 : 0;
    return ns;
}

static void tiled_rows(Rows *r) {
    Sched *s = r->s;
    const Group *g = s->group;
    Dim rows = {g->rows, g->count};
    int64_t part = sched_rows_a_tile(g->rows), tiles = (g->rows + part - 1) / part;
    const LoopVar *t = nest_loop(s->nest, LOOP_TILE, "tile", dim_fixed(tiles));
    const Ix *base = ix_scale(s->arena, ix_var(s->arena, t), part);
    const LoopVar *i = g->rows % part || g->count
                           ? nest_loop_to(s->nest, LOOP_SEQ, "i", part, base, rows)
                           : nest_loop(s->nest, LOOP_SEQ, "i", dim_fixed(part));
    r->row = ix_add(s->arena, base, ix_var(s->arena, i));
    row_body(r);
    nest_end(s->nest);
    nest_end(s->nest);
    s->kernel->tiles = (int)tiles;
}

/* A warp for each row, or a block where a row has chunks. */
static void rows_by_warps(Rows *r) {
    Sched *s = r->s;
    const Group *g = s->group;
    LoopVar *i = nest_loop(s->nest, LOOP_WARP, "i", (Dim){g->rows, g->count});
    if (g->length > CHUNK)
        i->kind = LOOP_TILE;
    r->row = ix_var(s->arena, i);
    row_body(r);
    nest_end(s->nest);
}

void schedule_row(Sched *s) {
    const Group *g = s->group;
    Rows r = {.s = s, .loops = 1};
    int nodes = s->compiler->program->graph->nodes.n;
    r.phase = NEW_ARRAY(s->arena, int, nodes);
    for (int i = 0; i < nodes; i++)
        r.phase[i] = -1;
    r.kept = NEW_ARRAY(s->arena, Local *, g->nodes.n + 1);
    count_loops(&r);
    s->kernel->flops = (double)(g->rows * g->length) * g->nodes.n;
    if (g->length_count)
        sched_count(s, g->length_count);
    if (g->count)
        sched_count(s, g->count);
    if (is_split(&r)) {
        split_rows(&r);
        return;
    }
    if (s->target->threads) {
        rows_by_warps(&r);
        return;
    }
    if (g->rows == 1 && !g->count) {
        r.row = ix_const(s->arena, 0);
        row_body(&r);
        return;
    }
    if (g->rows >= FEW && sched_tiles(g->rows, row_cost(&r)) > 1) {
        tiled_rows(&r);
        return;
    }
    Dim rows = {g->rows, g->count};
    r.row = ix_var(s->arena, nest_loop(s->nest, LOOP_SEQ, "i", rows));
    row_body(&r);
    nest_end(s->nest);
}
