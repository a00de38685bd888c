#!/bin/bash
# Every model agrees with the oracle on steps 1, 2, 10 and 100, each step from the same state.
cd "$(dirname "$0")/../.." || exit 2
exec tests/scripts/lockstep.sh
