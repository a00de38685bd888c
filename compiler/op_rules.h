/* op_rules.h: the functions that the rows of ops.h name. A row whose rule is missing does not link.
 */
#ifndef NNC_OP_RULES_H
#define NNC_OP_RULES_H

#include "ir.h"

#define OP(name, args, kind, flags, shape, grad, form, form64)                                     \
    void shape_rule_##shape(Node *n);                                                              \
    void grad_rule_##grad(Grad *gr, Node *n, Node *dy);
#include "ops.h"
#undef OP

#endif
