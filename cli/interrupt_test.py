#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Presses Ctrl-C on commands that are at work: each must end soon, and not as if it were done.

Usage: interrupt_test.py INFOLD
"""

import signal
import subprocess
import sys
import tempfile

# Each says on stderr or stdout that it is at work before it is interrupted.
COMMANDS = (
    ("demo", "--steps", "5000"),
    ("sim", "--swarm", "10000000"),
    ("bench", "kernels", "--seconds", "60", "--place", "cache"),
)
# A wrong answer to Ctrl-C is to go on for hours; a slow machine is not wrong.
SECONDS = 30


def interrupt(binary, words, directory):
    """Returns what is wrong, or an empty string."""
    process = subprocess.Popen([binary, *words], cwd=directory, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    try:
        if not process.stdout.read(1):
            return "ended without a word"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=SECONDS)
        status = process.returncode
    except subprocess.TimeoutExpired:
        return f"still ran {SECONDS} s later"
    finally:
        process.kill()
    return "" if status in (1, -signal.SIGINT) else f"ended with status {status}"


def main():
    failures = 0
    for words in COMMANDS:
        with tempfile.TemporaryDirectory() as directory:
            problem = interrupt(sys.argv[1], words, directory)
        print(f"infold {' '.join(words)}: {problem or 'ended'}")
        failures += problem != ""
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
