# SPDX-License-Identifier: Apache-2.0
"""Checks the first lines of source files, and finds words that no source file may have."""

import re

from tidy_checks.repo import CPP_SUFFIXES, LICENCE_LINE, Finding, check

LICENSED = (".h", ".cc", ".c", ".py", ".sh", ".cmake", ".lua", "CMakeLists.txt", ".vec")
SCRIPTS = ("dev", ".ci/run")

# The words are split in halves, because this file is checked as well.
_MARKERS = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b")
_PROMISES = re.compile(
    r"coming soon|will (come|follow|be (added|written|implemented|done)) later"
    r"|not (yet )?implemented|not implemented yet",
    re.IGNORECASE,
)
_SUPPRESSIONS = re.compile(r"# (noqa(?!: [A-Z]+[0-9]+  \w)|type: ignore|fmt: (off|skip))")
_CPP_SUPPRESSIONS = re.compile(r"\bNOLINT\w*|#\s*pragma\s+\w+\s+diagnostic\s+ignored")
_UNCHECKED_LOCKS = re.compile(r"\bNO_THREAD_SAFETY_ANALYSIS\b")
_PLACES = re.compile(r"(?<![\w.])/(wor" r"k|ho" r"me|Use" r"rs|roo" r"t)/\w")


@check("licence", f"code starts with the line {LICENCE_LINE}")
def licence(repo):
    for path in repo.paths:
        if path.endswith(LICENSED) or path in SCRIPTS:
            if LICENCE_LINE not in "\n".join(repo.text(path).split("\n")[:2]):
                yield Finding(path, 1, f"the first line is a comment with {LICENCE_LINE}")


@check("opening-comment", "a header says after its licence what it is")
def opening_comment(repo):
    for path in repo.cpp():
        if not path.endswith(".h"):
            continue
        opening = []
        for _, line in repo.lines(path):
            if not re.match(r"\s*(//|/\*|\*|$)", line):
                break
            opening.append(line)
        words = re.findall(r"\w+", " ".join(opening).replace(LICENCE_LINE, ""))
        if len(words) < 5:
            yield Finding(path, 1, "say in a sentence what this header is, and what it is not")


@check("pragma-once", "headers have #pragma once")
def pragma_once(repo):
    for path in repo.cpp():
        text = repo.text(path)
        # #pragma once is not ISO C, so headers that are also C may have a guard.
        guarded = re.search(r"^#ifndef (INFOLD_\w+_H)\n#define \1$", text, re.MULTILINE)
        if path.endswith(".h") and not path.endswith("-inl.h") and not guarded:
            if not re.search(r"^#pragma once$", text, re.MULTILINE):
                yield Finding(path, 1, "no #pragma once")


@check("markers", "no note to self stays: do it, or open an issue")
def markers(repo):
    yield from search(repo, _MARKERS, "{} left in", lambda path: True)


@check("promises", "no page or message says that something comes later")
def promises(repo):
    yield from search(
        repo,
        _PROMISES,
        "'{}': describe what is, not what will be",
        lambda path: not path.startswith("tools/tidy_checks/"),
    )


@check("suppressions", "what switches a check off names the check, and gives a reason after it")
def suppressions(repo):
    yield from search(
        repo,
        _SUPPRESSIONS,
        "'{}': name the rule, and give the reason after two spaces",
        lambda path: path.endswith(".py") and not path.startswith("tools/tidy_checks/"),
    )
    yield from search(
        repo, _CPP_SUPPRESSIONS, "'{}': write the code so that nothing is found", is_cpp
    )
    for path in filter(is_cpp, repo.paths):
        if path == "src/base/mutex.h":  # where it is defined
            continue
        lines = ["", "", *repo.text(path).split("\n")]
        for number, line in enumerate(lines[2:], start=1):
            near = lines[number - 1 : number + 2]
            if _UNCHECKED_LOCKS.search(line) and not any("//" in each for each in near):
                yield Finding(path, number, "say in a comment why clang cannot follow this lock")


def is_cpp(path):
    return path.endswith(CPP_SUFFIXES)


@check("machine-paths", "no path of one person's machine")
def machine_paths(repo):
    yield from search(repo, _PLACES, "{}… exists on one machine only", lambda path: True)


def search(repo, pattern, message, wanted):
    for path in repo.paths:
        if path == "LICENSE" or not wanted(path) or is_binary(repo, path):
            continue
        for number, line in repo.lines(path):
            found = pattern.search(line)
            if found:
                yield Finding(path, number, message.format(found.group(0)))


def is_binary(repo, path):
    return path.startswith("fuzz/corpus/") or "\0" in repo.text(path)
