/* schedule_panels.c: maps over matrices in panels.
 *
 * The loops are those of the storage: panels, rows of a panel, its 16 columns as lanes. A matrix in
 * panels is then read and written from front to back, a row-major one 16 numbers at a time, and an
 * element's number (random numbers) stays the logical one. Padding is never touched.
 */
#include "schedule.h"

enum { PANEL = 16, ROWS = 64 };

const Buffer *sched_panels(const Sched *s) {
    const Kernel *k = s->kernel;
    for (int i = 0; i < k->writes.n; i++)
        if (k->writes.at[i].buffer->layout == LAYOUT_PANELS16)
            return k->writes.at[i].buffer;
    for (int i = 0; i < k->reads.n; i++)
        if (k->reads.at[i].buffer->layout == LAYOUT_PANELS16)
            return k->reads.at[i].buffer;
    return NULL;
}

/* The columns of panel p as lanes: all 16, or what the matrix has. */
static const Ix *open_columns(Sched *s, const Ix *p, int64_t columns) {
    Arena *a = s->arena;
    const Ix *first = ix_scale(a, p, PANEL);
    const LoopVar *j =
        columns % PANEL ? nest_loop_to(s->nest, LOOP_LANE, "j", PANEL, first, dim_fixed(columns))
                        : nest_loop(s->nest, LOOP_LANE, "j", dim_fixed(PANEL));
    return ix_add(a, first, ix_var(a, j));
}

void schedule_panels(Sched *s, const Shape *shape, bool tiles) {
    Arena *a = s->arena;
    int64_t rows = shape->dim[0].n, columns = shape->dim[1].n;
    int64_t panels = (columns + PANEL - 1) / PANEL, blocks = tiles ? (rows + ROWS - 1) / ROWS : 1;
    LoopKind kind = tiles ? LOOP_TILE : LOOP_SEQ;
    const Ix *t = ix_var(a, nest_loop(s->nest, kind, "p", dim_fixed(panels * blocks)));
    const Ix *p = ix_div(a, t, blocks), *first = ix_scale(a, ix_mod(a, t, blocks), ROWS);
    const LoopVar *k = blocks > 1
                           ? nest_loop_to(s->nest, LOOP_SEQ, "k", ROWS, first, dim_fixed(rows))
                           : nest_loop(s->nest, LOOP_SEQ, "k", dim_fixed(rows));
    const Ix *row = ix_add(a, first, ix_var(a, k));
    const Ix *sub[2] = {row, open_columns(s, p, columns)};
    sched_store_all(s, shape, sub);
    for (int i = 0; i < 3; i++)
        nest_end(s->nest);
    s->kernel->tiles = tiles ? (int)(panels * blocks) : 1;
}
