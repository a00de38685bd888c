#!/bin/sh
# make demo: builds nnc, compiles models/digits.nn to C, builds the trainer and trains.
set -eu
cd "$(dirname "$0")/.."
out=build/demo
start=$(date +%s)

tools/deps.sh build
mkdir -p $out
echo "== the compiler"
make --no-print-directory -j"$(nproc)" all >$out/build.log 2>&1 || {
    tail -n 30 $out/build.log
    exit 1
}
echo "   build/nnc ($(wc -c <build/nnc) bytes)"
echo "== models/digits.nn -> $out/digits.c"
build/nnc models/digits.nn --target c -o $out/digits.c
echo "   $(wc -l <models/digits.nn) lines of nn became $(wc -l <$out/digits.c) lines of C"
echo "== cc -O2 -> $out/digits"
${CC:-cc} -O2 -o $out/digits $out/digits.c -lm -pthread -lz
echo "== training: $out/digits --data data"
status=0
root=$PWD
(cd $out && ./digits --data "$root/data") || status=$?
if [ $status = 0 ]; then
    echo "== done in $(($(date +%s) - start)) s"
    echo "   compiler build/nnc, source $out/digits.c, trainer $out/digits"
    echo "   next: $out/digits --help, or your own file: build/nnc run FILE.nn"
fi
exit $status
