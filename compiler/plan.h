/* plan.h: what the files of the memory plan share. */
#ifndef NNC_PLAN_H
#define NNC_PLAN_H

#include "pass.h"

/* Slots that lie one behind the other, as the copies of a repeated body need them. */
typedef struct SlotRow {
    VEC(int) slots; /* numbers: ids of their first buffers */
} SlotRow;

typedef struct Runs {
    Lowered *l;
    Arena *arena;
    const int *slot_of;  /* by buffer id */
    const bool *persist; /* by buffer id: it has bytes of its own */
    VEC(SlotRow) rows;
} Runs;

/* plan_runs.c: finds l->runs, l->families and the rows of slots that make them possible; the plan
 * keeps every row in equal steps. Adds a barrier behind a run whose copies wait for each other. */
void plan_find_runs(Runs *r);
/* Where the families lie, now that all buffers have offsets; runs whose families do not fit go. */
void plan_settle_families(Runs *r, const int *rotate_of); /* by slot: copies that have own bytes */

#endif
