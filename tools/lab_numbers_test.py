#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests how the lab reads rates, and computes queues and delays. Needs no privileges."""

import argparse
import contextlib
import io
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "lab"))
import links
import renamed
import reorder


class NumbersTest(unittest.TestCase):
    def test_rates(self):
        for text, rate in (
            ("100mbit", 1e8),
            ("10G", 1e10),
            ("2.5gbit", 2.5e9),
            ("none", None),
            ("10Gbit/s", 1e10),
            ("0.1T", 1e11),
            ("20000000", 2e7),
        ):
            self.assertEqual(links.parse_rate(text), rate)
        for text in (
            "",
            "10",
            "mbit",
            "-1mbit",
            "1kbit",
            "900gbit",
            "1 gbit",
            "1GB",
            "1Gi",
            "1GBps",
        ):
            self.assertRaises(ValueError, links.parse_rate, text)

    def test_old_names_are_refused_with_the_new_ones(self):
        parser = argparse.ArgumentParser()
        parser.add_argument("--ranks")
        parser.add_argument("--bytes")
        for old, now in (("--workers", "--ranks"), ("--world", "--ranks"), ("--size", "--bytes")):
            said = io.StringIO()
            with self.assertRaises(SystemExit) as end, contextlib.redirect_stderr(said):
                renamed.refuse(parser, [f"{old}=4"])
            self.assertEqual(end.exception.code, 2)
            self.assertIn(f"the option {old} is now called {now}", said.getvalue())
        renamed.refuse(parser, ["--link", "10G"])

    def test_bucket(self):
        slow = links.Bucket(10**8, 1514)
        self.assertEqual((slow.back_to_back_bytes, slow.burst_bytes), (3278, 15528))
        self.assertEqual(slow.queue_bytes, 250000)
        self.assertEqual(len(slow.added("eth0")), 3)
        self.assertIn(
            "rate 100000000bit burst 15528 ceil 105000000bit cburst 3278 ", slow.added("eth0")[1]
        )
        self.assertIn("limit 250000", slow.changed("eth0")[-1])

    def test_holds_longer_where_frames_take_longer(self):
        for rate, hold_s in ((None, 1e-3), (10**9, 1e-3), (10**7, 4.8448e-3)):
            self.assertAlmostEqual(reorder.Detours(0.05, rate, 1514).hold_s, hold_s)


if __name__ == "__main__":
    unittest.main()
