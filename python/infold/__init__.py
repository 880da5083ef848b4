# SPDX-License-Identifier: Apache-2.0
"""infold: a PyTorch process group backend that sums gradients inside the network.

    import torch.distributed as dist
    import infold

    dist.init_process_group("infold")

That alone needs no switch: the ranks sum for each other. With one or more switches:

    dist.init_process_group("infold", pg_options=infold.Options(switches=["10.0.0.254:7700"]))

or INFOLD_SWITCHES=10.0.0.254:7700 in the environment. `python -m infold.doctor` measures a small
all-reduce and says which path is in use.
"""

from infold import hooks
from infold._registration import register, statistics
from infold._version import __version__, check_torch
from infold.options import Options

__all__ = ["Options", "__version__", "hooks", "statistics"]

check_torch()
register()
