# SPDX-License-Identifier: Apache-2.0
"""Communication hooks for DistributedDataParallel."""

from collections.abc import Callable, Iterable
from typing import Any

from infold import _version

_version.require_torch(__name__)

import torch
from torch import futures
from torch.utils import weak

from infold._registration import backend_of
from infold.options import LAYOUTS

# From the most exact format to the one with the fewest bytes.
_ORDER = ("automatic", "bfp32", "bfp16", "bfp8")
# A sparse sum takes one or two more round trips of, say, 200 us each, in which 10 Gbit/s carry 250
# KB.
_LARGE_BYTES = 256 << 10


class wire:
    """Averages gradients in a wire format of your choice: bfp16 sends half the bytes, bfp8 a
    quarter. The format automatic rounds the exact mean once. Without a hook, DDP divides before the
    sum, which causes one more rounding at each rank.

        model = DistributedDataParallel(model)
        hook = infold.hooks.wire("bfp16")
        model.register_comm_hook(None, hook)

    Some parameters may need more precision. `exact` is called once for each parameter; if it
    returns true, the parameter's format is automatic. A bucket takes the most exact format of its
    parameters. The decision is kept for each parameter, because DDP rebuilds its buckets after the
    first step.

        hook = infold.hooks.wire("bfp8", exact=lambda parameter: parameter.dim() < 2)
    """

    def __init__(
        self,
        format: str = "automatic",
        exact: Callable[[torch.nn.Parameter], bool] | None = None,
    ) -> None:
        if format not in _ORDER:
            raise ValueError(f"infold: wire is '{format}'; allowed: {', '.join(_ORDER)}")
        self.format = format
        self.exact = exact
        self._formats = weak.WeakIdKeyDictionary()
        # DDP logs the names of its hooks, which are functions as a rule and have these names.
        self.__name__ = "wire"
        self.__qualname__ = "infold.hooks.wire"

    # The decisions belong to the model's parameters, and a copy of the model has others. To save
    # the hook, `exact` must be a function of a module, because Python saves no others.
    def __getstate__(self) -> dict[str, Any]:
        return {"format": self.format, "exact": self.exact}

    def __setstate__(self, state: dict[str, Any]) -> None:
        wire.__init__(self, **state)

    def format_of(self, parameter: torch.nn.Parameter) -> str:
        """The format of this parameter."""
        if parameter not in self._formats:
            is_exact = self.exact is not None and self.exact(parameter)
            self._formats[parameter] = "automatic" if is_exact else self.format
        return self._formats[parameter]

    def __call__(self, group, bucket):
        """`group` is register_comm_hook's state: None stands for the default group."""
        return _averaged(group, bucket.buffer(), self.format_of_all(bucket.parameters()))

    def format_of_all(self, parameters: Iterable[torch.nn.Parameter]) -> str:
        """The format of a bucket of these parameters."""
        formats = {self.format_of(each) for each in parameters} or {self.format}
        return min(formats, key=_ORDER.index)


class layout:
    """Sums gradients that are mostly zeros without their zeros, if that is faster.

        model = DistributedDataParallel(model)
        model.register_comm_hook(None, infold.hooks.layout("automatic"))

    Each large parameter is summed on its own, so that blocks begin at the parameter's first row.
    With "automatic", the choice for a size and type depends on the zeros of earlier gradients and
    on the time that both layouts took. "dense" and "blocks" choose one layout for all large
    parameters. The small parameters of a bucket are summed together and dense. All three give the
    same bits. Gradients that are sparse tensors always travel as their rows.

    `wire` is a hook of the class above, which chooses the wire format:

        hook = infold.hooks.layout("automatic", wire=infold.hooks.wire("bfp16"))
    """

    def __init__(self, layout: str = "automatic", wire: "wire | None" = None) -> None:
        if layout not in LAYOUTS:
            raise ValueError(f"infold: layout is '{layout}'; allowed: {', '.join(LAYOUTS)}")
        self.layout = layout
        self.wire = wire
        self.__name__ = "layout"
        self.__qualname__ = "infold.hooks.layout"

    def __call__(self, group, bucket):
        """`group` is register_comm_hook's state: None stands for the default group."""
        buffer = bucket.buffer()
        if buffer.is_sparse:
            return _averaged(group, buffer, self._wire_of(bucket.parameters()))
        sums = [self._sum(group, *part) for part in _parts(buffer, bucket.parameters())]

        def finish(done):
            for each in done.value():
                each.value()  # raises the call's error
            return buffer

        return futures.collect_all(sums).then(finish)

    def _sum(self, group, tensor, parameters):
        layout = self.layout if _is_large(parameters[0]) else "dense"
        return _averaged(group, tensor, self._wire_of(parameters), layout)

    def _wire_of(self, parameters):
        return self.wire.format_of_all(parameters) if self.wire else "automatic"


def _is_large(parameter):
    return parameter.numel() * parameter.element_size() >= _LARGE_BYTES


def _parts(buffer, parameters):
    """The parts of a bucket, each of which is summed by one call: a large parameter, or
    neighbouring small parameters."""
    begin, end, small = 0, 0, []
    for parameter in parameters:
        if _is_large(parameter):
            if small:
                yield buffer[begin:end], small
            yield buffer[end : end + parameter.numel()], [parameter]
            begin, small = end + parameter.numel(), []
        else:
            small.append(parameter)
        end += parameter.numel()
    if small:
        yield buffer[begin:end], small


def _averaged(group, tensor, wire, layout=None):
    """A future whose value is the average over all ranks."""
    work = backend_of(group, tensor.device).all_reduce_as(tensor, wire, average=True, layout=layout)
    return work.get_future().then(lambda done: done.value()[0])
