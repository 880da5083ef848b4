#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the metrics and logs of a switch in user space while it runs, over loopback: jobs, slots,
packets by reason, and a line for each event. The switch serves them only if it is asked to.

Usage: metrics_test.py INFOLD
"""

import functools
import json
import pathlib
import signal
import sys
import urllib.error
import urllib.request

from metrics import (
    OF_PROGRAM,
    by_verdict,
    expect_counted,
    expect_same_at_end,
    jobs,
    send,
    single,
    strangers,
    until,
)
from processes import (
    PATIENCE,
    SHORT_THEN_LONG,
    Job,
    expect,
    free_port,
    outcome,
    run_each,
    unusual,
    wait_for_sums,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "spec_worker"))
import joining

WORLD = 2
NAME = 'a "job"\\ of {two}'


def fetch(port, path="/metrics", method="GET"):
    question = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
    with urllib.request.urlopen(question, timeout=PATIENCE) as answer:
        expect(
            answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"), answer.headers
        )
        return answer.read().decode()


def start_switch(job, port, page, *words):
    switch = job.start(
        "switch",
        "--listen",
        f"127.0.0.1:{port}",
        "--metrics",
        f"127.0.0.1:{page}",
        "--json",
        *words,
    )
    said = json.loads(switch.stdout.readline())
    expect(said["metrics"] == f"127.0.0.1:{page}", said)
    return switch


def a_running_job_is_shown(binary):
    """Strangers also send packets to the job."""
    for threads in ("1", "2"):
        with Job(binary) as job:
            port, page = free_port(), free_port()
            switch = start_switch(job, port, page, "--threads", threads, "--slots", "2000")
            scrape = functools.partial(fetch, page)
            words = ("--switch", f"127.0.0.1:{port}", "--job", NAME, *SHORT_THEN_LONG)
            ranks = [job.start_rank(rank, WORLD, *words, host=str(rank)) for rank in range(WORLD)]
            wait_for_sums(ranks[0])
            packets, counted = strangers()
            counted["answered_probe"] += by_verdict(until(scrape, lambda _: True, ""))[
                "answered_probe"
            ]
            send(packets, ("127.0.0.1", port))
            samples = expect_counted(scrape, counted)
            world, ranks_here, slots = jobs(samples)[NAME]
            expect((world, ranks_here, slots) == (WORLD, WORLD, 512), jobs(samples))
            expect(single(samples, "infold_slots") == 2000, samples)
            expect(single(samples, "infold_slots_used") == slots, samples)
            expect(single(samples, "infold_memory_bytes") > 10e6, samples)
            counts = by_verdict(samples)
            expect(not OF_PROGRAM & set(counts), counts)
            expect(sum(counts.values()) == single(samples, "infold_received_packets_total"), counts)
            of_job = by_verdict(samples, "infold_job_packets_total")
            expect(counts["completed"] == of_job["completed"] > 100, (counts, of_job))
            expect(counts["dropped_foreign_job"] > of_job["dropped_foreign_job"] == 0, of_job)
            for rank in ranks:
                rank.kill()
            left = until(scrape, lambda found: not jobs(found), "the job stays")
            expect(
                single(left, "infold_slots_used") == single(left, "infold_memory_bytes") == 0, left
            )
            expect(by_verdict(left)["completed"] >= counts["completed"], "a counter went back")
            switch.send_signal(signal.SIGTERM)
            out, err = switch.communicate(timeout=PATIENCE)
            expect(switch.returncode == 0 and not unusual(err), err)
            expect_same_at_end(left, json.loads(out.splitlines()[-1]))


def only_that_page_is_shown(binary):
    with Job(binary) as job:
        port, page = free_port(), free_port()
        switch = start_switch(job, port, page)
        for path, method, status in (
            ("/", "GET", 404),
            ("/metrics/x", "GET", 404),
            ("/metrics", "POST", 405),
            ("/metrics", "HEAD", 405),
        ):
            try:
                fetch(page, path, method)
                expect(False, f"{method} {path} is answered")
            except urllib.error.HTTPError as error:
                expect(error.code == status, f"{method} {path}: {error.code}")
        second = job.start(
            "switch", "--listen", f"127.0.0.1:{free_port()}", "--metrics", f"127.0.0.1:{page}"
        )
        status, said = outcome(second)
        expect(status == 1 and f"--metrics 127.0.0.1:{page}: the address is in use" in said, said)
        expect(switch.poll() is None, "the first one ended")


def log_of(binary, *words):
    """Returns the log of a switch while it refuses one rank, another leaves while it waits, and a
    job runs."""
    hello = {
        "protocol_version": joining.PROTOCOL_VERSION,
        "job": "waits",
        "rank": 0,
        "world": 2,
        "datagram_bytes_max": 1472,
        "small_slots": 64,
        "bulk_slots": 448,
        "patience_ms": 1000 * PATIENCE,
    }
    with Job(binary) as job:
        port, page = free_port(), free_port()
        switch = start_switch(job, port, page, *words)
        scrape = functools.partial(fetch, page)
        waits = joining.Member(("127.0.0.1", port), PATIENCE)
        waits.send(hello=hello)
        until(scrape, lambda found: "waits" in jobs(found), "the rank does not join")
        wrong = joining.Member(("127.0.0.1", port), PATIENCE)
        wrong.send(hello={**hello, "rank": 1, "world": 3})
        try:
            expect(not wrong.expect("joined", PATIENCE), "it joins another world")
        except joining.JobEnded as ended:
            expect("rank 1 says there are 3 ranks" in str(ended), ended)
        waits.connection.close()
        until(scrape, lambda found: not jobs(found), "the rank stays")
        status, said = outcome(
            job.start(
                "bench",
                "allreduce",
                "--switch",
                f"127.0.0.1:{port}",
                "--rank",
                "0",
                "--ranks",
                "1",
                "--job",
                "runs",
                "--bytes",
                "4",
                "--shared-memory",
                "off",
            )
        )
        expect(status == 0, said)
        switch.send_signal(signal.SIGTERM)
        return switch.communicate(timeout=PATIENCE)[1].splitlines()


def the_log_tells_what_happens(binary):
    """One line for each event, one object under --log json, and no more than the level asks for."""
    wanted = [
        ("switch_started", {}),
        ("rank_joined", {"job": "waits", "rank": 0, "address": "127.0.0.1"}),
        ("join_refused", {"job": "waits", "rank": 1, "address": "127.0.0.1"}),
        ("rank_left", {"job": "waits", "rank": 0, "reason": "its connection broke"}),
        ("rank_joined", {"job": "runs"}),
        ("job_joined", {"job": "runs"}),
        ("job_started", {"job": "runs", "world": 1}),
        ("job_left", {"job": "runs"}),
        ("switch_stopping", {"why": "SIGTERM", "jobs": 0}),
    ]
    # A switch serves ranks a moment before it says that it has started.
    lines = sorted(log_of(binary), key=lambda line: " switch_started " not in line)
    expect([line.split()[2] for line in lines] == [kind for kind, _ in wanted], lines)
    found = sorted(
        (json.loads(line) for line in log_of(binary, "--log", "json")),
        key=lambda event: event["event"] != "switch_started",
    )
    expect([event["event"] for event in found] == [kind for kind, _ in wanted], found)
    for event, (_, fields) in zip(found, wanted, strict=True):
        expect(fields.items() <= event.items(), event)
    warnings = log_of(binary, "--log-level", "warn")
    expect(len(warnings) == 1 and " warn join_refused " in warnings[0], warnings)


if __name__ == "__main__":
    sys.exit(run_each(a_running_job_is_shown, only_that_page_is_shown, the_log_tells_what_happens))
