# SPDX-License-Identifier: Apache-2.0
"""The metrics that tests of either plane expect of a switch."""

import re
import socket
import struct
import time

from processes import PATIENCE, expect

HEAD = re.compile(r"# (HELP|TYPE) (\w+) (.+)")
SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (\d+)")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\["\\n])*)"(?:,|$)')
# The number of the first job of any switch. The test sends packets of that job, but cannot know its
# epoch.
FIRST_JOB = 1
PROBE = b"\xf0"
I32, I32_FORMAT = 6, 2
# Reasons that only a packet program can give.
OF_PROGRAM = {
    "dropped_checksum",
    "dropped_busy",
    "dropped_broken",
    "dropped_unsummed",
    "dropped_unsendable",
    "heard_echo",
    "dropped_stray",
}


def unescape(value):
    return re.sub(r"\\(.)", lambda escaped: {"n": "\n"}.get(escaped[1], escaped[1]), value)


def parse(page):
    """Returns {name: {labels as a sorted tuple of pairs: value}} of a page in Prometheus' format.
    Checks each line."""
    types, samples = {}, {}
    for line in page.splitlines():
        if head := HEAD.fullmatch(line):
            if head[1] == "TYPE":
                expect(head[2] not in types and head[3] in ("counter", "gauge"), line)
                types[head[2]] = head[3]
                samples[head[2]] = {}
            continue
        sample = SAMPLE.fullmatch(line)
        expect(sample and list(types)[-1:] == [sample[1]], f"not a sample of its metric: {line}")
        labels = tuple(
            sorted((name, unescape(value)) for name, value in LABEL.findall(sample[2] or ""))
        )
        expect("".join(LABEL.split(sample[2] or "")[::3]) == "", f"labels: {line}")
        expect(labels not in samples[sample[1]], f"twice: {line}")
        samples[sample[1]][labels] = int(sample[3])
    for name, kind in types.items():
        expect((kind == "counter") == name.endswith("_total"), f"{name} is a {kind}")
    return samples


def single(samples, name):
    expect(list(samples[name]) == [()], f"{name}: {samples[name]}")
    return samples[name][()]


def by_verdict(samples, name="infold_packets_total"):
    """Returns {verdict: packets}, of all jobs of that metric."""
    counts = {}
    for labels, value in samples[name].items():
        verdict = dict(labels)["verdict"]
        counts[verdict] = counts.get(verdict, 0) + value
    return counts


def jobs(samples):
    """Returns {job: (world, ranks here, slots)}."""
    return {
        dict(labels)["job_name"]: (
            world,
            samples["infold_job_ranks"][labels],
            samples["infold_job_slots"][labels],
        )
        for labels, world in samples["infold_job_world"].items()
    }


def query(job, version=1):
    """Returns a worker's QUERY: magic, version and kind, flags, worker, job, slot, epoch, round, 16
    elements of i32, shape, and no contributor."""
    return struct.pack(
        "!BBBBHHIIHBBIHHI",
        0xF1,
        version << 4 | 5,
        0,
        0,
        job,
        0,
        12345,
        1,
        16,
        I32 << 4 | I32_FORMAT,
        0,
        16,
        0,
        0,
        0,
    )


def strangers():
    """Returns packets that no rank of a job has sent, and the verdicts that a switch must count for
    each."""
    return (
        [PROBE + bytes(99)] * 3
        + [query(FIRST_JOB)] * 4
        + [query(999)] * 5
        + [b"", bytes(7), bytes(64), query(999)[:31], query(999, version=9), query(999) + b"x"],
        {
            "answered_probe": 3,
            "dropped_stale_epoch": 4,
            "dropped_foreign_job": 5,
            "dropped_malformed": 6,
        },
    )


def send(packets, address):
    with socket.socket(type=socket.SOCK_DGRAM) as stranger:
        for packet in packets:
            stranger.sendto(packet, address)


def until(scrape, holds, what):
    """Returns the first metrics for which this holds. A page may be 100 ms old, and packets take
    time."""
    end = time.monotonic() + PATIENCE
    while not holds(samples := parse(scrape())):
        expect(time.monotonic() < end, f"{what}: {samples}")
    return samples


def expect_counted(scrape, wanted):
    """Returns the metrics once these packets are counted, by verdict. Others may not be counted."""

    def has_all(samples):
        counts = by_verdict(samples)
        return all(counts[verdict] >= count for verdict, count in wanted.items())

    samples = until(scrape, has_all, f"not counted: {wanted}")
    counts = by_verdict(samples)
    expect(all(counts[verdict] == count for verdict, count in wanted.items()), counts)
    return samples


def expect_same_at_end(samples, report):
    """A switch's report has the names of its metrics, and counts on from the last of them."""
    counts = by_verdict(samples)
    expect(list(counts) == list(report["packets"]), (list(counts), report))
    expect(
        all(report["packets"][verdict] >= count for verdict, count in counts.items()),
        (counts, report),
    )
    for name in ("received_packets", "received_bytes", "sent_packets", "sent_bytes"):
        expect(report[name] >= single(samples, f"infold_{name}_total") > 0, (name, report))
