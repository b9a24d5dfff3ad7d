#!/bin/sh
# What the tests of catalogues need: PostgreSQL, and Chromium that looks at the page. Installed where apt may be used;
# elsewhere it is said what is missing, and the tests skip themselves.
set -eu
packages=
PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
command -v initdb >/dev/null || packages="$packages postgresql"
command -v chromium >/dev/null || command -v google-chrome >/dev/null || packages="$packages chromium"
[ -n "$packages" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing$packages, for the tests of catalogues"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086 # several words on purpose
    install() { apt-get install --quiet --quiet --yes --no-install-recommends $packages >/dev/null 2>&1; }
    if install || { apt-get update --quiet --quiet >/dev/null 2>&1 && install; }; then exit 0; fi
fi
echo "some tests of catalogues are skipped; on Debian and Ubuntu: apt install$packages" >&2
