#!/bin/bash
# The shim itself: what is correct runs clean in every order, and each bug that kernels.cu and
# host.cu can be given is found by the build that should find it (tests/cuda_shim/README.md).
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
need_cuda_headers
export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=exitcode=99:print_stacktrace=1
orders=(forward reverse random)
runs=0

# Exit codes: 0 right, 1 wrong result, 3 a call was refused, 97 reported by the shim, 99 by a
# sanitizer, 139 by the processor.
run() { # WAY PROGRAM CASE [BUG]
    local way=$1 program=$2
    shift 2
    runs=$((runs + 1))
    "$work/$program-$way" "$@" >"$work/out" 2>&1
}

clean() { # WAY PROGRAM CASE [BUG]
    run "$@" || {
        wrong "$* ($CUDA_SHIM_ORDER, $CUDA_SHIM_STREAMS, $CUDA_SHIM_SEED): exit code $?"
        head -n 5 "$work/out"
    }
}

# In every order: ends with CODE and says TEXT (a regular expression)
finds() { # CODE TEXT WAY PROGRAM CASE BUG
    local code=$1 text=$2 status
    shift 2
    for CUDA_SHIM_ORDER in "${orders[@]}"; do
        status=0
        run "$@" 2>/dev/null || status=$?
        if [ $status != "$code" ] || ! { [ -z "$text" ] || grep -Eq "$text" "$work/out"; }; then
            wrong "$* ($CUDA_SHIM_ORDER): exit code $status, wanted $code: $text"
            head -n 5 "$work/out"
        fi
    done
}

# In at least one of the orders, or with one of eight seeds: a wrong result
differs() { # WAY PROGRAM CASE BUG
    for CUDA_SHIM_SEED in 1 2 3 4 5 6 7 8; do
        for CUDA_SHIM_ORDER in "${orders[@]}"; do
            run "$@" || {
                CUDA_SHIM_SEED=1
                return
            }
        done
    done
    CUDA_SHIM_SEED=1
    wrong "$* gives the right result in all orders"
}

# Not found, as README.md says; when this fails, the table there can be better.
misses() { # WAY PROGRAM CASE BUG
    run "$@" || wrong "$* is found now"
}

build() { # WAY
    for program in kernels host; do
        shim_program "$work/$program-$1" tests/shim/$program.cu "$1" -Wall -Wextra ||
            wrong "$program.cu does not compile ($1)"
    done
}

correct() { # WAY ORDER STREAMS SEED
    local way=$1 cases=(streams graph copies limits "limits opted_in" devices)
    CUDA_SHIM_ORDER=$2 CUDA_SHIM_STREAMS=$3 CUDA_SHIM_SEED=$4
    clean "$way" kernels all
    # shellcheck disable=SC2086 # a case and a bug
    for case in "${cases[@]}"; do clean "$way" host $case; done
    CUDA_SHIM_STREAMS=eager CUDA_SHIM_SEED=1
}

all_correct() { # WAY
    correct "$1" forward eager 1
    correct "$1" reverse late 1
    for seed in 1 2 3; do correct "$1" random random $seed; done
}

export CUDA_SHIM_ORDER=forward CUDA_SHIM_STREAMS=eager CUDA_SHIM_SEED=1

plain() {
    finds 1 "should be" plain kernels norm no_barrier
    finds 1 "should be" plain kernels matmul no_barrier
    finds 1 "should be" plain kernels matmul no_last_barrier
    finds 1 "should be" plain kernels swap no_warp_sync
    finds 1 "should be" plain kernels swap unwritten
    finds 1 "nan, should be" plain kernels axpy unwritten
    finds 1 "nan, should be" plain kernels reverse bad_index
    differs plain kernels norm no_last_barrier
    differs plain kernels norm same_element
    finds 1 "should be" plain kernels swap neighbours
    misses plain kernels total no_warp_sync
    misses plain kernels axpy no_guard
    misses plain kernels plan no_guard
    misses plain kernels vector misaligned
    misses plain kernels axpy host_pointer
}

strict() { # WAY
    finds 97 "divergent __syncthreads\(\): threads wait at different" "$1" kernels reverse divergent
    finds 97 "after some threads have exited" "$1" kernels reverse exited
    finds 97 "names a lane that has exited" "$1" kernels lanes absent_lanes
    finds 97 "lane 0 reads lane 31, which is not in mask" "$1" kernels lanes foreign_lane
}

