#!/bin/bash
# gpu_pack.sh [FILE.nn…]: makes build/gpu-pack, all that a machine with nvcc and a GPU needs to
# check the target cuda, in one folder of at most 40 MB: nnc; each model and program of the corpus
# as text, models at their own size too; what they should give; data, without compression, so that
# no zlib is needed there; and gpu_check.sh, which runs there without this repository.
cd "$(dirname "$0")/.." || exit 2
. tests/lib.sh
pack=$BUILD/gpu-pack most=$((40 << 20))
steps=100
[ $# != 0 ] || set -- models/*.nn tests/corpus/*.nn
rm -rf "$pack"
mkdir -p "$pack/expected" "$pack/data" "$pack/models"

copy_data() { # MODEL
    local file
    for file in $(grep -o '"[^" ]*\.\(csv\|npy\|gz\|bin\)"' "$1" | tr -d '"'); do
        file=$(data_of "$1")/$file
        case $file in
        *.gz) zcat "$file" >"$pack/data/$(basename "$file" .gz)" ;;
        *) [ ! -f "$file" ] || cp "$file" "$pack/data/" ;;
        esac
    done
}

# tasks TRAINER MODEL: a line of arguments for each
tasks() {
    local short task
    short=$(short_run "$1" "$2" $steps)
    for task in $(tasks_of "$1"); do
        echo "$task --untrained --log log-$task $short --trace t --trace-steps 1,10,$steps"
    done
}

# What the C trainer gives is what the GPU should; programs run in a folder of their own.
pack_program() { # MODEL
    local model=$1 name trainer line arguments
    name=$(basename "$model" .nn)
    trainer=$work/$name
    emit "$model" "$trainer.c" && compile "$trainer" "$trainer.c" "$CC" -O2 -w &&
        "$NNC" "$model" "${small[@]}" --target cuda,c -o "$pack/models/$name.small.cu" || {
        wrong "$name is not compiled"
        return
    }
    tasks "$trainer" "$model" >"$pack/expected/$name.tasks"
    while read -r line; do
        read -ra arguments <<<"$line"
        train "$pack/expected/$name" "$trainer" "$model" "${arguments[@]}" </dev/null ||
            wrong "$name ${arguments[0]} ends with an error"
        mv "$pack/expected/$name/out" "$pack/expected/$name/out-${arguments[0]}"
        rm "$pack/expected/$name/err"
    done <"$pack/expected/$name.tasks"
    case $1 in
    */models/*)
        "$NNC" "$model" --target cuda -o "$pack/models/$name.cu" &&
            "$NNC" "$model" --target c -o "$pack/models/$name.c" || wrong "$name is not compiled"
        ;;
    esac
}

programs=()
mkdir -p "$work/models" "$work/corpus"
for model in "$@"; do
    if has_data "$model"; then
        copy_data "$model"
        copy=$work/$(basename "$(dirname "$model")")/$(basename "$model")
        sed 's/\.csv\.gz"/.csv"/' "$model" >"$copy"
        cp "$copy" "$pack/models/"
        programs+=("$copy")
    else
        echo "gpu-pack: the data of $model is not here"
    fi
done
data_of() {
    echo "$pack/data"
}
for program in "${programs[@]}"; do pack_program "$program"; done
cp "$NNC" tools/gpu_check.sh "$pack/"
bytes=$(du -sb "$pack" | cut -f 1)
[ "$bytes" -le $most ] || wrong "$bytes bytes in $pack, $most at most"
echo "gpu-pack: $pack, $((bytes >> 10)) KiB; copy it and run gpu_check.sh there"
finish
