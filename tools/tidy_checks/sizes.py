# SPDX-License-Identifier: Apache-2.0
"""Checks the lengths of lines, functions and files, and the number of files in folders."""

import collections
import os
import re

from tidy_checks.repo import Finding, check

LINE_MAX = 100
FUNCTION_MAX = 70
FILE_WARN = 400
FILE_MAX = 450
FOLDER_MAX = 25
# Files that may be longer, each with its reason.
LONG_FILES = {
    "LICENSE": "the text of the licence",
    "spec/protocol.md": "one normative text, read from top to bottom",
}
MEASURED = (".h", ".cc", ".c", ".py", ".sh", ".cmake", ".lua", "CMakeLists.txt", "dev", ".ci/run")

_SCOPE = re.compile(r'\b(namespace|class|struct|union|enum)\b|\bextern\s*"')


@check("line-length", f"lines are at most {LINE_MAX} columns")
def line_length(repo):
    for path in repo.paths:
        if not path.endswith(MEASURED):
            continue
        for number, line in repo.lines(path):
            if len(line) > LINE_MAX and "http" not in line:
                yield Finding(path, number, f"{len(line)} columns, at most {LINE_MAX}")


@check("file-length", f"files warn above {FILE_WARN} lines and fail above {FILE_MAX}")
def file_length(repo):
    for path in repo.paths:
        if not path.endswith(MEASURED + (".md",)) or path in LONG_FILES:
            continue
        count = repo.text(path).count("\n")
        if count > FILE_MAX:
            yield Finding(path, 1, f"{count} lines, at most {FILE_MAX}; split by reason to exist")
        elif count > FILE_WARN:
            yield Finding(
                path, 1, f"{count} lines; nine files in ten stay under {FILE_WARN}", warning=True
            )


@check("folder-size", f"a folder has at most {FOLDER_MAX} files of its own")
def folder_size(repo):
    counts = collections.Counter(os.path.dirname(path) for path in repo.paths)
    for folder, count in sorted(counts.items()):
        if count > FOLDER_MAX:
            yield Finding(folder, 1, f"{count} files, at most {FOLDER_MAX}; group them in folders")


def functions(code):
    """Yields (line of the opening brace, lines in the body) of C++ functions, by counting braces.

    A brace opens a function if it is in no function, and the text before it is neither a scope
    (namespace, class, ...) nor an initialiser. This rule is enough for formatted code.
    """
    scopes = []  # One entry per open brace: (kind, line, the text before it).
    head = ""
    line = 1
    for character in code:
        line += character == "\n"
        if character == "{":
            inside = any(kind == "function" for kind, _, _ in scopes)
            scopes.append(("other" if inside else brace_kind(head), line, head))
            head = ""
        elif character == "}" and scopes:
            kind, start, before = scopes.pop()
            if kind == "function":
                yield start, line - start - 1
            # After the braces of `: count_{0}`, the function's own braces follow.
            head = before + "{}" if kind == "other" else ""
        elif character == ";":
            head = ""
        else:
            head += character


def brace_kind(head):
    head = re.sub(r"^[ \t]*#[^\n]*(\\\n[^\n]*)*$", "", head, flags=re.MULTILINE).strip()
    if re.search(r"\)\s*(const|noexcept|override|final|&|->\s*[\w:<>,\s*&]+|\s)*$", head):
        return "function"
    if re.search(r"\)[^;=]*:[^:;].*[)}]$", head, re.DOTALL):
        return "function"  # A constructor with member initialisers.
    return "scope" if _SCOPE.search(head) else "other"


@check("function-length", f"functions are at most {FUNCTION_MAX} lines")
def function_length(repo):
    for path in repo.cpp():
        for start, length in functions(repo.code(path)):
            if length > FUNCTION_MAX:
                yield Finding(path, start, f"function of {length} lines, at most {FUNCTION_MAX}")
    for path in repo.paths:
        if path.endswith(".py"):
            yield from python_functions(repo, path)


def python_functions(repo, path):
    start, indent = 0, -1
    last = 0
    for number, line in [*repo.lines(path), (0, "end")]:
        if not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        if start and depth <= indent and not line.lstrip().startswith(")"):
            if last - start > FUNCTION_MAX:
                yield Finding(
                    path, start, f"function of {last - start} lines, at most {FUNCTION_MAX}"
                )
            start = 0
        if not start and re.match(r"\s*(async )?def ", line):
            start, indent = number, depth
        last = number
