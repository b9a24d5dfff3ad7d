#!/bin/sh
# Installs Ceph's S3 server for the tests of object stores and for `make bench-stripe`, where apt can be used. These are 70 MB
# of Debian packages: if they do not come within two minutes, or with SAPWOOD_RADOSGW=0, the tests are skipped;
# SAPWOOD_RADOSGW=1 waits as long as it takes.
set -eu
. "$(dirname "$0")/apt.sh"
[ "${SAPWOOD_RADOSGW:-}" != 0 ] || exit 0
command -v radosgw >/dev/null && command -v ceph-osd >/dev/null && exit 0
packages="ceph-mon ceph-osd radosgw ceph-common"
if [ "${SAPWOOD_RADOSGW:-}" != 1 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    # shellcheck disable=SC2086
    download_packages 120 $packages || { echo "the tests with Ceph are skipped: it cannot be fetched within two minutes" >&2; exit 0; }
fi
# Debian starts the services of new packages unless policy-rc.d forbids it.
policy=/usr/sbin/policy-rc.d
if [ "$(id -u)" = 0 ] && [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
# shellcheck disable=SC2086
install_packages "the tests with Ceph" $packages || true
