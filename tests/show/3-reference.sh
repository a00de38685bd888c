#!/bin/bash
# Convolutions, pooling and norms: values, gradients and second derivatives beside PyTorch's in
# float64, at least 33 cases to 1e-9. Where PyTorch is installed, the files are what it writes.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib.sh
tests/scripts/reference.sh || wrong "a reference"
if /usr/bin/python3 -c 'import torch' 2>/dev/null; then
    cp -r tests "$work/tests"
    mkdir "$work/tools"
    cp tools/reference.py "$work/tools"
    /usr/bin/python3 "$work/tools/reference.py" || wrong "tools/reference.py"
    for file in tests/reference/*.nn; do
        cmp "$file" "$work/$file" || wrong "$file is not what tools/reference.py writes"
    done
    echo "the programs are what tools/reference.py writes"
fi
finish
