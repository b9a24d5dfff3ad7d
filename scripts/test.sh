#!/bin/sh
# `make test`: runs everything, and keeps the processors busy. Checks and the build run in parallel with the installation of
# servers; the compilation of the crates' tests runs at low priority in parallel with the tests in Python.
set -eu
make=${MAKE:-make}
export CARGO_INCREMENTAL=0 # saving the state for incremental compilation takes time
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
"$make" --no-print-directory build local-wheel root-plugin docs
start nice -n 19 cargo --locked test --workspace --quiet --no-run
"$make" --no-print-directory test-python
finish
"$make" --no-print-directory test-rust
