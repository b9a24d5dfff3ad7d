#!/bin/sh
# Provides nginx with its WebDAV module for the tests with a real web server. If it is not installed, its packages are
# unpacked into the virtual environment, which needs no privileges and starts no service; without apt, these tests are skipped.
set -eu
target=${1:-.venv/nginx}
modules=/usr/lib/nginx/modules/ngx_http_dav_ext_module.so
[ -x "$target/usr/sbin/nginx" ] && exit 0
PATH=$PATH:/usr/sbin
command -v nginx >/dev/null && [ -f "$modules" ] && exit 0

unpack() {
    rm -rf "$target.new" && mkdir -p "$target.new"
    for package in nginx nginx-core nginx-light libnginx-mod-http-dav-ext libxml2; do
        (cd "$target.new" && apt-get download --quiet --quiet "$package" >/dev/null 2>&1) || true
    done
    for archive in "$target.new"/*.deb; do dpkg-deb --extract "$archive" "$target.new" 2>/dev/null || return 1; done
    rm -f "$target.new"/*.deb
    "$target.new/usr/sbin/nginx" -v 2>/dev/null && mv "$target.new" "$target"
}

if command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then
    echo "unpacking nginx for the tests with a web server"
    if unpack || { apt-get update --quiet --quiet >/dev/null 2>&1 && unpack; }; then exit 0; fi
    rm -rf "$target.new"
fi
echo "the tests with nginx are skipped; on Debian and Ubuntu: apt install nginx libnginx-mod-http-dav-ext" >&2
