# SPDX-License-Identifier: Apache-2.0
"""The right results of collectives: seeded inputs that all ranks can compute, plain sums, and
bounds."""

import math

import torch
import torch.distributed as dist

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)
TYPES = (*FLOATS, *INTEGERS, torch.bool, torch.complex64)
SIZES = (0, 1, 7, 1000, 100_003)
WORLDS = tuple(range(1, 9))
LAYOUTS = ("plain", "strided", "transposed", "leaf")


def numbers(dtype, shape, rank, seed=0):
    """The inputs of a rank, the same wherever they are computed. Blocks of floats differ in
    magnitude, so that a scale for more than one block would be noticed."""
    generator = torch.Generator().manual_seed(1000 * seed + rank)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if dtype in INTEGERS:
        limits = torch.iinfo(dtype)
        return torch.randint(
            limits.min // 2, limits.max // 2, shape, dtype=dtype, generator=generator
        )
    if dtype == torch.complex64:
        return torch.randn(shape, dtype=dtype, generator=generator)
    values = torch.randn(shape, dtype=torch.float64, generator=generator)
    block = torch.arange(values.numel()).view(shape) // 64
    return (values * 2.0 ** (block % 13 - 6)).to(dtype)


def laid_out(values, layout):
    """The values in another memory layout, or None if the values cannot have it."""
    if layout == "plain":
        return values.clone()
    if layout == "leaf":
        return values.clone().requires_grad_() if values.dtype in FLOATS else None
    if layout == "strided":
        room = torch.zeros(*values.shape, 2, dtype=values.dtype)
        room[..., 0] = values
        return room[..., 0]
    if values.dim() < 2:
        return None
    return values.transpose(0, -1).contiguous().transpose(0, -1)


def premultiplied(factor):
    return dist._make_nccl_premul_sum(factor)


def plain(operation, tensors, factor=1):
    """The operation over all ranks' tensors, without a network. Floats are added as float64."""
    dtype = tensors[0].dtype
    wide = torch.float64 if dtype in FLOATS else torch.complex128 if dtype.is_complex else dtype
    rows = torch.stack([(each * factor).to(dtype).to(wide) for each in tensors])
    if operation in ("SUM", "AVG", "PREMUL_SUM"):
        total = rows.any(0) if dtype == torch.bool else rows.sum(0, dtype=wide)
        return total / len(tensors) if operation == "AVG" else total
    if operation in ("MIN", "MAX"):
        return rows.amin(0) if operation == "MIN" else rows.amax(0)
    step = {
        "PRODUCT": torch.mul,
        "BAND": torch.bitwise_and,
        "BOR": torch.bitwise_or,
        "BXOR": torch.bitwise_xor,
    }[operation]
    total = rows[0]
    for row in rows[1:]:
        total = step(total, row)
    return total


def _per_block(magnitudes, length):
    """For each element, the largest magnitude in its block."""
    flat = magnitudes.flatten()
    blocks = torch.nn.functional.pad(flat, (0, -flat.numel() % length)).view(-1, length)
    return (
        blocks.amax(1, keepdim=True).expand_as(blocks).flatten()[: flat.numel()].view_as(magnitudes)
    )


_ROUNDING = {"bfp32": 2.0**-30, "bfp16": 2.0**-14, "bfp8": 2.0**-6}


def bound(tensors, wire, average=False):
    """The largest error of a sum of these tensors in a block format, for each element.

    Each rank rounds once to a block of 32 elements (64 of float64) with a common scale, and the sum
    is rounded once more in the same way. Each rounding errs by M x 2^-30 in bfp32, 2^-14 in bfp16
    and 2^-6 in bfp8, where M is the block's largest magnitude (spec/protocol.md, section 10). At
    the end, the result is rounded to the tensor's own type.
    """
    dtype = tensors[0].dtype
    if dtype.is_complex:
        tensors = [torch.view_as_real(each) for each in tensors]
        dtype = torch.float32
    length = 64 if dtype == torch.float64 else 32
    rows = torch.stack([each.detach().double() for each in tensors])
    if not rows.numel():
        return rows[0]
    largest = torch.stack([_per_block(row.abs(), length) for row in rows]).sum(0)
    total = _per_block(rows.sum(0).abs(), length) + largest * _ROUNDING[wire]
    scale = 1 / len(tensors) if average else 1
    own = torch.finfo(dtype).eps * (rows.sum(0).abs() + largest * _ROUNDING[wire])
    smallest = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
    return (largest * _ROUNDING[wire] + total * _ROUNDING[wire] + own) * scale + smallest


