#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of examples/spec_worker/README.md as they are written there, at a port that is
free. Also gives one rank another format, which both must say without a traceback.

Usage: spec_readme_test.py INFOLD
"""

import pathlib
import shlex
import subprocess
import sys

from processes import PATIENCE, Job, expect, free_port, outcome

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
README = ROOT / "examples" / "spec_worker" / "README.md"


def commands_of(readme, port):
    """Returns the words of the switch, of infold's rank and of the example."""
    lines = [line.strip() for line in readme.splitlines() if line.startswith("    ")]
    commands = [shlex.split(line.replace(":7700", f":{port}")) for line in lines]
    expect(len(commands) == 3, f"the page has {len(commands)} commands")
    switch, ours, example = commands
    for command in (switch, ours):
        expect(command[0] == "build/release/infold", f"the page starts {command[0]}")
    return switch[1:], ours[1:], [sys.executable, *example[1:]]


def run_ranks(job, ours, example):
    """Returns what both ranks ended with."""
    infold = job.start(*ours)
    spec = subprocess.run(
        example, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    return outcome(infold), (spec.returncode, spec.stdout + spec.stderr)


def main():
    binary = sys.argv[1]
    port = free_port()
    switch, ours, example = commands_of(README.read_text("utf-8"), port)
    with Job(binary) as job:
        expect(switch[:2] == ["switch", "--listen"], f"the page starts {switch}")
        job.start_switch(port)
        (status, said), (spec_status, spec_said) = run_ranks(job, ours, example)
        expect(status == 0 and said.count(" ok") == 2, said)
        expect(spec_status == 0 and spec_said.count("ok") == 2, spec_said)

        (status, said), (spec_status, spec_said) = run_ranks(
            job, ours, [*example, "--format", "bfp8"]
        )
        expect(status == 1 and "wire format" in said, said)
        expect(spec_status == 1 and spec_said.startswith("rank.py: "), spec_said)
        expect("Traceback" not in spec_said, spec_said)
    print("ok")


if __name__ == "__main__":
    main()
