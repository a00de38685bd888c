/* grad_rules.c: gradients of maps. y = op(x…), dy is the gradient of y, ' a derivative. */
#include "grad.h"

void grad_rule_none(Grad *gr, Node *n, Node *dy) {
    (void)gr, (void)n, (void)dy; /* zero everywhere */
}

void grad_rule_leaf(Grad *gr, Node *n, Node *dy) {
    (void)gr, (void)n, (void)dy; /* no inputs to go to */
}

/* dx += dy * factor */
static void chain(Grad *gr, Node *n, Node *dy, Node *factor) {
    grad_add(gr, n->in[0], grad_scale(gr, n, dy, factor));
}

static Node *square(Grad *gr, Node *x) {
    return grad_op2(gr, OP_mul, x, x);
}

static Node *reciprocal(Grad *gr, Node *x) {
    return grad_op2(gr, OP_div, grad_number(gr, x, 1), x);
}

static Node *times(Grad *gr, double a, Node *x) {
    return grad_op2(gr, OP_mul, grad_number(gr, x, a), x);
}

/* a + x and a - x */
static Node *plus(Grad *gr, double a, Node *x) {
    return grad_op2(gr, OP_add, grad_number(gr, x, a), x);
}

static Node *minus(Grad *gr, double a, Node *x) {
    return grad_op2(gr, OP_sub, grad_number(gr, x, a), x);
}

/* ---- one argument ---- */

/* dx = dy in the type of x; whole numbers have no gradient */
void grad_rule_cast(Grad *gr, Node *n, Node *dy) {
    grad_add(gr, n->in[0], graph_cast(grad_graph(gr), dy, n->in[0]->dtype));
}

/* dx = dy: the check only looks */
void grad_rule_check(Grad *gr, Node *n, Node *dy) {
    grad_add(gr, n->in[0], dy);
}

/* (-x)' = -1 */
void grad_rule_neg(Grad *gr, Node *n, Node *dy) {
    grad_add(gr, n->in[0], grad_op1(gr, OP_neg, dy));
}

/* |x|' = sign x, 0 at 0 */
void grad_rule_abs(Grad *gr, Node *n, Node *dy) {
    chain(gr, n, dy, grad_op1(gr, OP_sign, n->in[0]));
}

/* (e^x)' = y */
void grad_rule_exp(Grad *gr, Node *n, Node *dy) {
    chain(gr, n, dy, n);
}

/* (log x)' = 1/x */
void grad_rule_log(Grad *gr, Node *n, Node *dy) {
    chain(gr, n, dy, reciprocal(gr, n->in[0]));
}

/* log(1 + x)' = 1 / (1 + x) */
void grad_rule_log1p(Grad *gr, Node *n, Node *dy) {
    chain(gr, n, dy, reciprocal(gr, plus(gr, 1, n->in[0])));
}

/* (e^x - 1)' = y + 1 */
void grad_rule_expm1(Grad *gr, Node *n, Node *dy) {
    chain(gr, n, dy, plus(gr, 1, n));
}

/* (sqrt x)' = 1 / (2y) */
void grad_rule_sqrt(Grad *gr, Node *n, Node *dy) {
    chain(gr, n, dy, grad_op2(gr, OP_div, grad_number(gr, n, 0.5), n));
}

/* (x^-1/2)' = -1/2 y^3 */
void grad_rule_rsqrt(Grad *gr, Node *n, Node *dy) {
    chain(gr, n, dy, times(gr, -0.5, grad_op2(gr, OP_mul, n, square(gr, n))));
}

/* sin' = cos */
void grad_rule_sin(Grad *gr, Node *n, Node *dy) {
    chain(gr, n, dy, grad_op1(gr, OP_cos, n->in[0]));
}

/* cos' = -sin */
void grad_rule_cos(Grad *gr, Node *n, Node *dy) {
    chain(gr, n, dy, grad_op1(gr, OP_neg, grad_op1(gr, OP_sin, n->in[0])));
}

