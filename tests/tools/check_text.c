/* check_text.c: rules of generated text that compilers do not know, on libclang 19.
 *
 *   check_text FILE FLAGS…        (of clang: -x c -std=gnu17 …, or -x cuda --cuda-host-only …)
 *
 * Prints `file:line: what`, then a line that counts; exit code 1 when something was found. Besides
 * the compiler's warnings under the flags given:
 *   - every kernel, region and task has a use, hence every kernel a launch; what can be written is
 *     not global; no goto, no arrays of variable length
 *   - what a region reaches does not allocate, print or end the program
 *   - in a kernel, no double constant where nothing else is double, pointers to numbers are
 *     restrict, no barrier where threads of a block may part
 *   - the status of every launch and CUDA call is used, and a launch has no more threads than the
 *     kernel's __launch_bounds__
 */
#include <clang-c/Index.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Function Function;
struct Function {
    CXCursor cursor;
    char *name;
    bool kernel;            /* of the GPU */
    bool device;            /* a kernel of the GPU, or called by one */
    bool has_double, waits; /* waits: reaches a barrier of the block */
    bool seen;              /* in the walk over calls */
    bool used;              /* by another function, or by a table */
    CXCursor double_at;     /* a double constant, with has_constant */
    bool has_constant;
    Function **calls;
    int n_calls;
    char **outside; /* names of functions that are called and not defined here */
    int n_outside;
};

typedef struct {
    Function **functions;
    int n, found;
    CXCursor *parted; /* variables that differ from thread to thread */
    int n_parted;
    CXCursor *tables; /* variables outside of functions */
    int n_tables;
} Check;

typedef struct Walk { /* down the body of a function */
    Check *check;
    Function *function;
    bool parted; /* under a condition that differs from thread to thread */
} Walk;

/* ---- helpers --------------------------------------------------------------------------------- */

static void *grown(void *array, int n, size_t size) {
    if (n & (n - 1))
        return array;
    array = realloc(array, (size_t)(n ? 2 * n : 1) * size);
    if (!array) {
        fprintf(stderr, "check_text: out of memory\n");
        exit(2);
    }
    return array;
}

#define ADD(array, n, x)                                                                           \
    do {                                                                                           \
        (array) = grown((array), (n), sizeof *(array));                                            \
        (array)[(n)++] = (x);                                                                      \
    } while (0)

static char *take(CXString s) {
    char *copy = strdup(clang_getCString(s) ? clang_getCString(s) : "");
    clang_disposeString(s);
    return copy;
}

static bool is_named(CXCursor c, const char *name) {
    char *spelling = take(clang_getCursorSpelling(c));
    const bool same = strcmp(spelling, name) == 0;
    free(spelling);
    return same;
}

__attribute__((format(printf, 3, 4))) static void found(Check *k, CXCursor at, const char *format,
                                                        ...) {
    CXFile file;
    unsigned line;
    va_list arguments;
    clang_getExpansionLocation(clang_getCursorLocation(at), &file, &line, NULL, NULL);
    char *name = take(clang_getFileName(file));
    printf("%s:%u: ", name, line);
    free(name);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    k->found++;
}

/* A double, or where doubles are. */
static bool is_double(CXType t) {
    t = clang_getCanonicalType(t);
    while (t.kind == CXType_Pointer || t.kind == CXType_ConstantArray)
        t = clang_getCanonicalType(t.kind == CXType_Pointer ? clang_getPointeeType(t)
                                                            : clang_getArrayElementType(t));
    return t.kind == CXType_Double;
}

static bool is_status(CXType t) {
    char *name = take(clang_getTypeSpelling(clang_getCanonicalType(t)));
    const bool is = strcmp(name, "cudaError") == 0 || strcmp(name, "enum cudaError") == 0;
    free(name);
    return is;
}

typedef struct {
    int wanted, n;
    CXCursor child;
} Nth;

static enum CXChildVisitResult visit_nth(CXCursor c, CXCursor parent, CXClientData data) {
    (void)parent;
    Nth *x = data;
    if (x->n++ != x->wanted)
        return CXChildVisit_Continue;
    x->child = c;
    return CXChildVisit_Break;
}

static CXCursor child(CXCursor c, int i) {
    Nth x = {i, 0, clang_getNullCursor()};
    clang_visitChildren(c, visit_nth, &x);
    return x.child;
}