def real(tensor):
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def _finest(dtype):
    """The exponent of the type's smallest number above 0, of which all numbers are multiples."""
    limits = torch.finfo(dtype)
    return round(math.log2(limits.smallest_normal) + math.log2(limits.eps))


def multiples(values, dtype):
    """Floats as whole multiples of the type's smallest number."""
    finest = _finest(dtype)
    ratios = (value.as_integer_ratio() for value in values)
    return [above << -finest - (below.bit_length() - 1) for above, below in ratios]


def rounded(total, divisor, dtype):
    """The number of this type that is nearest to total / divisor, in units of the type's smallest
    number. Ties go to the even number."""
    limits = torch.finfo(dtype)
    digits = 1 - round(math.log2(limits.eps))
    shift = max(0, (abs(total) // divisor).bit_length() - digits)
    unit = divisor << shift
    nearest, left = divmod(abs(total), unit)
    nearest += 2 * left > unit or (2 * left == unit and nearest % 2)
    exponent = shift + _finest(dtype)
    is_too_large = nearest.bit_length() + exponent > math.frexp(limits.max)[1]
    size = math.inf if is_too_large else math.ldexp(nearest, exponent)
    return -size if total < 0 else size


# Python's integers are slow, so only some elements of longer tensors are compared bit by bit.
_EXACT_ELEMENTS = 500


def check_rounded_once(name, found, tensors, average):
    """Checks that a sum or mean is the exact value, rounded once to its type."""
    found = real(found.detach()).flatten()
    rows = torch.stack([real(each.detach()).flatten().double() for each in tensors])
    divisor = len(tensors) if average else 1
    places = sorted(
        {
            *range(min(len(found), _EXACT_ELEMENTS)),
            *range(max(0, len(found) - _EXACT_ELEMENTS), len(found)),
        }
    )
    columns = rows[:, places].t().tolist()
    exact = [
        rounded(sum(multiples(column, found.dtype)), divisor, found.dtype) for column in columns
    ]
    assert found[places].double().tolist() == exact, f"{name}: not rounded once"
    total = rows.sum(0) / divisor
    limits = torch.finfo(found.dtype)
    # The total is a sum of float64, which itself loses bits.
    allowed = limits.eps * total.abs() + 2.0**-48 * rows.abs().sum(0) + limits.smallest_normal
    assert bool(((found.double() - total).abs() <= allowed).all()), f"{name}: wrong"


def check_sum(name, found, tensors, operation="SUM", wire=None, factor=1):
    """Checks a sum of floats. In a block format it must be within the bound; otherwise it must be
    the exact sum, rounded once."""
    scaled = [(each.detach() * factor).to(each.dtype) for each in tensors]
    if wire is None:
        return check_rounded_once(name, found, scaled, operation == "AVG")
    exact = real(plain(operation, scaled))
    error = (real(found.detach()).double() - exact).abs()
    allowed = bound(scaled, wire, operation == "AVG")
    assert bool((error <= allowed).all()), (
        f"{name}: off by {error.max().item()}; allowed {allowed.flatten()[error.argmax()].item()}"
    )


def check_same(name, found, expected):
    """Checks that values and type are the same bit for bit, in any layout."""
    assert found.dtype == expected.dtype and found.shape == expected.shape, (
        f"{name}: {found.dtype} {found.shape}, expected {expected.dtype} {expected.shape}"
    )
    found, expected = (
        each.detach().resolve_conj().contiguous().unsqueeze(-1).view(torch.uint8)
        for each in (found, expected)
    )
    assert torch.equal(found, expected), (
        f"{name}: {int((found != expected).sum())} of {found.numel()} bytes differ"
    )


def is_sum_of_floats(dtype, operation):
    return (dtype in FLOATS or dtype.is_complex) and operation in ("SUM", "AVG", "PREMUL_SUM")


def check_reduction(name, found, tensors, operation, gloo=None):
    """Sums of floats are rounded once; other results have Gloo's bits, if given."""
    if is_sum_of_floats(tensors[0].dtype, operation):
        check_sum(name, found, tensors, operation)
    elif gloo is not None:
        check_same(name, found, gloo)
    else:
        check_same(name, found, plain(operation, tensors).to(found.dtype))


def sizes_for(dtype, world):
    """Sizes to test. The long tensor is by far the slowest, so few cases use it."""
    return SIZES if world <= 3 or dtype in (torch.float32, torch.int64) else SIZES[:-1]
