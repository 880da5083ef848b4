# SPDX-License-Identifier: Apache-2.0
"""Communication hooks for DistributedDataParallel."""

import dataclasses

from torch.utils import weak

from infold import options as _options
from infold._registration import backend_of

# From the most exact to the smallest.
_ORDER = ("bfp32", "bfp16", "bfp8")
# Leaving out zeros takes two round trips more: 200 us, say, in which 10 Gbit/s carry 250 KB.
_SMALL_BYTES = 256 << 10
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


class layout:
    """Leaves zeros out of the sums of those buckets where that pays.

        model = DistributedDataParallel(model)
        model.register_comm_hook(None, infold.hooks.layout("automatic"))

    "automatic" leaves them out at first, looks at the sum now and then, and has a bucket travel
    dense from then on if few of its blocks of 32 elements were zeros, and leave them out again once
    they are. What it saw is kept for each parameter, because DDP forms its buckets anew after the
    first step. Gradients that are sparse tensors always travel as their rows. "dense" and "blocks"
    do the same for every bucket. The bits of a sum are those of a dense one.

    `wire` says how elements travel, as a hook of its own would:

        hook = infold.hooks.layout("automatic", wire=infold.hooks.wire("bfp16"))
    """

    def __init__(self, layout="automatic", wire=None):
        allowed = tuple(dict.fromkeys((*_options.LAYOUTS, "automatic")))
        if layout not in allowed:
            raise ValueError(f"infold: layout is '{layout}'; allowed: {', '.join(allowed)}")
        self.layout = layout
        self.wire = wire
        self._seen = weak.WeakIdKeyDictionary()
        self.__name__ = "layout"
        self.__qualname__ = "infold.hooks.layout"

    def layout_of(self, parameters):
        """What a bucket of these takes."""
        if self.layout != "automatic":
            return self.layout
        elements = sum(each.numel() for each in parameters)
        if sum(each.numel() * each.element_size() for each in parameters) < _SMALL_BYTES:
            return "dense"
        present = sum(each.numel() * self._seen_of(each).density for each in parameters)
        return "blocks" if present <= _DENSITY_MAX * elements else "dense"

    def __call__(self, group, bucket):
        """`group` is register_comm_hook's state: None stands for the default group."""
        tensor, parameters = bucket.buffer(), bucket.parameters()
        wire = self.wire.format_of_all(parameters) if self.wire else "automatic"
        if tensor.is_sparse:
            return _averaged(group, tensor, wire)
        chosen = self.layout_of(parameters)
        due = self._due(bucket) if self.layout == "automatic" else []
        return _averaged(group, tensor, wire, chosen, lambda: self._look(due))

    def _seen_of(self, parameter):
        return self._seen.setdefault(parameter, _Seen())

    def _due(self, bucket):
        """Parts of the bucket to look at when they have been summed, and where to note it."""
        due = []
        for parameter, gradient in zip(bucket.parameters(), bucket.gradients(), strict=True):
            seen = self._seen_of(parameter)
            if seen.calls_until_look == 0:
                due.append((gradient, seen))
            seen.calls_until_look = (seen.calls_until_look or _LOOK_EVERY) - 1
        return due

    @staticmethod
    def _look(due):
        from infold import _c

        for gradient, seen in due:
            seen.density = _c.density(gradient)


def _averaged(group, tensor, wire, layout=None, then=lambda: None):
    """A future of the tensor's average; `then` comes first, once it is there."""
    work = backend_of(group, tensor.device).all_reduce_as(
        tensor, wire, average=True, layout=layout)

    def finish(done):
        average = done.value()[0]
        then()
        return average

    return work.get_future().then(finish)
