#!/bin/bash
# One trainer without races; tests/show/1-races.sh takes four and looks at memory too.
# tier: test
cd "$(dirname "$0")/../.." || exit 2
exec tests/tools/races.sh models/digits.nn
