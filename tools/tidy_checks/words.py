# SPDX-License-Identifier: Apache-2.0
"""Finds words that the glossary bans: in identifiers, file names, comments, messages and pages."""

import re

from tidy_checks.repo import Finding, check
from tidy_checks.source import is_binary

GLOSSARY = "docs/glossary.md"
HERE = "tools/tidy_checks/words.py"
_HEADING = "## Words that infold does not use\n"
_ROW = re.compile(r"^\| `([a-z]+)` \| (.+) \|$", re.MULTILINE)

# Uses that stay: where, what (a part of a line, or of a path), and why.
_ALLOWED = (
    ("^(LICENSE|docs/glossary.md|tools/tidy_test.py|" + HERE + ")$", ".+", "quotes the words"),
    ("", r"([Ff]low|[Cc]ongestion)[- ]control", "the field's own terms"),
    ("", r"[Cc]ontrol characters?", "the term for bytes that are not text"),
    ("", r"control\.(proto|pb|grpc)\b|v1(\.|::)Control\b", "names of messages on the wire"),
    ("^proto/", r"\bservice Control\b|/control\b", "names of messages on the wire"),
    (r"\.p4$|^proto/p4/|^tests/p4/|p4_elements\.py$", r"\b[Cc]ontrols?\b|controlLocals", "P4's"),
    ("^packaging/|^tools/packing/", r"\bcontrol\b|ProtectControlGroups", "Debian's and systemd's"),
    (r"\.(h|cc)$", r"msg_control|cache_control|SSL_VERIFY_PEER", "names of other libraries"),
    (r"\.(h|cc)$", r"\bcontrol_deps\b", "the term of execution traces: ctrl_deps"),
    ("", r'veth peer|peer name|"peer",', "words of the command ip link"),
)


def banned(text):
    """Returns what the glossary says instead, by word."""
    return dict(_ROW.findall(text.partition(_HEADING)[2]))


def apart(line):
    """Returns the line in small letters, with the words of identifiers apart."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", line).lower()


@check("words", f"no word that {GLOSSARY} bans, but for the uses that {HERE} allows")
def words(repo):
    instead = banned(repo.text(GLOSSARY)) if repo.exists(GLOSSARY) else {}
    if not instead:
        return
    pattern = re.compile(rf"(?<![a-z])({'|'.join(instead)})s?(?![a-z])")
    met = set()
    for path in repo.paths:
        lines = [] if is_binary(repo, path) else repo.lines(path)
        for number, line in [(1, path), *lines]:
            if not pattern.search(apart(line)):
                continue
            for use in _ALLOWED:
                where, what, _ = use
                if re.search(where, path):
                    line, count = re.subn(what, " ", line)
                    met |= {use} if count else set()
            if found := pattern.search(apart(line)):
                word = found.group(1)
                yield Finding(
                    path, number, f"'{word}' is banned: say {instead[word].replace('*', '')}"
                )
    for use in _ALLOWED:
        if repo.exists(HERE) and use not in met:
            yield Finding(HERE, 1, f"nothing needs the allowed use {use[1]}")
