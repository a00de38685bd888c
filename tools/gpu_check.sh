#!/bin/bash
# gpu_check.sh: runs in the folder that `make gpu-pack` has made, on a machine with nvcc and a GPU;
# in the repository (`make gpu-check`) it makes that folder first. Each program runs at its small
# size and gives, byte for byte, what the C trainer gave, with data on the device and with batches
# that are copied there; models run under compute-sanitizer too, where that is there, and are timed
# at their own size. Ends with one table; exit code 1: something differs, 2: there is no GPU or no
# nvcc. What does not fit in 8 minutes is cut short and counts as an error.
cd "$(dirname "$0")" || exit 2
pack=$PWD nvcc=${NVCC:-nvcc} begin=$SECONDS seconds=480 failures=0
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
tools=(memcheck racecheck initcheck)

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
PATH=$PATH:$(dirname "$(command -v "$nvcc")") # compute-sanitizer is there too
head -n 1 "$work/gpus"

# What is left of the time, at most N seconds
left() {
    local rest=$((seconds - SECONDS + begin))
    echo $((rest < $1 ? (rest > 1 ? rest : 1) : $1))
}

# together N COMMAND…: in the background, N at a time
together() {
    local most=$1
    shift
    while [ "$(jobs -rp | wc -l)" -ge "$most" ]; do wait -n || true; done
    "$@" &
}

# compile TO SOURCE [FLAGS…]
compile() {
    timeout "$(left 240)" "$nvcc" -O2 -std=c++17 -arch=native -fmad=false -ftz=true "${@:3}" \
        -o "$1" "$2" >"$1.log" 2>&1
}

# run FOLDER COMMAND…: in FOLDER; sets `took`, wall seconds. Code 4, an `expect` that small sizes
# miss, is no failure.
run() {
    local folder=$1 status=0 from
    shift
    mkdir -p "$folder"
    from=$(date +%s.%N)
    (cd "$folder" && timeout "$(left 60)" "$@" >out 2>err </dev/null) || status=$?
    took=$(date +%s.%N | awk -v from="$from" '{ printf "%.2f", $1 - from }')
    [ $status = 4 ] && status=0
    return $status
}

has_staged() { # NAME: it reads data from files
    grep -q '_read(&nn->rt' "models/$1.small.cu"
}

# bits NAME WAY: of all tasks; prints equal, or what is not
bits() {
    local name=$1 program=$work/$1.$2 folder=$work/$1.$2.run line arguments
    if [ ! -x "$program" ]; then
        [ "$2" = staged ] && ! has_staged "$name" && echo - || echo uncompiled
        return
    fi
    while read -r line; do
        read -ra arguments <<<"$line"
        run "$folder" "$program" --data "$pack/data" --device cuda:0 "${arguments[@]}" || {
            echo error
            return
        }
        mv "$folder/out" "$folder/out-${arguments[0]}"
    done <"expected/$name.tasks"
    rm -f "$folder/err"
    if diff -rq "expected/$name" "$folder" >"$work/$name.$2.diff" 2>&1; then
        echo equal
    else
        echo differ
    fi
}

# sanitize NAME TOOL: leaves NAME.TOOL, a word
sanitize() {
    local arguments=(--epochs 1)
    "$work/$1.small" --help | grep -q -- --epochs || arguments=(--steps 2)
    if run "$work/$1.$2.run" compute-sanitizer --tool "$2" --error-exitcode 9 "$work/$1.small" \
        --data "$pack/data" --device cuda:0 "${arguments[@]}"; then
        echo clean
    else
        echo found
    fi >"$work/$1.$2"
}

# timed FOLDER PROGRAM: seconds of a whole training at the model's own size
timed() {
    if run "$work/$1.time" "$2" --data "$pack/data"; then echo "$took"; else echo error; fi
}

line() {
    printf '%-16s %-10s %-10s %-9s %-9s %-9s %8s %8s\n' "$@"
}

# word FILE: what stands there, or -
word() {
    cat "$work/$1" 2>/dev/null || echo -
}

names=() models=()
for file in models/*.small.cu; do
    name=$(basename "$file" .small.cu)
    names+=("$name")
    [ ! -f "models/$name.cu" ] || models+=("$name")
done
cores=$(nproc)
for name in "${names[@]}"; do
    together "$cores" compile "$work/$name.small" "models/$name.small.cu"
    ! has_staged "$name" || together "$cores" compile "$work/$name.staged" \
        "models/$name.small.cu" -DRT_RESIDENT_SHARE=1000000000
done
for name in "${models[@]}"; do
    together "$cores" compile "$work/$name.full" "models/$name.cu"
    together "$cores" cc -O2 -w -o "$work/$name.cpu" "models/$name.c" -lm -pthread
done
wait
echo "compiled: $((SECONDS - begin)) s"
if command -v compute-sanitizer >/dev/null; then
    for name in "${models[@]}"; do
        for tool in "${tools[@]}"; do together 4 sanitize "$name" "$tool"; done
    done
    wait
    echo "compute-sanitizer: $((SECONDS - begin)) s"
else
    echo "there is no compute-sanitizer on this machine"
fi

check() { # NAME
    local name=$1 resident staged gpu=- cpu=- found
    resident=$(bits "$name" small)
    staged=$(bits "$name" staged)
    if [ -f "models/$name.cu" ]; then
        gpu=$(timed "$name.gpu" "$work/$name.full")
        cpu=$(timed "$name.cpu" "$work/$name.cpu")
    fi
    found=$(line "$name" "$resident" "$staged" "$(word "$name.memcheck")" \
        "$(word "$name.racecheck")" "$(word "$name.initcheck")" "$gpu" "$cpu")
    echo "$found" >>"$work/table"
    case $found in
    *differ* | *error* | *found* | *uncompiled*)
        failures=$((failures + 1))
        echo "$name:"
        tail -qn 5 "$work/$name".*.diff "$work/$name".*.log "$work/$name".*run/err 2>/dev/null
        ;;
    esac
}

for name in "${names[@]}"; do check "$name"; done
echo
line program resident staged memcheck racecheck initcheck "GPU, s" "CPU, s"
cat "$work/table"
echo "${#names[@]} programs, $failures are not as they should be; $((SECONDS - begin)) s"
[ "$failures" = 0 ]
