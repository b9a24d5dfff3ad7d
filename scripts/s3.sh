#!/bin/sh
# Builds versitygw, an S3 server for a folder, for the tests over s3:// (two minutes, once). Without Go, these tests are
# skipped.
set -eu
version=v1.8.0
target=${1:-.venv/bin}
[ -z "${VERSITYGW_BIN:-}" ] && [ ! -x "$target/versitygw" ] && ! command -v versitygw >/dev/null || exit 0

if command -v go >/dev/null; then
    echo "building versitygw $version for the tests over s3://"
    mkdir -p "$target"
    bin=$(cd "$target" && pwd)
    if GOBIN=$bin GOFLAGS=-trimpath timeout 600 go install "github.com/versity/versitygw/cmd/versitygw@$version" 2>/dev/null; then
        exit 0
    fi
    echo "versitygw could not be built (is there a network?)" >&2
fi
echo "the tests over s3:// are skipped; they need versitygw, or Go 1.24 or newer to build it" >&2
