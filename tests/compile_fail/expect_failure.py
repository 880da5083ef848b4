#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds a file twice: it must compile without INFOLD_EXPECT_FAIL, and must not compile with it.

The build without it shows that only the guarded lines can be the cause. The comment `// expect:
REGEX` in the file has the reason that the compiler must give.
Usage: expect_failure.py FILE COMPILER [FLAGS...]
"""

import pathlib
import re
import subprocess
import sys


def main():
    file, *compiler = sys.argv[1:]
    expected = re.search(
        r"^// expect: (.+)$", pathlib.Path(file).read_text(encoding="utf-8"), re.MULTILINE
    )
    if not expected:
        return f"{file}: no line '// expect: REGEX'"

    good = subprocess.run([*compiler, file], capture_output=True, text=True, check=False)
    if good.returncode != 0:
        return f"{file}: does not compile even without the mistake:\n{good.stderr}"

    bad = subprocess.run(
        [*compiler, "-DINFOLD_EXPECT_FAIL", file], capture_output=True, text=True, check=False
    )
    if bad.returncode == 0:
        return f"{file}: the mistake compiles"
    if not re.search(expected.group(1), bad.stderr):
        return f"{file}: fails, but not with '{expected.group(1)}':\n{bad.stderr}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