static Function *function_of(const Check *k, CXCursor c) {
    const CXCursor canonical = clang_getCanonicalCursor(c);
    for (int i = 0; i < k->n; i++)
        if (clang_equalCursors(clang_getCanonicalCursor(k->functions[i]->cursor), canonical))
            return k->functions[i];
    return NULL;
}

/* ---- launches -------------------------------------------------------------------------------- */

static long long constant_of(CXCursor c) {
    const CXEvalResult e = clang_Cursor_Evaluate(c);
    long long value = 0;
    if (e && clang_EvalResult_getKind(e) == CXEval_Int)
        value = clang_EvalResult_getAsLongLong(e);
    if (e)
        clang_EvalResult_dispose(e);
    return value;
}

/* The value of a constant expression, or of dim3(x, y, z) the product; 0 when it is not constant.
 */
static long long threads_of(CXCursor c) {
    const int n = clang_Cursor_getNumArguments(c);
    long long threads = constant_of(c);
    if (threads)
        return threads;
    /* of a cast: the type, then the value */
    for (int i = 0; n < 0 && threads == 0 && !clang_Cursor_isNull(child(c, i)); i++)
        threads = threads_of(child(c, i));
    for (int i = 0; i < n; i++) {
        const CXCursor x = clang_Cursor_getArgument(c, (unsigned)i);
        const bool is_default = constant_of(x) == 0 && clang_Cursor_isNull(child(x, 0));
        threads = (i ? threads : 1) * (is_default ? 1 : threads_of(x));
    }
    return threads;
}

/* The text of a function's head as it stands in the file, also where macros begin or end it. */
static CXSourceRange head_of(const Function *f, CXTranslationUnit unit) {
    const CXSourceRange whole = clang_getCursorExtent(f->cursor);
    CXFile file;
    unsigned begin, end;
    clang_getExpansionLocation(clang_getRangeStart(whole), &file, NULL, NULL, &begin);
    clang_getExpansionLocation(clang_getRangeEnd(whole), NULL, NULL, NULL, &end);
    return clang_getRange(clang_getLocationForOffset(unit, file, begin),
                          clang_getLocationForOffset(unit, file, end));
}

/* The number in the __launch_bounds__ of a kernel; 0: none, or not a number. */
static long long bound_of(const Function *f) {
    CXToken *tokens;
    unsigned n;
    long long bound = 0;
    const CXTranslationUnit unit = clang_Cursor_getTranslationUnit(f->cursor);
    clang_tokenize(unit, head_of(f, unit), &tokens, &n);
    for (unsigned i = 0; i + 2 < n && bound == 0; i++) {
        char *word = take(clang_getTokenSpelling(unit, tokens[i]));
        char *number = take(clang_getTokenSpelling(unit, tokens[i + 2]));
        if (strcmp(word, "__launch_bounds__") == 0)
            bound = atoll(number);
        if (strcmp(word, "{") == 0)
            i = n - 2;
        free(word);
        free(number);
    }
    clang_disposeTokens(unit, tokens, n);
    return bound;
}

/* A launch is a call whose second part says the shape; its first part is the kernel. */
static void check_launch(Walk *w, CXCursor call) {
    const CXCursor shape = child(call, 1);
    CXCursor callee = child(call, 0);
    if (!is_named(shape, "__cudaPushCallConfiguration"))
        return;
    while (clang_getCursorKind(callee) != CXCursor_DeclRefExpr && !clang_Cursor_isNull(callee))
        callee = child(callee, 0);
    const Function *kernel = function_of(w->check, clang_getCursorReferenced(callee));
    const long long threads = threads_of(clang_Cursor_getArgument(shape, 1));
    if (!kernel || threads == 0)
        found(w->check, call, "%s: a launch whose kernel or size of block is not constant",
              w->function->name);
    else if (threads > bound_of(kernel))
        found(w->check, call, "%s is launched with %lld threads, its __launch_bounds__ has %lld",
              kernel->name, threads, bound_of(kernel));
}

/* ---- bodies ---------------------------------------------------------------------------------- */

typedef struct {
    const Check *check;
    bool parted;
} Parted;

