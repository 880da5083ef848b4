# SPDX-License-Identifier: Apache-2.0
"""Compares documents with the tree: links, commands and the list of dependencies."""

import os
import re

from tidy_checks.repo import Finding, check

PACKAGES = "tools/packages.txt"
DEPENDENCIES = "docs/dependencies.md"
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def slug(heading):
    """Returns a heading's anchor, as GitHub makes it."""
    text = re.sub(r"[`*]", "", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(text):
    return {slug(h) for h in re.findall(r"^#+\s+(.*)$", text, re.MULTILINE)}


def without_code(text):
    """Replaces fenced blocks by blank lines, so that line numbers stay."""
    return re.sub(
        r"^```.*?^```",
        lambda m: "\n" * m.group(0).count("\n"),
        text,
        flags=re.MULTILINE | re.DOTALL,
    )


@check("links", "links in Markdown lead to files and headings that exist")
def links(repo):
    for path in repo.paths:
        if not path.endswith(".md"):
            continue
        for number, line in enumerate(without_code(repo.text(path)).split("\n"), start=1):
            for match in _LINK.finditer(line):
                target = match.group(1) or match.group(2)
                if not re.match(r"[a-z]+:", target):
                    yield from check_link(repo, path, number, target)


def check_link(repo, path, number, target):
    name, _, anchor = target.partition("#")
    page = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
    if not repo.exists(page):
        yield Finding(path, number, f"{target} leads nowhere")
    elif anchor and page.endswith(".md") and anchor not in anchors(repo.text(page)):
        yield Finding(path, number, f"{page} has no heading #{anchor}")


def dev_commands(repo):
    """Returns the commands in ./dev's own usage text."""
    text = repo.text("dev") if repo.exists("dev") else ""
    return set(re.findall(r"^  ([a-z]+)  ", text, re.MULTILINE))


def infold_commands(repo):
    """Returns the names that the sources of subcommands return."""
    names = set()
    for path in repo.cpp("cli/"):
        if not path.endswith("_test.cc"):
            names |= set(
                re.findall(r'name\(\) const override \{\s*return "([a-z ]+)";', repo.text(path))
            )
    return names


@check("commands", "commands shown in README.md and docs/ exist, with their options")
def commands(repo):
    ours, binary = dev_commands(repo), infold_commands(repo)
    options = set(
        re.findall(
            r"--[a-z][a-z0-9-]*",
            "\n".join(
                repo.text(p)
                for p in repo.paths
                if p == "dev"
                or p.startswith(("cli/", "tools/"))
                and p.endswith((".cc", ".py", ".sh"))
            ),
        )
    )
    options |= {"--help", "--version", "--json"}
    for path in repo.paths:
        if path != "README.md" and not (path.startswith("docs/") and path.endswith(".md")):
            continue
        for number, command in shown_commands(repo, path):
            yield from check_command(path, number, command, ours, binary, options)


def shown_commands(repo, path):
    """Yields (line number, command): between backticks, or a whole line of a code block."""
    fenced = False
    for number, line in repo.lines(path):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            found = re.match(r"\s*(?:\$ )?((?:\./dev|(?:build/release/)?infold) .*)$", line)
            if found:
                yield number, found.group(1).split("#")[0]
        else:
            for command in re.findall(r"`((?:\./dev|infold) [^`]+)`", line):
                yield number, command


def check_command(path, number, command, ours, binary, options):
    words = command.split()
    names = [w for w in words[1:] if not w.startswith("-")]
    if words[0] == "./dev":
        if names and re.fullmatch("[a-z]+", names[0]) and names[0] not in ours:
            yield Finding(path, number, f"./dev has no command {names[0]}")
    elif names and binary:
        known = names[0] in binary or " ".join(names[:2]) in binary
        group = len(names) == 1 and any(b.startswith(names[0] + " ") for b in binary)
        if re.fullmatch("[a-z]+", names[0]) and not known and not group:
            yield Finding(path, number, f"infold has no subcommand {names[0]}")
    for word in words[1:]:
        name = re.match(r"--[a-z][a-z0-9-]*", word)
        if name and name.group(0) not in options:
            yield Finding(path, number, f"no command here has the option {name.group(0)}")


@check("dependencies", f"{PACKAGES} and {DEPENDENCIES} list the same Debian packages")
def dependencies(repo):
    if not repo.exists(PACKAGES) or not repo.exists(DEPENDENCIES):
        return
    listed = {}
    for number, line in repo.lines(PACKAGES):
        found = re.fullmatch(r"(demo|build|test|lab|bench|kernel|package) ([a-z0-9.+-]+)", line)
        if found:
            listed[found.group(2)] = number
        elif line and not line.startswith("#"):
            yield Finding(
                PACKAGES,
                number,
                "a line is a group (demo, build, test, lab, bench, kernel, package) and a package",
            )
    explained = {}
    for number, line in repo.lines(DEPENDENCIES):
        if line.startswith("|"):
            for name in re.findall(r"`([a-z0-9.+-]+)`", line.split("|")[1]):
                explained[name] = number
    for name in sorted(listed.keys() - explained.keys()):
        yield Finding(PACKAGES, listed[name], f"{name} has no row in {DEPENDENCIES}")
    for name in sorted(explained.keys() - listed.keys()):
        yield Finding(DEPENDENCIES, explained[name], f"{name} is not in {PACKAGES}")
