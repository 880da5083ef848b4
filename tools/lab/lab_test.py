#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes small labs and measures them: the rates of both directions, the counts of lost and held
packets, and that nothing is left behind.

Needs root. Where no lab can be made, it ends with status 77 and the reason, and ctest counts it as
skipped. Times must not be shorter than the rate allows. They may be longer, because other work on
the machine takes time.
"""

import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

import links
import network

LAB = pathlib.Path(__file__).resolve().with_name("lab.py")
NAME = f"infold-test-{os.getpid()}"
SKIPPED = 77

# Receives a stream, or datagrams until the sender is done, which ends the input, and no more come.
# Prints the bytes, the number of reads and the time of the last read.
RECEIVE = """
import select, socket, sys, time
socket.SO_RCVBUFFORCE = 33  # Python has no name for it.
family, kind = getattr(socket, sys.argv[1]), getattr(socket, sys.argv[2])
listener = socket.socket(family, kind)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUFFORCE, 16 << 20)
listener.bind(("", 7777))
if kind == socket.SOCK_STREAM:
    listener.listen()
print("ready", flush=True)
if kind == socket.SOCK_STREAM:
    listener = listener.accept()[0]
total, count, last = 0, 0, 0
if kind == socket.SOCK_DGRAM:
    listener.settimeout(0.2)
while True:
    try:
        size = len(listener.recv(1 << 20))
    except TimeoutError:
        if select.select([sys.stdin], [], [], 0)[0]:
            break
        continue
    if not size:
        break
    last = time.monotonic()
    total, count = total + size, count + 1
print(total, count, last, flush=True)
"""
# Sends the given number of times, and prints the time of the first. The last argument, unless it is
# 0, divides what it sends into datagrams of this size.
SEND = """
import socket, sys, time
family, kind = getattr(socket, sys.argv[1]), getattr(socket, sys.argv[2])
target, times, size = sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
sender = socket.socket(family, kind)
if kind == socket.SOCK_DGRAM:  # So that it waits for the link, and does not overflow its queue.
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32 << 10)
sender.connect((target, 7777))
if int(sys.argv[6]):
    sender.setsockopt(socket.IPPROTO_UDP, 103, int(sys.argv[6]))  # UDP_SEGMENT
data = bytes(size)
print(time.monotonic(), flush=True)
for _ in range(times):
    sender.sendall(data)
"""
# Receives datagrams until each number below the count has come. Then reads on until the sender is
# done and no more come, because a number may come twice. Prints the numbers as they came.
RECEIVE_NUMBERS = """
import json, select, socket, sys
socket.SO_RCVBUFFORCE = 33  # Python has no name for it.
listener = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUFFORCE, 16 << 20)
listener.bind(("", 7778))
print("ready", flush=True)
numbers, missing = [], set(range(int(sys.argv[1])))
def receive():
    numbers.append(int.from_bytes(listener.recv(64), "big"))
    missing.discard(numbers[-1])
while missing:
    receive()
listener.settimeout(0.2)
while True:
    try:
        receive()
    except TimeoutError:
        if select.select([sys.stdin], [], [], 0)[0]:
            break
print(json.dumps(numbers))
"""
# Runs on one processor, because packets of two processors may overtake each other on any link.
SEND_NUMBERS = """
import os, socket, sys
os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])
sender = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32 << 10)
sender.connect((sys.argv[1], 7778))
for number in range(int(sys.argv[2])):
    sender.send(number.to_bytes(8, "big"))
