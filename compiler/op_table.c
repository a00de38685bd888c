/* op_table.c: the rows of ops.h as data. */
#include "op_rules.h"

enum {
    COMM = OPF_COMM,
    ASSOC = OPF_ASSOC,
    CMP = OPF_CMP,
    COSTLY = OPF_COSTLY,
    NOGRAD = OPF_NOGRAD,
    FLAT = OPF_FLAT,
    POLE = OPF_POLE,
    ARG = OPF_ARG,
    FIRST = OPF_FIRST,
    LAST = OPF_LAST,
    OWN = OPF_OWN
};

const OpInfo op_info[OP_N] = {
#define OP(name, args, kind, flags, shape, grad, form, form64)                                     \
    {#name, args, KIND_##kind, flags, shape_rule_##shape, grad_rule_##grad, form, form64},
#include "ops.h"
#undef OP
};
