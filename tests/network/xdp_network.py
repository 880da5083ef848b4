# SPDX-License-Identifier: Apache-2.0
"""A lab of its own with a switch in the kernel, for tests. All of it is in a mount namespace that
ends with the test, so that a killed test leaves nothing behind."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from processes import PATIENCE, SHORT_THEN_LONG, Job, expect, outcome, unusual

LAB_FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tools" / "lab"
sys.path.insert(0, str(LAB_FOLDER))
from links import compile_loss

NAME = f"infold-xdp-{os.getpid()}"
SKIPPED = 77
SWITCH = "10.77.0.254:7700"
SWITCH6 = "[fd77::fe]:7700"
PINS = "/sys/fs/bpf"
# Calls that every rank makes and checks: for a moment, and until somebody ends them.
SUMS = ("bench", "allreduce", "--bytes", "4,100000", "--iterations", "20", "--check")
LONG = ("bench", "allreduce", *SHORT_THEN_LONG)
ALONE = "INFOLD_XDP_TEST_ALONE"  # set once this process has a mount namespace of its own
# Messages of a kernel or a container on which these tests cannot run.
LACKS = (
    "the kernel refuses",
    "is missing: apt-get",
    "that needs root",
    "no packet program",
    "needs Linux",
    "it lacks CAP",
    "needs CAP_BPF",
)


class Unavailable(Exception):
    """This machine cannot run these tests. The text has the reason."""


def be_alone():
    """Continues in a mount namespace of its own, in which the names of network namespaces and the
    pins of packet programs are this test's own."""
    if os.environ.get(ALONE):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
        os.mkdir("/run/lock")
        subprocess.run(["mount", "-t", "bpf", "bpf", PINS], check=True)
        return
    if os.geteuid() != 0:
        print("needs root, for network namespaces and packet programs")
        sys.exit(SKIPPED)
    words = ["unshare", "--mount", "--propagation", "private"]
    if subprocess.run([*words, "true"], check=False, capture_output=True).returncode != 0:
        print("the kernel refuses a mount namespace")
        sys.exit(SKIPPED)
    os.environ[ALONE] = "1"
    os.execvp(words[0], [*words, sys.executable, *sys.argv])


def run(*words, status=0):
    result = subprocess.run(words, check=False, capture_output=True, text=True, timeout=PATIENCE)
    if any(text in result.stderr for text in LACKS):
        raise Unavailable(result.stderr.strip().splitlines()[0])
    expect(
        status is None or result.returncode == status,
        f"{words}: {result.returncode}: {result.stdout}{result.stderr}",
    )
    return result.stdout + result.stderr


def space_of(node):
    return f"--net=/run/netns/{NAME}-{node}"


def at(node, *words, status=0):
    """Returns the output of a command in the namespace of a rank or of the switch. Unlike `ip netns
    exec`, this keeps the mounts, and with them the pins."""
    return run("nsenter", space_of(node), *words, status=status)


def ports(world):
    return ",".join(f"port{rank}" for rank in range(world))


@contextlib.contextmanager
def network(world, *words, rate="none"):
    """Makes ranks 0 to world - 1 around a switch. Each adds up its own checksums."""
    lab = [sys.executable, str(LAB_FOLDER / "lab.py")]
    run(*lab, "up", "--name", NAME, "--ranks", str(world), "--link", rate, *words)
    try:
        for rank in range(world):
            at(rank, "ethtool", "-K", "eth0", "tx", "off")
        yield
    finally:
        run(*lab, "down", "--name", NAME)


def lose(node, device, way, loss):
    """Loses this share of the packets that arrive at, or leave, a device of a lab with a clsact."""
    with tempfile.TemporaryDirectory() as folder:
        at(
            node,
            "tc",
            "filter",
            "add",
            "dev",
            device,
            way,
            "bpf",
            "direct-action",
            "object-file",
            str(compile_loss(loss, folder)),
            "section",
            "classifier",
        )


def lose_uphill(world, loss):
    """Lets ranks lose packets that they send as well. The lab loses packets after a switch's port,
    and the packet program comes before that point."""
    for rank in range(world):
        lose(rank, "eth0", "egress", loss)


