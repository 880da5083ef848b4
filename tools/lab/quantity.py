# SPDX-License-Identifier: Apache-2.0
"""Reads sizes and rates as people type them, for scripts. Commands read the same spellings
(cli/line/quantity.h), and cli/tests/bench_allreduce_test.py compares the two. argparse does not
print the messages of these errors, but "invalid size value"."""

import re

_PREFIXES = "kmgt"


def _split(text):
    """Returns a number without sign and exponent, and its unit in lower case."""
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)(.*)", text.lower(), re.ASCII)
    if not found:
        raise ValueError(f"'{text}' does not begin with a number")
    return float(found[1]), found[2]


def size(text):
    """Returns the bytes of '25MB' (thousands), '25MiB' or '25M' (1024s), or of a plain number."""
    number, unit = _split(text)
    found = re.fullmatch(r"([kmgt])(b|i|ib)?|b?", unit)
    if not found:
        raise ValueError(f"'{text}' is not a size such as 25MB or 4KiB")
    power = _PREFIXES.index(found[1]) + 1 if found[1] else 0
    value = number * (1000 if found[2] == "b" else 1024) ** power
    if value > 2**53 or value != int(value):
        raise ValueError(f"'{text}' is not a whole number of bytes up to 2^53")
    return int(value)


def rate(text):
    """Returns the bits per second of '10G', '100mbit', '2.5Gbit/s' or '40gbps', in thousands."""
    number, unit = _split(text)
    found = re.fullmatch(r"([kmgt])?(bit|bit/s|bps)?", unit)
    if not found or text.endswith("Bps"):
        raise ValueError(f"'{text}' is not a rate in bits per second such as 10G or 100mbit")
    return number * 1000 ** (_PREFIXES.index(found[1]) + 1 if found[1] else 0)


def rate_or_none(text):
    """Like rate(), but returns None for 'none', a link without a rate."""
    return None if text == "none" else rate(text)
