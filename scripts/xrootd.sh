#!/bin/sh
# What the tests over root:// need: XRootD's client to build with, and its servers. Installed where apt may be used;
# elsewhere it is said what is missing, and the tests skip themselves.
set -eu
include=${XROOTD_PREFIX:-/usr}/include/xrootd/XrdCl/XrdClFile.hh
packages=
[ -f "$include" ] || packages="$packages libxrootd-client-dev"
command -v "${CXX:-c++}" >/dev/null || packages="$packages g++"
command -v xrootd >/dev/null && command -v cmsd >/dev/null || packages="$packages xrootd-server"
[ -n "$packages" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing$packages, for the tests over root://"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086 # several words on purpose
    install() { apt-get install --quiet --quiet --yes --no-install-recommends $packages >/dev/null 2>&1; }
    if install || { apt-get update --quiet --quiet >/dev/null 2>&1 && install; }; then exit 0; fi
fi
echo "the tests over root:// are skipped; on Debian and Ubuntu: apt install$packages" >&2
