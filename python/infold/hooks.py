# SPDX-License-Identifier: Apache-2.0
"""Communication hooks for DistributedDataParallel."""

from torch import futures
from torch.utils import weak

from infold._registration import backend_of
from infold.options import LAYOUTS

# From the most exact to the smallest.
_ORDER = ("bfp32", "bfp16", "bfp8")
# Leaving out zeros takes one round trip more, or two: 200 us, say, in which 10 Gbit/s carry 250 KB.
_LARGE_BYTES = 256 << 10


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


class layout:
    """Leaves zeros out of the sums of those gradients where that pays.

        model = DistributedDataParallel(model)
        model.register_comm_hook(None, infold.hooks.layout("automatic"))

    Large parameters are summed each on its own, so that blocks begin where a parameter's first row
    does, and "automatic" chooses for those of one size and type by what was in them before and how
    long both layouts took. The small ones of a bucket are summed together and dense. "dense" and
    "blocks" do so with every large one; the three have the same bits. Gradients that are sparse
    tensors always travel as their rows.

    `wire` says how elements travel, as a hook of its own would:

        hook = infold.hooks.layout("automatic", wire=infold.hooks.wire("bfp16"))
    """

    def __init__(self, layout="automatic", wire=None):
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
                each.value()  # raises what went wrong
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


def _averaged(group, tensor, wire, layout=None):
    """A future of the tensor's average."""
    work = backend_of(group, tensor.device).all_reduce_as(
        tensor, wire, average=True, layout=layout)
    return work.get_future().then(lambda done: done.value()[0])
