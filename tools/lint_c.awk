# C files: function length, writable globals, includes across layers, calls in the wrong place.
# Reads the code as the house style lays it out: what stands at file scope begins in column 1, a
# function ends with "}" in column 1.
function say(what) { printf "%s:%d: %s\n", FILENAME, FNR, what }

# The line without comments, strings and characters; keeps `in_comment` across lines.
function strip(s,    out, m) {
    out = ""
    while (s != "") {
        if (in_comment) {
            m = index(s, "*/")
            if (!m) return out
            s = substr(s, m + 2)
            in_comment = 0
        } else if (match(s, /\/\*|\/\/|"([^"\\]|\\.)*"|'([^'\\]|\\.)+'/)) {
            out = out substr(s, 1, RSTART - 1)
            m = substr(s, RSTART, 2)
            s = substr(s, RSTART + RLENGTH)
            if (m == "/*") in_comment = 1
            else if (m == "//") return out
            else out = out "\"\""
        } else {
            return out s
        }
    }
    return out
}

# A declaration at file scope that reserves memory which may be written.
function is_writable_global(s) {
    if (s !~ /^[A-Za-z_]/ || s !~ /[;={]/) return 0
    if (s ~ /^(typedef|extern|return|enum|union|OP|Test|TestSuite|Parameterized|_Static_assert)/)
        return 0
    if (s ~ /^(struct|enum|union) *[A-Za-z_0-9]* *[{;]/) return 0
    sub(/__attribute__ *\(\(.*\)\)/, "", s)
    sub(/=.*/, "=", s)
    if (s ~ /\(/) return 0
    if (s ~ /\*/) {
        sub(/.*\*/, "", s)
        return s !~ /^ *const\>?/ && s !~ /^ *const /
    }
    return s !~ /(^| )(const|constexpr) /
}

function check_calls(s,    name) {
    name = FILENAME
    sub(/.*\//, "", name)
    if (FILENAME ~ /^compiler\//) {
        if (name != "util.c" && s ~ /(^|[^A-Za-z0-9_])(malloc|calloc|realloc|free|strdup|strndup|v?asprintf) *\(/)
            say("only util.c allocates")
        if (name !~ /^(main|util)\.c$/ && s ~ /(^|[^A-Za-z0-9_])(exit|_exit|abort) *\(/)
            say("only main.c and util.c end the program")
        if (name !~ /^(main|driver.*)\.c$/ && s ~ /(^|[^A-Za-z0-9_])(printf|puts|putchar) *\(/)
            say("only main.c and driver*.c print; others get a FILE *, a Text or a Diag")
    } else if (FILENAME ~ /^runtime\//) {
        if (s ~ /(^|[^A-Za-z0-9_])(malloc|calloc|realloc|free|strdup|v?asprintf) *\(/)
            say("the runtime does not allocate: memory hangs off struct nn")
        if (s ~ /(^|[^A-Za-z0-9_])(exit|_exit|abort|printf|puts|putchar|perror) *\(/ ||
            s ~ /printf *\( *(stdout|stderr)/)
            say("the runtime returns a status: only main prints or exits")
    }
}

function check_include(s) {
    if (FILENAME !~ /^compiler\//) return
    if (s ~ /"ast\.h"/) has_ast = FNR
    if (s ~ /"ir\.h"/) has_ir = FNR
    if (has_ast && has_ir && FILENAME !~ /^compiler\/build[a-z_]*\.[ch]$/) {
        say("only build*.c sees both ast.h and ir.h")
        has_ast = has_ir = 0
    }
    if (FILENAME ~ /^compiler\/(util|diag|ast|ir)\.h$/ && s ~ /"(pass|emit|target|sema|build)\.h"/)
        say("an inner header includes an outer one")
}

FNR == 1 { depth = in_comment = in_macro = has_ast = has_ir = start = 0 }
{
    waived = /lint:/
    line = strip($0)
    if (in_macro || line ~ /^ *#/) {
        in_macro = $0 ~ /\\$/
        if (line ~ /^ *#/ && $0 ~ /# *include/) check_include($0)
        next
    }
    if (!waived) check_calls(line)
    if (depth == 0) {
        if (line ~ /^[A-Za-z_]/) start = FNR
        if (!waived && FILENAME ~ /^(compiler|runtime)\// && is_writable_global(line))
            say("writable global")
        if (line ~ /^extern *""/) next # extern "C" { is no depth of its own
    }
    was = depth
    depth += gsub(/{/, "{", line) - gsub(/}/, "}", line)
    if (was > 0 && depth <= 0) {
        if (line ~ /^} *$/ && start && FNR - start + 1 > 80)
            printf "%s:%d: function of %d lines, 80 at most\n", FILENAME, start, FNR - start + 1
        depth = 0
    }
}
