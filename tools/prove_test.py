#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the runner of tools/gpu/prove: steps that pass, fail, hang or cannot run, and what it
records about them."""

import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROVE = ROOT / "tools" / "gpu" / "prove"
sys.path[:0] = [str(PROVE / "proving"), str(ROOT / "tools")]
import machine as machines
import run
import steps
from packing.prove import with_modules
from report import Report
from supervision import figures_of, run_step

PATIENCE_S = 60
BARE = {
    "processors": 1,
    "torch": "",
    "gpu": "",
    "programs": {},
    "python_headers": False,
    "pytest": False,
    "lab": "needs root",
    "infold": {"starts": True},
    "rehearsal": False,
}


def step(script, limit_s=PATIENCE_S, name="a step"):
    return steps.Step(name, "gpu", limit_s, lambda _: [sys.executable, "-c", script], lambda _: "")


class ProveTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        silent = mock.patch("sys.stdout", new=io.StringIO())
        silent.start()
        self.addCleanup(silent.stop)
        self.report = Report(self.folder, {"commit": "abc"})
        self.addCleanup(self.report.log.close)

    def written(self):
        return json.loads((self.folder / "prove.json").read_text("utf-8"))

    def last(self):
        return self.written()["steps"][-1]

    def test_figures_are_lines_of_json(self):
        self.assertEqual(figures_of('{"a": 1}'), {"a": 1})
        for line in ("a: 1", "{not json", "[1]", ""):
            self.assertIsNone(figures_of(line))

    def test_a_step_leaves_its_figures_and_its_output(self):
        script = "import sys; print('words'); print('{\"ms\": 2}'); print('late', file=sys.stderr)"
        run_step(step(script), BARE, PATIENCE_S, self.report)
        self.assertEqual((self.last()["status"], self.last()["figures"]), ("passed", [{"ms": 2}]))
        log = (self.folder / "prove.log").read_text("utf-8")
        self.assertIn("words\n", log)
        self.assertIn("late\n", log)

    def test_a_failure_has_its_last_words_and_does_not_stop_the_next_step(self):
        table = (step("import sys; sys.exit('broken')", name="first"), step("", name="second"))
        with mock.patch.object(run, "STEPS", table):
            run.run_profile("gpu", BARE, self.report)
        first, second = self.written()["steps"]
        self.assertEqual((first["status"], second["status"]), ("failed", "passed"))
        self.assertIn("status 1; last words: broken", first["reason"])
        self.assertTrue(self.report.failed)

    def test_a_step_that_hangs_ends_with_its_children(self):
        child = (
            "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(1e4)"
        )
        script = (
            "import subprocess, sys\n"
            f"child = subprocess.Popen([sys.executable, '-c', {child!r}])\n"
            "print('{\"child\": %d}' % child.pid, flush=True)\nchild.wait()"
        )
        with mock.patch("testing.process.GRACE_S", 1):
            run_step(step(script), BARE, 10, self.report)
        self.assertEqual(self.last()["status"], "timed out")
        self.assertIn("not done after 10 s", self.last()["reason"])
        number = self.last()["figures"][0]["child"]
        end = time.monotonic() + PATIENCE_S
        while self.runs(number):
            self.assertLess(time.monotonic(), end, "the step's child still runs")
            time.sleep(0.05)

    @staticmethod
    def runs(number):
        try:
            state = pathlib.Path(f"/proc/{number}/stat").read_text("utf-8").rpartition(")")[2]
        except OSError:
            return False
        return state.split()[0] != "Z"

    def test_after_the_profiles_limit_steps_are_skipped(self):
        with (
            mock.patch.object(run, "STEPS", (step(""),)),
            mock.patch.object(run, "PROFILE_LIMIT_S", 0),
        ):
            run.run_profile("gpu", BARE, self.report)
        self.assertEqual(self.last()["status"], "skipped")
        self.assertIn("are over", self.last()["reason"])

    def test_every_step_says_why_a_bare_machine_cannot_run_it(self):
        for each in steps.STEPS:
            self.assertTrue(each.reason(BARE), each.name)
        with_torch = BARE | {"torch": "2.11.0"}
        reasons = {each.reason(with_torch) for each in steps.STEPS if each.profile == "gpu"}
        self.assertEqual(
            reasons,
            {"missing here: cmake, ninja, g++", "no GPU here: torch.cuda.is_available() is False"},
        )
        with_old_libraries = BARE | {"infold": {"starts": False, "said": "GLIBC_2.36 not found"}}
        of_cores = {
            each.reason(with_old_libraries) for each in steps.STEPS if each.profile == "cores"
        }
        self.assertEqual(of_cores, {"infold does not start here: GLIBC_2.36 not found"})

    def test_every_step_has_a_command_and_a_limit_within_its_profiles(self):
        able = BARE | {"processors": 16}
        for each in steps.STEPS:
            self.assertIn(each.profile, steps.PROFILES)
            self.assertLessEqual(each.limit_s, steps.PROFILE_LIMIT_S)
            self.assertTrue(all(isinstance(word, str) for word in each.words(able)), each.name)
            scripts = [word for word in each.words(able) if word.endswith(".py")]
            for script in scripts:
                self.assertTrue(pathlib.Path(script).exists(), script)

    def test_ranks_have_processors_of_their_own_where_there_are_so_many(self):
        (shaped,) = (each for each in steps.STEPS if each.name == "1 Gbit/s")
        self.assertIn("--apart", shaped.words(BARE | {"processors": 9}))
        self.assertNotIn("--apart", shaped.words(BARE | {"processors": 8}))

    def test_a_stopped_run_says_that_it_is_not_complete(self):
        self.report.begin("a step", "gpu")
        self.report.close(complete=False)
        self.assertFalse(self.written()["complete"])
        self.assertEqual(self.last()["status"], "stopped")

    def test_processors_do_the_work_of_some(self):
        worth = machines.processors_worth(sorted(os.sched_getaffinity(0))[:2])
        self.assertGreater(worth, 0)

    def test_warnings_of_torch_are_no_gpu(self):
        said = '{"torch": "2.11.0", "cuda": "13.0", "gpu": ""}\nUserWarning: CUDA initialization'
        with mock.patch.object(machines, "_said", return_value=(0, said)):
            self.assertEqual(machines._torch(), ("2.11.0, CUDA 13.0", ""))
        with mock.patch.object(machines, "_said", return_value=(1, "No module named 'torch'")):
            self.assertEqual(machines._torch(), ("", ""))

    def test_the_source_says_how_the_folder_is_made(self):
        said = subprocess.run(
            ["bash", PROVE / "prove.sh"], capture_output=True, text=True, check=False
        )
        self.assertEqual(said.returncode, 2)
        self.assertIn("./dev package prove", said.stderr)


class FolderTest(unittest.TestCase):
    """What the folder contains that travels to the other machine."""

    def test_modules_travel_with_the_tests_that_import_them(self):
        with tempfile.TemporaryDirectory() as root:
            scripts = {
                "python/tests/gpu_test.py": "import os\nimport models",
                "python/tests/models.py": "def later():\n    from processes import run",
                "python/tests/alone.py": "import models",
                "tests/network/processes.py": "import models, sys",
            }
            for name, text in scripts.items():
                path = pathlib.Path(root) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
            found = with_modules(pathlib.Path(root), ["python/tests/gpu_test.py"])
            self.assertEqual(sorted(found), sorted(scripts.keys() - {"python/tests/alone.py"}))


class RunTest(unittest.TestCase):
    """The runner as a process, in a folder that contains only the runner."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "about.json").write_text("{}", "utf-8")
        for name in ("tools/gpu/prove/proving", "tools/testing"):
            shutil.copytree(ROOT / name, self.folder / name)
        (self.folder / "prove.sh").write_bytes((PROVE / "prove.sh").read_bytes())

    def start(self, *words):
        return subprocess.Popen(
            ["bash", self.folder / "prove.sh", *words],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def test_a_profile_that_does_not_exist_is_named(self):
        process = self.start("gpus")
        _, said = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 2)
        self.assertIn("there is no profile 'gpus'; choose from gpu, cores", said)

    def test_ctrl_c_leaves_results(self):
        process = self.start("--out", str(self.folder / "results"))
        path = self.folder / "results" / "prove.json"
        end = time.monotonic() + PATIENCE_S
        while not path.exists():
            self.assertLess(time.monotonic(), end, "no results")
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130, said)
        self.assertIn("stopped on request", said)
        self.assertFalse(json.loads(path.read_text("utf-8"))["complete"])


if __name__ == "__main__":
    unittest.main()
