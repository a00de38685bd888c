/* sema.h: names, before anything is built. */
#ifndef NNC_SEMA_H
#define NNC_SEMA_H

#include "build.h"

/* Reports unknown names, names declared twice in a scope, assignments to what cannot be assigned,
 * and constructs that are not supported yet, in every function, layer and task of a user's file,
 * used or not. */
void sema_file(Build *b, Ast *file);

#endif
