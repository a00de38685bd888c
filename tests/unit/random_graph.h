/* random_graph.h: valid random programs for tests of passes.
 */
#ifndef TEST_RANDOM_GRAPH_H
#define TEST_RANDOM_GRAPH_H

#include "pass.h"

/* Fills an empty program (arena set; graph made when NULL, with f32) with one or two regions of
 * maps, movement, reductions, contractions and gathers, called one after the other by a task; homes
 * are the inputs, writes and outputs of the regions the results. Values stay finite and of moderate
 * size for homes in [-2, 2], and depend on them without jumps but for comparisons of homes. i32
 * homes may hold anything. Every fourth seed has a run-time count (bound 8) in its shapes. Some
 * nodes are there for simplify: repeated, neutral, dead, moved to and fro. */
void random_graph(Arena *a, Program *p, uint64_t seed);

#endif
