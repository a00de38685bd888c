#!/bin/bash
# Tests of the tests: with each deliberate fault of nnc --mutate, the suites that should see it turn
# red; without, the same suites are green. A fault that a suite misses is printed and fails.
# tier: test
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
model=models/digits.nn
small_of $model
caught=0

# Each suite: exit code 0 green, 1 red. $1 is a fault or empty.
mutate_of() {
    [ -z "$1" ] || echo --mutate "$1"
}

lockstep() {
    local folder=$work/lockstep
    rm -rf "$folder" && mkdir "$folder"
    # shellcheck disable=SC2046 # two words or none
    "$NNC" $model "${small[@]}" $(mutate_of "$1") -o "$folder/t.c" 2>/dev/null &&
        compile "$folder/t" "$folder/t.c" "$CC" -O1 -w || return 2
    train "$folder/run" "$folder/t" $model --epochs 1 --trace trace --trace-steps 1,2,10 || return 1
    "$NNC" lockstep $model "${small[@]}" "$folder/run/trace"
}

plan_check() {
    # shellcheck disable=SC2046
    "$NNC" check $model "${small[@]}" $(mutate_of "$1") 2>&1 | tee "$work/plan" | cat
    ! grep -q '^nnc: plan: ' "$work/plan"
}

op_gradients() {
    NNC_MUTATE=$1 "$BUILD/tests/ops/test_ops_dot"
}

races() {
    local folder=$work/races
    rm -rf "$folder" && mkdir "$folder"
    # shellcheck disable=SC2046
    "$NNC" $model "${small[@]}" $(mutate_of "$1") -o "$folder/t.c" 2>/dev/null &&
        compile "$folder/t" "$folder/t.c" "$CC" -O1 -g -w -fsanitize=thread -DRT_DELAY || return 2
    TSAN_OPTIONS=exitcode=66 train "$folder/run" "$folder/t" $model --threads 7 --epochs 2
}

green() {
    "$1" "" >"$work/log" 2>&1 && return
    wrong "$1 is red without a fault"
    tail -n 20 "$work/log"
}

red() {
    local fault=$1 suite=$2 status=0
    "$suite" "$fault" >"$work/log" 2>&1 || status=$?
    case $status in
    0) wrong "fault '$fault' is not seen by $suite" ;;
    2) wrong "fault '$fault': $suite could not be built" ;;
    *)
        caught=$((caught + 1))
        echo "fault '$fault' is seen by $suite"
        ;;
    esac
}

for suite in lockstep plan_check op_gradients races; do green $suite; done
red epilogue lockstep
red gradient op_gradients
red gradient lockstep
red barrier plan_check
red barrier races
red offset plan_check
red offset lockstep
"$NNC" check $model --mutate nonsense 2>&1 | grep -q "^nnc: no deliberate fault is called" ||
    wrong "an unknown fault is taken in silence"
echo "4 faults, $caught of 7 suites turned red"
finish
