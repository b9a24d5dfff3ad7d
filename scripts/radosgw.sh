#!/bin/sh
# Ceph's own S3 server, for the tests of stores that ask for it and for `make bench-stripe`: 70 MB of Debian packages, so
# only where SAPWOOD_RADOSGW=1 asks for them and apt may be used. Elsewhere these tests skip themselves.
set -eu
[ "${SAPWOOD_RADOSGW:-}" = 1 ] || exit 0
command -v radosgw >/dev/null && command -v ceph-osd >/dev/null && exit 0
packages="ceph-mon ceph-osd radosgw ceph-common"
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing $packages, for the tests with Ceph"
    export DEBIAN_FRONTEND=noninteractive
    # They are to be there, not to run: policy-rc.d is how Debian is told that.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
        trap 'rm -f "$policy"' EXIT
    fi
    # shellcheck disable=SC2086 # several words on purpose
    install() { apt-get install --quiet --quiet --yes --no-install-recommends $packages >/dev/null 2>&1; }
    if install || { apt-get update --quiet --quiet >/dev/null 2>&1 && install; }; then exit 0; fi
fi
echo "the tests with Ceph are skipped; on Debian and Ubuntu: apt install $packages" >&2
