/* front.h: from a file name to a checked Program. */
#ifndef NNC_FRONT_H
#define NNC_FRONT_H

#include "pass.h"

/* Reads c->settings.input (and what it imports, and std.nn), parses, checks names, builds.
 * NULL when there were user errors (they are in c->diag); *unreadable: a file cannot be opened, an
 * imported one (also in c->diag) or, with nothing in c->diag, the input. */
Program *front_end(Compiler *c, bool *unreadable);

#endif