host() {
    finds 139 "" plain host copies touch
    finds 3 "writes 4000 bytes at .*, beyond" plain host copies beyond
    finds 3 "reads 4000 bytes at .*, beyond" plain host copies before
    finds 3 "direction 1, but the pointers say 2" plain host copies direction
    finds 3 "not page-locked" plain host copies unlocked
    finds 3 "in the default stream" plain host copies default_stream
    finds 1 "nan, should be" plain host copies freed
    finds 3 "blocks of \(2048,1,1\)" plain host limits block
    finds 3 "grid of \(1,65536,1\)" plain host limits grid
    finds 3 "102400 bytes of dynamic shared memory" plain host limits shared
    finds 3 "unjoined work" plain host graph unjoined
    finds 3 "not permitted when stream is capturing" plain host graph sync
    finds 3 "not permitted when stream is capturing" plain host graph allocate
}

streams() {
    for CUDA_SHIM_STREAMS in late random; do
        for bug in no_wait early other reuse; do differs plain host streams $bug; done
        differs plain host graph no_wait
    done
    CUDA_SHIM_STREAMS=late
    finds 1 "should be 2" plain host streams no_wait
    finds 1 "should be 2" plain host streams early
    finds 1 "should be 2" plain host streams other
    finds 1 "should be 2" plain host streams reuse
    finds 1 "should be 3" plain host graph no_wait
    CUDA_SHIM_STREAMS=eager
}

memory() {
    finds 99 "use-after-poison" memory kernels axpy no_guard
    finds 99 "use-after-poison" memory kernels plan no_guard
    finds 99 "(index 64 out of bounds|global-buffer-overflow)" memory kernels reverse bad_index
    finds 99 "misaligned address" memory kernels vector misaligned
    finds 99 "use-after-poison" memory host copies freed
}

races() {
    finds 97 "(uninitialised|race): byte .* of shared memory is read" race kernels norm no_barrier
    finds 97 "race: byte .* of shared memory" race kernels norm no_last_barrier
    finds 97 "race: byte .* of shared memory" race kernels matmul no_last_barrier
    finds 97 "of shared memory is read at kernels.cu" race kernels swap no_warp_sync
    finds 97 "race: byte .* of shared memory is read .* by thread" race kernels swap neighbours
    finds 97 "of shared memory is read at kernels.cu" race kernels bytes no_barrier
    finds 97 "race: byte 0 of an allocation of 128 is written .* read by other threads" race \
        kernels total no_warp_sync
    finds 97 "race: byte .* of an allocation .* by another block" race kernels norm same_element
    finds 97 "uninitialised: byte .* of shared memory" race kernels swap unwritten
    finds 97 "uninitialised: byte .* of an allocation of 40012" race kernels axpy unwritten
    finds 97 "byte 40012 behind an allocation of 40012" race kernels axpy no_guard
    finds 97 "of shared memory is read at .* nobody has written it" race kernels reverse bad_index
    finds 97 "touches host memory at kernels.cu" race kernels axpy host_pointer
    finds 97 "nobody has written it" race host copies freed
}

device() { # TEXT SETTINGS…
    local text=$1
    shift
    runs=$((runs + 1))
    env "$@" "$work/host-plain" devices 2>&1 | grep -Eq "$text" || wrong "devices: $*"
}

devices() {
    device "driver 0, cudaErrorInsufficientDriver" CUDA_SHIM_DRIVER=none
    device "driver 11040, cudaErrorInsufficientDriver" CUDA_SHIM_DRIVER=old
    device "driver 13000, cudaErrorNoDevice" CUDA_SHIM_DEVICES=0
    device "3 devices, 7.5, 64536 of 65536 KiB free, all of it cudaErrorMemoryAllocation" \
        CUDA_SHIM_DEVICES=3 CUDA_SHIM_MEMORY=64M CUDA_SHIM_USED=1000K CUDA_SHIM_CAPABILITY=7.5
    device "CUDA_SHIM_ORDER=backward: expected forward, reverse or random" CUDA_SHIM_ORDER=backward
    device "there is no setting CUDA_SHIM_ODER" CUDA_SHIM_ODER=reverse
}

counters() {
    CUDA_SHIM_REPORT=$work/report run plain host graph
    for line in "launches 0" "graph_launches 3" "graph_kernels 3" "graph_copies 6" \
        "synchronisations 3" "allocations 4" "copies_to_device 3" "bytes_to_device 12000"; do
        grep -qx "$line" "$work/report" || wrong "the report of a run does not say: $line"
    done
}

for way in plain memory race; do
    build $way
    all_correct $way
done
plain
strict plain
host
streams
memory
strict memory
races
strict race
devices
counters
echo "$runs runs, $failures not as they should be"
finish
