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
    OWN = OPF_OWN,
    WHOLE = OPF_WHOLE,
    FN = OPF_FN
};

/* A map without its text does not compile. */
#define FORM_MAP(form)      "" form
#define FORM_LEAF(form)     form
#define FORM_REDUCE(form)   form
#define FORM_MOVE(form)     form
#define FORM_CONTRACT(form) form
#define FORM_INDEXED(form)  form
#define FORM_SCAN(form)     form
#define FORM_RANDOM(form)   form
#define FORM_EFFECT(form)   form

const OpInfo op_info[OP_N] = {
#define OP(name, args, kind, flags, shape, grad, form, form64)                                     \
    {#name, args, KIND_##kind, flags, shape_rule_##shape, grad_rule_##grad, FORM_##kind(form),     \
     form64},
#include "ops.h"
#undef OP
};
