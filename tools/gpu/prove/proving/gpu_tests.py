# SPDX-License-Identifier: Apache-2.0
"""Runs python/tests/gpu_test.py, several cases at once where pytest can, and prints the counts and
the names of cases that failed."""

import importlib.util
import json
import os
import subprocess
import sys

from steps import FOLDER, INFOLD

sys.path.append(str(FOLDER / "tools"))
from testing import report

TESTS = FOLDER / "python" / "tests"
AT_ONCE_MAX = 6  # each case has two ranks, and all share the GPU
CASE_LIMIT_S = 60  # where pytest can limit a case; a case takes some ten seconds


def counts_of(junit):
    tally = report.read_pytest(junit, "gpu")
    return {
        "passed": tally.passed,
        "failed": len(tally.failures),
        "skipped": len(tally.skips),
        "names_of_failed": [each.name for each in tally.failures],
    }


def main():
    junit = FOLDER / "work" / "gpu_test.xml"
    junit.parent.mkdir(exist_ok=True)
    at_once = max(1, min(AT_ONCE_MAX, len(os.sched_getaffinity(0)) // 2))
    parallel = ["-n", str(at_once)] if importlib.util.find_spec("xdist") else []
    limit = ["--timeout", str(CASE_LIMIT_S), "--timeout-method", "thread"]
    limit = limit if importlib.util.find_spec("pytest_timeout") else []
    # Measure the overlap with backward() after the other cases, when nothing else uses the GPU.
    alone = "test_network_and_backward_overlap"
    status = 0
    for words in ([*parallel, "-k", f"not {alone}"], ["-k", alone]):
        junit.unlink(missing_ok=True)
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-p",
                "no:cacheprovider",
                "-v",
                "-rA",
                "--tb=short",
                "--junitxml",
                str(junit),
                *limit,
                *words,
                "gpu_test.py",
            ],
            cwd=TESTS,
            check=False,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": str(FOLDER / "site"), "INFOLD_BINARY": str(INFOLD)},
        )
        if not junit.exists():
            sys.exit(f"pytest ended with status {done.returncode} before the first case")
        print(
            json.dumps(
                {
                    "what": "gpu_test.py",
                    "cases_at_once": at_once if "-n" in words else 1,
                    **counts_of(junit),
                }
            ),
            flush=True,
        )
        status = status or done.returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