/* tan' = 1 + y^2 */
void grad_rule_tan(Grad *gr, Node *n, Node *dy) {
    chain(gr, n, dy, plus(gr, 1, square(gr, n)));
}

/* asin' = (1 - x^2)^-1/2 */
void grad_rule_asin(Grad *gr, Node *n, Node *dy) {
    chain(gr, n, dy, grad_op1(gr, OP_rsqrt, minus(gr, 1, square(gr, n->in[0]))));
}

/* acos' = -(1 - x^2)^-1/2 */
void grad_rule_acos(Grad *gr, Node *n, Node *dy) {
    Node *root = grad_op1(gr, OP_rsqrt, minus(gr, 1, square(gr, n->in[0])));
    chain(gr, n, dy, grad_op1(gr, OP_neg, root));
}

/* atan' = 1 / (1 + x^2) */
void grad_rule_atan(Grad *gr, Node *n, Node *dy) {
    chain(gr, n, dy, reciprocal(gr, plus(gr, 1, square(gr, n->in[0]))));
}

/* sinh' = cosh */
void grad_rule_sinh(Grad *gr, Node *n, Node *dy) {
    chain(gr, n, dy, grad_op1(gr, OP_cosh, n->in[0]));
}

/* cosh' = sinh */
void grad_rule_cosh(Grad *gr, Node *n, Node *dy) {
    chain(gr, n, dy, grad_op1(gr, OP_sinh, n->in[0]));
}

/* tanh' = 1 - y^2 */
void grad_rule_tanh(Grad *gr, Node *n, Node *dy) {
    chain(gr, n, dy, minus(gr, 1, square(gr, n)));
}

/* sigmoid' = y (1 - y) */
void grad_rule_sigmoid(Grad *gr, Node *n, Node *dy) {
    chain(gr, n, dy, grad_op2(gr, OP_mul, n, minus(gr, 1, n)));
}

/* erf' = 2/sqrt(pi) e^(-x^2) */
void grad_rule_erf(Grad *gr, Node *n, Node *dy) {
    Node *bell = grad_op1(gr, OP_exp, grad_op1(gr, OP_neg, square(gr, n->in[0])));
    chain(gr, n, dy, times(gr, 1.1283791670955126, bell));
}

/* ---- two arguments ---- */

/* da = dy, db = dy */
void grad_rule_add(Grad *gr, Node *n, Node *dy) {
    grad_add(gr, n->in[0], dy);
    grad_add(gr, n->in[1], dy);
}

/* da = dy, db = -dy */
void grad_rule_sub(Grad *gr, Node *n, Node *dy) {
    grad_add(gr, n->in[0], dy);
    if (grad_wants(gr, n->in[1]))
        grad_add(gr, n->in[1], grad_op1(gr, OP_neg, dy));
}

/* da = dy b, db = dy a */
void grad_rule_mul(Grad *gr, Node *n, Node *dy) {
    for (int i = 0; i < 2; i++)
        if (grad_wants(gr, n->in[i]))
            grad_add(gr, n->in[i], grad_scale(gr, n->in[1 - i], dy, n->in[1 - i]));
}

/* da = dy b, db = dy a; db is 0 where the product was cut off (a is 0), whatever dy is */
void grad_rule_mul_zero(Grad *gr, Node *n, Node *dy) {
    Node *a = n->in[0], *b = n->in[1];
    if (grad_wants(gr, a))
        grad_add(gr, a, grad_op2(gr, OP_mul_zero, dy, b));
    if (grad_wants(gr, b)) {
        Node *zero = grad_number(gr, dy, 0), *none = grad_op2(gr, OP_eq, dy, zero);
        Node *product = grad_op2(gr, OP_mul_zero, a, dy);
        grad_add(gr, b, graph_where(grad_graph(gr), none, zero, product));
    }
}

