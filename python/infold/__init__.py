# SPDX-License-Identifier: Apache-2.0
"""infold sums the tensors of many processes inside the network.

With PyTorch, as a process group backend:

    import torch.distributed as dist
    import infold

    dist.init_process_group("infold")

This needs no switch: the ranks sum for each other. With one or more switches:

    dist.init_process_group("infold", pg_options=infold.Options(switches=["10.0.0.254:7700"]))

or INFOLD_SWITCHES=10.0.0.254:7700 in the environment. `python -m infold.doctor` measures a small
and a large all-reduce and prints the path that tensors take.

Without PyTorch, for numpy's arrays and all other objects with the buffer protocol:

    with infold.Communicator.join(rendezvous="10.0.0.1:7700", rank=0, world=2) as job:
        job.all_reduce(gradients)  # in place
"""

from infold._version import __version__, has_torch, reason_against
from infold.communicator import Communicator, Handle
from infold.errors import DeadlineExceeded, Error, InvalidArgument
from infold.options import Options

__all__ = [
    "Communicator",
    "DeadlineExceeded",
    "Error",
    "Handle",
    "InvalidArgument",
    "Options",
    "__version__",
    "compress",
    "hooks",
    "statistics",
    "trace",
]

_OF_TORCH = ("compress", "hooks", "statistics", "trace")


def __getattr__(name):
    """Python calls this only for missing names, such as PyTorch's part if torch is missing."""
    if name in _OF_TORCH:
        raise AttributeError(f"infold.{name} is for PyTorch: {_reason}")
    raise AttributeError(f"module 'infold' has no attribute '{name}'")


_reason = "infold: torch is not installed"
if has_torch():
    import torch

    from infold import _version

    _reason = reason_against(torch.__version__)
    if _reason:
        _version.register_refusal()
    else:
        __path__.append(_version.extension_folder(torch.__version__))
        from infold import _emulated, compress, hooks, trace
        from infold._registration import register, statistics

        register()
        _emulated.meet_at_store()
