# SPDX-License-Identifier: Apache-2.0
"""Communication hooks for DistributedDataParallel."""

import dataclasses
import importlib

from torch import futures
from torch.utils import weak

from infold._registration import backend_of
from infold.options import LAYOUTS

# From the most exact to the smallest.
_ORDER = ("bfp32", "bfp16", "bfp8")
# Leaving out zeros takes two round trips more: 200 us, say, in which 10 Gbit/s carry 250 KB.
_LARGE_BYTES = 256 << 10
# It also reads a tensor once more, which costs 3 % where there are no zeros.
_DENSITY_MAX = 0.9
# Looking at a sum takes about as long as copying it. What a model is like does not change often.
_LOOK_EVERY = 16


class wire:
    """Sums gradients in a wire format of your choice: bfp16 has half the bytes, bfp8 a quarter.

        model = DistributedDataParallel(model)
        hook = infold.hooks.wire("bfp16")
        model.register_comm_hook(None, hook)

    Some parameters may need more: `exact` is called once for each, and those for which it is true
    travel as bfp32. A bucket takes the most exact format of its parameters. What was decided is
    kept for each parameter, because DDP forms its buckets anew after the first step.

        hook = infold.hooks.wire("bfp8", exact=lambda parameter: parameter.dim() < 2)
    """

    def __init__(self, format, exact=None):
        if format not in _ORDER:
            raise ValueError(f"infold: wire is '{format}'; allowed: {', '.join(_ORDER)}")
        self.format = format
        self.exact = exact
        self._formats = weak.WeakIdKeyDictionary()
        # DDP takes its hooks for functions and writes their names down.
        self.__name__ = "wire"
        self.__qualname__ = "infold.hooks.wire"

    def format_of(self, parameter):
        """What this parameter needs."""
        if parameter not in self._formats:
            is_exact = self.exact is not None and self.exact(parameter)
            self._formats[parameter] = "bfp32" if is_exact else self.format
        return self._formats[parameter]

    def __call__(self, group, bucket):
        """`group` is register_comm_hook's state: None stands for the default group."""
        return _averaged(group, bucket.buffer(), self.format_of_all(bucket.parameters()))

    def format_of_all(self, parameters):
        """What a bucket of these takes."""
        formats = {self.format_of(each) for each in parameters} or {self.format}
        return min(formats, key=_ORDER.index)


@dataclasses.dataclass
class _Seen:
    """What sums have shown of a parameter: the same at all ranks, as their sums are."""

    density: float = 0.0  # the share of blocks that are not all zeros
    calls_until_look: int = 0

    def look(self, average):
        self.density = importlib.import_module("infold._c").density(average)


class layout:
    """Leaves zeros out of the sums of those gradients where that pays.

        model = DistributedDataParallel(model)
        model.register_comm_hook(None, infold.hooks.layout("automatic"))

    "automatic" leaves them out at first, looks at the sum now and then, and has a parameter's
    gradient travel dense while few of its blocks of 32 elements are zeros. What it saw is kept for
    each parameter, because DDP forms its buckets anew after the first step. "dense" and "blocks" do
    the same with every gradient. Large parameters are summed each on its own, the small ones of a
    bucket together and dense, so that blocks begin where a parameter's first row does, and the
    three have the same bits. Gradients that are sparse tensors always travel as their rows.

    `wire` says how elements travel, as a hook of its own would:

        hook = infold.hooks.layout("automatic", wire=infold.hooks.wire("bfp16"))
    """

    def __init__(self, layout="automatic", wire=None):
        if layout not in LAYOUTS:
            raise ValueError(f"infold: layout is '{layout}'; allowed: {', '.join(LAYOUTS)}")
        self.layout = layout
        self.wire = wire
        self._seen = weak.WeakIdKeyDictionary()
        self.__name__ = "layout"
        self.__qualname__ = "infold.hooks.layout"

    def layout_of(self, parameter):
        """How this parameter's gradient travels, if it has a call of its own."""
        if self.layout != "automatic":
            return self.layout
        return "blocks" if self._seen_of(parameter).density <= _DENSITY_MAX else "dense"

    def __call__(self, group, bucket):
        """`group` is register_comm_hook's state: None stands for the default group."""
        buffer = bucket.buffer()
        if buffer.is_sparse:
            return _averaged(group, buffer, self._wire_of(bucket.parameters()))
        sums = [self._sum(group, *part) for part in _parts(buffer, bucket.parameters())]

        def finish(done):
            for each in done.value():
                each.value()  # raises what went wrong
            return buffer

        return futures.collect_all(sums).then(finish)

    def _sum(self, group, tensor, parameters):
        wire = self._wire_of(parameters)
        if not _is_large(parameters[0]):
            return _averaged(group, tensor, wire, "dense")
        chosen, seen = self.layout_of(parameters[0]), self._seen_of(parameters[0])
        looks = self.layout == "automatic" and seen.calls_until_look == 0
        seen.calls_until_look = (seen.calls_until_look or _LOOK_EVERY) - 1
        return _averaged(group, tensor, wire, chosen, seen.look if looks else None)

    def _seen_of(self, parameter):
        return self._seen.setdefault(parameter, _Seen())

    def _wire_of(self, parameters):
        return self.wire.format_of_all(parameters) if self.wire else "automatic"


def _is_large(parameter):
    return parameter.numel() * parameter.element_size() >= _LARGE_BYTES


def _parts(buffer, parameters):
    """What has a call of its own: each large parameter's part of the bucket, and that of small ones
    that follow each other."""
    begin, end, small = 0, 0, []
    for parameter in parameters:
        if _is_large(parameter):
            if small:
                yield buffer[begin:end], small
            yield buffer[end:end + parameter.numel()], [parameter]
            begin, small = end + parameter.numel(), []
        else:
            small.append(parameter)
        end += parameter.numel()
    if small:
        yield buffer[begin:end], small


def _averaged(group, tensor, wire, layout=None, then=None):
    """A future of the tensor's average; `then` is called with it once it is there."""
    work = backend_of(group, tensor.device).all_reduce_as(
        tensor, wire, average=True, layout=layout)

    def finish(done):
        average = done.value()[0]
        if then:
            then(average)
        return average

    return work.get_future().then(finish)
