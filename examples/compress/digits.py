# SPDX-License-Identifier: Apache-2.0
"""Pictures of digits, as a display with seven segments shows them: shifted, turned, slanted, drawn
with other pens, and with noise. Each picture is drawn when it is needed."""

import torch

SIDE = 24
NOISE = 0.2

# The ends of the segments. A digit is 2 wide and 4 high.
_SEGMENTS = {
    "a": ((-1, -2), (1, -2)),
    "b": ((1, -2), (1, 0)),
    "c": ((1, 0), (1, 2)),
    "d": ((-1, 2), (1, 2)),
    "e": ((-1, 0), (-1, 2)),
    "f": ((-1, -2), (-1, 0)),
    "g": ((-1, 0), (1, 0)),
}
_DIGITS = ("abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcdfg")
_IS_ON = torch.tensor([[segment in digit for segment in _SEGMENTS] for digit in _DIGITS])


def draw(digits, generator, wildness=0.4):
    """Returns a row of SIDE x SIDE numbers for each digit: 0 is paper, 1 is ink."""
    count = len(digits)

    def between(low, high):
        return low + (high - low) * torch.rand(count, 1, generator=generator)

    axis = torch.arange(SIDE) - (SIDE - 1) / 2
    y, x = (each.reshape(1, -1) for each in torch.meshgrid(axis, axis, indexing="ij"))
    x = x - wildness * between(-3.5, 3.5)
    y = y - wildness * between(-2.5, 2.5)
    angle = wildness * between(-0.35, 0.35)
    x, y = x * angle.cos() + y * angle.sin(), y * angle.cos() - x * angle.sin()
    x = x + wildness * between(-0.4, 0.4) * y
    width, height, pen = between(2.2, 4.2), between(2.6, 4.2), between(1.2, 2.0)
    # This is the distance from each pixel to the nearest segment that is on.
    distance = torch.full((count, SIDE * SIDE), float(SIDE))
    for number, ((x0, y0), (x1, y1)) in enumerate(_SEGMENTS.values()):
        x1, y1 = x1 - x0, y1 - y0
        along = ((x / width - x0) * x1 + (y / height - y0) * y1) / (x1 * x1 + y1 * y1)
        along = along.clamp(0, 1)
        to_this = torch.hypot(x - width * (x0 + along * x1), y - height * (y0 + along * y1))
        nearer = torch.minimum(distance, to_this)
        distance = torch.where(_IS_ON[digits, number, None], nearer, distance)
    ink = (1.2 * (pen - distance)).clamp(0, 1)
    return ink + NOISE * torch.randn(ink.shape, generator=generator)


def batch(size, generator, wildness=0.4):
    """Returns pictures, and the digits on them."""
    digits = torch.randint(10, (size,), generator=generator)
    return draw(digits, generator, wildness), digits


def batches(size, seed):
    generator = torch.Generator().manual_seed(seed)
    while True:
        yield batch(size, generator)
