# SPDX-License-Identifier: Apache-2.0
"""A switch under attack with honest jobs beside it, on either plane. Checks which processes live,
which sums are right, how long they took, and the memory and threads of the switch."""

import contextlib
import ctypes
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import unicodedata
import urllib.request

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TESTS / "network"))
import xdp_network
from processes import PATIENCE, Job, expect, free_port, wait_until

CLIENT = TESTS / "hostile" / "hostile_test.py"
ATTACKER_ADDRESS = "127.0.0.3"
ATTACKERS = "10.77.1"  # a network behind the last host
HONEST_BYTES = (4096, 1 << 20)
# DEADLINE_S limits the joining and each call of an honest rank, and HONEST_S limits one of its
# jobs. The limits allow for a slow, busy machine, because a job that an attack holds up takes this
# long on any machine.
DEADLINE_S, HONEST_S = 60, 180
# An attacker's process ends by itself. This limit is for one that a socket blocks.
ATTACKER_SLACK_S = 120
# A switch limits the lines of its log, so that an attacker does not fill the disk.
LOG_BYTES_MAX = 16 << 20
# The categories of Unicode whose characters act on a terminal, and those of bytes that do not form
# text.
STRANGE = ("Cc", "Cs")
# The switch may take this much more memory than it states, because allocators have slack. It may
# have this many more threads than it states: those of an idle process, which are the main thread, a
# shard, and the threads of its pages and logs.
MEMORY_BESIDE, THREADS_BESIDE = 16 << 20, 8


def status_of(process):
    """Returns resident bytes, their maximum so far, and threads; None if the process has ended."""
    try:
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as lines:
            words = dict(line.split(":", 1) for line in lines)
        return (
            *(int(words[key].split()[0]) * 1024 for key in ("VmRSS", "VmHWM")),
            int(words["Threads"]),
        )
    except (OSError, KeyError):
        return None


def expect_plain_lines(log):
    """No bytes of strangers may act on the terminal that shows a log, or fill the disk."""
    expect(log.stat().st_size <= LOG_BYTES_MAX, f"a log of {log.stat().st_size} bytes")
    text = log.read_text(encoding="utf-8", errors="surrogateescape")
    strange = sorted(
        {each for each in text if each != "\n" and unicodedata.category(each) in STRANGE}
    )
    expect(not strange, f"the log has {strange}")


@contextlib.contextmanager
def switch_process(folder, *words):
    """Runs a switch, and yields it with the limits that it stated. Its output goes to a file,
    because no process reads it meanwhile."""
    said, log = pathlib.Path(folder) / "said", pathlib.Path(folder) / "log"
    with open(said, "wb") as out, open(log, "wb") as err:
        switch = subprocess.Popen(words, stdout=out, stderr=err)
    try:
        wait_until(
            lambda: said.read_bytes().endswith(b"\n") or switch.poll() is not None,
            "the switch does not start",
        )
        expect(switch.poll() is None, "the switch does not start")
        yield switch, json.loads(said.read_bytes().splitlines()[0])
        if switch.poll() not in (None, 0):
            print(log.read_text(errors="backslashreplace")[-2000:])
        expect_plain_lines(log)
    finally:
        switch.kill()
        switch.wait()


def key_words(uses_keys, folder):
    return ("--keys", "--state", f"{folder}/state") if uses_keys else ("--insecure",)


def join_string(stated):
    """Returns the string of a switch with keys, or nothing."""
    return (stated.get("keys") or {}).get("join_string", "")


