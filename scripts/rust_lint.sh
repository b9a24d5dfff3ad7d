#!/bin/sh
# Runs rustfmt and clippy; warnings are errors. If they are not installed, they are skipped with a message, except in CI.
set -eu

has() {
    if cargo "$1" --version >/dev/null 2>&1; then return 0; fi
    echo "cargo $1 is not installed: skipped (rustup component add $2)" >&2
    [ -z "${CI:-}" ] || exit 1
    return 1
}

if has fmt rustfmt; then cargo fmt --all --check; fi
if has clippy clippy; then cargo clippy --locked --quiet --workspace --all-targets -- -D warnings; fi
