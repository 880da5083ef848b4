# SPDX-License-Identifier: Apache-2.0
"""Converts tensors to the bytes of a chunk's body and back. It knows integers, and f32 in block
formats or native."""

import math
import struct

BLOCK = 32
BIAS = 120
CODE_MAX = 255
WIDTHS = {"bfp8": 8, "bfp16": 16, "bfp32": 32}
LETTERS = {
    "i8": "b",
    "i32": "i",
    "i64": "q",
    "bfp8": "b",
    "bfp16": "h",
    "bfp32": "i",
    "native": "f",
}
FLOAT_MAX = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]


def code_bytes(elements):
    """One byte per block, padded to a multiple of 4 (R-023)."""
    blocks = -(-elements // BLOCK)
    return -(-blocks // 4) * 4


def body_bytes(wire_format, elements):
    codes = code_bytes(elements) if wire_format in WIDTHS else 0
    return codes + elements * struct.calcsize(LETTERS[wire_format])


def spread(wire_format, world):
    """R-033: the largest distance between exponents of one block."""
    return 63 - (WIDTHS[wire_format] - 1) - (world - 1).bit_length()


def encode_block(numbers, width, floor):
    """Returns the code, the mantissas, and whether a number is special (R-026, R-028). The code is
    at least `floor` (R-034)."""
    limit = 2 ** (width - 1) - 2
    largest = max((abs(x) for x in numbers if math.isfinite(x)), default=0)
    code = 0
    if largest:
        code = max(1, math.frexp(largest)[1] - 1 + BIAS)
        code += round(math.ldexp(largest, BIAS + width - 2 - code)) > limit
        code = max(code, floor)
    shift = BIAS + width - 2 - code
    mantissas = [round(math.ldexp(x, shift)) if math.isfinite(x) else 0 for x in numbers]
    if not any(mantissas):
        code = 0
    special = False
    for i, x in enumerate(numbers):
        if not math.isfinite(x):
            special = True
            mantissas[i] = -limit - 2 if math.isnan(x) else limit + 1 if x > 0 else -limit - 1
    return code, mantissas, special


def encode(wire_format, values, floors=None):
    """Returns the body of an ADD, and whether it has special values."""
    if wire_format not in WIDTHS:
        return struct.pack(f"<{len(values)}{LETTERS[wire_format]}", *values), False
    codes, mantissas, specials = [], [], False
    for block, first in enumerate(range(0, len(values), BLOCK)):
        code, some, special = encode_block(
            values[first : first + BLOCK], WIDTHS[wire_format], floors[block] if floors else 0
        )
        codes.append(code)
        mantissas += some
        specials |= special
    body = bytes(codes).ljust(code_bytes(len(values)), b"\0")
    return body + struct.pack(f"<{len(values)}{LETTERS[wire_format]}", *mantissas), specials


def to_f32(number):
    """Rounds once, to nearest. Numbers beyond the largest one become infinities, as in IEEE 754."""
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def decode(wire_format, body, elements, has_specials):
    """Returns the numbers of a RESULT (R-029)."""
    letter = LETTERS[wire_format]
    if wire_format not in WIDTHS:
        return list(struct.unpack(f"<{elements}{letter}", body))
    width = WIDTHS[wire_format]
    limit = 2 ** (width - 1) - 2
    numbers = list(struct.unpack_from(f"<{elements}{letter}", body, code_bytes(elements)))
    for i, mantissa in enumerate(numbers):
        code = body[i // BLOCK]
        if has_specials and abs(mantissa) > limit:
            numbers[i] = math.nan if mantissa == -limit - 2 else math.copysign(math.inf, mantissa)
        elif code == 0:
            numbers[i] = 0.0
        else:
            numbers[i] = to_f32(math.ldexp(mantissa, code - BIAS - (width - 2)))
    return numbers
