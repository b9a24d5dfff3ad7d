#!/bin/sh
# `make test`: everything, so that no processor is idle. What computes goes on beside what mostly waits: checks and the
# build beside the installation of servers, and the compilation of the crates' tests beside the tests in Python, of which
# it takes no time: it gets what they leave.
set -eu
make=${MAKE:-make}
export CARGO_INCREMENTAL=0 # what the next compilation could go on from takes time to keep
log=$(mktemp)
beside=
trap 'rm -f "$log"; [ -z "$beside" ] || kill "$beside" 2>/dev/null || true' EXIT
trap 'exit 1' HUP INT TERM

start() {
    "$@" >"$log" 2>&1 &
    beside=$!
}
finish() {
    status=0
    wait "$beside" || status=$?
    beside=
    cat "$log"
    return "$status"
}

start "$make" --no-print-directory check .venv/.core target/debug/sapwood-testkit
"$make" --no-print-directory servers
finish
"$make" --no-print-directory build local-wheel docs
start nice -n 19 cargo --locked test --workspace --quiet --no-run
"$make" --no-print-directory test-python
finish
"$make" --no-print-directory test-rust
