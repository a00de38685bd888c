#!/bin/bash
# Equal bits: bits.sh FILE.nn…
# Each program is compiled in several ways and run with several numbers of threads, up to step 200
# or its end; what it prints, the weights it saves and the traces of its steps must be equal byte
# for byte. Models are compiled in more ways than the programs of the corpus, and another --seed
# must change them (all draw their first weights).
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
steps=1,2,10,100,200
few=("gcc -O2" "gcc -O0" "clang -O2")
many=("gcc -O2" "gcc -O0" "clang-14 -O2" "clang-19 -O2" "g++ -x c++ -O2")
compared=0 programs=0

build_all() {
    local file=$1 folder=$2 i
    emit "$file" "$folder/t.c" || return 1
    for i in "${!ways[@]}"; do
        # shellcheck disable=SC2086 # a way is a command
        have ${ways[$i]%% *} && together 2 compile "$folder/t$i" "$folder/t.c" ${ways[$i]} -w
    done
    wait
}

# same NAME FOLDER: as the first run, in all it has left
same() {
    compared=$((compared + 1))
    diff -rq "$first" "$2" >"$work/diff" 2>&1 && return
    wrong "$name: $1 gives other bits"
    head -n 5 "$work/diff"
}

run() {
    local label=$1 trainer=$2 folder=$3
    shift 3
    train "$folder" "$trainer" "$file" "$@" "${short[@]}" --trace t --trace-steps $steps || {
        wrong "$name: $label ends with an error"
        cat "$folder/err"
        return 1
    }
}

# last_step FOLDER: of its traces
last_step() {
    ls "$1" | sed -n 's/.*-\([0-9]*\)-after.*/\1/p' | sort -n | tail -n 1
}

check_seed() {
    local folder=$1
    run "--seed 5" "$folder/t0" "$folder/seed" --threads 2 --seed 5 || return
    diff -rq "$first" "$folder/seed" >/dev/null && wrong "$name: another seed changes nothing"
}

check_file() {
    local folder=$work/$name i short
    mkdir -p "$folder"
    build_all "$file" "$folder" || {
        wrong "$name does not compile"
        return
    }
    read -ra short <<<"$(short_run "$folder/t0" "$file" 200)"
    first=$folder/first
    run "the first run" "$folder/t0" "$first" --threads 2 || return
    for i in 1 2 7; do
        run "$i threads" "$folder/t0" "$folder/threads$i" --threads $i &&
            same "--threads $i" "$folder/threads$i"
    done
    for i in "${!ways[@]}"; do
        [ "$i" != 0 ] && [ -x "$folder/t$i" ] || continue
        run "${ways[$i]}" "$folder/t$i" "$folder/way$i" --threads 2 &&
            same "${ways[$i]}" "$folder/way$i"
    done
    case $file in models/*) check_seed "$folder" ;; esac
    programs=$((programs + 1))
    echo "$name: $(ls "$first"/t | wc -l) traces, last step $(last_step "$first"/t)"
    rm -rf "$folder"
}

for file in "$@"; do
    name=$(basename "$file" .nn)
    case $file in models/*) ways=("${many[@]}") ;; *) ways=("${few[@]}") ;; esac
    if has_data "$file"; then check_file; else echo "$name: its data is not here"; fi
done
echo "$programs programs, $compared comparisons of runs, $failures differ or fail"
[ $programs -gt 0 ] || exit 1
finish
