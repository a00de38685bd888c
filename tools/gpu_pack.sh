#!/bin/bash
# Makes build/gpu-pack: all that a machine with nvcc and a GPU needs to check the target cuda, in
# one folder of at most 40 MB: nnc, each model as CUDA and C text, what it should give, its data,
# and gpu_check.sh, which runs there without this repository.
cd "$(dirname "$0")/.." || exit 2
. tests/lib.sh
pack=$BUILD/gpu-pack most=$((40 << 20))
steps=100
rm -rf "$pack"
mkdir -p "$pack/expected" "$pack/data" "$pack/models"

# pack_model MODEL: at its small size with what 100 steps of the C trainer give, and at its own
pack_model() {
    local model=$1 name short
    name=$(basename "$model" .nn)
    small_of "$model"
    emit "$model" "$work/$name.c" && compile "$work/$name" "$work/$name.c" "$CC" -O2 -w &&
        "$NNC" "$model" "${small[@]}" --target cuda -o "$pack/models/$name.small.cu" &&
        "$NNC" "$model" --target cuda -o "$pack/models/$name.cu" &&
        "$NNC" "$model" --target c -o "$pack/models/$name.c" || {
        wrong "$name is not compiled"
        return
    }
    read -ra short <<<"$(short_run "$work/$name" "$model" $steps)"
    short+=(--trace t --trace-steps "1,10,$steps")
    train "$pack/expected/$name" "$work/$name" "$model" "${short[@]}" || {
        wrong "$name ends with an error"
        return
    }
    rm "$pack/expected/$name/err"
    echo "${short[@]}" >"$pack/expected/$name.arguments"
    for file in $(grep -o '"[^" ]*\.\(csv\|npy\|gz\|bin\)"' "$model" | tr -d '"'); do
        [ ! -f "$(data_of "$model")/$file" ] || cp "$(data_of "$model")/$file" "$pack/data/"
    done
}

for model in models/*.nn; do
    if has_data "$model"; then
        pack_model "$model"
    else
        echo "gpu-pack: the data of $model is not here"
    fi
done
cp "$NNC" tools/gpu_check.sh "$pack/"
cp -r models/*.nn "$pack/models/"
bytes=$(du -sb "$pack" | cut -f 1)
[ "$bytes" -le $most ] || wrong "$bytes bytes in $pack, $most at most"
echo "gpu-pack: $pack, $((bytes >> 10)) KiB; copy it and run gpu_check.sh there"
finish
