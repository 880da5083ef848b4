# SPDX-License-Identifier: Apache-2.0
"""Computes the right sum, bit by bit, by section 4 of spec/protocol.md. All arithmetic is in whole
numbers, so it shares no code with the fast versions."""

import struct

BLOCK = 32
BIAS = 120
CODE_MAX = 255
UNIT_BITS = 149  # every f32 is a multiple of 2^-149
NAN, INFINITY = "nan", "infinity"
LETTERS = {"i8": "b", "i32": "i", "i64": "q", "f32": "f"}
WIDTHS = {"i8": 8, "i32": 32, "i64": 64}
QUIET_NAN = 0x7FC00000
INFINITE = 0x7F800000


def rounded(number, bits):
    """Returns number / 2^bits, rounded to the nearest whole number, ties to even."""
    if bits <= 0:
        return number << -bits
    half = 1 << (bits - 1)
    return (number + half - 1 + (number >> bits & 1)) >> bits


def multiple_of_unit(pattern):
    """Returns an f32's whole number of 2^-149 from its bits, or NAN, or (sign, INFINITY)."""
    sign = -1 if pattern >> 31 else 1
    exponent, fraction = pattern >> 23 & 0xFF, pattern & 0x7FFFFF
    if exponent == 0xFF:
        return NAN if fraction else (sign, INFINITY)
    return sign * (fraction if exponent == 0 else (fraction | 1 << 23) << (exponent - 1))


def code_of(numbers, width, least=1):
    """Returns the exponent code of a block by R-028."""
    largest = max((abs(number) for number in numbers), default=0)
    if largest == 0:
        return 0
    code = max(1, largest.bit_length() - 1 - UNIT_BITS + BIAS)
    if rounded(largest, shift_of(code, width)) > 2 ** (width - 1) - 2:
        code += 1
    code = max(code, least)
    return code if rounded(largest, shift_of(code, width)) else 0


def shift_of(code, width):
    """Returns the number of bits between 2^-149 and a mantissa's unit."""
    return code - BIAS - (width - 2) + UNIT_BITS


def f32_bits(mantissa, code, width):
    """Returns mantissa times unit, rounded once (R-029). No unit is below 2^-149."""
    return nearest_f32(mantissa << shift_of(code, width) if code else 0)


def nearest_f32(units):
    """Returns the bits of the f32 nearest to a multiple of 2^-149, ties to even."""
    drop = max(abs(units).bit_length() - 24, 0)
    kept = rounded(abs(units), drop) << drop
    sign = 1 << 31 if units < 0 else 0
    exponent = kept.bit_length() - 23
    if exponent < 1:
        return sign | kept
    if exponent >= 0xFF:
        return sign | INFINITE
    return sign | exponent << 23 | kept >> (exponent - 1) & 0x7FFFFF


def block_sum(contributions, width, world):
    """Returns the f32 bits of a block's sum, from each rank's f32 bits."""
    numbers = [[multiple_of_unit(pattern) for pattern in each] for each in contributions]
    finite = [[number if isinstance(number, int) else 0 for number in each] for each in numbers]
    codes = [code_of(each, width) for each in finite]
    spread = 63 - (width - 1) - (world - 1).bit_length()
    used = [code for code in codes if code]
    if used and max(used) - min(used) > spread:
        least = max(used) - spread
        codes = [code_of(each, width, least) for each in finite]
        used = [code for code in codes if code]
    low = min(used, default=0)
    sums = [0] * len(contributions[0])
    for each, code in zip(finite, codes, strict=True):
        for i, number in enumerate(each if code else ()):
            sums[i] += rounded(number, shift_of(code, width)) << (code - low)
    code, mantissas = result_of(sums, low, width)
    limit = 2 ** (width - 1) - 2
    return [
        special_sum([each[i] for each in numbers])
        or (
            f32_bits(mantissa, code, width)
            if abs(mantissa) <= limit
            else INFINITE | (1 << 31 if mantissa < 0 else 0)
        )
        for i, mantissa in enumerate(mantissas)
    ]


def result_of(sums, low, width):
    """Returns the code and the mantissas of a result by R-035."""
    largest = max(map(abs, sums))
    if largest == 0:
        return 0, sums
    code = low + largest.bit_length() - 1 - (width - 2)
    if rounded(largest, code - low) > 2 ** (width - 1) - 2:
        code += 1
    code = min(max(code, 1), CODE_MAX)
    return code, [rounded(number, code - low) for number in sums]


def special_sum(numbers):
    """Returns the bits of a special sum by R-036, or None if all numbers are finite."""
    signs = {number[0] for number in numbers if isinstance(number, tuple)}
    if NAN in numbers or len(signs) == 2:
        return QUIET_NAN
    return None if not signs else INFINITE | (1 << 31 if signs == {-1} else 0)


def native_sum(patterns):
    """Returns the bits of an element's sum by R-041, from each rank's f32 bits."""
    numbers = [multiple_of_unit(pattern) for pattern in patterns]
    return special_sum(numbers) or nearest_f32(sum(numbers))


def expected_sum(data_type, wire, contributions):
    """Returns the bytes of the sum, from the bytes of each rank's tensor, little-endian."""
    letter = LETTERS[data_type]
    elements = len(contributions[0]) // struct.calcsize(letter)
    if data_type != "f32":
        width = WIDTHS[data_type]
        values = [struct.unpack(f"<{elements}{letter}", each) for each in contributions]
        sums = [sum(each) % 2**width for each in zip(*values, strict=True)]
        return struct.pack(f"<{elements}{ {8: 'B', 32: 'I', 64: 'Q'}[width] }", *sums)
    patterns = [struct.unpack(f"<{elements}I", each) for each in contributions]
    if wire == "native":
        return struct.pack(f"<{elements}I", *map(native_sum, zip(*patterns, strict=True)))
    sums = []
    for first in range(0, elements, BLOCK):
        sums += block_sum(
            [each[first : first + BLOCK] for each in patterns],
            int(wire.removeprefix("bfp")),
            len(contributions),
        )
    return struct.pack(f"<{elements}I", *sums)
