#!/bin/bash
# What a trainer shows: printed tensors and results of exports in the shapes of the program,
# whatever lies in memory, and the lines of --log. tests/golden/shown.nn against shown.out.
# BLESS=1 rewrites shown.out; the diff is then read.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh

npy_of() { # SHAPE: 0, 1, … 7 as f32
    local header="{'descr': '<f4', 'fortran_order': False, 'shape': ($1), }"
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$header"
    printf '\x00\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40'
    printf '\x00\x00\x80\x40\x00\x00\xa0\x40\x00\x00\xc0\x40\x00\x00\xe0\x40'
}

emit tests/golden/shown.nn "$work/shown.c" 2>/dev/null || wrong "shown.nn does not compile"
compile "$work/shown" "$work/shown.c" "$CC" -O1 || wrong "the C compiler refuses shown.c"
npy_of "2, 4" >"$work/x.npy"
{
    "$work/shown" --quiet --log "$work/log"
    cat "$work/log"
    "$work/shown" --quiet --load nobody="$work/x.npy"
    for export in column several table nothing fixed; do
        echo "$export"
        "$work/shown" "$export" --x "$work/x.npy"
        "$work/shown" "$export" --x "$work/x.npy" -o "$work/y.npy"
        for file in "$work"/y.npy*; do
            head -n 1 "$file" | grep -ao "'shape': ([0-9, ]*)"
            rm "$file"
        done
    done
    echo "a full disk"
    (
        trap '' XFSZ
        ulimit -f 0
        "$work/shown" table --x "$work/x.npy" -o "$work/y.npy" 2>&1
    ) | sed "s|$work/||"
    ls "$work" | grep y.npy
    echo "what is no file"
    "$work/shown" table --x "$work/x.npy" -o /dev/stdout | wc -c
} >"$work/found" 2>&1
[ -z "$BLESS" ] || cp "$work/found" tests/golden/shown.out
diff -u --label shown.out --label found tests/golden/shown.out "$work/found" || wrong "shown.out"
finish
