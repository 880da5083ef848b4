# SPDX-License-Identifier: Apache-2.0
import datetime

import torch
from torch._C._distributed_c10d import Backend as _Backend
from torch._C._distributed_c10d import Store, Work

TORCH_VERSION: str
WIRES: tuple[str, ...]
SITES: tuple[str, ...]
SHARED_MEMORY: tuple[str, ...]
LAYOUTS: tuple[str, ...]

class Backend(_Backend):
    def __init__(self, store: Store, rank: int, size: int, timeout: datetime.timedelta,
                 delegate: _Backend, options: dict[str, object]) -> None: ...
    def all_reduce_as(self, tensor: torch.Tensor, wire: str = "automatic", average: bool = False,
                      layout: str | None = None) -> Work:
        """Sums or averages in place, with a wire format and a layout for this call. Without a
        layout, the group's layout holds."""
    def statistics(self) -> dict[str, int | str] | None:
        """Counters since the first collective; None before it, and after the end."""
    @property
    def delegate(self) -> _Backend: ...

def close_all() -> None: ...
