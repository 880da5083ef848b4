# SPDX-License-Identifier: Apache-2.0
"""Refuses old names of options with the new ones, as the program infold does."""

import sys

NAMES = {
    "--world": "--ranks",
    "--workers": "--ranks",
    "--size": "--bytes",
    "--rate": "--link",
    "--rate-at": "--link-at",
    "--wire": "--format",
}


def refuse(parser, words=None):
    """Ends the program if a word of the command line is an old name of an option of `parser`."""
    for word in sys.argv[1:] if words is None else words:
        old = word.partition("=")[0]
        if old in NAMES and NAMES[old] in parser.format_help().split():
            parser.error(f"the option {old} is now called {NAMES[old]}")
