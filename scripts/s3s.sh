#!/bin/sh
# Builds s3s-fs, an S3 server without atomic conditional writes, on which sapwood must refuse to write datasets. It is built
# once, without optimization and symbols. If that fails, its test is skipped.
set -eu
version=0.14.1
root=${1:-.venv}
[ -z "${S3S_FS_BIN:-}" ] && [ ! -x "$root/bin/s3s-fs" ] && ! command -v s3s-fs >/dev/null || exit 0

echo "building s3s-fs $version for the test of unsuitable object stores"
if CARGO_TARGET_DIR=$PWD/target/s3s CARGO_PROFILE_DEV_DEBUG=false timeout 900 cargo install --quiet --locked --debug --root "$root" \
    --features binary --version "$version" s3s-fs; then
    rm -rf target/s3s
    exit 0
fi
echo "the test of unsuitable object stores is skipped; s3s-fs could not be built (is there a network?)" >&2
