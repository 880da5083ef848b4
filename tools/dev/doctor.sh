# SPDX-License-Identifier: Apache-2.0
#
# ./dev doctor: the tools and packages, then `infold doctor` if it is built. Installs and builds
# nothing, so it works on a bare machine. Sourced by ./dev in the repository's root.

if wants_help "$@"; then
    echo "usage: ./dev doctor [--json]   (--json: only the binary's own report, as JSON lines)"
    exit 0
fi

report_tool() {
    local tool=$1 purpose=$2
    if command -v "$tool" >/dev/null; then
        echo "OK    $tool: $("$tool" --version 2>&1 | head -n 1)"
    else
        echo "WARN  $tool: not found; needed for $purpose"
    fi
}

if [[ " $* " != *" --json "* ]]; then
    report_tool git "everything"
    report_tool g++ "./dev build"
    report_tool cmake "./dev build"
    report_tool ninja "./dev build"
    report_tool python3 "./dev test, fuzz, tidy, fmt"
    report_tool clang++-19 "sanitizers and fuzzing"
    report_tool clang-format-19 "./dev fmt"
    report_tool ccache "faster second builds (optional)"
    if command -v dpkg-query >/dev/null; then
        missing=$(missing_packages build test lab | xargs)
        if [[ -z $missing ]]; then
            echo "OK    packages: all of tools/packages.txt are installed"
        else
            echo "WARN  packages: missing $missing; any ./dev command installs what it needs"
        fi
    fi
fi

if [[ -x build/release/infold ]]; then
    exec build/release/infold doctor "$@"
fi
echo "WARN  infold: not built, so nothing is known about CPU and network; run ./dev build" >&2
