#!/bin/sh
# Runs fuzz targets for some seconds each, by default all of them:  fuzz.sh SECONDS [TARGET...]
set -eu
command -v cargo-fuzz > /dev/null || { echo "fuzz.sh: cargo-fuzz is not installed: cargo install cargo-fuzz --locked" >&2; exit 1; }
seconds=$1
shift
cd fuzz
[ $# -gt 0 ] || set -- $(cargo fuzz list)
for target; do
    # Without a sanitizer, cargo-fuzz works on a stable toolchain.
    cargo fuzz run -s none "$target" -- -max_total_time="$seconds" -timeout=20 -rss_limit_mb=1500
done
