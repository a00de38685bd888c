/* op_rules.h: the functions that the rows of ops.h name. A row whose rule is missing does not link.
 */
#ifndef NNC_OP_RULES_H
#define NNC_OP_RULES_H

#include "ir.h"

#define INDEX_LEAF(rule)
#define INDEX_MAP(rule)
#define INDEX_REDUCE(rule)
#define INDEX_MOVE(rule) IndexRule index_rule_##rule;
#define INDEX_CONTRACT(rule)
#define INDEX_INDEXED(rule)
#define INDEX_SCAN(rule)
#define INDEX_RANDOM(rule)
#define INDEX_EFFECT(rule)
#define OP(name, args, kind, flags, shape, grad, form, form64)                                     \
    void shape_rule_##shape(Node *n);                                                              \
    void grad_rule_##grad(Grad *gr, Node *n, Node *dy);                                            \
    INDEX_##kind(form)
#include "ops.h"
#undef OP

#endif
