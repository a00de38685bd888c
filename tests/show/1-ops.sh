#!/bin/bash
# Every op of compiler/ops.h against plain formulas and, where it has a gradient, differences.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
passed=0
for source in tests/ops/test_*.c; do
    name=$(basename "$source" .c)
    "$BUILD/tests/ops/$name" --tap="$work/$name.tap" >"$work/log" 2>&1 || {
        wrong "$name"
        tail -n 20 "$work/log"
    }
    passed=$((passed + $(grep -c '^ok ' "$work/$name.tap")))
done
ops=$(grep -cE '^ *OP\( *[a-z_0-9]+' compiler/ops.h)
ops=$((ops - $(grep -cE '^ *OP\( *name\b' compiler/ops.h)))
missing=$(awk -f tools/lint_ops.awk compiler/ops.h grammar/README.md tests/ops/*)
[ -z "$missing" ] || wrong "$missing"
echo "$passed tests passed; ops covered: $((ops - $(printf '%s' "$missing" | grep -c .))) of $ops"
[ "$ops" -ge 60 ] || wrong "the table has only $ops rows"
finish
