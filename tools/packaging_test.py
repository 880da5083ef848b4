#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the files of packaging/: systemd understands the units, they differ only where they must,
and their settings are options that exist."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import tomllib
import unittest

from packing import deb, image

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGING = ROOT / "packaging"
UNITS = sorted(PACKAGING.glob("*.service"))
# The keys of a unit that differ because packet programs need other rights than a switch in user
# space.
OF_XDP = {
    "Description",
    "AssertPathExists",
    "StartLimitIntervalSec",
    "ExecStart",
    "RestartSec",
    "CapabilityBoundingSet",
    "AmbientCapabilities",
    "PrivateUsers",
    "SystemCallFilter",
}


def settings(unit):
    """Returns {key: values} of a unit."""
    found = {}
    for line in unit.read_text(encoding="utf-8").splitlines():
        if pair := re.fullmatch(r"(\w+)=(.*)", line):
            found.setdefault(pair[1], []).append(pair[2])
    return found


class PackagingTest(unittest.TestCase):
    def test_systemd_understands_the_units(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("systemd-analyze is missing")
        for unit in UNITS:
            with tempfile.TemporaryDirectory() as folder:
                copy = pathlib.Path(folder, unit.name)
                # systemd also checks that the program exists.
                copy.write_text(
                    unit.read_text(encoding="utf-8").replace("/usr/bin/infold", "/bin/true"),
                    encoding="utf-8",
                )
                result = subprocess.run(
                    ["systemd-analyze", "verify", copy], text=True, check=False, capture_output=True
                )
                self.assertEqual((result.returncode, result.stdout + result.stderr), (0, ""), unit)

    def test_units_differ_in_what_packet_programs_take(self):
        user, xdp = (
            settings(PACKAGING / name)
            for name in ("infold-switch.service", "infold-switch-xdp.service")
        )
        differing = {key for key in user.keys() | xdp.keys() if user.get(key) != xdp.get(key)}
        self.assertEqual(differing, OF_XDP)

    def test_a_switch_cannot_take_all_memory_and_threads_of_its_host(self):
        for unit in UNITS:
            [memory], [tasks] = settings(unit)["MemoryMax"], settings(unit)["TasksMax"]
            self.assertLess(int(memory.removesuffix("%")), 100, unit)
            help_text = (ROOT / "cli/help/infold-switch.txt").read_text("utf-8")
            threads = re.search(r"--threads 1\.\.(\d+)", help_text)[1]
            # Joining takes 3 for each processor and 12 more (JoinServer::budget).
            self.assertGreater(int(tasks), int(threads) + 3 * 512 + 12, unit)

    def test_the_unit_has_the_capabilities_that_the_switch_asks_for(self):
        source = (ROOT / "src/io/host/privileges.cc").read_text("utf-8")
        asked = set(re.findall(r'"(CAP_\w+)"', source))
        self.assertEqual(len(asked), 3)
        xdp = settings(PACKAGING / "infold-switch-xdp.service")
        for key in ("CapabilityBoundingSet", "AmbientCapabilities"):
            self.assertEqual(set(xdp[key][0].split()), asked)
        for key in ("CapabilityBoundingSet", "AmbientCapabilities"):
            self.assertEqual(settings(PACKAGING / "infold-switch.service")[key], [""])

    def test_settings_are_options(self):
        options = set(
            re.findall(r"--([a-z-]+)", (ROOT / "cli/help/infold-switch.txt").read_text("utf-8"))
        )
        for unit in UNITS:
            path = re.search(r"--config /etc/infold/(\S+)", unit.read_text("utf-8"))[1]
            text = (PACKAGING / path).read_text("utf-8")
            # The suggestions, which are commented out, count as well.
            keys = tomllib.loads(re.sub(r"^# (\w+ = )", r"\1", text, flags=re.MULTILINE)).keys()
            self.assertGreaterEqual(options, {key.replace("_", "-") for key in keys}, path)

    def test_one_version(self):
        """deb.py reads the version of CMakeLists.txt."""
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        self.assertEqual(project["version"], deb.version(ROOT))

    def test_scripts_are_shell(self):
        for path in (PACKAGING / "debian" / "prerm", ROOT / "cmake" / "progress.sh"):
            result = subprocess.run(["sh", "-n", path], text=True, check=False, capture_output=True)
            self.assertEqual((result.returncode, result.stderr), (0, ""), path)

    def test_progress_never_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            parts = pathlib.Path(folder, "progress")
            pathlib.Path(f"{parts}.total").write_text("2\n", "utf-8")
            # In a session of its own, the script has no terminal.
            for words in (["--begin", "2"], [parts, "one"], [parts, "one"], ["/nowhere/file", "x"]):
                result = subprocess.run(
                    ["sh", ROOT / "cmake" / "progress.sh", *words],
                    check=False,
                    capture_output=True,
                    start_new_session=True,
                )
                self.assertEqual(result.returncode, 0, words)
            self.assertEqual(parts.read_text("utf-8").split(), ["one", "one"])

    def test_the_image_runs_what_the_package_has(self):
        """Names and files agree. This check needs no container engine."""
        text = (PACKAGING / "Containerfile").read_text("utf-8")
        words = image.instructions(ROOT)
        known = "FROM COPY RUN USER ENV VOLUME EXPOSE STOPSIGNAL ENTRYPOINT CMD"
        self.assertLessEqual({word for word, _ in words}, set(known.split()))
        said = dict(words)
        self.assertNotIn(said["USER"], ("root", "0"))
        command = json.loads(said["ENTRYPOINT"]) + json.loads(said["CMD"])
        self.assertEqual(command[:2], ["/usr/bin/infold", "switch"])
        self.assertIn(
            f"useradd --system --no-create-home --shell /usr/sbin/nologin {said['USER']}", text
        )
        # The switch keeps its keys where the volume is, and its user may write there.
        self.assertEqual(said["ENV"], f"STATE_DIRECTORY={said['VOLUME']}")
        self.assertIn(
            f"--owner {said['USER']} --group {said['USER']} --mode 700 {said['VOLUME']}", text
        )


if __name__ == "__main__":
    unittest.main()
