#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs infold mix with models of the user's own: the files and the command of docs/mix.md, and jobs
that are drawn from a file of models. Checks the messages for files that cannot be read.

Usage: mix_models_test.py INFOLD
"""

import json
import pathlib
import re
import sys

from mistakes import check, completed, refused, run_each

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/mix.md"


def blocks():
    """Returns the page's code blocks, without their indent."""
    found = re.findall(r"(?:^    .*\n)+", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in found]


def objects(infold, folder, *words):
    done = completed(infold, folder, *words, "--json")
    check(done.returncode == 0, f"{words}: status {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def the_page_works_as_written(infold, folder):
    for name in ("models.csv", "jobs.csv"):
        (text,) = [block for block in blocks() if block.startswith(f"# {name}: ")]
        pathlib.Path(folder, name).write_text(text, encoding="utf-8")
    (command,) = [block for block in blocks() if block.startswith("infold mix --models")]
    jobs = [row for row in objects(infold, folder, *command.split()[1:]) if "job" in row]
    check([job["model"] for job in jobs] == ["GPT-2-small", "ResNet-50"], jobs)
    # The page's 124.4 million elements of 4 bytes take at least 0.398 s on a link of 10 Gbit/s, and
    # the GPU works for 0.046 s. There are three iterations.
    check(3 * 0.398 < jobs[0]["ended_s"] < 3 * (0.398 + 0.046) * 1.2, jobs[0])


def drawn_jobs_have_only_the_models_of_the_file(infold, folder):
    path = pathlib.Path(folder, "models.csv")
    path.write_text("one, 1000, 20, 30, 4\nanother, 1, 0, 0, 0\n", encoding="utf-8")
    words = ("mix", "--models", path.name, "--draw", "20")
    drawn = objects(infold, folder, *words, "--print-jobs")
    check({job["model"] for job in drawn} == {"one", "another"}, drawn)
    jobs = [row for row in objects(infold, folder, *words) if "job" in row]
    # Each of the four schedulers ends all jobs, also those whose model takes no time.
    check(len(jobs) == 4 * len(drawn), jobs)
    check(all(job["inflation"] > 0 for job in jobs), jobs)


def names_the_file_and_the_line_of_a_fault(infold, folder):
    words = ("mix", "--models", "absent.csv")
    refused(infold, folder, words, 2, "absent.csv: cannot read the file: No such file")
    path = pathlib.Path(folder, "models.csv")
    for text, said in (
        (b"", "models.csv: the file has no model; write a line for each layer, such as: mine,"),
        (b"# mine\nmine, 1, 2, 3\n", "models.csv, line 2: 4 fields, not 5: model, elements,"),
        (b"mine, 0, 2, 3, 4\n", "models.csv, line 1: '0' elements: must be 1 to 4000000000"),
        (b"mine, 1, 2, -3, 4\n", "line 1: backward takes '-3': must be 0 to 100000000 micro"),
        (
            b"mine, 1, 2, 3, 4\nBERT-Large, 1, 2, 3, 4\n",
            "models.csv, line 2: model 'BERT-Large': infold has a model of this name; choose",
        ),
        (b"a, 1, 2, 3, 4\nb, 1, 2, 3, 4\na, 1, 2, 3, 4\n", "models.csv, line 3: model 'a' has"),
        (b"\0" * 2_000_000, "models.csv: the file has more than 1048576 bytes"),
    ):
        path.write_bytes(text)
        refused(infold, folder, ("mix", "--models", path.name, "--print-jobs"), 2, said)


def knows_both_files(infold, folder):
    path = pathlib.Path(folder, "models.csv")
    path.write_bytes(b"mine, 1, 2, 3, 4\n")
    jobs = pathlib.Path(folder, "jobs.csv")
    jobs.write_bytes(b"0, mine, 2, 1\n0, other, 2, 1\n")
    both = ("mix", "--models", path.name, "--jobs", jobs.name)
    refused(infold, folder, both, 2, "jobs.csv, line 2: unknown model 'other'", "BERT-large, mine")
    jobs.write_bytes(b"0, mine, 2, 1\n")
    timeline = ("--scheduler", "none", "--perfetto", f"./{path.name}")
    refused(infold, folder, (*both, *timeline), 2, "models.csv would be overwritten")


CASES = (
    the_page_works_as_written,
    drawn_jobs_have_only_the_models_of_the_file,
    names_the_file_and_the_line_of_a_fault,
    knows_both_files,
)


if __name__ == "__main__":
    sys.exit(run_each(CASES))