static enum CXChildVisitResult visit_parted(CXCursor c, CXCursor parent, CXClientData data) {
    (void)parent;
    Parted *x = data;
    const enum CXCursorKind kind = clang_getCursorKind(c);
    if (kind == CXCursor_DeclRefExpr) {
        const CXCursor what = clang_getCursorReferenced(c);
        x->parted |= is_named(c, "threadIdx");
        for (int i = 0; i < x->check->n_parted; i++)
            x->parted |= clang_equalCursors(what, x->check->parted[i]) != 0;
    }
    return x->parted ? CXChildVisit_Break : CXChildVisit_Recurse;
}

/* Does the value differ from thread to thread, as far as its text tells? */
static bool is_parted(const Check *k, CXCursor c) {
    Parted x = {k, false};
    if (clang_Cursor_isNull(c))
        return false;
    visit_parted(c, c, &x);
    if (!x.parted)
        clang_visitChildren(c, visit_parted, &x);
    return x.parted;
}

static void note_call(Function *f, Function *callee, CXCursor what) {
    if (callee) {
        ADD(f->calls, f->n_calls, callee);
    } else {
        char *name = take(clang_getCursorSpelling(what));
        ADD(f->outside, f->n_outside, name);
    }
}

/* A member that holds a function. */
static bool is_hook(CXCursor what) {
    const CXType to = clang_getPointeeType(clang_getCanonicalType(clang_getCursorType(what)));
    return clang_getCursorKind(what) == CXCursor_FieldDecl &&
           (to.kind == CXType_FunctionProto || to.kind == CXType_FunctionNoProto);
}

static void visit_reference(Walk *w, CXCursor c) {
    const CXCursor what = clang_getCursorReferenced(c);
    Function *callee = NULL;
    const enum CXCursorKind kind = clang_getCursorKind(what);
    if (kind == CXCursor_FunctionDecl)
        callee = function_of(w->check, what);
    if (callee && callee != w->function)
        callee->used = true;
    if (kind == CXCursor_FunctionDecl || is_hook(what))
        note_call(w->function, callee, what);
    if (w->parted && w->function->device &&
        (is_named(c, "__syncthreads") || (callee && callee->waits)))
        found(w->check, c, "%s: a barrier where threads of the block have parted",
              w->function->name);
    w->function->waits |= is_named(c, "__syncthreads") || (callee && callee->waits);
}

static bool is_statement_of(enum CXCursorKind parent) {
    return parent == CXCursor_CompoundStmt || parent == CXCursor_IfStmt ||
           parent == CXCursor_ForStmt || parent == CXCursor_WhileStmt;
}

static void check_dropped(Walk *w, CXCursor c, CXCursor parent) {
    if (!is_statement_of(clang_getCursorKind(parent)) || !is_status(clang_getCursorType(c)))
        return;
    if (clang_getCursorBinaryOperatorKind(c) != CXBinaryOperator_Assign)
        found(w->check, c, "%s: the status of a CUDA call is dropped", w->function->name);
}

static enum CXChildVisitResult visit_body(CXCursor c, CXCursor parent, CXClientData data);

static void visit_branch(Walk *w, CXCursor c, bool parted) {
    Walk inner = *w;
    inner.parted |= parted;
    clang_visitChildren(c, visit_body, &inner);
}

static bool branch_is_parted(const Check *k, CXCursor c) {
    if (clang_getCursorKind(c) != CXCursor_ForStmt)
        return is_parted(k, child(c, 0));
    return is_parted(k, child(c, 0)) || is_parted(k, child(c, 1));
}

static void visit_variable(Walk *w, CXCursor c) {
    Check *k = w->check;
    if (clang_getCanonicalType(clang_getCursorType(c)).kind == CXType_VariableArray)
        found(k, c, "%s: an array of variable length", w->function->name);
    w->function->has_double |= is_double(clang_getCursorType(c));
    if (w->function->device && is_parted(k, c))
        ADD(k->parted, k->n_parted, c);
}

static void visit_assignment(Walk *w, CXCursor c) {
    Check *k = w->check;
    const CXCursor to = child(c, 0);
    if (clang_getCursorBinaryOperatorKind(c) == CXBinaryOperator_Assign && w->function->device &&
        clang_getCursorKind(to) == CXCursor_DeclRefExpr &&
        (w->parted || is_parted(k, child(c, 1))) && !is_parted(k, to))
        ADD(k->parted, k->n_parted, clang_getCursorReferenced(to));
}

