/* layout.c: how buffers lie in memory.
 *
 * Everything is row-major: contractions copy a right operand into panels of 16 columns where that
 * pays (schedule_dot.c).
 */
#include "schedule.h"

void layout(Compiler *c) {
    for (int i = 0; i < c->lowered->buffers.n; i++)
        c->lowered->buffers.at[i]->layout = LAYOUT_ROWS;
}
