# SPDX-License-Identifier: Apache-2.0
"""Communication hooks for DistributedDataParallel."""

from torch.utils import weak

from infold._registration import backend_of

# From the most exact to the smallest.
_ORDER = ("bfp32", "bfp16", "bfp8")


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
        tensor = bucket.buffer()
        formats = {self.format_of(each) for each in bucket.parameters()} or {self.format}
        work = backend_of(group, tensor.device).all_reduce_as(
            tensor, min(formats, key=_ORDER.index), average=True)
        return work.get_future().then(lambda done: done.value()[0])
