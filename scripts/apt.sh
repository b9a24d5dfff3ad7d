# Installation of Debian packages; the scripts that install servers source this file.

# install_packages PURPOSE PACKAGE…: installs the packages if apt can be used; otherwise says what is missing, and fails.
install_packages() {
    purpose=$1
    shift
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing $* for $purpose"
        apt_install "$@" || { apt-get update --quiet --quiet >/dev/null 2>&1 && apt_install "$@"; } && return
    fi
    echo "$purpose are skipped; on Debian and Ubuntu: apt install $*" >&2
    return 1
}

apt_install() {
    DEBIAN_FRONTEND=noninteractive apt-get install --quiet --quiet --yes --no-install-recommends "$@" >/dev/null 2>&1
}

# download_packages SECONDS PACKAGE…: fetches packages and what they need; fails if that takes longer.
download_packages() {
    seconds=$1
    shift
    fetch='apt-get install --quiet --quiet --yes --no-install-recommends --download-only "$@"'
    timeout "$seconds" sh -c "$fetch || { apt-get update --quiet --quiet && $fetch; }" sh "$@" >/dev/null 2>&1
}
