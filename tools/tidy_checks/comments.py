# SPDX-License-Identifier: Apache-2.0
"""Finds sentences that have to be read twice: comments that begin with a fragment, and, also in
messages and pages, two turns of phrase that are not idiomatic English."""

import re

from tidy_checks.repo import Finding, check

_MARKS = {".h": "//", ".cc": "//", ".c": "//", ".p4": "//", ".lua": "--"}
_HASH = (".py", ".sh", ".cmake", "CMakeLists.txt")
_FRAGMENT = re.compile(
    r"(of|those|that of|as if|as in|likewise|nor|neither of|else)\b", re.IGNORECASE
)
# "There is no copy" is fine, and so is "no longer".
_IS_NO = re.compile(
    r"(?<![Tt]here )\b(?:is|are|was|were) no "
    r"(?!longer\b|more\b|less\b|other\b|better\b|worse\b|later\b|earlier\b)\w+"
)
_TOO = re.compile(r"\w+, too(?=[.,;:)])")


def _mark(path):
    if path.endswith(_HASH):
        return "#"
    return next((mark for suffix, mark in _MARKS.items() if path.endswith(suffix)), None)


def _blocks(text, mark):
    """The comments: (number of the first line, text). Lines below each other are one comment."""
    first, lines = 0, []
    after_code = re.compile(rf"\s{mark}\s(.*)")
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip().startswith(mark):
            first = first if lines else number
            lines.append(line.strip().removeprefix(mark).strip())
            continue
        if lines:
            yield first, " ".join(lines)
            lines = []
        found = after_code.search(line)
        if found and '"' not in line:
            yield number, found.group(1)
    if lines:
        yield first, " ".join(lines)


# Nobody has read the comments of joining with this check in mind. The test of tidy quotes faults.
_EXEMPT = ("src/join/", "tools/tidy_test.py")
_STRING = re.compile(r'"[^"\n]*"')
_QUOTES = (".h", ".cc", ".c", ".py", ".sh")


def _messages(path, text):
    """The texts that people read as the program runs, and pages: (number of the line, text)."""
    for number, line in enumerate(text.split("\n"), start=1):
        if path.endswith(".md"):
            yield number, line
        elif path.endswith(_QUOTES):
            yield from ((number, string) for string in _STRING.findall(line))


def _turns(path, number, text):
    if found := _IS_NO.search(text):
        yield Finding(path, number, f"'{found.group()}': say 'is not' or 'does not have'")
    if found := _TOO.search(text):
        yield Finding(path, number, f"'{found.group()}': say 'also' or 'as well'")


@check("comments", "a comment begins with a sentence; it, a message or a page says 'is not a'")
def comments(repo):
    for path in repo.paths:
        if path.startswith(_EXEMPT):
            continue
        text = repo.text(path)
        for number, message in _messages(path, text):
            yield from _turns(path, number, message)
        if not (mark := _mark(path)):
            continue
        for number, comment in _blocks(text, mark):
            if found := _FRAGMENT.match(comment):
                words = f"'{found.group()} ...' begins a fragment: name the thing, and use a verb"
                yield Finding(path, number, words)
            yield from _turns(path, number, comment)
