#!/bin/bash
# Text of every program through libclang; of the models, and of the corpus where its kernels are of
# other kinds, through nvcc for sm_80 and sm_90: no warning, no stack, no spills, no f64 without
# need, and the registers and shared memory that the golden table says.
cd "$(dirname "$0")/../.." || exit 2
for model in models/*.nn; do GATED="$GATED $(basename "$model" .nn)"; done
export GATED="$GATED shapes tensors training modes whole"
exec tests/tools/cuda_text.sh models/*.nn tests/corpus/*.nn
