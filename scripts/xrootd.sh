#!/bin/sh
# Installs XRootD's client library and servers for the tests over root://, if apt can be used; otherwise these tests are
# skipped.
set -eu
. "$(dirname "$0")/apt.sh"
include=${XROOTD_PREFIX:-/usr}/include/xrootd/XrdCl/XrdClFile.hh
packages=
[ -f "$include" ] || packages="$packages libxrootd-client-dev"
command -v "${CXX:-c++}" >/dev/null || packages="$packages g++"
command -v xrootd >/dev/null && command -v cmsd >/dev/null || packages="$packages xrootd-server"
# shellcheck disable=SC2086 # several words on purpose
[ -z "$packages" ] || install_packages "the tests over root://" $packages || true
