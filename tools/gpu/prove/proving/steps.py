# SPDX-License-Identifier: Apache-2.0
"""The steps of each profile, the most valuable first. A step names its command, its limit, and the
reason why a machine cannot run it."""

import dataclasses
import pathlib
import sys
from collections.abc import Callable

HERE = pathlib.Path(__file__).resolve().parent
# The folder that travels. Its paths are those of the repository, so in a checkout this is the
# repository's root.
FOLDER = HERE.parents[3]
INFOLD = FOLDER / "site" / "infold" / "bin" / "infold"
PROFILES = ("gpu", "cores")
# A profile ends after this time, so that its last steps may get less time than their limit, or
# none.
PROFILE_LIMIT_S = 300
RANKS = 8  # the most ranks of a step; each needs a processor, and so does the switch


@dataclasses.dataclass(frozen=True)
class Size:
    """How much a step measures."""

    bytes: str
    rounds: str
    shaped: str  # sums in a round
    unshaped: str


FULL = Size("25MiB", "3", "4", "15")
# A rehearsal shows that a step runs. Its figures say nothing, so it may take any time.
SMALL = Size("1MiB", "1", "1", "1")
REHEARSAL_LIMIT_S = 1800


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    profile: str
    limit_s: int
    words: Callable  # the command, for the description that machine.py makes
    reason: Callable  # why the machine cannot run it; empty if it can


def needs_infold(machine):
    return (
        ""
        if machine["infold"]["starts"]
        else (f"infold does not start here: {machine['infold']['said']}")
    )


def needs_torch(machine):
    return "" if machine["torch"] else "python3 has no torch"


def needs_gpu(machine):
    if reason := needs_torch(machine):
        return reason
    return "" if machine["gpu"] else "no GPU here: torch.cuda.is_available() is False"


def needs_compiler(machine):
    if reason := needs_torch(machine) or needs_infold(machine):
        return reason
    missing = [name for name in ("cmake", "ninja", "g++") if not machine["programs"].get(name)]
    if missing:
        return f"missing here: {', '.join(missing)}"
    return "" if machine["python_headers"] else "Python's headers (Python.h) are missing here"


def needs_backend(machine):
    if reason := needs_gpu(machine) or needs_infold(machine):
        return reason
    extensions = (FOLDER / "site" / "infold").glob("torch_*/_c*.so")
    return "" if any(extensions) else "the backend was not compiled"


def needs_pytest(machine):
    if reason := needs_backend(machine):
        return reason
    return "" if machine["pytest"] else "python3 has no pytest"


def needs_lab(machine):
    if reason := needs_infold(machine):
        return reason
    return "" if machine["lab"] == "yes" else f"no lab here: {machine['lab']}"


def needs_two_processors(machine):
    if reason := needs_infold(machine):
        return reason
    return "" if machine["processors"] >= 2 else "it needs two processors"


def program(name, *words):
    return lambda machine: [sys.executable, str(HERE / name), *words]


def size_for(machine):
    return SMALL if machine["rehearsal"] else FULL


def compare(rate, mtu):
    """Returns the command of `infold bench compare` in the lab. It gives each process a processor
    of its own if there are enough."""

    def command(machine):
        size = size_for(machine)
        apart = ["--apart"] if machine["processors"] > RANKS else []
        return [
            str(INFOLD),
            "bench",
            "compare",
            "--ranks",
            f"4,{RANKS}",
            "--bytes",
            size.bytes,
            "--infold",
            "native,bfp16,bfp8",
            "--rivals",
            "gloo-ring",
            *apart,
            "--link",
            rate,
            "--mtu",
            mtu,
            "--rounds",
            size.rounds,
            "--iterations",
            size.unshaped if rate == "none" else size.shaped,
            "--json",
            "--out",
            str(FOLDER / "work" / f"compare-{rate}-{mtu}"),
        ]

    return command


def processor_time(machine):
    size = size_for(machine)
    return [
        str(INFOLD),
        "bench",
        "host",
        "--shape",
        "apart",
        "--format",
        "native,bfp16,bfp8",
        "--rival",
        "gloo",
        "--bytes",
        size.bytes,
        "--rounds",
        size.rounds,
        "--iterations",
        size.unshaped,
        "--json",
    ]


STEPS = (
    Step("compile the backend", "gpu", 200, program("backend.py"), needs_compiler),
    Step("gpu_test.py", "gpu", 160, program("gpu_tests.py"), needs_pytest),
    Step("trainings", "gpu", 120, program("trainings.py"), needs_backend),
    Step("parts of an all_reduce", "gpu", 90, program("parts.py"), needs_backend),
    Step("1 Gbit/s", "cores", 150, compare("1gbit", "1500"), needs_lab),
    Step("unshaped, MTU 1500", "cores", 90, compare("none", "1500"), needs_lab),
    Step("unshaped, MTU 9000", "cores", 90, compare("none", "9000"), needs_lab),
    Step("processor time of a rank", "cores", 60, processor_time, needs_two_processors),
)
