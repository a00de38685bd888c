#!/bin/bash
# Runs the tests: run.sh check | test | soak [NAME…]
#   check  lint, the Criterion programs, the scripts of all folders but show and soak
#   test   that, and tests/show/*.sh; a script tests/scripts/X.sh that tests/show/*-X.sh does the
#          whole of is left out
#   soak   that, and tests/soak/*.sh
# NAMEs keep only the suites whose name contains one of them. A script passes with exit code 0, is
# skipped with 77 and fails with any other; it runs in the root of the repository with ROOT, NNC,
# BUILD and CC set. A script with a line `# tier: test` is left out of check. Suites run two at a
# time, those of show and soak alone. Each suite's output is kept in BUILD/test-log and shown when
# it fails. tests/budget holds processor seconds; a suite that takes half as much again fails.
# The last line counts: `N passed, N failed, N skipped`; exit code 1 when something failed.
cd "$(dirname "$0")/.." || exit 1
level=${1:-check}
case $level in
check | test | soak) ;;
*)
    echo "usage: run.sh check | test | soak [NAME…]" >&2
    exit 2
    ;;
esac
shift
names=("$@")

export ROOT=$PWD BUILD=${BUILD:-$PWD/build} CC=${CC:-gcc}
export NNC=${NNC:-$BUILD/nnc} LC_ALL=C.UTF-8
unset MAKEFLAGS MAKELEVEL MFLAGS
log=$BUILD/test-log
mkdir -p "$log" || exit 1
limit=1200 # seconds a suite may take before it counts as hung
reports=() # files: a line of counts, then the text to show
passed=0 failed=0 skipped=0
TIMEFORMAT='%R %U %S'

wanted() {
    [ ${#names[@]} = 0 ] && return 0
    local n
    for n in "${names[@]}"; do
        case $1 in *"$n"*) return 0 ;; esac
    done
    return 1
}

# timed NAME OUT COMMAND…: runs it with its output in OUT; sets status, wall and cpu (seconds)
timed() {
    local times=$log/${1//\//-}.time out=$2 user system
    shift 2
    status=0
    { time timeout $limit "$@" >"$out" 2>&1 </dev/null; } 2>"$times" || status=$?
    read -r wall user system < <(tail -n 1 "$times")
    cpu=$(awk -v u="$user" -v s="$system" 'BEGIN { printf "%.1f", u + s }')
}

# budget_of NAME: processor seconds; sets `budget`
budget_of() {
    budget=$(awk -v name="$1" '$1 == name { print $2 }' tests/budget)
    budget=${budget:-10}
}

# report NAME PASSED FAILED SKIPPED LOG: prints counts and the text to show; a suite over its budget
# fails once more
report() {
    local failures=$3
    budget_of "$1"
    if awk -v c="$cpu" -v b="$budget" 'BEGIN { exit !(c > 1.5 * b) }'; then
        echo "$1: $cpu s of processor time; tests/budget gives it $budget" >>"$5"
        failures=$((failures + 1))
    fi
    echo "$2 $failures $4"
    printf '%-26s %6.1f s, cpu %5.1f of %3d  %4d passed' "$1" "$wall" "$cpu" "$budget" "$2"
    [ "$failures" = 0 ] || printf ', %d failed' "$failures"
    [ "$4" = 0 ] || printf ', %d skipped' "$4"
    printf '\n'
    if [ "$failures" != 0 ]; then
        tail -n 60 "$5" | sed 's/^/    | /'
    fi
}

# show REPORT: counts what it says and prints the rest
show() {
    local p f s
    read -r p f s <"$1"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    tail -n +2 "$1"
}

# start NAME FUNCTION PATH: in the background when another is running at most
start() {
    local file=$log/${1//\//-}.report
    while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n || true; done
    rm -f "$file"
    "$2" "$1" "$3" >"$file" &
    reports+=("$file")
}

# What was started has ended and is shown, in the order of the starts.
finish() {
    wait
    for file in "${reports[@]}"; do show "$file"; done
    reports=()
}

# A Criterion program; its own counts are read from its TAP report.
run_suite() {
    local name=$1 program=$2 tap=$log/$1.tap out=$log/$1.log p=0 f=0 s=0
    rm -f "$tap"
    timed "$name" "$out" "$program" --tap="$tap"
    if [ -f "$tap" ]; then
        s=$(grep -c '^ok .*# SKIP' "$tap")
        p=$(grep '^ok ' "$tap" | grep -vc '# SKIP')
        f=$(grep -c '^not ok ' "$tap")
    fi
    if [ "$status" != 0 ] && [ "$f" = 0 ]; then
        echo "$name ended with exit code $status" >>"$out"
        f=1
    elif [ $((p + f + s)) = 0 ]; then
        echo "$name holds no test" >>"$out"
        f=1
    fi
    report "$name" "$p" "$f" "$s" "$out"
}

run_script() {
    local name=$1 script=$2 out=$log/${1//\//-}.log
    timed "$name" "$out" "$script"
    case $status in
    0) report "$name" 1 0 0 "$out" ;;
    77) report "$name" 0 0 1 "$out" ;;
    *)
        echo "$name: exit code $status" >>"$out"
        report "$name" 0 1 0 "$out"
        ;;
    esac
    # A show script's output is its figure; a skipped one says what is absent.
    case $status/$name in 77/* | 0/show/*) tail -n 20 "$out" | sed 's/^/    | /' ;; esac
}

# Does a show script run all that tests/scripts/X.sh runs, and more?
shown_whole() {
    [ "$level" != check ] && [ "$1" = scripts ] && ls tests/show/*-"$2".sh >/dev/null 2>&1
}

# left_out KIND NAME SCRIPT
left_out() {
    ! wanted "$1/$2" || shown_whole "$1" "$2" ||
        { [ "$level" = check ] && [ ${#names[@]} = 0 ] && grep -q '^# tier: test' "$3"; }
}

run_scripts() {
    local kind=$1 script base
    for script in tests/"$kind"/*.sh; do
        [ -f "$script" ] || continue
        base=$(basename "$script" .sh)
        left_out "$kind" "$base" "$script" && continue
        start "$kind/$base" run_script "$script"
        case $kind in show | soak) finish ;; esac
    done
}

begin=$SECONDS
if wanted lint; then start lint run_script tools/lint.sh; fi
# Some suites by name: their programs are brought up to date (`make check` has done so for all).
if [ ${#names[@]} != 0 ] && [ "$BUILD" = "$ROOT/build" ]; then
    programs=()
    for source in tests/unit/test_*.c tests/ops/test_*.c tests/runtime/test_*.c; do
        if wanted "$(basename "$source" .c)"; then programs+=("build/${source%.c}"); fi
    done
    [ ${#programs[@]} = 0 ] || make -s "${programs[@]}" || exit 1
fi
for source in tests/unit/test_*.c tests/ops/test_*.c tests/runtime/test_*.c; do
    [ -f "$source" ] || continue
    name=$(basename "$source" .c)
    if wanted "$name"; then start "$name" run_suite "$BUILD/${source%.c}"; fi
done
for folder in tests/*/; do
    folder=$(basename "$folder")
    case $folder in show | soak | tools) ;; *) run_scripts "$folder" ;; esac
done
finish
case $level in test | soak) run_scripts show ;; esac
case $level in soak) run_scripts soak ;; esac

echo "$((SECONDS - begin)) s in all; output in ${log#"$ROOT"/}"
echo "$passed passed, $failed failed, $skipped skipped" | tee "$BUILD/summary"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
