# SPDX-License-Identifier: Apache-2.0
"""Counts passed, failed and skipped tests, and reads them from JUnit files."""

import dataclasses
import re
import shlex
import xml.etree.ElementTree as ElementTree


@dataclasses.dataclass
class Failure:
    name: str
    repeat: str  # a command
    said: str = ""  # what the test printed, if that is known


@dataclasses.dataclass
class Tally:
    """The outcome of one stage, or of all of them."""

    passed: int = 0
    failures: list = dataclasses.field(default_factory=list)
    skips: list = dataclasses.field(default_factory=list)  # (name, reason)

    def add(self, other):
        self.passed += other.passed
        self.failures += other.failures
        self.skips += other.skips

    def __str__(self):
        return f"{self.passed} passed, {len(self.failures)} failed, {len(self.skips)} skipped"


def repeat_command(stage, case):
    return f"./dev test --stage {stage} {shlex.quote('^' + re.escape(case) + '$')}"


def skip_reason(output):
    """Returns the test's own reason: the line after GoogleTest's ': Skipped', or the last line."""
    found = re.search(r": Skipped\n(.+)", output)
    if found:
        return found.group(1).strip()
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no reason given"


def read_junit(path, stage):
    """Returns the tally of a file that ctest --output-junit wrote."""
    tally = Tally()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{stage}: {case.get('name')}"
        status = case.get("status")
        skipped = case.find("skipped")
        message = skipped.get("message", "") if skipped is not None else ""
        if status == "run":
            tally.passed += 1
        elif status == "disabled":
            tally.skips.append((name, "disabled in the source"))
        elif message.startswith("SKIP_"):
            tally.skips.append((name, skip_reason(case.findtext("system-out", ""))))
        else:  # Failed, timed out, or could not be started at all.
            tally.failures.append(
                Failure(
                    name, repeat_command(stage, case.get("name")), case.findtext("system-out", "")
                )
            )
    return tally


def read_pytest(path, stage):
    """Returns the tally of a file that pytest --junitxml wrote."""
    tally = Tally()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = case.get("name")
        skipped = case.find("skipped")
        if skipped is not None:
            tally.skips.append((f"{stage}: {name}", skipped.get("message", "no reason given")))
        elif wrong := case.findall("failure") + case.findall("error"):
            command = f"./dev test --stage {stage} {shlex.quote(name)}"
            tally.failures.append(Failure(f"{stage}: {name}", command, wrong[0].text or ""))
        else:
            tally.passed += 1
    return tally
