#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests how ./dev test reads the results of ctest and pytest, and that it leaves no process
behind."""

import pathlib
import tempfile
import time
import unittest

from testing import process, report

JUNIT = """<testsuite>
<testcase name="A.Passes" status="run"/>
<testcase name="A.Fails/0" status="fail"><failure message="Failed"/>
  <system-out>4 is not 5</system-out></testcase>
<testcase name="A.Skips" status="notrun">
  <skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
  <system-out>x_test.cc:9: Skipped\nneeds root\n\n[  SKIPPED ] A.Skips</system-out></testcase>
<testcase name="script" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
  <system-out>looking\nno veth here\n</system-out></testcase>
<testcase name="lost" status="notrun"><skipped message="Unable to find executable"/></testcase>
</testsuite>"""

PYTEST = """<testsuites><testsuite>
<testcase classname="a_test" name="test_passes[one]"/>
<testcase classname="a_test" name="test_fails[two]">
  <failure message="assert">4 == 5</failure></testcase>
<testcase classname="a_test" name="test_cannot_begin"><error message="fixture"/></testcase>
<testcase classname="gpu_test" name="test_skips"><skipped message="no GPU"/></testcase>
</testsuite></testsuites>"""


class ReportTest(unittest.TestCase):
    def test_reads_every_outcome(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "junit.xml"
            path.write_text(JUNIT, encoding="utf-8")
            tally = report.read_junit(path, "asan")
        self.assertEqual(str(tally), "1 passed, 2 failed, 2 skipped")
        self.assertEqual(
            tally.failures[0],
            report.Failure(
                "asan: A.Fails/0", "./dev test --stage asan '^A\\.Fails/0$'", "4 is not 5"
            ),
        )
        self.assertEqual(
            tally.skips, [("asan: A.Skips", "needs root"), ("asan: script", "no veth here")]
        )

    def test_reads_every_outcome_of_pytest(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "junit.xml"
            path.write_text(PYTEST, encoding="utf-8")
            tally = report.read_pytest(path, "python")
        self.assertEqual(str(tally), "1 passed, 2 failed, 1 skipped")
        self.assertEqual(
            tally.failures,
            [
                report.Failure(
                    "python: test_fails[two]",
                    "./dev test --stage python 'test_fails[two]'",
                    "4 == 5",
                ),
                report.Failure(
                    "python: test_cannot_begin", "./dev test --stage python test_cannot_begin"
                ),
            ],
        )
        self.assertEqual(tally.skips, [("python: test_skips", "no GPU")])

    def test_stops_at_the_limit_with_all_children(self):
        with tempfile.TemporaryDirectory() as folder:
            marker = pathlib.Path(folder) / "still_here"
            script = f"(sleep 0.8; touch {marker}) & sleep 30"
            begin = time.monotonic()
            with open(pathlib.Path(folder) / "log", "w", encoding="utf-8") as log:
                code = process.run_logged(["sh", "-c", script], log, 0.3, folder, SilentTicker())
            self.assertIsNone(code)
            self.assertLess(time.monotonic() - begin, 10)
            time.sleep(1)
            self.assertFalse(marker.exists())


class SilentTicker(process.Ticker):
    def __init__(self):
        super().__init__("")
        self.shown = False


if __name__ == "__main__":
    unittest.main()
