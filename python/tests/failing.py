# SPDX-License-Identifier: Apache-2.0
"""What tests of failures have in common."""

from ranks import arrive, wait_for_all

# Of what must not take a deadline's time; generous, because machines are busy.
SOON_S = 20


def message_of(call, name=""):
    """Of what it raises; it must."""
    try:
        call()
    except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
        return str(error)
    raise AssertionError(f"{name} has not raised")


def check_words(text, words):
    for word in words:
        assert word in text, f"no '{word}' in: {text}"


def meet(rank, world, where):
    """Without the group, which is broken."""
    del rank
    arrive(where, world)
    wait_for_all(where)
