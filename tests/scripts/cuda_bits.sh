#!/bin/bash
# Target cuda gives the bits of target c for two small programs; tests/show/2-cuda_bits.sh takes
# all.
cd "$(dirname "$0")/../.." || exit 2
exec tests/tools/cuda_bits.sh models/iris.nn tests/corpus/control.nn
