#!/bin/sh
# The house rules that a program can check; prints file:line: what, exit code 1 when it found any.
# A line that must break a rule says why in a comment that starts with "lint:".
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C

c_files=$(ls compiler/*.[ch] compiler/*/*.[ch] runtime/*.h templates/*.c tools/*.c \
    tests/unit/*.[ch] tests/runtime/*.[ch] bench/*.[ch] tests/cuda_shim/*.h \
    tests/cuda_shim/*.cpp tests/shim/*.h tests/shim/*.cu tests/tools/*.c 2>/dev/null)
text_files="$c_files $(ls grammar/*.[ly] compiler/*.nn models/*.nn tools/*.sh tests/*.sh \
    tests/*/*.sh tests/*/*.py bench/*.sh bench/*.py .ci/run 2>/dev/null)"
found=$(
    awk -f tools/lint_text.awk $text_files
    awk -f tools/lint_c.awk $c_files
    if [ -f compiler/ops.h ]; then
        awk -f tools/lint_ops.awk compiler/ops.h grammar/README.md \
            $(find tests/ops -type f 2>/dev/null)
    fi
)
if [ -n "$found" ]; then
    echo "$found"
    echo "lint: $(echo "$found" | wc -l) places"
    exit 1
fi
echo "lint: $(echo $text_files | wc -w) files are clean"
