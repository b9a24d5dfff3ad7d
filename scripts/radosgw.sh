#!/bin/sh
# Installs Ceph's S3 server for the tests of object stores and for `make bench-stripe`. These are 70 MB of Debian packages,
# so only if SAPWOOD_RADOSGW=1 requests them and apt can be used; otherwise these tests are skipped.
set -eu
. "$(dirname "$0")/apt.sh"
[ "${SAPWOOD_RADOSGW:-}" = 1 ] || exit 0
command -v radosgw >/dev/null && command -v ceph-osd >/dev/null && exit 0
# Debian starts the services of new packages unless policy-rc.d forbids it.
policy=/usr/sbin/policy-rc.d
if [ "$(id -u)" = 0 ] && [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
install_packages "the tests with Ceph" ceph-mon ceph-osd radosgw ceph-common || true
