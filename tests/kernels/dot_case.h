/* dot_case.h: what the text of gen_dot stands on: the runtime, in the order of a trainer. */
#include "rt_base.h"

#include "rt_lanes.h"
#include "rt_math.h"
#include "rt_rng.h"
#include "rt_team.h"
