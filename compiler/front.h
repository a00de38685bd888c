/* front.h: from a file name to a checked Program. */
#ifndef NNC_FRONT_H
#define NNC_FRONT_H

#include "pass.h"

/* Reads c->settings.input (and what it imports, and std.nn), parses, checks names, builds.
 * NULL when there were user errors (they are in c->diag); *unreadable is set when the input cannot
 * be opened. */
Program *front_end(Compiler *c, bool *unreadable);

#endif
