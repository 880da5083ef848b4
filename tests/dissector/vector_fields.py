# SPDX-License-Identifier: Apache-2.0
"""Computes the fields that a dissector must show for a packet from the fields of a vector. It
computes values and places on its own, by spec/protocol.md."""

import decimal
import math
import struct

DATA_TYPES = ("f32", "f16", "bf16", "f64", "i8", "u8", "i32", "i64")
FORMATS = ("i8", "i16", "i32", "i64", "bfp8", "bfp16", "bfp32", "native")
COLLECTIVES = ("all-reduce", "reduce", "broadcast", "barrier")
REDUCTIONS = ("sum", "average", "min", "max", "or")
KINDS = {
    1: "ADD",
    2: "SKIP",
    3: "PARTIAL",
    4: "OVERRANGE",
    5: "QUERY",
    6: "ABORT",
    8: "RESULT",
    9: "REALIGN",
    10: "PENDING",
    11: "ABORTED",
}
FLAGS = {"partial": 1, "specials": 2, "tagged": 4, "sparse": 8, "bits": 16}
FLOAT_BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
REASONS = ("", "cancelled", "deadline", "mismatch", "left", "lost", "stopped")
WORDS = ("elements", "data_type", "format", "collective", "reduction", "shape")


def digest(rank):
    """Returns a rank's digest by R-015."""
    value = (rank + 1) * 0x9E3779B1 % 2**32
    value = (value ^ value >> 16) * 0x85EBCA6B % 2**32
    value = (value ^ value >> 13) * 0xC2B2AE35 % 2**32
    return value ^ value >> 16


def ranges_text(numbers):
    numbers, parts = sorted(numbers), []
    for number in numbers:
        if parts and parts[-1][1] + 1 == number:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts) or "none"


def float_of(data_type, bits):
    width = FLOAT_BITS[data_type]
    bits %= 2**width
    if data_type == "bf16":
        bits, width = bits << 16, 32
    return struct.unpack(
        {16: "<e", 32: "<f", 64: "<d"}[width], bits.to_bytes(width // 8, "little")
    )[0]


class Layout:
    """The layout of a chunk with these fields."""

    def __init__(self, fields):
        self.data_type, self.format = DATA_TYPES[fields["data_type"]], FORMATS[fields["format"]]
        self.is_block = self.format.startswith("bfp")
        self.is_native = self.format == "native"
        self.bits = (
            FLOAT_BITS.get(self.data_type)
            if self.is_native
            else int("".join(c for c in self.format if c.isdigit()))
        )
        self.block = 64 if self.data_type == "f64" else 32
        self.bias = 1104 if self.data_type == "f64" else 120
        self.is_ordered = REDUCTIONS[fields["reduction"]] in ("min", "max")
        self.is_copied = COLLECTIVES[fields["collective"]] == "broadcast"
        self.elements = fields["elements"]

    def unit(self, code):
        return code - self.bias - (self.bits - 2)

    def block_value(self, mantissa, code, has_specials):
        top = 2 ** (self.bits - 1) - 1
        if has_specials and abs(mantissa) >= top:
            return math.nan if mantissa < -top else math.copysign(math.inf, mantissa)
        try:
            return math.ldexp(mantissa, self.unit(code)) if code else 0.0
        except OverflowError:
            return math.copysign(math.inf, mantissa)

    def integer_value(self, number):
        """Returns the value, or None if the packet does not have it."""
        if self.is_native:
            return float_of(self.data_type, number)
        if self.data_type == "u8":
            return number + 128 if self.is_ordered and not self.is_copied else number % 256
        if self.data_type in ("i8", "i32", "i64"):
            return number if self.data_type == self.format else None
        width = FLOAT_BITS[self.data_type]
        if width != self.bits or not (self.is_ordered or self.is_copied):
            return None
        if number < 0 and not self.is_copied:
            number ^= 2 ** (width - 1) - 1
        return float_of(self.data_type, number)

    def signed(self, number):
        """Returns the number with these bits, as the dissector shows an element."""
        return (number + 2 ** (self.bits - 1)) % 2**self.bits - 2 ** (self.bits - 1)


def blocks_and_places(fields, layout):
    """Returns the block of each code, and the place in the chunk of each element, in order."""
    if not fields["held"]:
        return list(range(-(-layout.elements // layout.block))), list(range(layout.elements))
    blocks, places = [], []
    for index, held in enumerate(fields["held"]):
        blocks += held
        for order, block in enumerate(held):
            parts = range(4)
            if fields["quarters"]:
                bits = fields["quarters"][index][order]
                parts = [part for part in range(4) if bits >> part & 1]
            for part in parts:
                first = block * layout.block + part * layout.block // 4
                places += range(first, min(first + layout.block // 4, layout.elements))
    return blocks, places


def header(fields):
    """Returns {field: number} of the header."""
    ranks = [rank for first, count in fields["ranks"] for rank in range(first, first + count)]
    count = len(ranks) if fields["count"] is None else fields["count"]
    wanted = {
        "magic": 0xF1,
        "kind": next(k for k, n in KINDS.items() if n == fields["kind"].upper()),
        "contributors": count,
        "weight": count if fields["weight"] is None else fields["weight"],
        "contributor_digest": (
            sum(map(digest, ranks)) if fields["digest"] is None else fields["digest"]
        )
        % 2**32,
        **{
            name: fields[name]
            for name in ("version", "flags", "worker", "job", "slot", "epoch", "round", *WORDS)
        },
    }
    if fields["kind"] in ("abort", "aborted"):
        wanted.update(dict.fromkeys(WORDS, 0))
    for name, bits in (
        ("shape", 32),
        ("round", 32),
        ("elements", 16),
        ("contributors", 16),
        ("weight", 16),
    ):
        wanted[name] %= 2**bits
    return wanted


def names(numbers):
    """Returns {field: the word that must be beside its number}."""
    return {
        "kind": KINDS[numbers["kind"]],
        "data_type": DATA_TYPES[numbers["data_type"]],
        "format": FORMATS[numbers["format"]],
        "collective": COLLECTIVES[numbers["collective"]],
        "reduction": REDUCTIONS[numbers["reduction"]],
    }


def signature_of(text):
    """Returns {field: number} of the 8 bytes of R-012, which are in hexadecimal."""
    elements, types, operation, shape = struct.unpack(">HBBI", bytes.fromhex(text.ljust(16, "0")))
    return dict(
        zip(
            WORDS,
            (elements, types >> 4, types & 15, operation >> 4, operation & 15, shape),
            strict=True,
        )
    )


def same_value(text, wanted):
    """Compares decimals. tshark shows 15 digits, which make the largest binary64 an infinity."""
    shown, wanted = decimal.Decimal(text), decimal.Decimal(wanted)
    if not (shown.is_finite() and wanted.is_finite()):
        return shown == wanted or (shown.is_nan() and wanted.is_nan())
    return abs(shown - wanted) <= abs(wanted) * decimal.Decimal("1e-12")
