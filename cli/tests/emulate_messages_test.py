#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks infold emulate for impossible jobs and checks its messages.

Usage: emulate_messages_test.py INFOLD
"""

import pathlib
import sys

from mistakes import refused, run_each


def refuses_places_that_no_job_has(infold, folder):
    emulate = ("emulate", "--ranks", "12")
    refused(infold, folder, (*emulate, "--racks", "13"), 2, "--racks 13: must not be above --ranks")
    refused(
        infold,
        folder,
        (*emulate, "--racks", "2", "--hosts", "3"),
        2,
        "ranks 4 to 7 share a host, and are in two racks; choose so many hosts",
    )
    refused(infold, folder, (*emulate, "--rack-link", "1G"), 2, "--rack-link needs racks")
    refused(
        infold,
        folder,
        (*emulate, "--lag-at", "0=5"),
        2,
        "--lag-at 0: rank 0 is not emulated; choose one from 1 to 11",
    )
    refused(
        infold,
        folder,
        ("emulate", "--ranks", "256", "--racks", "256", "--switches", "64"),
        2,
        "65536 paths",
    )
    refused(
        infold,
        folder,
        ("emulate", "--ranks", "300"),
        2,
        "--ranks 300: a switch would have 300 workers, and takes 256; choose more racks",
    )
    refused(infold, folder, ("emulate", "--ranks", "1025"), 2, "1024")
    refused(infold, folder, (*emulate, "--switch", "10.0.0.1:7700", "--racks", "2"), 2, "--racks")
    for words, why in (
        (("--racks", "2"), "--racks 2: the parent of a rack's switch must be a switch"),
        (("--hosts", "2"), "--hosts 2: ranks that sum share memory only if all ranks are on"),
        (("--switches", "2"), "--switches needs --place mixed"),
        (("--switch-weight", "2"), "--switch-weight needs --place mixed: with workers"),
        (("--switch", "10.0.0.1:7700"), "--place workers: no switch is asked then"),
        (("--plan", "absent.plan"), "give --place or --plan, not both"),
    ):
        refused(infold, folder, (*emulate, "--place", "workers", *words), 2, why)


def refuses_sites_that_do_not_go_together(infold, folder):
    emulate = ("emulate", "--ranks", "12")
    refused(
        infold,
        folder,
        (*emulate, "--switches", "2", "--switch-weight", "2"),
        2,
        "--switch-weight needs --place mixed: with switches",
    )
    refused(
        infold,
        folder,
        ("emulate", "--ranks", "64", "--place", "mixed"),
        2,
        "--ranks 64: 65 sites, of which each rank brings one, and a job has at most 64",
    )
    refused(
        infold,
        folder,
        (*emulate, "--place", "mixed", "--racks", "2", "--hosts", "4"),
        2,
        "--hosts 4: ranks that sum share memory only if",
    )
    refused(
        infold,
        folder,
        (*emulate, "--place", "mixed", "--racks", "2", "--switches", "53"),
        2,
        "--switches 53: 65 sites",
    )
    refused(
        infold,
        folder,
        (*emulate, "--place", "mixed", "--switches", "53"),
        2,
        "--switches 53: 65 sites, of which each rank brings one",
    )
    refused(
        infold,
        folder,
        (*emulate, "--plan", "absent.plan"),
        2,
        "--plan absent.plan: cannot read the file: No such file",
    )


def refuses_plans_of_other_jobs(infold, folder):
    emulate = ("emulate", "--ranks", "12")
    plan = pathlib.Path(folder) / "job.plan"
    for text, why in (
        ("plan world=4\ntree\naggregator children=0,1,2,3\n", "it is for 4 ranks"),
        ("plan world=12\ntree\naggregator children=0,1\n", "ranks end before 2"),
        ("plan world=12\nbush\n", "line 2: 'bush' must be"),
        ("plan\ntree\naggregator children=0,1\n", "needs world=N, the number of ranks"),
        ("plan world=12 world=4\n", "line 1: a second 'world'; write one"),
        (
            "plan world=12\ntree\naggregator place=rank rank=0 "
            "children=0,1,2,3,4,5,6,7,8,9,10,11\n",
            "1 of 12 ranks sum; either all do, or none",
        ),
        (
            "plan world=12\ntree\naggregator children=0-5:1,6-11:2\n"
            "aggregator place=host children=0,1,2,3,4,5\n"
            "aggregator place=host children=6,7,8,9,10,11\n",
            "rank 0 is real",
        ),
    ):
        plan.write_text(text, encoding="utf-8")
        refused(infold, folder, (*emulate, "--plan", "job.plan"), 2, "--plan job.plan: ", why)


def names_the_holes_of_a_table_of_lags(infold, folder):
    emulate = ("emulate", "--ranks", "3")
    refused(
        infold,
        folder,
        (*emulate, "--lag-table", "absent.csv"),
        2,
        "--lag-table absent.csv: cannot read the file: No such file",
    )
    table = pathlib.Path(folder) / "lags.csv"
    for text, why in (
        ("0,10,20\n0,,20\n", "line 2, rank 1: '' is not a number"),
        ("0,10\n", "line 1 has 2 numbers, and there are 3 ranks"),
        ("# none\n", "the table has no line"),
    ):
        table.write_text(text, encoding="utf-8")
        refused(
            infold, folder, (*emulate, "--lag-table", "lags.csv"), 2, "--lag-table lags.csv: ", why
        )
    refused(infold, folder, (*emulate, "--lag-of", "absent"), 2, "--lag-of absent: absent.0.et")


CASES = (
    refuses_places_that_no_job_has,
    refuses_sites_that_do_not_go_together,
    refuses_plans_of_other_jobs,
    names_the_holes_of_a_table_of_lags,
)

if __name__ == "__main__":
    sys.exit(run_each(CASES))
