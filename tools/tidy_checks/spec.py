# SPDX-License-Identifier: Apache-2.0
"""Checks the numbered rules of the protocol, their vectors, and code that cites them."""

import re

from tidy_checks.repo import Finding, check

SPEC = "spec/protocol.md"
VECTORS = "spec/vectors/"
_RULE = re.compile(r"\bR-(\d{3})\b")


def stated_rules(repo):
    """Returns {rule: line of its statement}. Rules are in bold, or at the start of a heading."""
    rules = {}
    for number, line in repo.lines(SPEC):
        for name in re.findall(r"\*\*R-(\d{3})\b|^#+\s+R-(\d{3})\b", line):
            rule = name[0] or name[1]
            rules.setdefault(rule, number)
    return rules


@check("rules", f"each rule R-nnn of {SPEC} has a vector, and each one cited exists")
def rules(repo):
    if not repo.exists(SPEC):
        return
    stated = stated_rules(repo)
    if not stated:
        yield Finding(SPEC, 1, "states no rule: write **R-001** before each")
        return
    shown = set()
    for path in repo.paths:
        if path.startswith(VECTORS) and path.endswith(".vec"):
            shown |= set(_RULE.findall(repo.text(path)))
    for rule in sorted(stated.keys() - shown):
        yield Finding(SPEC, stated[rule], f"R-{rule} has no vector in {VECTORS}")
    for path in repo.paths:
        if path.startswith("tools/tidy_checks/") or path.startswith("fuzz/corpus/"):
            continue
        for number, line in repo.lines(path):
            for rule in _RULE.findall(line):
                if rule not in stated:
                    yield Finding(path, number, f"R-{rule} is not stated in {SPEC}")
