#!/bin/bash
# Trainers in lock-step with the oracle: lockstep.sh [MODEL.nn…] (none: all of models/)
# Builds each model at its `# small:` size, trains with --trace at steps 1, 2, 10 and 100, and lets
# `nnc lockstep` compare each of those steps with the same step of the oracle. A model whose data
# is not here is passed over. Exit code 1: a step differs or something fails; 77: nothing could run.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
[ $# -gt 0 ] || set -- models/*.nn
failed=0 compared=0

# lock MODEL: 0 right, 1 wrong, 77 no data
lock() {
    local model=$1 folder data status=0 small
    folder=$work/$(basename "$model" .nn) data=$(data_of "$model")
    read -ra small <<<"$(sed -n 's/^# small: //p' "$model" | head -n 1)"
    mkdir "$folder"
    "$NNC" build "$model" "${small[@]}" -o "$folder/trainer" || return 1
    # in a folder of its own: models save weights where they run
    (cd "$folder" && ./trainer --data "$data" --trace trace --trace-steps 1,2,10,100) \
        >"$folder/out" 2>&1 || status=$?
    if [ $status = 2 ] && grep -q 'cannot open' "$folder/out"; then
        cat "$folder/out"
        return 77
    fi
    if [ $status != 0 ] && [ $status != 4 ]; then # 4: small sizes may miss what `expect` wants
        echo "the trainer ended with $status"
        cat "$folder/out"
        return 1
    fi
    "$NNC" lockstep "$model" "${small[@]}" "$folder/trace"
}

for model in "$@"; do
    echo "== $model"
    status=0
    lock "$model" || status=$?
    case $status in
    0) compared=$((compared + 1)) ;;
    77) echo "$model: skipped" ;;
    *)
        echo "$model: FAILED"
        failed=$((failed + 1))
        ;;
    esac
done
echo "$compared models in lock-step, $failed failed"
[ $failed = 0 ] || exit 1
[ $compared != 0 ] || exit 77
