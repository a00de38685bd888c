#!/bin/bash
# What a run says to its user: tests/golden/runs/*.nn, compared with *.out. A line `# run: ARGS` is
# one run by the oracle, which shares the trainers' runtime; `# c: ARGS` one by the trainer in C.
# ARGS: task and options; -D NAME=VALUE go to nnc. Each run's output is followed by its exit code.
# BLESS=1 rewrites the .out files; the diff is then read.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
cd tests/golden/runs || exit 2

# one_run FILE HOW ARGS…
one_run() {
    local file=$1 how=$2 defines=()
    shift 2
    while [ "$#" -gt 2 ] && [ "${*: -2:1}" = -D ]; do
        defines+=(-D "${*: -1}")
        set -- "${@:1:$#-2}"
    done
    if [ "$how" = run ]; then
        timeout 60 "$NNC" run "$file" --target ref "${defines[@]}" -- --data data "$@"
    else
        [ -x "$work/$file" ] || "$NNC" build "$file" -o "$work/$file" 2>&1 || return
        timeout 60 "$work/$file" --data data "$@"
    fi
}

for file in *.nn; do
    name=${file%.nn}
    sed -n 's/^# \(run\|c\): /\1 /p' "$file" | while read -r how args; do
        echo "[$how $args]"
        # shellcheck disable=SC2086 # words
        one_run "$file" "$how" $args </dev/null 2>&1
        echo "[exit $?]"
    done >"$work/found"
    [ -z "$BLESS" ] || cp "$work/found" "$name.out"
    diff -u --label "$name.out" --label found "$name.out" "$work/found" || wrong "$file"
done
finish
