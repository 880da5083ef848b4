# SPDX-License-Identifier: Apache-2.0
"""The repository for checks: its files, their text, and code without its comments."""

import dataclasses
import os
import pathlib
import re
import subprocess

LICENCE_LINE = "SPDX-License-Identifier: Apache-2.0"
CPP_SUFFIXES = (".h", ".cc", ".c")


@dataclasses.dataclass(frozen=True, order=True)
class Finding:
    path: str
    line: int
    message: str
    warning: bool = False


@dataclasses.dataclass(frozen=True)
class Check:
    name: str
    rule: str
    function: object  # takes a Repo, yields Findings


CHECKS = []


def check(name, rule):
    """Registers a function as a check. The rule is one line for ./dev tidy --list."""

    def register(function):
        CHECKS.append(Check(name, rule, function))
        return function

    return register


class Repo:
    """Files below a root, by path with forward slashes. Tests pass a temporary directory."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.paths = sorted(self._list())
        self._texts = {}
        self._codes = {}

    def _list(self):
        """Returns the files that git tracks or would add. In a tree without git, returns all files
        outside build/."""
        result = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode == 0 and result.stdout:
            names = [n for n in result.stdout.split("\0") if n]
            return {n for n in names if (self.root / n).is_file()}
        found = set()
        for folder, folders, files in os.walk(self.root):
            folders[:] = [f for f in folders if f not in ("build", ".git", "__pycache__")]
            for name in files:
                found.add((pathlib.Path(folder) / name).relative_to(self.root).as_posix())
        return found

    def text(self, path):
        if path not in self._texts:
            self._texts[path] = (self.root / path).read_text(encoding="utf-8", errors="replace")
        return self._texts[path]

    def lines(self, path):
        """Returns the lines, numbered from 1."""
        return enumerate(self.text(path).split("\n"), start=1)

    def code(self, path):
        if path not in self._codes:
            self._codes[path] = blank_comments(self.text(path))
        return self._codes[path]

    def code_lines(self, path):
        return enumerate(self.code(path).split("\n"), start=1)

    def cpp(self, *folders):
        """Yields C and C++ files, only those below the folders if some are named."""
        for path in self.paths:
            if path.endswith(CPP_SUFFIXES) and (not folders or path.startswith(folders)):
                yield path

    def exists(self, path):
        return (self.root / path).exists()


# Comments, raw strings, strings, characters. A digit separator (1'000) is not a character.
_TOKENS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^()\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)


def blank_comments(text):
    """Returns C++ with comments and the contents of literals made blank. Line numbers stay."""

    def blank(match):
        token = match.group(0)
        inner = re.sub(r"[^\n]", " ", token)
        return inner if token.startswith("/") else '"' + inner[1:-1] + '"'

    # An include names a file, not text, so it is kept whole.
    parts = re.split(r"(^[ \t]*#[ \t]*include[^\n]*$)", text, flags=re.MULTILINE)
    return "".join(p if i % 2 else _TOKENS.sub(blank, p) for i, p in enumerate(parts))