/* da = dy / b, db = -dy y / b */
void grad_rule_div(Grad *gr, Node *n, Node *dy) {
    Node *a = n->in[0], *b = n->in[1];
    if (grad_wants(gr, a)) {
        bool safe = grad_is_nonzero(b);
        grad_add(gr, a,
                 safe ? grad_op2(gr, OP_div, dy, b) : grad_scale(gr, n, dy, reciprocal(gr, b)));
    }
    if (grad_wants(gr, b))
        grad_add(gr, b, grad_op1(gr, OP_neg, grad_scale(gr, n, dy, grad_op2(gr, OP_div, n, b))));
}

/* a mod b = a - b floor(a/b): da = dy, db = -dy floor(a/b) */
void grad_rule_mod(Grad *gr, Node *n, Node *dy) {
    Node *a = n->in[0], *b = n->in[1];
    grad_add(gr, a, dy);
    if (grad_wants(gr, b)) {
        Node *quotient = grad_op2(gr, OP_floordiv, a, b);
        grad_add(gr, b, grad_op1(gr, OP_neg, grad_scale(gr, n, dy, quotient)));
    }
}

/* dy to the argument that was chosen: a where `first` holds, else b */
static void split(Grad *gr, Node *first, Node *a, Node *b, Node *dy) {
    Node *zero = grad_number(gr, dy, 0);
    if (grad_wants(gr, a))
        grad_add(gr, a, graph_where(grad_graph(gr), first, dy, zero));
    if (grad_wants(gr, b))
        grad_add(gr, b, graph_where(grad_graph(gr), first, zero, dy));
}

/* a where a <= b: ties to the first */
void grad_rule_minimum(Grad *gr, Node *n, Node *dy) {
    Node *a = n->in[0], *b = n->in[1];
    split(gr, grad_op2(gr, OP_le, a, b), a, b, dy);
}

/* a where b <= a: ties to the first */
void grad_rule_maximum(Grad *gr, Node *n, Node *dy) {
    Node *a = n->in[0], *b = n->in[1];
    split(gr, grad_op2(gr, OP_le, b, a), a, b, dy);
}

/* da = dy b a^(b-1), db = dy y log a; both 0 where their factor b or y is 0 */
void grad_rule_pow(Grad *gr, Node *n, Node *dy) {
    Node *a = n->in[0], *b = n->in[1];
    if (grad_wants(gr, a)) {
        Node *less = grad_op2(gr, OP_pow, a, grad_op2(gr, OP_sub, b, grad_number(gr, b, 1)));
        grad_add(gr, a, grad_scale(gr, n, dy, grad_op2(gr, OP_mul_zero, b, less)));
    }
    if (grad_wants(gr, b)) {
        Node *factor = grad_op2(gr, OP_mul_zero, n, grad_op1(gr, OP_log, a));
        grad_add(gr, b, grad_scale(gr, n, dy, factor));
    }
}

/* y = angle of (b, a): da = dy b / (a^2 + b^2), db = -dy a / (a^2 + b^2); 0 stays 0 at the origin
 */
void grad_rule_atan2(Grad *gr, Node *n, Node *dy) {
    Node *a = n->in[0], *b = n->in[1];
    Node *norm = grad_op2(gr, OP_add, square(gr, a), square(gr, b));
    if (grad_wants(gr, a))
        grad_add(gr, a, grad_op2(gr, OP_mul_zero, dy, grad_op2(gr, OP_div, b, norm)));
    if (grad_wants(gr, b)) {
        Node *part = grad_op2(gr, OP_mul_zero, dy, grad_op2(gr, OP_div, a, norm));
        grad_add(gr, b, grad_op1(gr, OP_neg, part));
    }
}

/* ---- three arguments ---- */

/* dy to the branch taken, exactly 0 to the other */
void grad_rule_where(Grad *gr, Node *n, Node *dy) {
    split(gr, n->in[0], n->in[1], n->in[2], dy);
}

/* y = a b + c: da = dy b, db = dy a, dc = dy */
void grad_rule_fma(Grad *gr, Node *n, Node *dy) {
    grad_rule_mul(gr, n, dy);
    grad_add(gr, n->in[2], dy);
}