class Loopback:
    """Everything is on this machine. The attacker has an address of its own."""

    plane = "user"

    def __init__(self, binary, uses_keys=False):
        self.uses_keys = uses_keys
        self.stated = {}
        self.job = Job(binary)
        self.binary = binary
        self.address = ("127.0.0.1", free_port())
        self.metrics = f"127.0.0.1:{free_port()}"
        self.source = ATTACKER_ADDRESS

    def source_of(self, turn):
        return f"127.1.0.{1 + turn % 254}"

    @contextlib.contextmanager
    def up(self, *words):
        with self.job, tempfile.TemporaryDirectory() as folder:
            with switch_process(
                folder,
                self.binary,
                "switch",
                "--listen",
                "{}:{}".format(*self.address),
                "--json",
                "--metrics",
                self.metrics,
                *key_words(self.uses_keys, folder),
                *words,
            ) as (self.switch, self.stated):
                yield self

    def ranks_of(self, job):
        """Returns how many of a job's ranks the switch has heard of, and not lost."""
        with urllib.request.urlopen(f"http://{self.metrics}/metrics", timeout=PATIENCE) as page:
            text = page.read().decode()
        found = re.search(rf'^infold_job_ranks{{job_name="{job}"}} (\d+)$', text, re.MULTILINE)
        return int(found[1]) if found else 0

    def where(self):
        return join_string(self.stated) or "{}:{}".format(*self.address)

    def start_rank(self, rank, *words):
        return self.job.start(*words, "--switch", self.where(), "--rank", str(rank))

    @contextlib.contextmanager
    def inside(self, _):
        """Sockets that are opened meanwhile belong to that host. Here, all hosts are one."""
        yield

    def start_attacker(self, *words):
        return subprocess.Popen(
            [sys.executable, str(CLIENT), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


class Namespaces:
    """A switch in the kernel between three hosts. The last host is the attacker's."""

    plane = "xdp"

    def __init__(self, binary, uses_keys=False):
        self.binary = binary
        self.uses_keys = uses_keys
        self.stated = {}
        host, port = xdp_network.SWITCH.split(":")
        self.address = (host, int(port))
        self.source = ""

    def source_of(self, turn):
        return f"{ATTACKERS}.{1 + turn % 254}"

    @contextlib.contextmanager
    def up(self, *words):
        with (
            xdp_network.network(3),
            xdp_network.Network(self.binary) as self.job,
            tempfile.TemporaryDirectory() as folder,
        ):
            xdp_network.at("switch", "ip", "route", "add", f"{ATTACKERS}.0/24", "dev", "br0")
            xdp_network.at(2, "ip", "route", "add", "local", f"{ATTACKERS}.0/24", "dev", "lo")
            probe, _ = self.job.start_xdp(xdp_network.ports(3), *words)
            xdp_network.stop(probe)
            with switch_process(
                folder,
                "nsenter",
                xdp_network.space_of("switch"),
                self.binary,
                "switch",
                "--plane",
                "xdp",
                "--dev",
                xdp_network.ports(3),
                "--listen",
                xdp_network.SWITCH,
                "--json",
                *key_words(self.uses_keys, folder),
                *words,
            ) as (self.switch, self.stated):
                yield self

    def where(self):
        return join_string(self.stated) or xdp_network.SWITCH

    def start_rank(self, rank, *words):
        return self.job.at(rank, *words, "--switch", self.where(), "--rank", str(rank))

    @contextlib.contextmanager
    def inside(self, node):
        """Sockets that this thread opens meanwhile belong to that host."""
        kernel = ctypes.CDLL(None, use_errno=True)
        space = xdp_network.space_of(node).removeprefix("--net=")
        with open("/proc/thread-self/ns/net", "rb") as before, open(space, "rb") as there:
            expect(kernel.setns(there.fileno(), 0) == 0, os.strerror(ctypes.get_errno()))
            try:
                yield
            finally:
                expect(kernel.setns(before.fileno(), 0) == 0, os.strerror(ctypes.get_errno()))

    def start_attacker(self, *words):
        return subprocess.Popen(
            [
                "nsenter",
                xdp_network.space_of(2),
                sys.executable,
                str(CLIENT),
                *words,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


class Battle:
    """One switch under attacks, from start to end."""

    def __init__(self, ground, binary):
        self.ground, self.binary = ground, binary
        self.jobs = self.turns = 0
        self.before = status_of(ground.switch)
        self.threads_most = self.before[2]

    def honest_job(self):
        """Runs two ranks that sum. Returns the median of the longer sums in ms."""
        expect(self.ground.switch.poll() is None, "the switch had ended before")
        self.jobs += 1
        words = (
            "bench",
            "allreduce",
            "--ranks",
            "2",
            "--job",
            f"honest-{self.jobs}",
            "--mtu",
            "1500",
            "--bytes",
            ",".join(map(str, HONEST_BYTES)),
            "--iterations",
            "12",
            "--check",
            "--json",
            "--shared-memory",
            "off",
            "--deadline",
            str(DEADLINE_S),
        )
        ranks = [self.ground.start_rank(rank, *words) for rank in range(2)]
        until = time.monotonic() + HONEST_S
        said = []
        for rank in ranks:
            try:
                out, err = rank.communicate(timeout=max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise AssertionError(f"an honest job is not done after {HONEST_S} s") from None
            said.append(out)
            expect(rank.returncode == 0, f"an honest rank ended with {rank.returncode}: {err}")
        rows = [json.loads(line) for line in said[0].splitlines()]
        expect(all(row["check"] == "ok" for row in rows) and len(rows) == len(HONEST_BYTES), rows)
        for rank in ranks:
            self.ground.job.processes.remove(rank)
        return rows[-1]["median_ms"]

    def medians(self, seconds):
        """Runs honest jobs, one after the other, for a number of seconds, and returns their times.
        At least one job runs."""
        until = time.monotonic() + seconds
        found = [self.honest_job()]
        while time.monotonic() < until:
            found.append(self.honest_job())
            self.look()
        return found

    def look(self):
        """Checks that the switch lives, within the memory and threads that it stated."""
        switch = self.ground.switch
        now = status_of(switch)
        expect(switch.poll() is None and now, f"the switch ended with {switch.poll()}")
        _, most, threads = now
        self.threads_most = max(self.threads_most, threads)
        stated = self.ground.stated
        memory = (
            self.before[0]
            + stated["memory_bytes_max"]
            + stated["join_memory_bytes_max"]
            + MEMORY_BESIDE
        )
        expect(most <= memory, f"{most / 1e6:.0f} MB resident, {memory / 1e6:.0f} stated")
        allowed = stated["join_threads_max"] + THREADS_BESIDE
        expect(threads <= allowed, f"{threads} threads, {allowed} allowed")

    def start(self, name, source, seed, seconds):
        return self.ground.start_attacker(
            self.binary,
            "--attack",
            name,
            "--seed",
            str(seed),
            "--seconds",
            str(seconds),
            "--at",
            self.ground.where(),
            "--from",
            source,
        )

    def endure(self, names, seed, seconds):
        """Runs attacks at the same time, beside honest jobs. Returns (medians, MB resident,
        threads). All attacks of a run come from one address, because several addresses may take all
        slots together. Each run has another address, because the switch does not serve an address
        that has sent too much for a while."""
        source = self.ground.source_of(self.turns)
        self.turns += 1
        attackers = [self.start(name, source, seed, seconds) for name in names]
        try:
            medians = self.medians(seconds)
            for name, attacker in zip(names, attackers, strict=True):
                out, _ = attacker.communicate(timeout=seconds + ATTACKER_SLACK_S)
                expect(attacker.returncode == 0, f"the attacker itself failed in {name}: {out}")
            self.look()
        finally:
            for attacker in attackers:
                attacker.kill()
                attacker.communicate()
        rss, _, threads = status_of(self.ground.switch)
        return medians, rss / 1e6, threads


def middle(values):
    return statistics.median(values) if values else float("nan")


def cpu_seconds(process):
    """Returns the processor time of a process so far."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1]
    user, system = map(int, fields.split()[11:13])
    return (user + system) / os.sysconf("SC_CLK_TCK")
