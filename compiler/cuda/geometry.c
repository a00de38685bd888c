/* geometry.c: the grid and the blocks of a kernel, from the loops of its nest (loop.h: threads). */
#include "geometry.h"

/* Warps of a block that has rows, and of one that has a row; threads of a block where there are FEW
 * elements and where there are more; of a block of a kernel with parts. */
enum { WARP = 32, GRID_WARPS = 4, BLOCK_WARPS = 32 };
enum { FEW = 1 << 14, SMALL = 128, LARGE = 256, PART_THREADS = 256 };

typedef struct Found {
    Geometry *g;
    int64_t warps, lanes; /* rounds: of WARP loops; of LANE loops outside of WARP and TILE loops */
} Found;

static void find_loops(Found *f, const Block *b, bool in_warp) {
    for (int i = 0; i < b->stmts.n; i++) {
        const Stmt *st = b->stmts.at[i];
        const LoopVar *v = st->var;
        LoopKind kind = st->kind == ST_LOOP ? v->kind : LOOP_SEQ;
        if (kind == LOOP_TILE)
            f->g->tile[f->g->tiles++] = v;
        else if (kind == LOOP_THREAD)
            f->g->thread[f->g->threads++] = v;
        else if (kind == LOOP_WARP)
            f->warps = MAX(f->warps, v->extent.n);
        else if (kind == LOOP_LANE && !in_warp && f->g->tiles == 0)
            f->lanes = MAX(f->lanes, v->extent.n);
        find_loops(f, &st->body, in_warp || kind == LOOP_WARP);
    }
}

static int64_t pieces(int64_t n, int64_t size) {
    return (n + size - 1) / size;
}

static Geometry geometry_with(const Block *b, int block) {
    Geometry g = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    Found f = {.g = &g};
    find_loops(&f, b, false);
    if (!g.threads && (f.warps || g.tiles))
        g.warps = block ? block / WARP
                  : g.tiles ? (int)MIN(MAX(f.warps, 1), BLOCK_WARPS)
                            : (int)MIN(f.warps, GRID_WARPS);
    for (int i = 0; i < g.tiles; i++) /* the innermost one is x */
        g.grid[i] = g.tile[g.tiles - 1 - i]->extent.n;
    for (int i = 0; i < g.threads; i++)
        g.block[i] = (int)g.thread[g.threads - 1 - i]->extent.n;
    if (g.warps) {
        g.block[0] = g.warps * WARP;
        if (!g.tiles)
            g.grid[0] = pieces(f.warps, g.warps);
    } else if (!g.threads && f.lanes) {
        int64_t most = f.lanes <= FEW ? SMALL : LARGE;
        g.block[0] = block ? block : (int)MIN(most, pieces(f.lanes, WARP) * WARP);
        g.grid[0] = pieces(f.lanes, g.block[0]);
    }
    g.one = !g.warps && !g.threads && !f.lanes;
    return g;
}

Geometry geometry_of_part(const Block *b) {
    return geometry_with(b, PART_THREADS);
}

Geometry geometry_of(const Kernel *k) {
    const Block *b = &k->nest->body;
    if (b->stmts.n == 0 || b->stmts.at[0]->kind != ST_LOOP ||
        b->stmts.at[0]->var->kind != LOOP_PART)
        return geometry_with(b, 0);
    Geometry all = {.grid = {0, 1, 1}, .block = {PART_THREADS, 1, 1}, .parts = b->stmts.n};
    for (int i = 0; i < b->stmts.n; i++)
        all.grid[0] += b->stmts.at[i]->var->extent.n;
    return all;
}
