# SPDX-License-Identifier: Apache-2.0
"""The kinds of stage that ./dev test is made of. A stage says what it needs, and then tests it."""

import dataclasses
import os

import python_env

from testing import process, report

# Compiling cannot hang, but takes several times as long on a busy machine.
BUILD_LIMIT_S = 9000
SKIPPED = 77  # the exit code of a command that this machine cannot run
CORES = len(os.sched_getaffinity(0))
CASES_AT_ONCE = CORES + 1  # some of them wait for packets or for time
FILES_AT_ONCE_MAX = 4  # files of Python tests at once; a case has up to eight ranks


@dataclasses.dataclass(frozen=True)
class Context:
    """What stages know about this run."""

    root: object  # pathlib.Path of the repository
    logs: object  # pathlib.Path of build/logs
    case_filter: str | None  # regular expression over ctest cases, from the command line


@dataclasses.dataclass(frozen=True)
class Stage:
    name: str
    title: str
    limit_s: int

    def needs(self, context):
        """Commands that build what the stage tests, as (words, what has failed if they fail)."""
        raise NotImplementedError

    def skip_reason(self):
        """Returns why this machine cannot run the stage, or an empty text if it can."""
        return ""

    def run(self, context, log, ticker):
        """Tests what has been built. Returns a Tally. Output goes to the open file."""
        raise NotImplementedError

    def status(self, context, log, ticker, command, **where):
        where = {"cwd": context.root} | where
        return process.run_logged(command, log, self.limit_s, ticker=ticker, **where)

    def step(self, *arguments, **where):
        return self.status(*arguments, **where) == 0

    def failed(self, what):
        name = f"{self.name}: {what}" if what else self.name
        return report.Tally(failures=[report.Failure(name, f"./dev test --stage {self.name}")])


def build_commands(configure_preset, build_preset):
    return [
        (["cmake", "--preset", configure_preset], "build"),
        (["cmake", "--build", "--preset", build_preset], "build"),
    ]


@dataclasses.dataclass(frozen=True)
class Cases(Stage):
    """Builds a preset and runs its ctest cases. Each case counts."""

    preset: str
    build_preset: str = ""  # if it has another name than `preset`
    label: str = ""  # regular expression over ctest labels, empty for all

    def needs(self, context):
        return build_commands(self.preset, self.build_preset or self.preset)

    def run(self, context, log, ticker):
        junit = context.logs / f"{self.name}.junit.xml"
        junit.unlink(missing_ok=True)
        command = [
            "ctest",
            "--preset",
            self.build_preset or self.preset,
            "--parallel",
            str(CASES_AT_ONCE),
            "--output-junit",
            str(junit),
            "--no-tests=ignore",
        ]
        if self.label:
            command += ["--label-regex", self.label]
        if context.case_filter:
            command += ["--tests-regex", context.case_filter]
        ended_well = self.step(context, log, ticker, command)
        if not junit.exists():
            return self.failed("ctest")
        tally = report.read_junit(junit, self.name)
        if not ended_well and not tally.failures:
            tally.add(self.failed("ctest"))
        if not context.case_filter and not tally.passed and not tally.failures:
            tally.add(self.failed("found no cases"))
        return tally


@dataclasses.dataclass(frozen=True)
class PythonCases(Stage):
    """Installs the Python package into an environment and runs pytest. Each case counts."""

    preset: str = "release"  # of the binary whose switches the cases use
    torch: str = ""  # a release other than that of the requirements

    def needs(self, context):
        installs = python_env.install_commands(context.root, "tests", self._other())
        return build_commands(self.preset, self.preset) + [(c, "install") for c in installs]

    def skip_reason(self):
        return python_env.python_with(self.torch)[1] if self.torch else ""

    def _other(self):
        return python_env.python_with(self.torch)[0] if self.torch else None

    def run(self, context, log, ticker):
        python = self._other() or python_env.python_of(context.root)
        junit = context.logs / f"{self.name}.junit.xml"
        junit.unlink(missing_ok=True)
        command = [str(python), "-m", "pytest", "-p", "no:cacheprovider", "--junitxml", str(junit)]
        # Cases wait half of the time, so several files run at once. The cases of one file share
        # switches.
        command += (
            ["-k", context.case_filter]
            if context.case_filter
            else ["-n", str(min(CORES + 1, FILES_AT_ONCE_MAX)), "--dist", "loadfile"]
        )
        binary = context.root / "build" / self.preset / "infold"
        ended_well = self.step(
            context,
            log,
            ticker,
            command,
            cwd=context.root / "python" / "tests",
            env={**os.environ, "INFOLD_BINARY": str(binary)},
        )
        if not junit.exists():
            return self.failed("pytest")
        tally = report.read_pytest(junit, self.name)
        if not ended_well and not tally.failures and not context.case_filter:
            tally.add(self.failed("pytest"))
        return tally


@dataclasses.dataclass(frozen=True)
class Build(Stage):
    """Builds a preset. The test is that it compiles."""

    preset: str
    build_preset: str = ""

    def needs(self, context):
        return [
            (words, "")
            for words, _ in build_commands(self.preset, self.build_preset or self.preset)
        ]

    def run(self, context, log, ticker):
        return report.Tally(passed=1)


@dataclasses.dataclass(frozen=True)
class Command(Stage):
    """Runs one command, after building a preset and running another command that builds, if these
    are named. Exit code 0 passes. Exit code 77 means that the command is not possible here, and the
    last line that it printed says why."""

    command: tuple = ()
    preset: str = ""
    build_preset: str = ""
    builder: tuple = ()
    needs_root: bool = False

    def needs(self, context):
        needed = (
            build_commands(self.preset, self.build_preset or self.preset) if self.preset else []
        )
        return needed + ([(list(self.builder), "build")] if self.builder else [])

    def skip_reason(self):
        return "needs root" if self.needs_root and os.geteuid() != 0 else ""

    def run(self, context, log, ticker):
        status = self.status(context, log, ticker, list(self.command))
        if status == SKIPPED:
            said = (context.logs / f"{self.name}.log").read_text("utf-8", errors="replace")
            return report.Tally(skips=[(self.name, said.rstrip().rpartition("\n")[2])])
        return report.Tally(passed=1) if status == 0 else self.failed("")
