# SPDX-License-Identifier: Apache-2.0
"""Loads the reader's compressor, and tries it before the race. Errors become Refused, in words."""

import importlib.util
import traceback

import torch

import infold

NAME = "mine"
# Shapes like those of train.py: a matrix, a short list of biases, and a gradient of zeros.
_SHAPES = ((512, 576), (10,), (3, 1))


class Refused(Exception):
    pass


def load(path):
    """Returns the file as a module."""
    module = _run(path)
    for name in ("Mine", "MEMORY", "BIAS"):
        if not hasattr(module, name):
            raise Refused(f"{path} has no {name}")
    return module


def make_hook(module):
    """Call this once in a process, because it adds a method to infold's."""
    try:
        infold.compress.add(NAME, module.Mine, module.BIAS)
        return infold.compress.hook(NAME, memory=module.MEMORY)
    except (TypeError, ValueError) as error:
        raise Refused(str(error)) from None


def _run(path):
    spec = importlib.util.spec_from_file_location("mine", path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except FileNotFoundError:
        raise Refused(f"there is no file {path}") from None
    except Exception:  # noqa: BLE001  the reader's own code may raise anything
        raise Refused(f"{path} does not load:\n{_last_lines()}") from None
    return module


def examine(module):
    """Compresses a few gradients. For the first one, returns the bits sent for each number, and the
    error of the result as a share of the gradient (both squared)."""
    generator = torch.Generator().manual_seed(1)
    answers = [
        _examine(module.Mine(), scale * torch.randn(shape, generator=generator))
        for shape, scale in zip(_SHAPES, (0.01, 1, 0), strict=True)
    ]
    return answers[0]


def _examine(compressor, gradient):
    where = f"for a gradient of shape {tuple(gradient.shape)}"
    sent, context = _compress(compressor, gradient, where)
    again, _ = _compress(compressor, gradient, where)
    if len(sent) != len(again) or not all(map(torch.equal, sent, again)):
        raise Refused(
            f"compress() gives other tensors when a step is made again, {where}: it must "
            "remember nothing, and take random numbers from self.generator"
        )
    try:
        result = compressor.decompress(sent, context)
    except Exception:  # noqa: BLE001  the reader's own code may raise anything
        raise Refused(f"decompress() fails {where}:\n{_last_lines()}") from None
    if not isinstance(result, torch.Tensor) or result.shape != gradient.shape:
        shape = tuple(getattr(result, "shape", ()))
        raise Refused(f"decompress() returns {type(result).__name__} of shape {shape}, {where}")
    if not result.isfinite().all():
        raise Refused(f"decompress() returns numbers that are not finite, {where}")
    bits = 8 * sum(each.numel() * each.element_size() for each in sent) / gradient.numel()
    error = (result.float() - gradient).square().sum() / gradient.square().sum().clamp_min(1e-30)
    return bits, error.item()


def _compress(compressor, gradient, where):
    compressor.generator = torch.Generator().manual_seed(1)
    try:
        answer = compressor.compress(gradient.clone(), "gradient")
    except Exception:  # noqa: BLE001  the reader's own code may raise anything
        raise Refused(f"compress() fails {where}:\n{_last_lines()}") from None
    if not (
        isinstance(answer, tuple)
        and len(answer) == 2
        and isinstance(answer[0], (list, tuple))
        and all(torch.is_tensor(each) for each in answer[0])
    ):
        raise Refused("compress() must return a list of tensors, and a context")
    return answer


def _last_lines():
    """Returns the line that raised the error being handled, and its message."""
    return "\n".join(traceback.format_exc(limit=-1).splitlines()[1:])
