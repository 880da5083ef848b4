#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Proves infold on this machine: see --help. This script finds the programs that the folder carries
# and hands over to run.py.
set -euo pipefail

folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ ! -f $folder/about.json ]]; then
    echo "prove: this is the source; ./dev package prove makes the folder that runs" >&2
    exit 2
fi
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "prove: python3 is missing, or older than 3.11" >&2
    exit 2
fi
# The machine's own tools come first. A bare machine finds ip, tc and ethtool in the folder.
export PATH="$PATH:/usr/sbin:/sbin:$folder/bin"
exec python3 "$folder/tools/gpu/prove/proving/run.py" "$@"
