#!/bin/sh
# Installs PostgreSQL and Chromium for the tests of catalogues, if apt can be used; otherwise these tests are skipped.
set -eu
. "$(dirname "$0")/apt.sh"
packages=
PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
command -v initdb >/dev/null || packages="$packages postgresql"
command -v chromium >/dev/null || command -v google-chrome >/dev/null || packages="$packages chromium"
# shellcheck disable=SC2086 # several words on purpose
[ -z "$packages" ] || install_packages "some tests of catalogues" $packages || true
