/* interp_f32.c: the oracle's arithmetic in float. */
#define REAL       float
#define RULE(name) interp_f32_##name
#define M(name)    name##f
#include "interp_ops.h"
