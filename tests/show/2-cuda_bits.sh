#!/bin/bash
# The same program as C and as CUDA gives the same bits, in all orders of threads and streams.
cd "$(dirname "$0")/../.." || exit 2
exec tests/tools/cuda_bits.sh models/*.nn tests/corpus/*.nn