"""


def dev_lab(*words, check=True):
    command = [sys.executable, str(LAB), words[0], "--name", NAME, *map(str, words[1:])]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    if check and result.returncode != 0:
        raise AssertionError(
            f"{' '.join(command)} ended with {result.returncode}:\n{result.stdout}{result.stderr}"
        )
    return result


def transfer(source, target, times, size, kind="SOCK_DGRAM", family=4, train=0):
    """Sends from one host to another. Returns payload bytes, the number of reads, and seconds."""
    families = {4: "AF_INET", 6: "AF_INET6"}
    where = [sys.executable, str(LAB), "exec", "--name", NAME]
    receive = [*where, str(target), sys.executable, "-c", RECEIVE, families[family], kind]
    with subprocess.Popen(
        receive, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as receiver:
        try:
            receiver.stdout.readline()
            send = [
                *where,
                str(source),
                sys.executable,
                "-c",
                SEND,
                families[family],
                kind,
                network.address(target, family),
                str(times),
                str(size),
                str(train),
            ]
            first = subprocess.run(send, check=True, stdout=subprocess.PIPE, text=True).stdout
            total, count, last = receiver.communicate(timeout=60)[0].split()
        finally:
            receiver.kill()
    return int(total), int(count), float(last) - float(first)


def numbers_received(source, target, count):
    """Sends this many numbered datagrams. Returns the numbers as they arrive."""
    where = [sys.executable, str(LAB), "exec", "--name", NAME]
    receive = [*where, str(target), sys.executable, "-c", RECEIVE_NUMBERS, str(count)]
    with subprocess.Popen(
        receive, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as receiver:
        try:
            receiver.stdout.readline()
            subprocess.run(
                [
                    *where,
                    str(source),
                    sys.executable,
                    "-c",
                    SEND_NUMBERS,
                    network.address(target, 6),
                    str(count),
                ],
                check=True,
            )
            return json.loads(receiver.communicate(timeout=60)[0])
        finally:
            receiver.kill()


def behind_later_ones(numbers):
    """Returns how far each number that arrived after a larger one is behind the largest."""
    largest = itertools.accumulate(numbers, max)
    return [
        before - number for before, number in zip(largest, numbers, strict=True) if before > number
    ]


def kernel_rates(node):
    """Returns the rate to which the kernel shapes each device of a host, in bits per second."""

    def tc(*words):
        return subprocess.run(
            ["tc", "-n", f"{NAME}-{node}", *words], check=True, text=True, capture_output=True
        ).stdout

    shaped = [q["dev"] for q in json.loads(tc("-j", "qdisc", "show")) if q["kind"] == "htb"]
    classes = {dev: tc("class", "show", "dev", dev) for dev in shaped}
    return {
        dev: links.parse_rate(re.search(r" rate (\S+) ", said)[1]) for dev, said in classes.items()
    }


def counters(rank, direction):
    listed = json.loads(dev_lab("status", "--json").stdout)["links"]
    return next(k for k in listed if k["rank"] == rank and k["direction"] == direction)


class LabTest(unittest.TestCase):
    def tearDown(self):
        dev_lab("down")
        self.assertFalse([n for n in os.listdir("/run/netns") if n.startswith(NAME)])

    def check_not_faster(self, total, seconds, rate):
        """Packets that waited may go out at the peak rate (links.py)."""
        self.assertGreater(seconds, total * 8 / (rate * links.PEAK) * 0.95, (total, rate))

    def test_everyone_reaches_everyone(self):
        dev_lab("up", "--ranks", 3, "--link", "100mbit")
        for source, target in ((0, 2), (1, "switch"), ("switch", 0)):
            for family in (4, 6):
                total, count, _ = transfer(source, target, 3, 1000, family=family)
                self.assertEqual((total, count), (3000, 3), f"{source} to {target} v{family}")
        name = dev_lab("exec", 2, "hostname").stdout.strip()
        self.assertEqual(name, f"{NAME}-2")

    def test_limits_the_rate_both_ways(self):
        dev_lab("up", "--ranks", 2, "--link", "20mbit")
        self.assertEqual(kernel_rates("switch"), {"port0": 20e6, "port1": 20e6})
        self.assertEqual(kernel_rates(0), {"eth0": 20e6})
        for kind, times, size in (("SOCK_DGRAM", 850, 1472), ("SOCK_STREAM", 20, 65536)):
            # Between ranks both links limit the rate. From and to the switch one link does.
            for source, target in ((0, 1), (0, "switch"), ("switch", 0)):
                total, _, seconds = transfer(source, target, times, size, kind)
                self.assertGreater(total, 500e3)
                self.check_not_faster(total, seconds, 20e6)

    def test_loses_and_counts(self):
        dev_lab("up", "--ranks", 2, "--link", "none", "--loss", 0.1)
        _, count, _ = transfer(0, "switch", 4000, 100)
        up = counters(0, "up")
        # Five standard deviations of a binomial with 4000 and 0.1 are 95.
        self.assertTrue(300 <= up["lost"] <= 500, up)
        self.assertTrue(up["packets"] - 30 <= count + up["lost"] <= up["packets"], (count, up))
        transfer("switch", 1, 4000, 100)
        down = counters(1, "down")
        self.assertTrue(300 <= down["lost"] <= 500, down)
        # The other direction has a few reports about multicast groups, and one of them may be lost.
        self.assertLess(counters(1, "up")["lost"], 10)

    def test_reorders_and_counts(self):
        said = dev_lab("up", "--ranks", 2, "--link", "none", "--reorder", 0.05).stdout
        self.assertIn("hold back 0.05 of the packets each way", said)
        self.assertNotIn("generic", said)
        for source, target, rank, way in ((0, "switch", 0, "up"), ("switch", 1, 1, "down")):
            numbers = numbers_received(source, target, 8000)
            self.assertEqual(sorted(numbers), list(range(8000)))  # none lost, none twice
            held = counters(rank, way)["held"]
            # Five standard deviations of a binomial with 8000 and 0.05 are 97.
            self.assertTrue(303 <= held <= 497, held)
            # No packet overtakes the last ones, or those that are held while the sender pauses.
            self.assertTrue(held / 10 <= len(behind_later_ones(numbers)) <= held, (way, held))
        # The way back has a few reports about multicast groups.
        self.assertLess(counters(1, "up")["held"], 10)

    def test_holds_a_train_and_counts_its_packets(self):
        dev_lab("up", "--ranks", 1, "--link", "none", "--reorder", 0.05)
        _, count, _ = transfer(0, "switch", 2000, 400, train=100)
        self.assertEqual(count, 8000)
        # Five standard deviations of a binomial with 2000 and 0.05, times four, are 195.
        held = counters(0, "up")["held"]
        self.assertTrue(205 <= held <= 595, held)

    def test_keeps_the_order_otherwise(self):
        for words in ((), ("--reorder", 0)):
            dev_lab("up", "--ranks", 2, "--link", "none", "--loss-at", "1=0.5", *words)
            for source, target in ((0, "switch"), ("switch", 0)):
                self.assertEqual(numbers_received(source, target, 8000), list(range(8000)))
            self.assertEqual(counters(0, "up")["held"] + counters(0, "down")["held"], 0)

    def test_tcp_works_where_packets_are_reordered_and_lost(self):
        said = dev_lab(
            "up",
            "--ranks",
            2,
            "--link",
            "100mbit",
            "--reorder",
            0.05,
            "--loss",
            0.01,
            "--mtu",
            9000,
        ).stdout
        self.assertIn("MTU above 3498", said)
        self.assertEqual(transfer(0, 1, 160, 65536, "SOCK_STREAM")[0], 160 * 65536)
        links_passed = (counters(0, "up"), counters(1, "down"))
        self.assertTrue(all(k["held"] and k["lost"] for k in links_passed), links_passed)

    def test_a_held_packet_is_lost_as_others_are(self):
        dev_lab("up", "--ranks", 1, "--link", "none", "--reorder", 0.5, "--loss", 0.1)
        _, count, _ = transfer("switch", 0, 4000, 100)
        down = counters(0, "down")
        # Five standard deviations of a binomial with 4000 and 0.1 are 95.
        self.assertTrue(300 <= down["lost"] <= 500, down)
        self.assertTrue(
            down["packets"] - 30 <= count + down["lost"] <= down["packets"], (count, down)
        )

    def test_one_link_may_be_worse_than_the_others(self):
        words = (
            "up",
            "--ranks",
            3,
            "--link",
            "100mbit",
            "--loss-at",
            "1=0.1",
            "--link-at",
            "2=10mbit",
        )
        self.assertIn("link 1 loses 0.1; link 2 10 Mbit/s each way", dev_lab(*words).stdout)
        self.assertIn("was up already", dev_lab(*words).stdout)
        transfer("switch", 0, 2000, 100)
        transfer("switch", 1, 2000, 100)
        self.assertEqual(counters(0, "down")["lost"], 0)
        lossy = counters(1, "down")
        # Five standard deviations of a binomial with 2000 and 0.1 are 67.
        self.assertTrue(130 <= lossy["lost"] <= 270, lossy)
        self.assertEqual((lossy["loss"], lossy["rate"]), (0.1, 10**8))
        total, _, seconds = transfer("switch", 2, 500, 1472)
        self.check_not_faster(total, seconds, 10e6)
        self.assertEqual(kernel_rates("switch"), {"port0": 1e8, "port1": 1e8, "port2": 1e7})
        self.assertIn("is up", dev_lab("up", "--ranks", 3, "--link", "100mbit").stdout)

    def test_changes_the_rate_of_links_that_are_up(self):
        lab = network.Lab(NAME)
        self.assertRaises(links.LabError, lab.change_rate, 10**7)
        dev_lab("up", "--ranks", 2, "--link", "100mbit", "--link-at", "1=50mbit")
        lab.change_rate(10**7)
        self.assertEqual(kernel_rates("switch"), {"port0": 1e7, "port1": 5e7})
        total, _, seconds = transfer("switch", 0, 500, 1472)
        self.check_not_faster(total, seconds, 10e6)
        self.assertEqual([counters(rank, "up")["rate"] for rank in (0, 1)], [10**7, 5 * 10**7])
        dev_lab("up", "--ranks", 2, "--link", "none")
        self.assertRaises(links.LabError, lab.change_rate, 10**7)

    def test_lost_packets_are_those_of_the_wire(self):
        # With super-packets, far fewer would arrive.
        dev_lab("up", "--ranks", 2, "--link", "none", "--loss", 0.001)
        total, _, _ = transfer(0, 1, 100, 65536, "SOCK_STREAM")
        self.assertGreaterEqual(counters(1, "down")["packets"], total // 1448)

    def test_keeps_super_packets_whole_where_nothing_is_shaped(self):
        dev_lab("up", "--ranks", 2, "--link", "none")
        total, _, _ = transfer(0, 1, 500, 65536, "SOCK_STREAM")
        self.assertLess(counters(1, "down")["packets"], total // 1448 / 4)

    def test_mtu(self):
        # A datagram of 8972 bytes is one packet. One more byte makes two packets.
        dev_lab("up", "--ranks", 2, "--link", "100mbit", "--mtu", 9000)
        transfer(0, 1, 1, 10)
        for size, packets in ((8972, 100), (8973, 200)):
            before = counters(1, "down")["packets"]
            self.assertEqual(transfer(0, 1, 100, size)[1], 100)
            passed = counters(1, "down")["packets"] - before
            self.assertTrue(packets <= passed < packets + 30, (size, passed))

    def test_up_is_idempotent(self):
        first = dev_lab("up", "--ranks", 2, "--link", "none").stdout
        self.assertIn("is up", first)
        inode = os.stat(f"/run/netns/{NAME}-0").st_ino
        self.assertIn("was up already", dev_lab("up", "--ranks", 2, "--link", "none").stdout)
        self.assertEqual(os.stat(f"/run/netns/{NAME}-0").st_ino, inode)
        dev_lab("up", "--ranks", 3, "--link", "1gbit")
        status = json.loads(dev_lab("status", "--json").stdout)
        self.assertEqual((status["world"], status["rate"]), (3, 10**9))

    def test_mends_and_removes_what_a_crash_left(self):
        dev_lab("up", "--ranks", 2, "--link", "none")
        subprocess.run(["ip", "netns", "delete", f"{NAME}-1"], check=True)
        self.assertFalse(json.loads(dev_lab("status", "--json").stdout)["up"])
        self.assertIn("is up", dev_lab("up", "--ranks", 2, "--link", "none").stdout)
        sleeper = subprocess.Popen(
            [sys.executable, str(LAB), "exec", "--name", NAME, "1", "sleep", "1000"]
        )
        while not pathlib.Path(f"/proc/{sleeper.pid}/cmdline").read_text().startswith("sleep"):
            time.sleep(0.01)
        dev_lab("down")
        self.assertLess(sleeper.wait(timeout=10), 0)

    def test_leaves_other_labs_alone(self):
        other = f"{NAME}-x"
        dev_lab("up", "--ranks", 1, "--link", "none")
        subprocess.run(
            [sys.executable, str(LAB), "up", "--name", other, "--ranks", "1", "--link", "none"],
            check=True,
            capture_output=True,
        )
        dev_lab("down")
        left = sorted(n for n in os.listdir("/run/netns") if n.startswith(NAME))
        subprocess.run(
            [sys.executable, str(LAB), "down", "--name", other], check=True, capture_output=True
        )
        self.assertEqual(left, [f"{other}-0", f"{other}-switch"])

    def test_says_what_is_wrong(self):
        for words in (
            ("up", "--ranks", 2),
            ("up", "--ranks", 0, "--link", "none"),
            ("up", "--ranks", 2, "--link", "fast"),
            ("exec", 0),
            ("exec", "x", "true"),
            ("up", "--ranks", 2, "--link", "none", "--loss", 2),
            ("up", "--ranks", 2, "--link", "none", "--reorder", 0.6),
            ("up", "--ranks", 2, "--link", "none", "--loss-at", "2=0.1"),
            ("up", "--ranks", 2, "--link", "none", "--loss-at", "1=2"),
            ("up", "--ranks", 2, "--link", "none", "--link-at", "10mbit"),
        ):
            self.assertEqual(dev_lab(*words, check=False).returncode, 2, words)
        missing = dev_lab("exec", 0, "true", check=False)
        self.assertEqual(missing.returncode, 1)
        self.assertRegex(missing.stderr, "no host 0")
        self.assertEqual(json.loads(dev_lab("status", "--json").stdout)["up"], False)


def missing():
    """Returns the reason why no lab can be made here, or an empty text if one can."""
    lab = network.Lab(NAME)
    options = network.Options(world=1, rate=10**9, loss=0.5, reorder=0.5)
    try:
        network.require(options)
        lab.up(options)
        lab.down()
    except links.Unavailable as reason:
        return " ".join(str(reason).split())
    return ""


if __name__ == "__main__":
    REASON = missing()
    if REASON:
        LabTest.__unittest_skip__ = True
        LabTest.__unittest_skip_why__ = REASON
    PROGRAM = unittest.main(exit=False, verbosity=2)
    if not PROGRAM.result.wasSuccessful():
        sys.exit(1)
    if REASON:
        print(REASON)
    sys.exit(SKIPPED if REASON else 0)
