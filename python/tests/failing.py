# SPDX-License-Identifier: Apache-2.0
"""Helpers for tests of failures."""

from ranks import arrive, wait_for_all

# The limit for events that must come before a deadline. It is generous, because machines are busy.
SOON_S = 20


def message_of(call, name=""):
    """The message of the exception that the call must raise."""
    try:
        call()
    except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
        return str(error)
    raise AssertionError(f"{name} has not raised")


def check_words(text, words):
    for word in words:
        assert word in text, f"no '{word}' in: {text}"


def meet(rank, world, where):
    """A barrier that does not use the group, because the group is broken."""
    del rank
    arrive(where, world)
    wait_for_all(where)
