# lib.sh: shell functions that the test scripts share; `. tests/lib.sh` in the root of the tree.
# tests/run.sh sets ROOT, NNC, BUILD, CC; by hand a script runs with what `make` has built.
#
# After it: $work is a folder that is gone when the script ends; `wrong TEXT` notes a failure, and
# `finish` ends the script with 1 when there was one.
ROOT=${ROOT:-$PWD} BUILD=${BUILD:-$PWD/build} CC=${CC:-gcc}
NNC=$(realpath "${NNC:-$BUILD/nnc}")
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failures=0

wrong() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

finish() {
    [ "$failures" = 0 ] || exit 1
    exit 0
}

skip() {
    echo "skipped: $*"
    exit 77
}

have() {
    command -v "$1" >/dev/null
}

# small_of MODEL: sets the array `small` to the options of its line `# small: …`
small_of() {
    read -ra small <<<"$(sed -n 's/^# small: //p' "$1" | head -n 1)"
}

# Where a model's data files are: the product's own, or the larger sets beside the repository.
data_of() {
    case $1 in
    *housing.nn) echo "$ROOT/../shared/data/tabular" ;;
    *iris.nn) echo "$ROOT/../shared/data/sklearn" ;;
    *) echo "$ROOT/data" ;;
    esac
}

# has_data MODEL: everything it reads is here
has_data() {
    case $1 in
    *housing.nn) [ -f "$(data_of "$1")/housing.csv" ] ;;
    *iris.nn) [ -f "$(data_of "$1")/iris.csv" ] ;;
    *) : ;;
    esac
}

# emit MODEL TO.c [ARGS…]: the trainer's text at its small size
emit() {
    local model=$1 to=$2
    shift 2
    small_of "$model"
    "$NNC" "$model" "${small[@]}" "$@" --target c -o "$to"
}

# compile TO SOURCE.c COMPILER FLAGS…
compile() {
    local to=$1 source=$2
    shift 2
    "$@" -o "$to" "$source" -lm -pthread -lz
}

# train FOLDER TRAINER MODEL [ARGS…]: runs it in FOLDER (models save weights where they run), its
# output in FOLDER/out and FOLDER/err; exit code 4, an `expect` that small sizes miss, is no
# failure.
train() {
    local folder=$1 trainer=$2 model=$3 status=0
    shift 3
    mkdir -p "$folder"
    (cd "$folder" && timeout 300 "$trainer" --data "$(data_of "$model")" "$@" >out 2>err) ||
        status=$?
    [ $status = 4 ] && status=0
    return $status
}

# tasks_of TRAINER: the names of its tasks (functions need arguments)
tasks_of() {
    "$1" --list | sed -n '/^tasks/,/^options/p' | grep -v 'a function' | awk '/^  /{ print $1 }'
}

# short_run TRAINER MODEL STEPS: the arguments (0 or 2 words) that make a run short but still
# take STEPS steps where the program has an option for it
short_run() {
    local trainer=$1 model=$2 steps=$3 epochs options
    options=$("$trainer" --help)
    case $options in
    *--epochs*) ;;
    *--steps*)
        echo --steps "$steps"
        return 0
        ;;
    *) return 0 ;;
    esac
    for epochs in 1 2 4 8 16 32; do
        rm -rf "$work/epochs"
        train "$work/epochs" "$trainer" "$model" --epochs $epochs --trace t --trace-steps "$steps"
        if ls "$work"/epochs/t/*-"$steps"-after.safetensors >/dev/null 2>&1; then
            echo --epochs $epochs
            return 0
        fi
    done
}

# tasks_of TRAINER: the names of its tasks (functions need arguments)
tasks_of() {
    "$1" --list | sed -n '/^tasks/,/^options/p' | grep -v 'a function' | awk '/^  /{ print $1 }'
}

# together N COMMAND…: runs COMMAND in the background, N of them at a time
together() {
    local most=$1
    shift
    while [ "$(jobs -rp | wc -l)" -ge "$most" ]; do wait -n || true; done
    "$@" &
}

# median: of the numbers on standard input, one a line
median() {
    sort -g | awk '{ x[NR] = $1 } END { print (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2 }'
}

# under A B: A < B as real numbers
under() {
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a + 0 < b + 0) }'
}

# ---- CUDA text on the processor (tests/cuda_shim) ----------------------------------------------
CUDA=${CUDA:-/usr/local/cuda}

need_cuda_headers() {
    [ -f "$CUDA/include/cuda_runtime.h" ] || skip "no CUDA headers in $CUDA"
}

# shim_flags WAY: sets the arrays `compile` and `link`
#   plain   results only     memory   addresses and undefined behaviour checked
#   race    order of accesses and reads of what nobody wrote checked
shim_flags() {
    compile=(-std=c++17 -O1 -ffp-contract=off -w -isystem "$CUDA/include" -Itests/cuda_shim)
    link=()
    case $1 in
    memory)
        link=(-fsanitize=address,undefined)
        compile+=(-g1 "${link[@]}" -fno-sanitize-recover=undefined -fsanitize-sections=shim_shared)
        ;;
    race)
        # The hooks that this puts into the text are the library's own, hence not when linking.
        compile+=(-g1 -fno-pie -fsanitize=thread --param tsan-distinguish-volatile=0)
        link=(-no-pie)
        ;;
    esac
}

# kernel_cases_on_cuda WAY ORDERS: from here on the unit tests of kernels run their graphs as CUDA
# too, with that build of the shim, once in each order of threads
kernel_cases_on_cuda() {
    local compile link
    mkdir -p "$BUILD/cuda_shim"
    flock "$BUILD/cuda_shim/lock" make -s -C tests/cuda_shim B="$BUILD/cuda_shim" CUDA="$CUDA" \
        "$BUILD/cuda_shim/$1.a" || exit 1
    shim_flags "$1"
    export CASE_CUDA="${compile[*]}|${link[*]} $BUILD/cuda_shim/$1.a -lm -pthread" CASE_ORDERS=$2
}

# shim_program TO SOURCE.cu plain|memory|race [FLAGS…]
shim_program() {
    local to=$1 source=$2 way=$3 compile link
    shift 3
    mkdir -p "$BUILD/cuda_shim"
    flock "$BUILD/cuda_shim/lock" make -s -C tests/cuda_shim B="$BUILD/cuda_shim" CUDA="$CUDA" \
        "$BUILD/cuda_shim/$way.a" || return 2
    shim_flags "$way"
    g++ "${compile[@]}" "$@" -x c++ -c -o "$to.o" "$source" &&
        g++ "${link[@]}" -o "$to" "$to.o" "$BUILD/cuda_shim/$way.a" -lm -lz -pthread &&
        rm "$to.o"
}
