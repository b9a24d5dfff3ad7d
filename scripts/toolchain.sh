#!/bin/sh
# Checks the requirements of a build: a recent Rust toolchain and a C compiler.
set -eu
wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

if ! found=$(cargo --version 2>/dev/null | cut -d' ' -f2); then
    found=
fi
if [ -z "$found" ]; then
    echo "error: no working cargo on PATH; sapwood needs Rust $wanted or newer (rustup installs it)" >&2
    exit 1
fi
oldest=$(printf '%s\n%s\n' "$wanted" "$found" | sort -V | head -n 1)
if [ "$oldest" != "$wanted" ]; then
    echo "error: cargo $found is too old; sapwood needs Rust $wanted or newer (rustup update)" >&2
    exit 1
fi
if ! command -v "${CC:-cc}" >/dev/null; then
    echo "error: no C compiler (${CC:-cc}); on Debian and Ubuntu: apt install gcc libc6-dev" >&2
    exit 1
fi
