/* build_builtin.h: the functions behind the rows of builtins.h. */
#ifndef NNC_BUILD_BUILTIN_H
#define NNC_BUILD_BUILTIN_H

#include "build_call.h"

Value builtin_unary(Build *b, const Builtin *self, const Actual *a);
Value builtin_binary(Build *b, const Builtin *self, const Actual *a);
#define BUILTIN(name, run, op, signature)                                                          \
    Value builtin_##run(Build *b, const Builtin *self, const Actual *a);
#include "builtins.h"
#undef BUILTIN

#endif
