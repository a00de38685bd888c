#!/bin/bash
# gpu_check.sh: runs in the folder that `make gpu-pack` has made, on a machine with nvcc and a GPU;
# in the repository (`make gpu-check`) it makes that folder first. Each model is compiled, trained
# at its small size and compared byte for byte with what the C trainer gave, run under
# compute-sanitizer where that is there, and timed at its own size. Ends with one table; exit code
# 1: something differs, 2: there is no GPU or no nvcc.
cd "$(dirname "$0")" || exit 2
pack=$PWD nvcc=${NVCC:-nvcc} begin=$SECONDS seconds=480 failures=0
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
table=$work/table

absent() {
    echo "gpu-check: $*"
    exit 2
}

nvidia-smi -L >"$work/gpus" 2>&1 || absent "this machine has no NVIDIA GPU, or no driver for it"
command -v "$nvcc" >/dev/null || [ ! -x /usr/local/cuda/bin/nvcc ] || nvcc=/usr/local/cuda/bin/nvcc
command -v "$nvcc" >/dev/null || absent "there is no nvcc on this machine"
if [ ! -d models ]; then
    ./gpu_pack.sh || exit 1
    rm -rf "$work"
    exec ../build/gpu-pack/gpu_check.sh
fi
head -n 1 "$work/gpus"

# What is left of the time, at most N seconds
left() {
    local rest=$((seconds - SECONDS + begin))
    echo $((rest < $1 ? (rest > 1 ? rest : 1) : $1))
}

compile() { # TO SOURCE
    timeout "$(left 180)" "$nvcc" -O2 -std=c++17 -arch=native -fmad=false -ftz=true -o "$1" "$2" \
        -lz >"$1.log" 2>&1
}

# run FOLDER COMMAND…: in FOLDER; sets `took`, wall seconds. Code 4, an `expect` that small sizes
# miss, is no failure.
run() {
    local folder=$1 status=0 from
    shift
    mkdir -p "$folder"
    from=$(date +%s.%N)
    (cd "$folder" && timeout "$(left 60)" "$@" >out 2>err) || status=$?
    took=$(date +%s.%N | awk -v from="$from" '{ printf "%.2f", $1 - from }')
    [ $status = 4 ] && status=0
    return $status
}

bits() { # NAME: equal, or what differs
    local name=$1 arguments
    read -ra arguments <"expected/$name.arguments"
    run "$work/$name.run" "$work/$name.small" --data "$pack/data" "${arguments[@]}" || {
        echo "error"
        return
    }
    rm "$work/$name.run/err"
    if diff -rq "expected/$name" "$work/$name.run" >"$work/$name.diff" 2>&1; then
        echo equal
    else
        echo "differ"
    fi
}

sanitize() { # NAME TOOL
    command -v compute-sanitizer >/dev/null || {
        echo absent
        return
    }
    local arguments=(--epochs 1)
    "$work/$1.small" --help | grep -q -- --epochs || arguments=(--steps 2)
    if run "$work/$1.$2" compute-sanitizer --tool "$2" --error-exitcode 9 "$work/$1.small" \
        --data "$pack/data" "${arguments[@]}"; then
        echo clean
    else
        echo found
    fi
}

# Seconds of a whole training at the model's own size
timed() { # NAME PROGRAM
    if run "$work/$1.time" "$2" --data "$pack/data"; then echo "$took"; else echo "-"; fi
}

line() {
    printf '%-16s %-12s %-9s %-9s %8s %8s\n' "$@"
}

check() {
    local name=$1 how="not compiled" memory=- races=- gpu=- cpu=-
    if compile "$work/$name.small" "models/$name.small.cu" &&
        compile "$work/$name.full" "models/$name.cu"; then
        how=$(bits "$name")
        memory=$(sanitize "$name" memcheck)
        races=$(sanitize "$name" racecheck)
        gpu=$(timed "$name" "$work/$name.full")
    fi
    cc -O2 -w -o "$work/$name.cpu" "models/$name.c" -lm -pthread -lz &&
        cpu=$(timed "$name" "$work/$name.cpu")
    case $how/$memory/$races in
    equal/[ac]*/[ac]*) ;;
    *)
        failures=$((failures + 1))
        tail -n 5 "$work/$name.diff" "$work/$name.small.log" 2>/dev/null
        ;;
    esac
    line "$name" "$how" "$memory" "$races" "$gpu" "$cpu" | tee -a "$table"
}

for file in models/*.small.cu; do
    check "$(basename "$file" .small.cu)"
done
echo
line model bits memcheck racecheck "GPU, s" "CPU, s"
cat "$table"
echo "$failures models are not as they should be; $((SECONDS - begin)) s"
[ "$failures" = 0 ]
