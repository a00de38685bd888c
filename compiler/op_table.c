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
    FIRST = OPF_FIRST,
    LAST = OPF_LAST,
    OWN = OPF_OWN,
    WHOLE = OPF_WHOLE,
    FN = OPF_FN,
    TABLE = OPF_TABLE,
    VIEW = OPF_VIEW
};

#define AT(x) ((unsigned)ATTR_##x << OPF_BITS)

/* What the last two columns say, by kind. A map without its text does not compile. */
#define FORM_MAP(text, text64)       .form = "" text, .form64 = text64
#define FORM_REDUCE(map, start)      .join = OP_##map, .neutral = NEUTRAL_##start
#define FORM_MOVE(rule, none)        .index = index_rule_##rule
#define FORM_LEAF(none, none64)      .form = none
#define FORM_CONTRACT(none, none64)  .form = none
#define FORM_INDEXED(none, none64)   .form = none
#define FORM_SCAN(none, none64)      .form = none
#define FORM_RANDOM(none, none64)    .form = none
#define FORM_EFFECT(none, none64)    .form = none

const OpInfo op_info[OP_N] = {
#define OP(op, n, of_kind, facts, of_shape, of_grad, of_form, of_form64)                           \
    {.name = #op,                                                                                  \
     .args = n,                                                                                    \
     .kind = KIND_##of_kind,                                                                       \
     .flags = (facts) & ((1u << OPF_BITS) - 1),                                                    \
     .attr = (AttrKind)((facts) >> OPF_BITS),                                                      \
     .shape = shape_rule_##of_shape,                                                               \
     .grad = grad_rule_##of_grad,                                                                  \
     FORM_##of_kind(of_form, of_form64)},
#include "ops.h"
#undef OP
};
