#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that ./dev test builds for later stages while earlier ones run, and says which build
failed."""

import contextlib
import dataclasses
import io
import os
import pathlib
import tempfile
import time
import unittest

from testing import process
from testing.ahead import Ahead
from testing.stages import Context, Stage


@dataclasses.dataclass(frozen=True)
class Scripted(Stage):
    """A stage whose builds are shell commands."""

    builds: tuple = ()
    skip: str = ""

    def needs(self, context):
        return [(["sh", "-c", script], what) for script, what in self.builds]

    def skip_reason(self):
        return self.skip


def stage(name, *builds, skip=""):
    return Scripted(name, name, 60, tuple(builds), skip)


class AheadTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.context = Context(self.folder, self.folder, None)
        self.ticker = process.Ticker("")
        self.ticker.shown = False

    def test_builds_in_the_order_of_the_stages_and_names_what_failed(self):
        stages = [
            stage("one", ("echo one >>order", "build")),
            stage("two", ("echo two >>order; exit 3", "build"), ("echo no >>order", "install")),
            stage("three", ("echo three >>order", "")),
        ]
        with Ahead(stages, self.context) as ahead:
            # Wait for the last stage first, to show that no build depends on being waited for.
            self.assertIsNone(ahead.wait_for(stages[2], self.ticker))
            self.assertEqual((self.folder / "order").read_text().split(), ["one", "two", "three"])
            self.assertIsNone(ahead.wait_for(stages[0], self.ticker))
            self.assertEqual(ahead.wait_for(stages[1], self.ticker), "build")
        self.assertIn("echo two", (self.folder / "two.log").read_text())

    @unittest.skipUnless(os.path.exists("/proc/self/autogroup"), "sessions share nothing here")
    def test_builds_have_less_of_the_processors_than_tests(self):
        look = (
            "for i in $(seq 500); do grep 'nice 4$' /proc/self/autogroup && break; sleep 0.02; done"
        )
        one = stage("one", (f"({look}; nice) >nice", "build"))
        with Ahead([one], self.context) as ahead:
            self.assertIsNone(ahead.wait_for(one, self.ticker))
        self.assertRegex((self.folder / "nice").read_text(), r"^/autogroup-\d+ nice 4\n4\n$")

    def test_a_command_that_several_stages_need_runs_once(self):
        stages = [
            stage(name, ("echo configure >>order", "build"), (f"echo {name} >>order", "build"))
            for name in ("one", "two")
        ]
        with Ahead(stages, self.context) as ahead:
            self.assertIsNone(ahead.wait_for(stages[1], self.ticker))
        self.assertEqual((self.folder / "order").read_text().split(), ["configure", "one", "two"])

    def test_a_stage_that_this_machine_cannot_run_is_not_built(self):
        skipped = stage("one", ("touch built", "build"), skip="no torch")
        with Ahead([skipped], self.context) as ahead:
            self.assertIsNone(ahead.wait_for(skipped, self.ticker))
        self.assertFalse((self.folder / "built").exists())

    def test_an_error_of_the_builder_fails_the_stages_that_wait(self):
        broken = Context(self.folder, self.folder / "no folder for logs", None)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            with Ahead([stage("one", ("true", "build"))], broken) as ahead:
                outcome = ahead.wait_for(stage("one"), self.ticker)
        self.assertEqual(outcome, "build")
        self.assertIn("FileNotFoundError", said.getvalue())

    def test_the_end_stops_a_build_and_its_children(self):
        stages = [
            stage("one", ("true", "build")),
            stage("two", ("touch begun; sleep 600; touch ended", "build")),
        ]
        begun = time.monotonic()
        with Ahead(stages, self.context) as ahead:
            self.assertIsNone(ahead.wait_for(stages[0], self.ticker))
            while not (self.folder / "begun").exists():
                time.sleep(0.01)
        self.assertLess(time.monotonic() - begun, 300)
        self.assertFalse((self.folder / "ended").exists())


if __name__ == "__main__":
    unittest.main()