# Runs in a namespace. Prints the names of the programs of an interface's packets, then of its
# ingress. Linux 6.6 and newer keep the second in a list that older tools do not know.
ATTACHED = r"""
import ctypes, json, os, platform, socket, struct, subprocess, sys
call = {"x86_64": 321, "aarch64": 280}[platform.machine()]
kernel = ctypes.CDLL(None, use_errno=True)
def bpf(command, words):
    words = bytearray(words.ljust(64, b"\0"))
    result = kernel.syscall(call, command, (ctypes.c_char * 64).from_buffer(words), 64)
    return result, words
def name_of(number):
    program, _ = bpf(13, struct.pack("<I", number))  # BPF_PROG_GET_FD_BY_ID
    info = ctypes.create_string_buffer(128)
    bpf(15, struct.pack("<IIQ", program, 128, ctypes.addressof(info)))  # BPF_OBJ_GET_INFO_BY_FD
    os.close(program)
    return info[64:80].rstrip(b"\0").decode()
device = sys.argv[1]
tool = lambda *words: json.loads(subprocess.check_output(words) or "[]")
packets = tool("ip", "-j", "link", "show", "dev", device)[0].get("xdp")
numbers = (ctypes.c_uint32 * 64)()
failed, query = bpf(16, struct.pack("<IIIIQI", socket.if_nametoindex(device), 46, 0, 0,
                                    ctypes.addressof(numbers), len(numbers)))  # BPF_PROG_QUERY
found = [packets["prog"]["id"]] if packets else []
found += [] if failed else numbers[:struct.unpack_from("<I", query, 24)[0]]
for each in tool("tc", "-j", "filter", "show", "dev", device, "ingress"):
    found += [each["options"]["prog"]["id"]] if "prog" in each.get("options", {}) else []
print(json.dumps([name_of(number) for number in found]))
"""


def attached(device):
    """Returns the names of the programs at a port of the switch: of packets, then of its
    ingress."""
    return json.loads(at("switch", sys.executable, "-c", ATTACHED, device))


class Network(Job):
    """Processes in the lab's namespaces."""

    def __init__(self, binary):
        super().__init__("nsenter")
        self.infold = binary

    def at(self, node, *words):
        return self.start(space_of(node), self.infold, *words)

    def start_xdp(self, devices, *words, listen=SWITCH):
        """Starts a switch, and returns it with its first output."""
        switch = self.at(
            "switch",
            "switch",
            "--insecure",
            "--plane",
            "xdp",
            "--dev",
            devices,
            "--listen",
            listen,
            "--json",
            *words,
        )
        return switch, first_output(switch)

    def start_ranks(self, world, *words, switch=SWITCH, first=0):
        return [
            self.at(
                first + rank, *words, "--switch", switch, "--rank", str(rank), "--ranks", str(world)
            )
            for rank in range(world)
        ]


def first_output(switch):
    """Returns what a switch with --json says when it has started."""
    line = switch.stdout.readline()
    if not line:
        _, said = outcome(switch)
        if any(text in said for text in LACKS):
            raise Unavailable(said.strip())
        raise AssertionError(f"the switch does not start: {said}")
    return json.loads(line)


def stop(switch):
    """Ends a switch in good order. Returns its counters, and its unusual messages."""
    switch.terminate()
    out, err = switch.communicate(timeout=PATIENCE)
    expect(switch.returncode == 0, f"the switch ended with {switch.returncode}: {err}")
    return json.loads(out.splitlines()[-1])["packets"], unusual(err)


def expect_all_well(ranks):
    for rank in ranks:
        status, said = outcome(rank)
        expect(status == 0, said)


def run_all(*tests):
    """Like processes.run_each, for tests that some machines cannot run. If names follow the binary,
    only these tests run."""
    failures = 0
    wanted = sys.argv[2:]
    for test in tests:
        if wanted and test.__name__ not in wanted:
            continue
        try:
            test(sys.argv[1])
            print(f"{test.__name__}: passed", flush=True)
        except Unavailable as reason:
            print(reason)
            return SKIPPED
        except (AssertionError, subprocess.TimeoutExpired) as error:
            failures += 1
            print(f"{test.__name__}: FAILED: {error}", flush=True)
    return 1 if failures else 0
