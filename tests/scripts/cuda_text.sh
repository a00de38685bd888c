#!/bin/bash
# Two programs through libclang and nvcc; tests/show/2-cuda_text.sh takes all.
cd "$(dirname "$0")/../.." || exit 2
exec tests/tools/cuda_text.sh models/digits.nn tests/corpus/shapes.nn
