/* plan.h: what the files of the memory plan share. */
#ifndef NNC_PLAN_H
#define NNC_PLAN_H

#include "pass.h"

typedef struct Runs {
    Lowered *l;
    Arena *arena;
    const bool *persist; /* by buffer id: it lasts longer than its region */
} Runs;

/* plan_runs.c: finds l->runs and l->families; the plan keeps the copies of a family in equal steps.
 * Adds a barrier behind a run whose copies wait for each other. */
void plan_find_runs(Runs *r);
/* Where the families lie, now that all buffers have offsets; runs whose families do not fit go.
 * rotate_of: by buffer, how many copies of its family have bytes of their own. */
void plan_settle_families(Runs *r, const int *rotate_of);

/* plan.c: l->runs of the kernels as they are now, before anything has its place. */
void plan_preview_runs(Lowered *l, Arena *arena);

/* plan_mutate.c: makes the fault that a test wants, if any. */
void plan_mutate(Lowered *l);

#endif
