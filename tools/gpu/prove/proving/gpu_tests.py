# SPDX-License-Identifier: Apache-2.0
"""Runs python/tests/gpu_test.py, several cases at once where pytest can, and prints the counts and
the names of cases that failed."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

from steps import FOLDER, INFOLD

TESTS = FOLDER / "python" / "tests"
AT_ONCE_MAX = 6  # each case has two ranks, and all share the GPU


def outcome_of(case):
    for outcome in ("failure", "error", "skipped"):
        if case.find(outcome) is not None:
            return "skipped" if outcome == "skipped" else "failed"
    return "passed"


def counts_of(junit):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    failed = []
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        outcome = outcome_of(case)
        counts[outcome] += 1
        if outcome == "failed":
            failed.append(case.get("name"))
    return counts | {"names_of_failed": failed}


def main():
    junit = FOLDER / "work" / "gpu_test.xml"
    junit.parent.mkdir(exist_ok=True)
    at_once = max(1, min(AT_ONCE_MAX, len(os.sched_getaffinity(0)) // 2))
    parallel = ["-n", str(at_once)] if importlib.util.find_spec("xdist") else []
    # The overlap with backward is measured with the GPU to itself, after the others.
    alone = "test_network_and_backward_overlap"
    status = 0
    for words in ([*parallel, "-k", f"not {alone}"], ["-k", alone]):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "--tb=short",
             "--junitxml", str(junit), *words, "gpu_test.py"], cwd=TESTS, check=False,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": str(FOLDER / "site"), "INFOLD_BINARY": str(INFOLD)})
        print(json.dumps({"what": "gpu_test.py", "cases_at_once": at_once if parallel else 1,
                          **counts_of(junit)}), flush=True)
        status = status or done.returncode
        parallel = []
    return status


if __name__ == "__main__":
    if not pathlib.Path(TESTS / "gpu_test.py").exists():
        sys.exit("gpu_test.py is missing from the folder")
    sys.exit(main())
