# SPDX-License-Identifier: Apache-2.0
import torch.distributed as dist

from infold import compress as compress
from infold import hooks as hooks
from infold import trace as trace
from infold.communicator import Communicator as Communicator
from infold.communicator import Handle as Handle
from infold.errors import DeadlineExceeded as DeadlineExceeded
from infold.errors import Error as Error
from infold.errors import InvalidArgument as InvalidArgument
from infold.options import Options as Options

__version__: str

def statistics(group: dist.ProcessGroup | None = None) -> dict[str, int | str] | None:
    """A group's counters; None before its first collective.

    >>> infold.statistics()["contributions_on_network"]  # 0: all ranks share a host's memory
    """
