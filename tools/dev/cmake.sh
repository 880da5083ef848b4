# SPDX-License-Identifier: Apache-2.0
#
# Configuring and building for ./dev; sourced in the repository's root.

# build_preset BUILD [CONFIGURE]: configures and builds. Most build presets have the name of their
# configure preset. Configuring every time costs half a second and finds libraries that were
# installed since. Its output is shown only if it fails.
build_preset() {
    local preset=${2:-$1}
    mkdir -p build/logs
    local log=build/logs/configure-$preset.log
    if ! cmake --preset "$preset" >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        echo "dev: configuring preset '$preset' failed" >&2
        exit 1
    fi
    # These lines name optional parts that are off. infold-demo has none of these parts.
    [[ $1 == demo ]] || grep '^-- infold: ' "$log" | sed 's/^-- //' >&2 || true
    # Output goes to stderr, so that ./dev sim --json prints only JSON on stdout.
    cmake --build --preset "$1" >&2 || {
        echo "dev: building preset '$1' failed" >&2
        exit 1
    }
}
