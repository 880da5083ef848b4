#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch's tests of its Gloo backend on Gloo, and on infold the ones that Gloo passes.

In the second run, code that asks torch for gloo gets infold, which has to pass what Gloo passes.
Skips because of a missing GPU are lifted, since Gloo decides what counts. Needs the packages torch,
infold and expecttest.
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

_CASES = pathlib.Path(__file__).with_name("torch_suite_cases.py")
_EXCEPTIONS = pathlib.Path(__file__).with_name("torch_suite_exceptions.json")


def _run_cases(backend, asked, cases, environment):
    """The outcome of each case. Cases run in a session of their own, so that all their ranks end
    with it."""
    with tempfile.TemporaryDirectory(prefix="torch-suite-") as folder:
        outcomes = os.path.join(folder, "outcomes")
        words = [sys.executable, str(_CASES), backend, asked.file, outcomes]
        environment = {
            **os.environ,
            **environment,
            "TMPDIR": folder,
            "TORCH_SUITE_CASES": "\n".join(cases),
            "TORCH_SUITE_ON_CPU": "1" if asked.on_cpu else "",
            "DISTRIBUTED_TESTS_DEFAULT_TIMEOUT": str(asked.patience),
        }
        with (
            open(asked.log, "a", encoding="utf-8") as log,
            subprocess.Popen(words, start_new_session=True, env=environment, stderr=log) as process,
        ):
            try:
                status = process.wait()
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        if status:
            sys.exit(f"torch_suite.py: the cases could not be run (status {status}): {asked.log}")
        with open(outcomes, encoding="utf-8") as lines:
            found = {line.pop("case"): line for line in map(json.loads, lines)}
    if missing := [case for case in cases if case not in found]:
        sys.exit(f"torch_suite.py: there are no such cases: {' '.join(missing)}")
    return found


@contextlib.contextmanager
def _switch_of(asked):
    """The environment of ranks that sum at the chosen place."""
    with contextlib.ExitStack() as stack:
        switch = asked.switch
        if asked.start_switch:
            from ranks import running_switch

            switch = stack.enter_context(running_switch())
        yield (
            {"INFOLD_SWITCHES": switch, "INFOLD_SITES": "switches", "INFOLD_SHARED_MEMORY": "off"}
            if switch
            else {}
        )


def failures(gloo, infold, exceptions):
    """Sentences about cases that infold fails, and about listed exceptions that pass."""
    found = []
    for case, outcome in infold.items():
        if gloo[case]["outcome"] != "passed":
            continue
        if outcome["outcome"] == "passed" and case in exceptions:
            found.append(f"{case}: infold passes it; take it out of {_EXCEPTIONS.name}")
        elif outcome["outcome"] != "passed" and case not in exceptions:
            found.append(
                f"{case}: Gloo passes it, infold has {outcome['outcome']}: "
                f"{outcome['text'].strip()}"
            )
    return found


def summary(gloo, infold, exceptions):
    passed = [case for case in infold if gloo[case]["outcome"] == "passed"]
    excepted = [case for case in passed if case in exceptions]
    good = [case for case in passed if infold[case]["outcome"] == "passed"]
    grouped = [case for case in good if infold[case]["groups"]]
    return (
        f"{len(gloo)} cases; Gloo passes {len(passed)}; infold passes {len(good)} of them, "
        f"{len(grouped)} in groups of its own; exceptions {len(excepted)}"
    )


def _parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Ends with status 1 if infold fails a case that Gloo passes, unless "
        f"{_EXCEPTIONS.name} names it with the reason; also if infold passes a case that "
        "is named there.",
    )
    parser.add_argument(
        "--file",
        default="",
        metavar="PATH",
        help="a test file of PyTorch's repository, such as "
        "test/distributed/test_c10d_gloo.py; DistributedTest of torch's "
        "wheel if none is named",
    )
    parser.add_argument(
        "--on-cpu",
        action="store_true",
        help='read "cpu" where that file says "cuda", as FSDP\'s cases do',
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--switch",
        default="",
        metavar="ADDRESS",
        help="infold sums at this switch, not at the ranks",
    )
    where.add_argument(
        "--start-switch",
        action="store_true",
        help="infold sums at a switch that INFOLD_BINARY starts",
    )
    parser.add_argument(
        "--patience",
        type=int,
        default=300,
        metavar="SECONDS",
        help="a case that takes longer has failed, 300 if not given",
    )
    parser.add_argument(
        "--log",
        default=os.devnull,
        metavar="PATH",
        help="append what torch and the ranks write to this file",
    )
    parser.add_argument("--json", metavar="PATH", help="write how every case ended to this file")
    parser.add_argument("case", nargs="*", help="run these (CLASS.test_name); all if none is named")
    return parser.parse_args()


def main():
    asked = _parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    exceptions = json.loads(_EXCEPTIONS.read_text(encoding="utf-8"))
    gloo = _run_cases("gloo", asked, asked.case, {})
    passed = [case for case, outcome in gloo.items() if outcome["outcome"] == "passed"]
    infold = {}
    if passed:
        with _switch_of(asked) as environment:
            infold = _run_cases("infold", asked, passed, environment)
    if asked.json:
        pathlib.Path(asked.json).write_text(
            json.dumps({"gloo": gloo, "infold": infold}, indent=1), encoding="utf-8"
        )
    found = failures(gloo, infold, exceptions)
    print("\n".join(found + [summary(gloo, infold, exceptions)]))
    return 1 if found else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
