#!/bin/bash
# What a person sees for each mistake: nnc check on tests/golden/errors/*.nn, compared with *.err.
# A first line `# args: …` gives more arguments. Exit code 1 where an error is among the
# messages, 2 where it is a file that cannot be opened, else 0. BLESS=1 rewrites the .err files; the
# diff is then read.
cd "$(dirname "$0")/../golden/errors" || exit 1
nnc=${NNC:-../../../build/nnc}
failed=0 count=0
for file in *.nn; do
    name=${file%.nn} count=$((count + 1))
    read -ra args < <(sed -n '1s/^# args: //p' "$file")
    found=$(timeout 20 "$nnc" check "$file" "${args[@]}" 2>&1)
    status=$?
    wanted=0
    case $found in
    *": error: cannot open "*) wanted=2 ;;
    *": error: "*) wanted=1 ;;
    esac
    if [ "$status" != "$wanted" ]; then
        echo "$file: exit code $status, expected $wanted"
        failed=$((failed + 1))
    fi
    if [ -z "$found" ]; then
        echo "$file: no message"
        failed=$((failed + 1))
    fi
    [ -z "$BLESS" ] || printf '%s\n' "$found" >"$name.err"
    if ! diff -u --label "$name.err" --label found "$name.err" - <<<"$found"; then
        failed=$((failed + 1))
    fi
done
echo "$count files, $failed failures"
[ "$failed" = 0 ] && [ "$count" -ge 50 ]
