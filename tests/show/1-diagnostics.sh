#!/bin/bash
# What a person sees: at least 40 messages are kept as goldens and compared; then nine of them as
# they come, four of nnc and five of trainers, with their exit codes.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh

goldens=$(find tests/golden -name '*.err' | wc -l)
echo "$goldens goldens"
[ "$goldens" -ge 40 ] || wrong "fewer than 40 goldens"
for script in tests/scripts/errors.sh tests/scripts/runs.sh tests/scripts/shown.sh; do
    $script >"$work/log" 2>&1 || {
        wrong "$script"
        tail -n 30 "$work/log"
    }
    echo "$script: $(tail -n 1 "$work/log")"
done

# see TITLE EXIT-CODE TEXT COMMAND…: the command ends so, and says TEXT somewhere
see() {
    local title=$1 wanted=$2 text=$3 status=0
    shift 3
    (cd "$work/here" && "$@") >/dev/null 2>"$work/said" || status=$?
    printf -- '-- %s (exit code %s)\n' "$title" "$status"
    head -n 8 "$work/said"
    [ $status = "$wanted" ] || wrong "$title: exit code $status, expected $wanted"
    grep -qF -- "$text" "$work/said" || wrong "$title: '$text' is not said"
}

# golden NAME: the first message of a golden file
golden() {
    cd "$ROOT/tests/golden/errors" && "$NNC" check "$1.nn"
}

mkdir "$work/here" "$work/cell" "$work/label"
see "unknown name" 1 "did you mean 'hidden'" golden unknown_name
see "wrong argument name" 1 "its parameters: x, out, bias" golden unknown_argument
see "shape mismatch across two call sites" 1 "the first call made it" golden two_call_sites
see "non-constant dimension" 1 "known when nnc runs" golden option_in_shape

has_data models/iris.nn || skip "no iris.csv in ../shared/data"
iris=$(data_of models/iris.nn)
"$NNC" build models/iris.nn -o "$work/iris" && "$NNC" build models/sine.nn -o "$work/sine" &&
    "$NNC" build models/autoencoder.nn -o "$work/autoencoder" || wrong "a model does not compile"
sed '5s/^[^,]*/four/' "$iris"/iris.csv >"$work/cell/iris.csv"
sed '7s/,[0-9]*\(\r*\)$/,7\1/' "$iris"/iris.csv >"$work/label/iris.csv"
train "$work/here" "$work/iris" models/iris.nn --epochs 1
cat >"$work/tiny.nn" <<'END'
layer classifier(x: [*, I]) -> [*, 3] { x |> linear(16) |> tanh |> linear(3) }
model other = classifier
task train {
    let y = sum(other(zeros([2, 4])))
    print "{y}"
    save other to "other.safetensors"
}
END
"$NNC" build "$work/tiny.nn" -o "$work/tiny" &&
    (cd "$work/here" && ../tiny --untrained >/dev/null) ||
    wrong "tiny.nn"
see "missing data file" 2 "cannot open" "$work/iris" --data "$work/here"
see "CSV with a bad cell" 1 "iris.csv:5" "$work/iris" --data "$work/cell"
see "label out of range" 1 "must be 0..2" "$work/iris" --data "$work/label"
see "weights of another model" 1 "does not fit" "$work/iris" --data "$iris" \
    --load other.safetensors
see "NaN loss" 3 "first bad tensor" "$work/sine" --lr 1
see "NaN loss of a network" 3 "first bad tensor" "$work/autoencoder" --data "$ROOT/data" --lr 1e38
finish
