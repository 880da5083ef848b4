#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests what ./dev does before it builds anything, with scripts in place of the system's
programs."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT_S = 100
LOCKED = "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (apt-get)"


class Fakes:
    """A folder of programs that are found before the system's. Each notes how it was called."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.calls = self.folder / "calls"
        self.calls.touch()

    def add(self, name, body):
        path = self.folder / name
        path.write_text(f'#!/bin/bash\necho "{name} $*" >>"{self.calls}"\n{body}\n')
        path.chmod(0o755)

    def run(self, *words):
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"}
        environment.pop("INFOLD_NO_INSTALL", None)  # set by ./dev --no-install test
        return subprocess.run(
            words,
            cwd=ROOT,
            env=environment,
            text=True,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_S,
        )

    def called(self, name):
        lines = self.calls.read_text().splitlines()
        return [line.removeprefix(name + " ") for line in lines if line.startswith(name + " ")]


class DevTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.fakes = Fakes(folder.name)
        # Runs the command without changing the user.
        self.fakes.add("sudo", 'if [ "$1" != --validate ]; then exec "$@"; fi')
        self.fakes.add("dpkg-query", "echo not-installed")
        self.fakes.add("sleep", "")

    def need_packages(self, apt_get):
        """Runs need_packages with this apt-get, and drops its log."""
        self.fakes.add("apt-get", apt_get)
        script = (
            'set -euo pipefail; source tools/dev/packages.sh; cd "$0"; mkdir tools; '
            'echo "build none-such" >tools/packages.txt; need_packages build'
        )
        return self.fakes.run("bash", "-c", script, str(self.fakes.folder))

    def test_waits_for_another_program_that_installs(self):
        count = self.fakes.folder / "count"
        done = self.need_packages(
            f'echo x >>"{count}"; if [ "$(wc -l <"{count}")" -le 3 ]; then '
            f'echo "{LOCKED}" >&2; exit 100; fi'
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(done.stdout.count("another program installs packages"), 1, done.stdout)
        self.assertEqual(
            [call.split()[0] for call in self.fakes.called("apt-get")], ["update"] * 4 + ["install"]
        )
        self.assertEqual(len(self.fakes.called("sleep")), 3)

    def test_other_failures_are_told_at_once(self):
        done = self.need_packages('[ "$1" = update ] || { echo "E: no such thing"; exit 100; }')
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("E: no such thing", done.stdout)
        self.assertIn("installing failed", done.stdout)
        self.assertEqual(self.fakes.called("sleep"), [])

    def test_an_example_that_is_none_builds_nothing(self):
        self.fakes.add("cmake", "")
        done = self.fakes.run("./dev", "example", "typo")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("no example 'typo'; there are: ", done.stdout)
        self.assertEqual(self.fakes.called("cmake") + self.fakes.called("dpkg-query"), [])

    def test_a_fuzz_target_that_is_none_builds_nothing(self):
        self.fakes.add("cmake", "")
        for typed, said in (
            ("plan_plan_txt_fuzz", "'plan_plan_txt_fuzz'; did you mean plan_plan_text_fuzz?"),
            ("typo", "no fuzz target 'typo'; there are: hostile_adder_fuzz, "),
        ):
            done = self.fakes.run("./dev", "fuzz", typed, "--seconds", "1")
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(said, done.stdout)
        self.assertEqual(self.fakes.called("cmake") + self.fakes.called("dpkg-query"), [])

    def test_a_word_that_is_no_command_gets_the_closest_one(self):
        for typed, said in (
            ("biuld", "no command 'biuld'; did you mean build?\n"),
            ("benhc", "did you mean bench?"),
            ("examples", "did you mean example?"),
            ("fnt", "did you mean fmt?"),
            ("labels", "no command 'labels'\n"),
            ("tx", "no command 'tx'\n"),
        ):
            done = self.fakes.run("./dev", typed)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(said, done.stdout)

    def test_help_builds_and_installs_nothing(self):
        for program in ("cmake", "ninja", "apt-get", "dpkg-query"):
            self.fakes.add(program, "exit 1")
        help_texts = ROOT / "cli" / "help"
        for words, text in (
            (("demo",), "infold-demo.txt"),
            (("sim",), "infold-sim.txt"),
            (("bench",), "infold-bench.txt"),
            (("bench", "compare"), "bench/infold-bench-compare.txt"),
        ):
            done = self.fakes.run("./dev", *words, "--help")
            self.assertEqual(
                (done.returncode, done.stdout), (0, (help_texts / text).read_text("utf-8"))
            )
        for word in (
            "build",
            "test",
            "fuzz",
            "tidy",
            "fmt",
            "example",
            "package",
            "lab",
            "kernel",
            "doctor",
        ):
            done = self.fakes.run("./dev", word, "--help")
            self.assertEqual(done.returncode, 0, (word, done.stdout))
            self.assertIn("usage: ./dev", done.stdout)
        for program in ("cmake", "ninja", "apt-get", "dpkg-query"):
            self.assertEqual(self.fakes.called(program), [])

    def test_the_demo_asks_for_the_packages_and_the_program_that_it_needs(self):
        asked = {}
        for command in ("demo", "sim"):
            done = self.fakes.run("./dev", "--no-install", command)
            self.assertEqual(done.returncode, 1, done.stdout)
            asked[command] = set(done.stdout.splitlines()[0].split(": ")[2].split())
        needs_more = {
            "clang-19",
            "libbpf-dev",
            "libgrpc++-dev",
            "protobuf-compiler-grpc",
            "python3",
        }
        self.assertEqual(asked["sim"] - asked["demo"], needs_more, asked)
        self.assertEqual(asked["demo"] - asked["sim"], set())
        self.fakes.add("dpkg-query", "echo installed")
        self.fakes.add("cmake", '[ "$1" != --build ] || exit 1')
        done = self.fakes.run("./dev", "demo")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(self.fakes.called("cmake"), ["--preset release", "--build --preset demo"])

    def doctor(self, *words, binary="", installed="installed"):
        """Runs ./dev doctor in a tree with its own list of packages, and this script as infold."""
        self.fakes.add("dpkg-query", f"echo {installed}")
        tree = self.fakes.folder / "tree"
        (tree / "tools").mkdir(parents=True)
        (tree / "tools" / "packages.txt").write_text("build one\nbuild two\nkernel three\n")
        if binary:
            (tree / "build" / "release").mkdir(parents=True)
            path = tree / "build" / "release" / "infold"
            path.write_text(f"#!/bin/bash\n{binary}\n")
            path.chmod(0o755)
        script = (
            "set -euo pipefail; wants_help() { false; }; source tools/dev/packages.sh; "
            'doctor=$PWD/tools/dev/doctor.sh; cd "$0"; source "$doctor" "$@"'
        )
        return self.fakes.run("bash", "-c", script, str(tree), *words)

    def test_the_doctor_says_what_to_do_about_each_warning(self):
        done = self.doctor(installed="not-installed")
        self.assertEqual(done.returncode, 0, done.stdout)
        sudo = "" if os.geteuid() == 0 else "sudo "
        self.assertEqual(
            [line for line in done.stdout.splitlines() if "git" not in line],
            [
                "WARN  packages build: missing one two; ./dev build installs them; or run: "
                f"{sudo}apt-get install --no-install-recommends one two",
                "OK    packages test: all 0 installed",
                "OK    packages lab: all 0 installed",
                "OK    packages bench: all 0 installed",
                "OK    packages kernel: missing three; "
                "only ./dev kernel needs them, and installs them",
                "WARN  infold: not built, so this machine was not examined; run ./dev build",
            ],
        )

    def test_the_doctor_of_the_tree_ends_as_that_of_the_program(self):
        done = self.doctor("--plane", "xdp", "--json", binary='echo "{\\"said\\": \\"$*\\"}"')
        self.assertEqual(done.returncode, 0, done.stdout)
        findings = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(findings[-1], {"said": "doctor --plane xdp --json"})
        self.assertEqual(
            findings[0],
            {"name": "packages build", "ok": True, "found": "all 2 installed", "advice": ""},
        )
        self.assertTrue(all(set(one) == set(findings[0]) for one in findings[:-1]), findings)


if __name__ == "__main__":
    unittest.main()
