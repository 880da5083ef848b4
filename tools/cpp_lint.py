#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy, with the checks of .clang-tidy and clang's warnings, on the code that ranks and
switches consist of, and on other code in study/ and cli/ that uses locks. tools/torch_headers.py
checks the locks of python/backend/, which needs torch.

Reading headers takes most of the time, so sources are checked as the build unites them, and again
only if their text, one of our headers that they include, or the way of checking has changed. For
each unit that has passed, build/clang-tidy/passed/ has an empty file whose name is a hash of all
these.
"""

import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "clang-tidy"
PASSED = BUILD / "passed"
CLANG_TIDY = "clang-tidy-19"
PRODUCT = ("src/", "planes/")
# Sources are headers of the unit that unites them.
OURS = f"--header-filter=^{ROOT}/(wire|include|src|planes|study|cli)/"
LOCKS = "base/mutex.h"
# Makes the headers that a build generates, and reads the standard library's once.
PREPARE = (
    ("cmake", "--preset", "clang-tidy"),
    ("cmake", "--build", "--preset", "clang-tidy"),
)
_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


@functools.cache
def _text(path):
    return path.read_text("utf-8", errors="replace")


@functools.cache
def _included(path):
    """Our own headers that a file includes directly."""
    folders = (path.parent, ROOT, ROOT / "src", ROOT / "include", BUILD / "generated")
    found = []
    for name in _INCLUDE.findall(_text(path)):
        for folder in folders:
            if (folder / name).is_file():
                found.append(folder / name)
                break
    return found


def _all_included(path):
    seen, todo = {path}, [path]
    while todo:
        for header in _included(todo.pop()):
            if header not in seen:
                seen.add(header)
                todo.append(header)
    return seen


def _sources(path):
    """The sources of a unit: the file itself, or those that the build has united in it."""
    return _included(path) if path.parent.name == "Unity" else [path]


def _locks(path):
    """Whether a file, or a header of its own folder that it includes, has mutexes."""
    near = [path, *(header for header in _included(path) if header.parent == path.parent)]
    return any(LOCKS in _text(each) for each in near)


def _is_checked(path):
    name = path.relative_to(ROOT).as_posix()
    return not name.startswith("build/") and (name.startswith(PRODUCT) or _locks(path))


def _stamp(entry, shared):
    digest = hashlib.sha256(shared)
    digest.update(entry["command"].encode())
    for each in sorted(_all_included(pathlib.Path(entry["file"]))):
        digest.update(str(each).encode())
        digest.update(_text(each).encode())
    return PASSED / digest.hexdigest()


def _findings_of(entry):
    command = [CLANG_TIDY, "--quiet", OURS, "-p", BUILD, entry["file"]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = [line for line in done.stdout.splitlines() if re.search(r": (warning|error): ", line)]
    if done.returncode != 0 and not said:
        sys.exit(f"dev: {CLANG_TIDY} failed:\n{done.stdout}{done.stderr}")
    return [line.removeprefix(f"{ROOT}/") for line in said]


def findings():
    """Returns a line for each finding: its place, what is wrong, and the check's name in
    brackets."""
    for command in PREPARE:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"dev: {' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    PASSED.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([CLANG_TIDY, "--version"], capture_output=True, check=True).stdout
    shared = version + (ROOT / ".clang-tidy").read_bytes() + OURS.encode()
    entries = json.loads((BUILD / "compile_commands.json").read_text("utf-8"))
    entries = [e for e in entries if any(map(_is_checked, _sources(pathlib.Path(e["file"]))))]
    stamps = [_stamp(entry, shared) for entry in entries]
    for old in set(PASSED.iterdir()).difference(stamps):
        old.unlink()
    todo = [(e, s) for e, s in zip(entries, stamps, strict=True) if not s.exists()]
    found = set()  # Several files may report one finding in a header.
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = pool.map(_findings_of, (entry for entry, _ in todo))
        for (_, stamp), lines in zip(todo, results, strict=True):
            found.update(lines)
            if not lines:
                stamp.touch()
    return sorted(found)


if __name__ == "__main__":
    for line in (lines := findings()):
        print(line)
    sys.exit(1 if lines else 0)
