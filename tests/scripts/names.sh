#!/bin/bash
# What stands in the text of kernels for a reader: names and numbers that say what they are. Of
# every model and the corpus, as C and as CUDA.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh

# never TEXT PATTERN WHY: no line of the kernels has it
never() {
    ! grep -nE "$2" "$1" >"$work/found" || wrong "$(basename "$1"): $3: $(head -n 3 "$work/found")"
}

# most N TEXT PATTERN WHY: at most N lines in a row have it
most() {
    awk -v most="$1" -v pattern="$3" '{ n = $0 ~ pattern ? n + 1 : 0 } n > most { exit 1 }' "$2" ||
        wrong "$(basename "$2"): $4"
}

for model in models/*.nn tests/corpus/*.nn; do
    for target in c cuda; do
        text=$work/$(basename "$model" .nn).$target
        "$NNC" "$model" --target $target -o "$work/whole" 2>/dev/null || wrong "$model: $target"
        cp "$work/whole" "$work/$(basename "$model" .nn).whole"
        sed -n '/^\/\* ==== kernels/,/^\/\* ==== regions/p' "$work/whole" >"$text"
        never "$text" '(float|double|bool|int32_t) [a-z_0-9]*_[0-9]_[0-9] = [^b]' \
            "an element is called as its buffer with a number"
        never "$text" 'blockIdx\.x [<-] [0-9]' "blocks of a part are told by a bare number"
        sed -n '/^RT_FN .* task_/,/^}/p' "$work/whole" >"$text.tasks"
        never "$text.tasks" ' - 0\.0|\* 1\.0|/ 1\.0' "a task computes what is known"
        [[ $model != models/* ]] || # where nothing else is common, the corpus has it
            never "$text" '^(RT_KERNEL void )?(make|update)_add\(' "a name says only the last op"
        never "$text" 'nn:[0-9]*:  ' "a note says nothing of what is made"
        never "$text" 'std\.nn:[0-9]' "a place is not the user's"
        most 3 "$text" RT_ALIGNED "a wall of alignments"
    done
    ! grep -n '"std\.nn:' "$work/whole" || wrong "$model: a value's place is not the user's"
    never "${text%.*}.c.tasks" '= rows_[0-9]' "the rows of a batch stand in two places"
done

# One numbering, which begins at 0 and is that of the layers.
for name in relu_mask dropout squared_norm d_linear; do
    for i in 0 1; do
        grep -q "^NN_DEVICE_AT(.*, ${name}_$i," "$work/digits.whole" || wrong "no ${name}_$i"
    done
done
finish
