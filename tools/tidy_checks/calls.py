# SPDX-License-Identifier: Apache-2.0
"""Names that may not be used in some folders, each with its replacement."""

import dataclasses
import re

from tidy_checks.repo import Finding, check

# Folders in which the same inputs must give the same bytes.
DECIDING = (
    "wire/",
    "src/base/",
    "src/status/",
    "src/core/",
    "src/numeric/",
    "src/sparse/",
    "src/plan/",
    "src/encoding/",
    "src/compress/",
    "study/predict/",
    "study/sim/",
    "study/oracle/",
    "study/mix/",
    "study/reproduce/",
    "study/whatif/",
)


# The files that may read the wall clock, because a step of the clock neither ends nor prolongs
# anything there.
WALL_CLOCKS = (
    "src/io/host/clock.cc",  # wall_clock_offset(), for the times that log lines carry
    # grpc::Server::Shutdown() takes a time_point of this clock, at exit.
    "src/join/service/join_server.cc",
    "src/join/client/job_answers_testing.h",  # likewise, for a test's server
    "cli/bench/bench_compare.cc",  # when a report was made
)


# torch's Work has a std::mutex, which its derived classes lock.
TORCH_MUTEX_USERS = (
    "python/backend/work.cc",
    "python/backend/delegate/delegated_work.cc",
    "python/backend/delegate/messages.cc",
)


@dataclasses.dataclass(frozen=True)
class Ban:
    pattern: str
    instead: str
    folders: tuple = ()  # empty: everywhere
    tests: bool = True  # whether the rule also holds in _test, _fuzz and _bench files
    only_tests: bool = False
    allowed_in: tuple = ()  # files, or folders that end in /


BANS = (
    Ban(r"(?<![\w.])assert\s*\(", "CHECK from base/check.h, which is on in every build"),
    Ban(
        r"\b(system|steady|high_resolution)_clock\b",
        "an Instant passed as an argument",
        DECIDING,
        tests=False,
        allowed_in=("src/base/mutex.h",),
    ),  # The waits of base/mutex.h have deadlines.
    Ban(
        r"\bsystem_clock\b|(?<![\w.>:])(::|std::)time\s*\("
        r"|(?<![\w.>:])time\s*\(\s*(0|NULL|nullptr|&\s*\w+)\s*\)"
        r"|\b(gettimeofday|timespec_get|ftime)\s*\("
        r"|\b(CLOCK_REALTIME|CLOCK_TAI|TIME_UTC|GPR_CLOCK_REALTIME)\w*\b"
        r"|\babsl::Now\b",
        "io/host/clock.h or std::chrono::steady_clock: people and NTP set the wall clock back",
        ("src/", "planes/", "study/", "cli/", "include/"),
        allowed_in=WALL_CLOCKS,
    ),
    Ban(
        r"\b(rand|srand|random|drand48)\s*\(|\brandom_device\b|\bmt19937(_64)?\b",
        "base::Prng with a seed that is printed",
    ),
    Ban(
        r"\bunordered_(multi)?(map|set)\b",
        "a table, a sorted vector or std::map: hash order differs between machines",
        DECIDING,
        tests=False,
    ),
    Ban(
        r"\b(shared_ptr|make_shared)\b",
        "a value or unique_ptr: core has one owner for each thing",
        ("src/core/",),
    ),
    Ban(
        r"\bstd::(recursive_|shared_|timed_|recursive_timed_|shared_timed_)?mutex\b"
        r"|\bstd::(lock_guard|unique_lock|scoped_lock|shared_lock|condition_variable(_any)?)\b",
        "base::Mutex of base/mutex.h, whose rules the compiler checks",
        allowed_in=("src/base/mutex.h", *TORCH_MUTEX_USERS),
    ),
    Ban(
        r"\b(std::(thread|jthread|atomic)|(base::)?(Mutex|MutexLock|(Stop)?ConditionVariable))\b",
        "the loops of src/site and src/rank: this layer has no threads",
        (
            "src/core/",
            "study/sim/",
            "study/oracle/",
            "study/mix/",
            "study/reproduce/",
            "study/whatif/",
        ),
        tests=False,
    ),
    Ban(
        r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(",
        "virtual time, or a wait with a deadline for the event itself",
        only_tests=True,
    ),
    Ban(
        r"\b(printf|fprintf|puts|fputs|putchar)\s*\(|\bstd::(cout|cerr|clog)\b",
        "a return value, or Output from cli/line/output.h",
        ("src/", "planes/", "study/", "include/"),
        tests=False,
        allowed_in=("src/base/check.cc",),
    ),  # CHECK prints its last words before the process stops.
    Ban(
        r"\bthrow\b",
        "Result from base/result.h: exceptions exist only in cli and measure",
        ("src/", "planes/", "study/"),
        tests=False,
        allowed_in=(
            "study/demo/",
            "study/desk/",
            "study/measure/",
            "src/base/zeroed_array.h",
            "src/join/connection/connection_loop.cc",
        ),
    ),  # zeroed_array.h throws without memory, as operator new does, and a ConnectionLoop without
    # files, as std::thread does without threads: its callers handle both as one.
    Ban(
        r"\bgetenv\s*\(",
        "an option, so that a run is described by its command line",
        (
            "src/core/",
            "study/sim/",
            "study/oracle/",
            "src/numeric/",
            "src/sparse/",
            "src/plan/",
            "study/predict/",
            "study/mix/",
            "study/reproduce/",
            "study/whatif/",
        ),
    ),
    Ban(
        r"\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|atof)\s*\(",
        "a span with its size, or std::from_chars",
    ),
    Ban(
        r"(?<!struct )\bRefusal ?\{(?!\})|\{\s*(join::)?RefusalReason::\w+\s*,",
        "refusal() with a sentence of join/refusals.h, the table of all refusals",
        ("src/", "planes/", "study/"),
        tests=False,
        allowed_in=("src/join/registry/fuzzing.h",),
    ),
    Ban(r"\busing\s+namespace\s+std\b", "the qualified names"),
    Ban(
        r"\bbpf_loop\b",
        "kernel_loop, whose bodies change nothing on the stack",
        ("planes/xdp/bpf/",),
        allowed_in=("planes/xdp/bpf/consts.h",),
    ),
)


def is_test(path):
    stem = path.rpartition("/")[2].rpartition(".")[0]
    return stem.endswith(("_test", "_fuzz", "_bench")) or path.startswith(("tests/", "fuzz/"))


def applies(ban, path):
    folders_allowed = tuple(each for each in ban.allowed_in if each.endswith("/"))
    if path in ban.allowed_in or path.startswith(folders_allowed):
        return False
    if ban.folders and not path.startswith(ban.folders):
        return False
    if ban.only_tests:
        return is_test(path)
    return ban.tests or not is_test(path)


@check("banned-calls", "names that break determinism, layering or safety have replacements")
def banned_calls(repo):
    for path in repo.cpp():
        bans = [(re.compile(b.pattern), b) for b in BANS if applies(b, path)]
        for number, line in repo.code_lines(path):
            if re.match(r"\s*#\s*include", line):
                continue
            for pattern, ban in bans:
                found = pattern.search(line)
                if found:
                    name = found.group(0).rstrip("( \t")
                    yield Finding(path, number, f"{name} is banned here; use {ban.instead}")
