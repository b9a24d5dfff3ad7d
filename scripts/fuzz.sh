#!/bin/sh
# Runs each fuzz target for some seconds:  fuzz.sh SECONDS
set -eu
for target in $(cd fuzz && cargo fuzz list); do
    # Without a sanitizer, cargo-fuzz works on a stable toolchain.
    (cd fuzz && cargo fuzz run -s none "$target" -- -max_total_time="$1" -timeout=20 -rss_limit_mb=1500)
done
