# SPDX-License-Identifier: Apache-2.0
#
# ./dev doctor reports the packages that building and testing this tree needs. Then it runs `infold
# doctor`, which reports on the machine. No check is in both, and both print findings in the same
# form. It installs and builds nothing, so it works on a bare machine. ./dev sources this file in
# the repository's root.

if wants_help "$@"; then
    cat <<'TEXT'
usage: ./dev doctor [OPTIONS OF infold doctor]

Reports the packages that ./dev needs. Then it runs infold doctor of the program in build/. A line
that begins with WARN ends with advice. --json prints each finding as an object on a line.
TEXT
    exit 0
fi

# finding NAME FOUND [ADVICE]: prints a finding. A finding with advice is a warning.
finding() {
    local name=$1 found=$2 advice=${3:-}
    if [[ " ${doctor_words[*]} " == *" --json "* ]]; then
        local text
        for text in name found advice; do
            printf -v "$text" '%s' "${!text//\\/\\\\}"
            printf -v "$text" '%s' "${!text//\"/\\\"}"
        done
        printf '{"name":"%s","ok":%s,"found":"%s","advice":"%s"}\n' \
            "$name" "$([[ -n $advice ]] && echo false || echo true)" "$found" "$advice"
    elif [[ -n $advice ]]; then
        echo "WARN  $name: $found; $advice"
    else
        echo "OK    $name: $found"
    fi
}

# group_finding GROUP COMMAND [optional]: reports the packages of a group, and the command that
# installs them.
group_finding() {
    local group=$1 command=$2 missing
    missing=$(missing_packages "$group" | xargs)
    if [[ -z $missing ]]; then
        finding "packages $group" "all $(packages_in "$group" | wc -l) installed"
    elif [[ ${3:-} == optional ]]; then
        finding "packages $group" "missing $missing; only $command needs them, and installs them"
    else
        finding "packages $group" "missing $missing" "$command installs them; or run: \
$([[ $EUID == 0 ]] || echo 'sudo ')apt-get install --no-install-recommends $missing"
    fi
}

doctor_words=("$@")
if command -v dpkg-query >/dev/null; then
    group_finding build "./dev build"
    group_finding test "./dev test"
    group_finding lab "./dev lab"
    group_finding bench "./dev bench compare" optional
    group_finding kernel "./dev kernel" optional
else
    finding system "not Debian" "install these under your system's names: \
$(packages_in build test lab | xargs)"
fi
if command -v git >/dev/null; then
    finding git "$(git --version)"
else
    finding git "missing" "install git; ./dev tidy and ./dev fmt list files with it"
fi

[[ ! -x build/release/infold ]] || exec build/release/infold doctor "$@"
finding infold "not built, so this machine was not examined" "run ./dev build"