static enum CXChildVisitResult visit_body(CXCursor c, CXCursor parent, CXClientData data) {
    Walk *w = data;
    const enum CXCursorKind kind = clang_getCursorKind(c);
    if (clang_isExpression(kind))
        check_dropped(w, c, parent);
    switch ((int)kind) {
    case CXCursor_ParmDecl:
        w->function->has_double |= is_double(clang_getCursorType(c));
        break;
    case CXCursor_VarDecl:
        visit_variable(w, c);
        break;
    case CXCursor_BinaryOperator:
        visit_assignment(w, c);
        break;
    case CXCursor_GotoStmt:
        found(w->check, c, "%s: goto", w->function->name);
        break;
    case CXCursor_FloatingLiteral:
        if (is_double(clang_getCursorType(c)) && !w->function->has_constant) {
            w->function->has_constant = true;
            w->function->double_at = c;
        }
        break;
    case CXCursor_CallExpr:
        check_launch(w, c);
        break;
    case CXCursor_DeclRefExpr:
    case CXCursor_MemberRefExpr:
        visit_reference(w, c);
        break;
    case CXCursor_IfStmt:
    case CXCursor_ForStmt:
    case CXCursor_WhileStmt:
    case CXCursor_DoStmt:
    case CXCursor_SwitchStmt:
    case CXCursor_ConditionalOperator:
        visit_branch(w, c, branch_is_parted(w->check, c));
        return CXChildVisit_Continue;
    }
    return CXChildVisit_Recurse;
}

/* ---- the file -------------------------------------------------------------------------------- */

static enum CXChildVisitResult visit_attributes(CXCursor c, CXCursor parent, CXClientData data) {
    (void)parent;
    Function *f = data;
    const enum CXCursorKind kind = clang_getCursorKind(c);
    f->kernel |= kind == CXCursor_CUDAGlobalAttr;
    f->device |= kind == CXCursor_CUDAGlobalAttr || kind == CXCursor_CUDADeviceAttr;
    return CXChildVisit_Continue;
}

