/* interp_f64.c: the oracle's arithmetic in double. */
#define REAL       double
#define RULE(name) interp_f64_##name
#define M(name)    name
#include "interp_ops.h"
