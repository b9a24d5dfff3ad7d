#!/bin/sh
# rustfmt and clippy, warnings are errors. A toolchain without them skips them aloud, except in CI.
set -eu

has() {
    if cargo "$1" --version >/dev/null 2>&1; then return 0; fi
    echo "cargo $1 is not installed: skipped (rustup component add $2)" >&2
    [ -z "${CI:-}" ] || exit 1
    return 1
}

if has fmt rustfmt; then cargo fmt --all --check; fi
if has clippy clippy; then cargo clippy --locked --quiet --workspace --all-targets -- -D warnings; fi