static bool starts_with(const char *s, const char *prefix) {
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* An array is const when it is said of it or of its elements. */
static bool is_const(CXType t) {
    return clang_isConstQualifiedType(t) ||
           (t.kind == CXType_ConstantArray && is_const(clang_getArrayElementType(t)));
}

static void check_parameters(Check *k, const Function *f) {
    for (int i = 0; f->kernel && i < clang_Cursor_getNumArguments(f->cursor); i++) {
        const CXCursor p = clang_Cursor_getArgument(f->cursor, (unsigned)i);
        const CXType t = clang_getCursorType(p);
        CXType to = clang_getCanonicalType(clang_getPointeeType(t));
        while (to.kind == CXType_ConstantArray)
            to = clang_getCanonicalType(clang_getArrayElementType(to));
        const bool number = to.kind >= CXType_Bool && to.kind <= CXType_LongDouble;
        if (t.kind == CXType_Pointer && number && !clang_isRestrictQualifiedType(t))
            found(k, p, "%s: a pointer that is not restrict", f->name);
    }
}

static enum CXChildVisitResult visit_top(CXCursor c, CXCursor parent, CXClientData data) {
    (void)parent;
    Check *k = data;
    if (!clang_Location_isFromMainFile(clang_getCursorLocation(c)))
        return CXChildVisit_Continue;
    const enum CXCursorKind kind = clang_getCursorKind(c);
    if (kind == CXCursor_LinkageSpec)
        return CXChildVisit_Recurse;
    if (kind == CXCursor_VarDecl) {
        if (!is_const(clang_getCanonicalType(clang_getCursorType(c))))
            found(k, c, "a global that can be written");
        ADD(k->tables, k->n_tables, c);
    }
    if (kind == CXCursor_FunctionDecl && clang_isCursorDefinition(c)) {
        Function *f = calloc(1, sizeof *f);
        f->cursor = c;
        f->name = take(clang_getCursorSpelling(c));
        clang_visitChildren(c, visit_attributes, f);
        ADD(k->functions, k->n, f);
    }
    return CXChildVisit_Continue;
}

/* ---- what regions reach ---------------------------------------------------------------------- */

static const char *const forbidden[] = {
    "malloc",     "calloc",        "realloc",      "free",           "printf",
    "fprintf",    "exit",          "_exit",        "abort",          "alloc",
    "release",    "cudaMalloc",    "cudaFree",     "cudaMemcpy",     "cudaMallocHost",
    "cudaMemset", "cudaHostAlloc", "cudaFreeHost", "cudaMallocAsync"};

static void reach(Check *k, Function *f, const Function *root) {
    if (f->seen)
        return;
    f->seen = true;
    for (int i = 0; i < f->n_outside; i++)
        for (size_t j = 0; j < sizeof forbidden / sizeof *forbidden; j++)
            if (strcmp(f->outside[i], forbidden[j]) == 0)
                found(k, f->cursor, "%s reaches %s by %s", root->name, forbidden[j], f->name);
    for (int i = 0; i < f->n_calls; i++)
        reach(k, f->calls[i], root);
}

static bool is_region(const Function *f) {
    return f->kernel || starts_with(f->name, "region_") || starts_with(f->name, "device_");
}

static void check_regions(Check *k) {
    for (int i = 0; i < k->n; i++) {
        for (int j = 0; j < k->n; j++)
            k->functions[j]->seen = false;
        if (is_region(k->functions[i]))
            reach(k, k->functions[i], k->functions[i]);
    }
}

static enum CXChildVisitResult visit_table(CXCursor c, CXCursor parent, CXClientData data) {
    (void)parent;
    Function *f = NULL;
    if (clang_getCursorKind(c) == CXCursor_DeclRefExpr)
        f = function_of(data, clang_getCursorReferenced(c));
    if (f)
        f->used = true;
    return CXChildVisit_Recurse;
}

/* Made for the program: of the runtime and of the table of values some may have no use. */
static bool is_own(const Function *f) {
    static const char *const others[] = {"rt_", "nn_", "its_", "at_", "dev_"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (starts_with(f->name, others[i]))
            return false;
    return strcmp(f->name, "main") != 0;
}

static void check_uses(Check *k) {
    for (int i = 0; i < k->n_tables; i++)
        clang_visitChildren(k->tables[i], visit_table, k);
    for (int i = 0; i < k->n; i++)
        if (!k->functions[i]->used && is_own(k->functions[i]))
            found(k, k->functions[i]->cursor, "%s: nothing uses it", k->functions[i]->name);
}

static void check_functions(Check *k) {
    for (int i = 0; i < k->n; i++) {
        Function *f = k->functions[i];
        Walk w = {k, f, false};
        k->n_parted = 0;
        clang_visitChildren(f->cursor, visit_body, &w);
        check_parameters(k, f);
        if (f->device && f->has_constant && !f->has_double)
            found(k, f->double_at, "%s: a double constant, and nothing else is double", f->name);
    }
}

static int diagnostics(CXTranslationUnit unit) {
    int found_here = 0;
    for (unsigned i = 0; i < clang_getNumDiagnostics(unit); i++) {
        CXDiagnostic d = clang_getDiagnostic(unit, i);
        if (clang_getDiagnosticSeverity(d) >= CXDiagnostic_Warning) {
            char *text = take(clang_formatDiagnostic(d, clang_defaultDiagnosticDisplayOptions()));
            puts(text);
            free(text);
            found_here++;
        }
        clang_disposeDiagnostic(d);
    }
    return found_here;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: check_text FILE FLAGS…\n");
        return 2;
    }
    CXTranslationUnit unit;
    CXIndex index = clang_createIndex(0, 0);
    if (clang_parseTranslationUnit2(index, argv[1], (const char *const *)argv + 2, argc - 2, NULL,
                                    0, CXTranslationUnit_None, &unit)) {
        printf("%s: not parsed\n", argv[1]);
        return 2;
    }
    Check check = {.found = diagnostics(unit)};
    const CXCursor top = clang_getTranslationUnitCursor(unit);
    int kernels = 0;
    clang_visitChildren(top, visit_top, &check);
    check_functions(&check);
    check_regions(&check);
    check_uses(&check);
    for (int i = 0; i < check.n; i++)
        kernels += check.functions[i]->kernel;
    printf("%s: %d functions, %d kernels, %d findings\n", argv[1], check.n, kernels, check.found);
    return check.found ? 1 : 0;
}
