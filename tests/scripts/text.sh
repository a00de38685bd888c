#!/bin/bash
# The text of every model and of the corpus keeps the rules of tests/tools/check_text.c.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
files=()
for model in models/*.nn tests/corpus/*.nn; do
    file=$work/$(basename "$model" .nn).c
    "$NNC" "$model" --target c -o "$file" || wrong "$model is not compiled"
    files+=("$file")
done
tests/tools/check_text.sh "${files[@]}"
status=$?
[ $status != 0 ] || finish
exit $status
