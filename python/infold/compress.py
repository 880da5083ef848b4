# SPDX-License-Identifier: Apache-2.0
"""Gradients that travel compressed, for DistributedDataParallel and FSDP2. docs/compression.md
lists the methods, their settings and the memories."""

from collections.abc import Mapping, Sequence
from typing import Any, SupportsFloat, SupportsIndex

from infold import _version

_version.require_torch(__name__)

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils import weak

from infold import _own_methods, _sharded
from infold._hidden_time import HiddenTimes
from infold._own_methods import Compressor, Memory, NumpyCompressor, add
from infold._registration import backend_of

__all__ = ["Compressor", "Memory", "NumpyCompressor", "add", "from_params", "hook", "measure"]

# The extension's names for the state of steering, and of a memory in Python.
_STEERING = "steering of calls"
_OWN_MEMORY = "own memory of "


class hook:
    """Averages gradients that a method compresses.

        model = DistributedDataParallel(model)
        hook = infold.compress.hook("topk", ratio=0.01, memory="residual")
        hook.register(model)

    or, with FSDP2, call hook.register(model) after the last fully_shard(). Further arguments are
    the method's settings. `memory` keeps what was not sent for later steps; its settings are a
    dict. All ranks must choose the same. A failed step does not change what is remembered, so it
    can be made again.

    Checkpoints keep what each rank remembers. Save state_dict() at each rank, and load it at the
    same rank:

        checkpoint["compression"] = hook.state_dict()
        hook.load_state_dict(checkpoint["compression"])

    copy.deepcopy() and torch.save() of a model include its hook with what it remembers. As with
    other hooks, DistributedDataParallel does not call the hook of a copy, and a copy does not know
    its parameters. Register the copy at its model.

    Without register(), as in model.register_comm_hook(None, hook), parameters have numbers instead
    of names, in the order in which DDP first passes the parameters.

    `steering` changes a setting as the network changes. It is a dict of infold::SteeringOptions
    (docs/compression.md). statistics() then also has what is in force for each bucket:

        hook("topk", memory="residual",
             steering={"setting": "ratio", "cheapest": 0.001, "finest": 0.1, "may_skip": True})

    Gradients of types other than float32 are converted before and after. Gradients that are sparse
    tensors are refused: use infold.hooks.layout for them.
    """

    def __init__(
        self,
        method: str = "none",
        *,
        memory: str = "none",
        memory_settings: Mapping[str, float] | None = None,
        seed: int = 0,
        steering: Mapping[str, str | float | bool] | None = None,
        **settings: float,
    ) -> None:
        from infold import _c

        _check_kind("method", method, str, "a name")
        _check_kind("memory", memory, str, "a name")
        _check_kind("memory_settings", memory_settings, (Mapping, type(None)), "a dict of numbers")
        _check_kind("seed", seed, SupportsIndex, "a whole number")
        _check_kind("steering", steering, (Mapping, type(None)), "a dict")
        memory_settings = dict(memory_settings or {})
        _check_numbers(method, settings)
        _check_numbers(f"memory {memory}", memory_settings)
        steering = None if steering is None else dict(steering)
        self._choice = {
            "method": method,
            "memory": memory,
            "memory_settings": memory_settings,
            "seed": seed,
            "steering": steering,
            **settings,
        }
        self._compressor = _c.Compressor(method, settings, memory, memory_settings, seed, steering)
        self._rate: float | None = None
        self._hidden = HiddenTimes()
        self._names = weak.WeakIdKeyDictionary()
        self._numbers_given = 0
        self._registered: dict[str, list[int]] = {}  # the sides of each parameter, by its name
        self._group: dist.ProcessGroup | None = None
        # DDP logs the names of its hooks, which are functions as a rule and have these names.
        self.__name__ = method
        self.__qualname__ = f"infold.compress.hook({method})"

    def __getstate__(self) -> dict[str, Any]:
        return {
            "choice": self._choice,
            "rate": self._rate,
            "remembered": self._compressor.state(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        hook.__init__(self, **state["choice"])
        if state["rate"] is not None:
            self.set_rate(state["rate"])
        choice, rank, world, entries = state["remembered"]
        if world > 0:  # it has averaged
            self._compressor.load(choice, rank, world, entries, rank, world)

    def register(self, model: nn.Module, group: dist.ProcessGroup | None = None) -> "hook":
        """Makes this the hook of a DistributedDataParallel, or of a model of fully_shard(), and
        takes the names of its parameters. `group` is the process group of a
        DistributedDataParallel, if it is not the default group; FSDP2 has its own group."""
        if isinstance(model, DistributedDataParallel):
            backend_of(group, model.device)  # raises if it is not infold's
            self.name_parameters(model.module)
            # A copy of the model includes the group, unless None stands for it.
            model.register_comm_hook(None if group is dist.group.WORLD else group, self)
            self._group = group
        elif shards := _sharded.groups_of(model):
            if group is not None:
                raise ValueError("infold: FSDP2 has its process group from fully_shard()'s mesh")
            sides, self._group = _sharded.register(model, shards, self._compressor)
            self._registered.update(sides)
        else:
            raise TypeError(
                "infold: a hook is for DistributedDataParallel or for a model of "
                f"fully_shard(), not for {type(model)}"
            )
        return self

    def name_parameters(self, model: nn.Module) -> None:
        """Takes the names of a module's parameters from named_parameters()."""
        for name, parameter in model.named_parameters():
            self._names[parameter] = name
            self._registered[name] = list(parameter.shape)

    def __call__(self, group, bucket):
        """`group` is register_comm_hook's state: None stands for the default group."""
        buffer = bucket.buffer()
        if buffer.is_sparse:
            raise ValueError(
                "infold: a gradient is a sparse tensor, which is compressed already; "
                "use infold.hooks.layout"
            )
        names = [self._name_of(each) for each in bucket.parameters()]
        hidden = self._hidden.ready(bucket.index(), buffer.nbytes, bucket.is_last())
        work = backend_of(group, buffer.device).average_compressed(
            self._compressor, names, bucket.gradients(), hidden=hidden
        )

        def finish(done):
            done.value()  # raises the call's error
            return buffer

        return work.get_future().then(finish)

    def _name_of(self, parameter):
        if parameter not in self._names:
            self._names[parameter] = f"parameter {self._numbers_given}"
            self._numbers_given += 1
        return self._names[parameter]

    @property
    def choice(self) -> str:
        """The method, its settings and the memory, as text."""
        return self._compressor.choice()

    def set_rate(self, rate: float) -> None:
        """The learning rate, for memories that add up steps. Call it when the rate changes."""
        self._compressor.set_rate(rate)
        self._rate = rate

    def statistics(self) -> dict[str, Any]:
        """Counters since this hook was made, as a dict: `calls`, the bytes of the gradients before
        compression, the bytes of codes that this rank sent and received, and `fallbacks`: how often
        a parameter's tensor did not suit the method, so that an exact selection took over (sidco).
        With steering also `steered_calls`, what is in force for each bucket."""
        counts: dict[str, Any] = dict(self._compressor.statistics())
        if calls := self._compressor.steered_calls():
            counts["steered_calls"] = calls
        return counts

    def state_dict(self) -> dict[str, Any]:
        """What this rank remembers, by parameter. It waits for buckets that are in flight."""
        choice, rank, world, entries = self._compressor.state()
        parameters: dict[str, dict[str, torch.Tensor]] = {}
        steering: dict[str, torch.Tensor] = {}
        for parameter, what, values in entries:
            if what == _STEERING:
                steering[parameter] = values  # The key of a bucket is a hash of its parameters.
            else:
                parameters.setdefault(parameter, {})[what] = values
        state = {"choice": choice, "rank": rank, "world": world, "parameters": parameters}
        return {**state, "steering": steering} if steering else state

    def load_state_dict(
        self, state: Mapping[str, Any], group: dist.ProcessGroup | None = None
    ) -> None:
        """Replaces all that is remembered. Raises ValueError if the state has another choice, rank
        or number of ranks, a parameter that the registered model does not have, or too few or too
        many numbers of a parameter. Nothing has changed then. `group` is usually the model's group.
        """
        _check_state(state)
        lacking = sorted(set(state["parameters"]) - self._registered.keys())
        if self._registered and lacking:
            raise ValueError(
                "infold: the state has parameters that the model lacks: " + ", ".join(lacking)
            )
        entries = [
            (parameter, what, values)
            for parameter, all in state["parameters"].items()
            for what, values in all.items()
        ]
        entries += [
            (bucket, _STEERING, values) for bucket, values in state.get("steering", {}).items()
        ]
        backend = backend_of(group or self._group)
        self._compressor.load(
            state["choice"],
            state["rank"],
            state["world"],
            entries,
            backend.rank(),
            backend.size(),
            [(each, self._registered[each]) for each in state["parameters"] if self._registered],
        )


def _check_kind(name, value, kind, wanted):
    if not isinstance(value, kind):
        raise TypeError(f"infold: {name} is {value!r}; allowed: {wanted}")


def _check_numbers(where, settings):
    for name, value in settings.items():
        _check_kind(f"{where}: {name}", value, SupportsFloat, "a number")


def _check_state(state):
    """Raises ValueError unless it has the form of what state_dict() returns."""

    def check(is_right, what):
        if not is_right:
            raise ValueError(f"infold: this is not a state of a compression hook: {what}")

    check(isinstance(state, Mapping), f"it is {type(state)}")
    kinds = {"choice": str, "rank": int, "world": int, "parameters": Mapping}
    for name, kind in kinds.items():
        check(name in state, f"it lacks '{name}'")
        check(isinstance(state[name], kind), f"'{name}' is {type(state[name])}")
    remembered = {
        f"{what} of {parameter}": values
        for parameter, all in state["parameters"].items()
        for what, values in (all.items() if isinstance(all, Mapping) else [("all", all)])
    }
    steering = state.get("steering", {})
    check(isinstance(steering, Mapping), f"'steering' is {type(steering)}")
    for name, values in {**remembered, **steering}.items():
        check(isinstance(values, torch.Tensor), f"{name} is {type(values)}")
        if name.startswith(_OWN_MEMORY):
            check(_own_methods.is_state(values), f"{name} is cut off or changed")


def measure(
    method: str,
    gradients: Sequence[torch.Tensor] | None = None,
    *,
    elements: int = 1_000_000,
    world: int = 8,
    seconds: float = 1.0,
    **settings: float,
) -> dict[str, float]:
    """What a method costs one rank of `world`, as a dict, without a network. It takes built-in
    methods and the methods of add(), as `infold bench codec` does.

        infold.compress.measure("topk", ratio=0.01)
        infold.compress.measure("half", gradients)

    `encode_gbps` and `decode_gbps` are measured on one thread, with float32 gradients that have
    heavy tails. `encode_ratio` and `decode_ratio` compare them with a copy. `bits_sent` and
    `bits_received` count for each element. With `gradients`, a list of one tensor for each rank,
    the dict also has `error`: the squared error of their mean after one step without a memory,
    divided by the mean's square.
    """
    from infold import _c

    _check_numbers(method, settings)
    found = _c.measure_speed(method, settings, elements, world, seconds)
    if gradients is not None:
        found["error"] = _c.measure_error(method, settings, list(gradients))
    return found


# GRACE's names of methods, and the settings that its parameters stand for.
_OF_GRACE = {
    "none": ("none", {}),
    "onebit": ("onebit", {}),
    "signsgd": ("signsgd", {}),
    "signum": ("signum", {}),
    "efsignsgd": ("scaledsign", {}),
    "qsgd": ("qsgd", {"bucket_size": "bucket"}),
    "terngrad": ("terngrad", {}),
    "natural": ("natural", {}),
    "u8bit": ("table8", {}),
    "sketch": ("sketchml", {"quantiles": "bins"}),
    "threshold": ("threshold", {"threshold": "value"}),
    "topk": ("topk", {"compress_ratio": "ratio"}),
    "randomk": ("randomk", {"compress_ratio": "ratio"}),
    "dgc": ("dgc", {"compress_ratio": "ratio"}),
    "adaq": ("adaq", {"compress_ratio": "ratio"}),
    "powersgd": ("powersgd", {"compress_rank": "rank"}),
}
# What GRACE takes for a parameter that is not given.
_GRACE_USUAL = {
    "bucket_size": 128,
    "compress_rank": 1,
    "compress_ratio": 0.3,
    "lr": 0.1,
    "momentum": 0.9,
    "quantiles": 64,
    "quantum_num": 127,
    "threshold": 0.01,
}
_TERNGRAD_CLIP_OF_GRACE = 2.5
_MEMORIES_OF_GRACE = {
    "none": "none",
    "residual": "residual",
    "dgc": "dgc",
    "efsignsgd": "ef-sign",
    "powersgd": "residual",
}


def from_params(params: Mapping[str, Any]) -> hook:
    """A hook for a dict of GRACE's grace_from_params(). The key "communicator" has no effect,
    because each method determines how its codes travel. Values that are not given are GRACE's.

        infold.compress.from_params(
            {"compressor": "topk", "compress_ratio": 0.01, "memory": "residual"}).register(model)
    """
    given = dict(params)
    name = given.pop("compressor", "none")
    memory = given.pop("memory", "none")
    given.pop("communicator", None)
    given.pop("world_size", None)
    if name == "fp16":
        raise ValueError(
            'infold: GRACE\'s "fp16" is a wire format here, not a method: '
            'model.register_comm_hook(None, infold.hooks.wire("bfp16")) sends as many bytes'
        )
    if name not in _OF_GRACE:
        raise ValueError(
            f"infold: there is no method for GRACE's '{name}'; there are: " + ", ".join(_OF_GRACE)
        )
    if memory not in _MEMORIES_OF_GRACE:
        raise ValueError(
            f"infold: there is no memory for GRACE's '{memory}'; there are: "
            + ", ".join(_MEMORIES_OF_GRACE)
        )
    method, names = _OF_GRACE[name]
    memory = _MEMORIES_OF_GRACE[memory]

    def take(each):
        return given.pop(each, _GRACE_USUAL[each])

    settings = {names[each]: take(each) for each in names}
    memory_settings = {}
    if method == "signum":
        memory = "momentum"  # a part of GRACE's method
    if memory in ("momentum", "dgc"):
        memory_settings["momentum"] = take("momentum")
    if memory == "dgc" and given.pop("gradient_clipping", False):
        raise ValueError(
            "infold: gradient_clipping of GRACE's dgc needs the mean norm of all ranks before each "
            "step; clip the gradients before the optimizer's step instead"
        )
    if memory == "residual" and "beta" in given:
        memory_settings["decay"] = given.pop("beta")
    if memory == "ef-sign":
        memory_settings["rate"] = take("lr")
    if method == "qsgd":
        settings["levels"] = take("quantum_num")
    if method == "terngrad":
        settings["clip"] = _TERNGRAD_CLIP_OF_GRACE
    if given:
        raise ValueError(
            f"infold: these parameters have no meaning for {name} with memory "
            f"{memory}: " + ", ".join(sorted(given))
        )
    return hook(method, memory=memory, memory_settings=memory_settings, **settings)
