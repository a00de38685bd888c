#!/bin/bash
# The host side of a CUDA trainer under the shim, on a small program: what each step prints and
# records, text that is put together beside it, validation, traces, faults and their replay, memory
# that is too small. With data on the device and with batches that are copied there, with streams
# that are early, late and in any order, output and files are those of target c.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
need_cuda_headers

cat >"$work/steps.nn" <<'EOF'
option lr = 1e-6 "learning rate"
option shift = 0 "of labels, from step 100 on"

data rows(x: [3], y: int) {
    all {
        x = csv("rows.csv", columns=0:3)
        y = csv("rows.csv", columns=3)
    }
    split all { train: 800, valid: 30 }
}

layer classifier(x: [*, 3]) -> [*, 4] {
    x |> linear(8) |> relu |> linear(4)
}

model net = classifier

task train {
    let opt = sgd(lr)
    var i = 0
    print "begins"
    for (x, y) in rows.train.batches(4) {
        let z = net(x * 100)
        let loss = cross_entropy(z, y)
        minimize loss with opt
        record loss, i
        let right = sum(cast(argmax(z, axis=-1) == y, int))
        let share = mean(pick(z, y + shift * (i // 100)))
        print "step {i:3d}: loss {loss:.4f}, {right} right, share {share}, rate {lr}"
        print "step {i} is done"
        i = i + 1
        if i % 60 == 0 {
            let valid = mean for (x, y) in rows.valid.batches(8) {
                yield accuracy(net(x * 100), y)
            }
            record valid
            print "valid {valid:.1%}, of the last batch {z}"
            save net to "net-{i}.safetensors"
        }
    }
}
EOF

# rows FOLDER [LINE ROW]: data with another row in one line
rows() {
    mkdir "$work/$1"
    for ((i = 0; i < 830; i++)); do
        [ $i = "${2-}" ] && echo "$3" || echo "$((i % 5)),$((i % 7)),1.5,$((i % 4))"
    done >"$work/$1/rows.csv"
}
rows right
rows large 41 "1,3e38,3e38,1"

for model in "$work/steps.nn" models/sine.nn; do
    name=$work/$(basename "$model" .nn)
    "$NNC" "$model" --target cuda,c -o "$name.cu" &&
        together 2 shim_program "$name" "$name.cu" plain -O0 || wrong "$model"
    "$NNC" "$model" --target c -o "$name.c" &&
        together 2 compile "$name-c" "$name.c" "$CC" -O0 -w || wrong "$model"
done
wait
steps=$work/steps sine=$work/sine
[ -x "$steps" ] && [ -x "$steps-c" ] && [ -x "$sine" ] && [ -x "$sine-c" ] || {
    wrong "no trainers"
    finish
}

# run FOLDER CODE TRAINER [ARGS…]
run() {
    local folder=$1 code=$2 status=0
    shift 2
    rm -rf "${work:?}/$folder" && mkdir "$work/$folder"
    (cd "$work/$folder" && "$@" --log log >out 2>err) || status=$?
    sed -i "s/^$(basename "$steps")[a-z-]*: //; s/^sine[a-z-]*: //" "$work/$folder/err"
    [ $status = "$code" ] || wrong "$*: exit code $status, wanted $code"
}

# as_c CODE TEXT [ARGS…]: $trainer ends with the code and says the text, on both targets
as_c() {
    local code=$1 text=$2
    shift 2
    run c "$code" "$trainer-c" "$@"
    grep -q -- "$text" "$work/c/err" || [ -z "$text" ] || wrong "$*: target c does not say '$text'"
    for CUDA_SHIM_STREAMS in eager late random; do
        export CUDA_SHIM_STREAMS
        run cuda "$code" env CUDA_SHIM_REPORT="$work/report" "$trainer" "$@"
        diff -r "$work/c" "$work/cuda" >"$work/diff" || {
            wrong "$* ($CUDA_SHIM_STREAMS, ${CUDA_SHIM_MEMORY-all} memory) differs from target c"
            head -n 5 "$work/diff"
        }
    done
    unset CUDA_SHIM_STREAMS
}

count() {
    awk -v name="$1" '$1 == name { print $2 }' "$work/report"
}

trainer=$steps
as_c 0 "" --data "$work/right"
[ "$(count synchronisations)" -lt 200 ] || wrong "$(count synchronisations) waits in 200 steps"
echo "200 steps with two lines each: $(count synchronisations) waits"
export CUDA_SHIM_MEMORY=
for CUDA_SHIM_MEMORY in 1G 50K; do # there is room for the data, or for batches of it
    as_c 0 "" --data "$work/right" --trace t --trace-steps 1,2,100
    as_c 3 "loss is nan .* first bad tensor: train_relu (steps.nn:13)" --data "$work/large"
    as_c 1 "index 4 is out of range: .* (step 102)" --data "$work/right" --shift 1
    case $CUDA_SHIM_MEMORY in
    1G) [ "$(count copies_to_device)" -lt 20 ] || wrong "batches are copied" ;;
    *) [ "$(count copies_to_device)" -gt 20 ] || wrong "the data is on the device" ;;
    esac
done
trainer=$sine
CUDA_SHIM_MEMORY=1G as_c 3 "first bad tensor" --lr 1e30

# ---- a fault leaves every home as it was: what looks at an index is another kernel than what
# writes the home, so that no block finds a fault of its own kernel, whichever comes first ----
cat >"$work/hits.nn" <<'EOF'
option shift = 0 "of indexes, more in each step"

task train {
    let v = iota(700) * 0.5
    var hits = zeros([1000])
    var all = 0.0
    for step in 1..=6 {
        let i = cast(hits * 0.01, int) + iota(1000) * 7 % 690 + shift * step
        hits = hits * 0.5 + take(v, i)
        all = all + sum(take(v, i))
    }
    print "{sum(hits)}, {all}"
}
EOF
"$NNC" "$work/hits.nn" --target cuda -o "$work/hits.cu" &&
    shim_program "$work/hits" "$work/hits.cu" race || wrong "hits.nn"
for CUDA_SHIM_ORDER in forward reverse random; do
    export CUDA_SHIM_ORDER
    run hit 0 "$work/hits"
    run hit 1 "$work/hits" --shift 3
    grep -q 'hits.nn:[0-9]*: index 70[0-9] is out of range: v has 700 (step 3)' "$work/hit/err" ||
        wrong "index out of range ($CUDA_SHIM_ORDER): $(cat "$work/hit/err")"
done
unset CUDA_SHIM_ORDER

# ---- expectations about tensors that fail: as target c says it, with one wait for each ----
"$NNC" tests/golden/runs/expects_fail.nn --target cuda -o "$work/expects.cu" &&
    shim_program "$work/expects" "$work/expects.cu" plain -O0 || wrong "expects_fail.nn"
(cd "$work" && CUDA_SHIM_REPORT=$work/report ./expects >expects.out)
[ $? = 4 ] || wrong "expects_fail.nn does not end with code 4"
sed '1d; /^\[exit 4\]$/q' tests/golden/runs/expects_fail.out | grep -v '^\[' |
    diff - "$work/expects.out" || wrong "a failed expectation says something else"
waits=$(count synchronisations)
# A sixth expectation: what it costs is one wait.
{ cat tests/golden/runs/expects_fail.nn && echo '    expect min(x) <= 2, "once more, {x + y}"'; } |
    awk '/^}/ { next } { print } END { print "}" }' >"$work/sixth.nn"
"$NNC" "$work/sixth.nn" --target cuda -o "$work/sixth.cu" &&
    shim_program "$work/sixth" "$work/sixth.cu" plain -O0 || wrong "sixth.nn"
(cd "$work" && CUDA_SHIM_REPORT=$work/report ./sixth >sixth.out)
waits=$(($(count synchronisations) - waits))
[ $waits = 1 ] || wrong "an expectation waits $waits times"

# ---- too little memory: before anything is allocated, by class ----
CUDA_SHIM_MEMORY=10K CUDA_SHIM_USED=1K run few 2 \
    env CUDA_SHIM_REPORT="$work/report" "$steps" --device cuda --data "$work/right"
want='^cuda:0 (Shim device 0) has 9.22 kB free, [0-9.]* kB are needed (parameters [0-9]* bytes, '
want+='optimizer state [0-9]* bytes, activations and gradients .*, batches and results .*, '
want+='data .*)$'
grep -q "$want" "$work/few/err" && [ "$(wc -l <"$work/few/err")" = 1 ] ||
    wrong "too little memory: $(cat "$work/few/err")"
[ "$(count allocations)" = 0 ] || wrong "$(count allocations) allocations before the comparison"
finish
