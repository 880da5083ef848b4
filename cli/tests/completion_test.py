#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that completions and the manual page have every subcommand and option of --help, and that
the programs accept them. bash must run its script; fish, zsh and the man programs are used where
they are installed.

Usage: completion_test.py INFOLD BUILD_FOLDER
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from help_test import read_help


class Help:
    """The help text of one subcommand."""

    def __init__(self, name, text):
        self.words = name.removesuffix(".txt").split("-")
        self.path = " ".join(self.words)
        self.options = [
            (name, kind)
            for names, kind in re.findall(
                r"^  (?:-\w,)?(--[a-z][a-z0-9_,-]*)(?: (?!Excludes:|Needs:)(\S+))?",
                text,
                re.MULTILINE,
            )
            for name in names.split(",")
        ]
        self.below = re.findall(
            r"^  ([a-z][a-z-]*)", text.partition("\nSubcommands:\n")[2], re.MULTILINE
        )
        self.positional = re.findall(
            r"^  \w+ (\S+\|\S+)",
            text.partition("\nPositionals:\n")[2].partition("\nOptions:")[0],
            re.MULTILINE,
        )
        self.examples = text.partition("\nExamples:\n")[2].strip("\n").splitlines()

    def names(self):
        return {name for name, _ in self.options}


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, check=True, **more).stdout


class CompletionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.help = [Help(name, text) for name, text in read_help(BINARY, [])]
        cls.folder = tempfile.TemporaryDirectory()
        cls.scripts = {}
        for shell in ("bash", "zsh", "fish"):
            cls.scripts[shell] = pathlib.Path(cls.folder.name, f"infold.{shell}")
            cls.scripts[shell].write_text(run(BINARY, "completion", shell), "utf-8")
        cls.page = run(BINARY, "manual")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def need(self, program):
        if shutil.which(program) is None:
            self.skipTest(f"{program} is not installed")

    def check_offers(self, offers):
        """`offers` returns the set of words that a shell offers after a given line."""
        for one in self.help:
            self.assertEqual(offers(one.path + " --") & self.long_names(), one.names(), one.path)
            self.assertGreaterEqual(offers(one.path + " "), set(one.below), one.path)
            for words in one.positional:
                self.assertGreaterEqual(offers(one.path + " "), set(words.split("|")), one.path)
            for name, kind in one.options:
                if "|" in kind:
                    self.assertEqual(offers(f"{one.path} {name} "), set(kind.split("|")), name)

    def long_names(self):
        return set().union(*(one.names() for one in self.help))

    def test_help_was_understood(self):
        self.assertGreater(len(self.help), 12)
        self.assertGreater(sum(len(one.options) for one in self.help), 100)
        self.assertEqual(sum(len(one.positional) for one in self.help), 2)

    # bash

    def bash(self, line):
        """Returns what bash offers. It splits a line at spaces and at signs of equality."""
        words = [word for word in re.split(r"\s+|(=)", line) if word]
        if line[-1] in " =":
            words.append("")
        script = (
            'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _infold; '
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        said = subprocess.run(
            ["bash", "--norc", "-euc", script, "bash", self.scripts["bash"], *words],
            cwd=self.folder.name,
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(said.stderr, "", line)
        return set(said.stdout.split())

    def test_bash_offers_what_help_lists(self):
        self.check_offers(self.bash)

    def test_bash_knows_where_it_is(self):
        self.assertEqual(self.bash("infold swi"), {"switch"})
        self.assertEqual(self.bash("infold switch --pl"), {"--plane"})
        self.assertEqual(self.bash("infold switch --plane x"), {"xdp"})
        self.assertEqual(self.bash("infold switch --plane=x"), {"xdp"})
        self.assertEqual(self.bash("infold switch --plane="), {"user", "xdp", "p4"})
        self.assertEqual(self.bash("infold switch --listen "), set())
        self.assertEqual(self.bash("infold bench co"), {"codec", "compare", "core"})
        self.assertEqual(self.bash("infold switch --json --thr"), {"--threads"})
        # A value that is spelled like a subcommand is still a value.
        self.assertEqual(self.bash("infold verify --job plan --ra"), {"--rank", "--ranks"})
        self.assertIn("infold.bash", self.bash("infold switch --config inf"))
        self.assertEqual(self.bash("infold no-such "), self.bash("infold "))

    # The other shells

    def test_zsh_gets_arguments_for_what_help_lists(self):
        self.need("zsh")
        for one in self.help:
            script = (
                'compdef() { }; _arguments() { print -rl -- "$@" }; source "$1"; shift; '
                'words=("$@" ""); CURRENT=$#words; _infold; print -r -- "at $CURRENT"'
            )
            said = run("zsh", "-f", "-c", script, "zsh", self.scripts["zsh"], *one.words)
            names = set(re.findall(r"^\*(--[a-z0-9_-]+)\[", said, re.MULTILINE))
            self.assertEqual(names, one.names(), said)
            for name in one.below:
                self.assertIn(f'{name}\\:"', said)
            for name, kind in one.options:
                if "|" in kind:
                    self.assertRegex(said, rf"(?m)^\*{name}\[.*:\({kind.replace('|', ' ')}\)$")
            self.assertTrue(said.endswith("at 2\n"), said)

    def test_fish_offers_what_help_lists(self):
        self.need("fish")
        home = {"HOME": self.folder.name, "PATH": "/usr/bin:/bin"}

        def offers(line):
            said = run(
                "fish",
                "--no-config",
                "-c",
                "source $argv[1]; complete -C $argv[2]",
                self.scripts["fish"],
                line,
                env=home,
            )
            return {row.split("\t")[0] for row in said.splitlines()}

        self.check_offers(offers)

    # The manual page

    def plain_page(self):
        return re.sub(r"\\f[BIR]", "", self.page).replace("\\-", "-").replace("\\e", "\\")

    def test_the_page_has_what_help_lists(self):
        text = self.plain_page()
        for one in self.help[1:]:
            part = text.partition(f"\n.SS {one.path}\n")[2].partition("\n.SS ")[0]
            self.assertTrue(part, one.path)
            for name, kind in one.options:
                self.assertRegex(
                    part,
                    rf"(?m)^(?:-[^ ]+, )*{name}(?:, -[^ ]+)*"
                    rf"{' ' if kind else ''}{re.escape(kind or '')}$",
                    one.path,
                )
            for line in one.examples:
                self.assertIn(line.lstrip(), part, one.path)

    def test_an_installation_has_them(self):
        prefix = pathlib.Path(self.folder.name, "installed")
        run("cmake", "--install", BUILD, "--prefix", str(prefix))
        share = prefix / "share"
        for path, text in (
            ("man/man1/infold.1", self.page),
            *(
                (path, self.scripts[shell].read_text("utf-8"))
                for path, shell in (
                    ("bash-completion/completions/infold", "bash"),
                    ("zsh/site-functions/_infold", "zsh"),
                    ("fish/vendor_completions.d/infold.fish", "fish"),
                )
            ),
        ):
            self.assertEqual((share / path).read_text("utf-8"), text, path)
        for name in ("infold.lua", "body.lua", "layout.lua", "tables.lua"):
            self.assertTrue((share / "infold" / "wireshark" / name).exists(), name)
        self.assertEqual(run(str(prefix / "bin" / "infold"), "manual"), self.page)

    def test_mandoc_has_nothing_to_say(self):
        self.need("mandoc")
        said = subprocess.run(
            ["mandoc", "-T", "lint", "-W", "style"],
            input=self.page,
            text=True,
            capture_output=True,
            check=False,
        )
        # A date would differ between builds of the same version, so the page names the version
        # instead.
        lines = [
            line
            for line in (said.stdout + said.stderr).splitlines()
            if 'missing date, using "": TH' not in line
        ]
        self.assertEqual(lines, [])

    def test_man_has_nothing_to_say(self):
        self.need("man")
        path = pathlib.Path(self.folder.name, "infold.1")
        path.write_text(self.page, encoding="utf-8")
        said = subprocess.run(
            ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path],
            env={"LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "80", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(said.stderr, "")


if __name__ == "__main__":
    BINARY, BUILD = (str(pathlib.Path(sys.argv.pop(1)).resolve()) for _ in range(2))
    unittest.main()
