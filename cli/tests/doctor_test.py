#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs infold doctor on this machine, and on one that lacks files, capabilities and a full MTU.
Each warning must say what to do, in text and in JSON alike.

Usage: doctor_test.py INFOLD
"""

import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import unittest

FEW_FILES = 256


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEW_FILES, FEW_FILES))


class DoctorTest(unittest.TestCase):
    def run_doctor(self, *words, before=(), **more):
        done = subprocess.run(
            [*before, BINARY, "doctor", *words], capture_output=True, text=True, check=False, **more
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def findings(self, *words, **more):
        """Returns {name: finding}, after checking each finding in both forms of output."""
        objects = [json.loads(line) for line in self.run_doctor(*words, "--json", **more)]
        lines = self.run_doctor(*words, **more)
        self.assertEqual(len(objects), len(lines))
        for one, line in zip(objects, lines, strict=True):
            self.assertEqual(set(one), {"name", "ok", "found", "advice"})
            self.assertTrue(one["name"] and one["found"], one)
            self.assertEqual(bool(one["advice"]), not one["ok"], one)
            self.assertRegex(line, r"^OK    " if one["ok"] else r"^WARN  ")
            self.assertIn(f"{one['name']}: ", line)
            self.assertTrue(one["ok"] or line.endswith(f"; {one['advice']}"), line)
        self.assertEqual(len({one["name"] for one in objects}), len(objects))
        return {one["name"]: one for one in objects}

    def test_of_this_machine(self):
        found = self.findings()
        for name in (
            "build",
            "cpu",
            "kernel",
            "socket receive buffer",
            "open files",
            "privileges",
            "kernel plane",
        ):
            self.assertIn(name, found)
        self.findings("--plane", "xdp")

    def test_without_files_to_open(self):
        finding = self.findings(preexec_fn=few_files)["open files"]
        self.assertFalse(finding["ok"])
        self.assertIn(f"hard {FEW_FILES}", finding["found"])
        self.assertIn("LimitNOFILE=", finding["advice"])

    def test_without_capabilities(self):
        before = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
        found = self.findings("--plane", "xdp", before=before)
        name = next((each for each in found if each.endswith("capabilities")), None)
        if name is None:
            self.skipTest("this build has no packet program")
        self.assertFalse(found[name]["ok"])
        self.assertIn("CAP_BPF", found[name]["found"])

    def test_with_a_small_mtu(self):
        link = "ip link add small0 mtu 1280 type veth peer name other0 && ip link set small0 up"
        before = ["unshare", "--net", "sh", "-c", f'{link} && exec "$@"', "sh"]
        probe = subprocess.run([*before, "true"], capture_output=True, text=True, check=False)
        if probe.returncode != 0:
            self.skipTest(f"no interface can be made: {probe.stderr.strip()}")
        finding = self.findings(before=before)["interface small0"]
        self.assertFalse(finding["ok"])
        self.assertTrue(re.search(r"ip link set small0 mtu \d+$", finding["advice"]), finding)


if __name__ == "__main__":
    BINARY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
