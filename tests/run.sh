#!/bin/bash
# Runs the tests: run.sh check | test | soak [NAME…]
#   check  lint, the Criterion programs, the scripts of all folders but the two below
#   test   that, and tests/show/*.sh
#   soak   that, and tests/soak/*.sh
# NAMEs keep only the suites whose name contains one of them. A script passes with exit code 0, is
# skipped with 77 and fails with any other; it runs in the root of the repository with NNC (the
# compiler) and BUILD set. Each suite's output is kept in build/test-log and shown when it fails.
# The last line counts: `N passed, N failed, N skipped`; exit code 1 when something failed.
cd "$(dirname "$0")/.." || exit 1
level=${1:-check}
shift
names=("$@")

export ROOT=$PWD BUILD=$PWD/build NNC=$PWD/build/nnc CC=${CC:-gcc}
export LC_ALL=C.UTF-8
log=build/test-log
mkdir -p $log
limit=1200 # seconds a suite may take before it counts as hung
passed=0 failed=0 skipped=0

wanted() {
    [ ${#names[@]} = 0 ] && return 0
    local n
    for n in "${names[@]}"; do
        case $1 in *"$n"*) return 0 ;; esac
    done
    return 1
}

# report NAME SECONDS PASSED FAILED SKIPPED LOG
report() {
    passed=$((passed + $3)) failed=$((failed + $4)) skipped=$((skipped + $5))
    printf '%-34s %7.2f s  %5d passed' "$1" "$2" "$3"
    [ "$4" = 0 ] || printf ', %d failed' "$4"
    [ "$5" = 0 ] || printf ', %d skipped' "$5"
    printf '\n'
    if [ "$4" != 0 ]; then
        tail -n 60 "$6" | sed 's/^/    | /'
    fi
}

seconds_since() {
    awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }'
}

# A Criterion program; its own counts are read from its TAP report.
run_suite() {
    local name=$1 program=$2 tap=$log/$1.tap out=$log/$1.log start=$EPOCHREALTIME status=0
    rm -f "$tap"
    timeout $limit "$program" --tap="$tap" >"$out" 2>&1 || status=$?
    local p f s
    s=$(grep -c '^ok .*# SKIP' "$tap" 2>/dev/null)
    p=$(grep '^ok ' "$tap" 2>/dev/null | grep -vc '# SKIP')
    f=$(grep -c '^not ok ' "$tap" 2>/dev/null)
    s=${s:-0} f=${f:-0}
    if [ "$status" != 0 ] && [ "$f" = 0 ]; then
        echo "$name ended with exit code $status" >>"$out"
        f=1
    elif [ $((p + f + s)) = 0 ]; then
        echo "$name holds no test" >>"$out"
        f=1
    fi
    report "$name" "$(seconds_since "$start")" "$p" "$f" "$s" "$out"
}

run_script() {
    local name=$1 script=$2 out=$log/${1//\//-}.log start=$EPOCHREALTIME status=0
    timeout $limit "$script" >"$out" 2>&1 </dev/null || status=$?
    local time
    time=$(seconds_since "$start")
    case $status in
    0) report "$name" "$time" 1 0 0 "$out" ;;
    77) report "$name" "$time" 0 0 1 "$out" ;;
    *)
        echo "$name: exit code $status" >>"$out"
        report "$name" "$time" 0 1 0 "$out"
        ;;
    esac
    # A show script's output is its figure; a skipped one says what is absent.
    case $status/$name in 77/* | 0/show/*) tail -n 20 "$out" | sed 's/^/    | /' ;; esac
}

run_scripts() {
    local kind=$1 script
    for script in tests/"$kind"/*.sh; do
        [ -f "$script" ] || continue
        local name
        name=$kind/$(basename "$script" .sh)
        if wanted "$name"; then run_script "$name" "$script"; fi
    done
}

if wanted lint; then run_script lint tools/lint.sh; fi
for source in tests/unit/test_*.c tests/runtime/test_*.c; do
    [ -f "$source" ] || continue
    name=$(basename "$source" .c)
    if wanted "$name"; then run_suite "$name" "build/${source%.c}"; fi
done
for folder in tests/*/; do
    folder=$(basename "$folder")
    case $folder in show | soak) ;; *) run_scripts "$folder" ;; esac
done
case $level in test | soak) run_scripts show ;; esac
case $level in soak) run_scripts soak ;; esac

echo "$passed passed, $failed failed, $skipped skipped" | tee build/summary
[ "$failed" = 0 ] && [ "$passed" != 0 ]
