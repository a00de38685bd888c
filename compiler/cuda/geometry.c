/* geometry.c: the grid and the blocks of a kernel, from the loops of its nest (loop.h: threads). */
#include "geometry.h"

enum { WARP = 32, GRID_WARPS = 4, BLOCK_WARPS = 32, FEW = 1 << 14, SMALL = 128, LARGE = 256 };

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

Geometry geometry_of(const Kernel *k) {
    Geometry g = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    Found f = {.g = &g};
    find_loops(&f, &k->nest->body, false);
    g.warps = g.tiles && !g.threads ? (int)MIN(MAX(f.warps, 1), BLOCK_WARPS)
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
        g.block[0] = (int)MIN(most, pieces(f.lanes, WARP) * WARP);
        g.grid[0] = pieces(f.lanes, g.block[0]);
    }
    return g;
}
