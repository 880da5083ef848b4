# SPDX-License-Identifier: Apache-2.0
#
# Debian packages for ./dev; sourced in the repository's root. The list is tools/packages.txt.

# Prints the packages of the named groups, one a line. The group build includes demo, because the
# whole program also needs what the demo needs.
packages_in() {
    local group
    for group in "$@"; do
        [[ $group != build ]] || packages_in demo
        sed -n "s/^$group //p" tools/packages.txt
    done
}

# Prints the groups' packages that are not installed.
missing_packages() {
    local package
    while read -r package; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
            echo "$package"
    done < <(packages_in "$@")
}

# Runs a command as root. It reads no input from the caller's terminal, and Ctrl-C still reaches it.
as_root() {
    if ((EUID == 0)); then
        "$@" </dev/null
    else
        sudo "$@" </dev/null
    fi
}

# How many seconds to wait while another program holds dpkg's or apt's lock. It is often a fresh
# machine's own update.
apt_patience_s=600

# Runs apt-get with its output in the log, and repeats it while another program holds a lock. apt's
# own DPkg::Lock::Timeout waits silently, and does not wait for the locks of lists and archives.
apt_get() {
    local log=$1 start=$SECONDS told=
    shift
    until as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get "$@" >"$log.last" 2>&1; do
        cat "$log.last" >>"$log"
        grep -qiE 'could not get lock|unable to (lock|acquire)' "$log.last" || return 1
        ((SECONDS - start < apt_patience_s)) || return 1
        [[ $told ]] || echo "dev: another program installs packages; waiting for it" \
            "(up to $((apt_patience_s / 60)) minutes)" >&2
        told=yes
        sleep 3
    done
    cat "$log.last" >>"$log"
}

# Fetches promtool to build/promtool. Installing promtool's package would start a daemon, so the
# package is only unpacked. Without promtool, tests of metrics are skipped and say so.
fetch_promtool() {
    local folder=build/promtool log=build/logs/promtool.log
    if command -v promtool >/dev/null || [[ -x $folder/promtool ]]; then return 0; fi
    if [[ -n ${INFOLD_NO_INSTALL:-} ]] || ! command -v dpkg-deb >/dev/null; then return 0; fi
    echo "dev: fetching promtool (19 MB) to $folder, without installing it" >&2
    mkdir -p "$folder" build/logs
    (
        cd "$folder"
        apt-get download prometheus
        dpkg-deb --fsys-tarfile prometheus_*.deb |
            tar -xf - --strip-components=3 ./usr/bin/promtool
        rm -f prometheus_*.deb
    ) >"$log" 2>&1 ||
        echo "dev: fetching promtool failed; tests of metrics are skipped (whole log: $log)" >&2
}

# Makes sure that the groups' packages are installed. If it cannot install them, it stops and prints
# the command that does.
need_packages() {
    if ! command -v dpkg-query >/dev/null; then
        echo "dev: not a Debian system; infold needs these packages, under your system's names:" >&2
        echo "     $(packages_in "$@" | xargs)" >&2
        return 0  # CMake names the first missing library.
    fi
    local missing
    missing=$(missing_packages "$@" | xargs)
    [[ -n $missing ]] || return 0

    local install="install --yes --no-install-recommends $missing"
    if [[ -n ${INFOLD_NO_INSTALL:-} ]]; then
        echo "dev: missing Debian packages: $missing" >&2
        echo "dev: install them with: $([[ $EUID == 0 ]] || echo 'sudo ')apt-get $install" >&2
        exit 1
    fi
    if ((EUID != 0)) && ! command -v sudo >/dev/null; then
        echo "dev: missing Debian packages, which only root or sudo can install: $missing" >&2
        echo "dev: ask your administrator for: apt-get $install" >&2
        exit 1
    fi

    echo "dev: installing $(wc -w <<<"$missing") Debian packages: $missing" >&2
    mkdir -p build/logs
    local log=build/logs/apt.log
    if ((EUID != 0)); then sudo --validate; fi
    # The lists of a fresh image are empty or old, so update comes first. A failed update alone does
    # not stop ./dev, because one broken third-party source must not stop a build.
    : >"$log"
    apt_get "$log" update || true
    # shellcheck disable=SC2086  # A list of words, on purpose.
    if ! apt_get "$log" $install; then
        tail -n 20 "$log" >&2
        echo "dev: installing failed (whole log: $log)" >&2
        exit 1
    fi
}
