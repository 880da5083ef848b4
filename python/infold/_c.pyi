# SPDX-License-Identifier: Apache-2.0
import datetime
from collections.abc import Callable

import torch
from torch._C._distributed_c10d import Backend as _Backend
from torch._C._distributed_c10d import Store, Work

TORCH_VERSION: str
WIRES: tuple[str, ...]
SITES: tuple[str, ...]
SHARED_MEMORY: tuple[str, ...]
LAYOUTS: tuple[str, ...]

class Backend(_Backend):
    def __init__(
        self,
        store: Store,
        rank: int,
        size: int,
        timeout: datetime.timedelta,
        delegate: _Backend,
        options: dict[str, object],
    ) -> None: ...
    def all_reduce_as(
        self,
        tensor: torch.Tensor,
        wire: str = "automatic",
        average: bool = False,
        layout: str | None = None,
    ) -> Work:
        """Sums or averages in place, with a wire format and a layout for this call. If the layout
        is None, the group's layout is used."""
    def average_compressed(
        self,
        compressor: Compressor,
        names: list[str],
        gradients: list[torch.Tensor],
        timeout: datetime.timedelta = ...,
        hidden: datetime.timedelta = ...,
    ) -> Work:
        """Replaces each gradient by its mean over all ranks, compressed on the network. `names` are
        the names of the parameters. `hidden` is how much of the call's time the caller's own work
        hides."""
    def statistics(self) -> dict[str, int | str] | None:
        """Counters since the first collective; None before it, and after the end."""
    @property
    def delegate(self) -> _Backend: ...

def add_method(
    name: str,
    bias: str,
    settings: dict[str, int | float],
    make: Callable[[list[int], dict[str, float]], object],
) -> None:
    """Adds a method for all later Compressors. `make` returns an object with has_memory; with
    encode(tensor, seed, state), which returns a list of tensors and the next step's state, in
    float32; and with decode(tensors), which returns a tensor."""

def measure_speed(
    method: str, settings: dict[str, float], elements: int, world: int, seconds: float
) -> dict[str, float]: ...
def measure_error(
    method: str, settings: dict[str, float], gradients: list[torch.Tensor]
) -> float: ...

class Compressor:
    def __init__(
        self,
        method: str,
        settings: dict[str, float],
        memory: str,
        memory_settings: dict[str, float],
        seed: int,
        steering: dict[str, str | float | bool] | None = None,
    ) -> None: ...
    def choice(self) -> str: ...
    def set_rate(self, rate: float) -> None: ...
    def state(self) -> tuple[str, int, int, list[tuple[str, str, torch.Tensor]]]:
        """The choice, the rank, the world, and what is remembered of each parameter."""
    def load(
        self,
        choice: str,
        rank: int,
        world: int,
        entries: list[tuple[str, str, torch.Tensor]],
        own_rank: int,
        own_world: int,
        parameters: list[tuple[str, list[int]]] = ...,
    ) -> None:
        """`parameters` has names and sides. The state must be complete for these."""
    def statistics(self) -> dict[str, int]: ...
    def steered_calls(self) -> list[dict[str, str | int | bool | float]]: ...

def begin_recording() -> bool:
    """Returns False if a recording is already on."""

def end_recorded_step() -> None: ...
def drop_recording() -> None: ...
def stop_recording() -> None:
    """Stops noting calls."""

def end_recording(
    path: str,
    rank: int,
    world: int,
    groups: dict[str, list[int]],
    operators: list[tuple[str, int, int]],
) -> None:
    """Waits for the calls in flight and writes the trace. `groups` has the ranks of each group.
    `operators` has the name of each operator, and its begin and end in nanoseconds of the monotonic
    clock."""

def close_all() -> None: ...
