# SPDX-License-Identifier: Apache-2.0
"""Compressed gradients of FSDP2, which replace its reduce-scatter.

FSDP gives the gradients of a group of parameters as one buffer, with a row for each rank. The
columns of a row are that rank's shards, one parameter after the other, with zeros behind a short
shard. Each gradient is put together again and averaged under its parameter's name, like a gradient
of DDP. This rank then takes its own shard of the mean.
"""

import math

import torch
import torch.distributed as dist

from infold._registration import backend_of


def groups_of(model):
    """The groups of parameters that FSDP2 reduces together, each with its module."""
    from torch.distributed.fsdp import FSDPModule

    found = {}
    for module in model.modules() if isinstance(model, torch.nn.Module) else ():
        if isinstance(module, FSDPModule):
            for group in _groups_of_state(module._get_fsdp_state()):
                found.setdefault(id(group), (module, group))
    return list(found.values())


def _groups_of_state(state):
    """In torch 2.11, a module has at most one group."""
    if hasattr(state, "_fsdp_param_groups"):
        return state._fsdp_param_groups
    return [state._fsdp_param_group] if state._fsdp_param_group else []


def register(model, groups, compressor):
    """Makes FSDP average the gradients of these groups with the compressor. Returns the sides of
    each parameter by its name, and one of FSDP's process groups."""
    prefixes = {id(module): prefix for prefix, module in model.named_modules()}
    made, worlds = [], set()
    for module, group in groups:
        if getattr(group.mesh_info, "replicate_mesh_dim", None) is not None:
            raise ValueError(
                "infold: a hook is for FSDP over one dimension of ranks; with replicas (HSDP) the "
                "sum over replicas would travel uncompressed"
            )
        ranks = group._reduce_scatter_process_group
        backend_of(ranks, group.device)  # raises if it is not infold's
        worlds.add((ranks.rank(), ranks.size()))
        parameters = [(_name_of(each, prefixes), each) for each in group.fsdp_params]
        made.append((module, AveragedShards(compressor, parameters)))
    if len(worlds) > 1:
        raise ValueError(
            "infold: the model has meshes of several sizes; make a hook for each part "
            "that has one mesh"
        )
    for module, shards in made:
        module.set_custom_reduce_scatter(shards)
    sides = {
        name: list(parameter._orig_size)
        for _, shards in made
        for name, parameter in shards.parameters
    }
    return sides, groups[0][1]._reduce_scatter_process_group


def _name_of(parameter, prefixes):
    info = parameter._module_info
    prefix = prefixes[id(info.module)]
    return f"{prefix}.{info.param_name}" if prefix else info.param_name


class AveragedShards:
    """FSDP calls it for one group of parameters, like its abstract class ReduceScatter."""

    def __init__(self, compressor, parameters):
        self._compressor = compressor
        self.parameters = parameters  # names and FSDP's records, in the order of the buffer

    def allocate(self, size, *, dtype, device):
        return torch.empty(*size, dtype=dtype, device=device)

    @torch.no_grad()
    def __call__(self, output_tensor, input_tensor, group, op, async_op=False):
        """Returns when the shard is in place, or on a GPU when its copy is in the current stream.
        The input stays unchanged, so that a failed call can be made again."""
        world, rank = group.size(), group.rank()
        factor = _factor_of(op, world)
        parts = self._parts(input_tensor.numel() // world, world)
        rows = input_tensor.view(world, -1)
        for part in parts:
            part.take(rows)
        work = backend_of(group, input_tensor.device).average_compressed(
            self._compressor, [each.name for each in parts], [each.gradient for each in parts]
        )
        work.wait()
        for part in parts:
            part.give(output_tensor, rank, factor)
        return work if async_op else None

    def _parts(self, columns, world):
        parts, end = [], 0
        for name, parameter in self.parameters:
            if _is_trained(parameter) and parameter._orig_size.numel() > 0:
                part = _Part(name, parameter._orig_size, parameter.fsdp_placement.dim, world, end)
                parts.append(part)
                end = part.end
        if end != columns:
            raise ValueError(
                f"infold: FSDP passes gradients of {columns} elements for each rank, and the "
                f"parameters {', '.join(each.name for each in parts)} have {end}. Some have no "
                f"gradient in this step, and FSDP does not say which; {_zeros_for_unused()}"
            )
        return parts


def _zeros_for_unused():
    """Advice on parameters without a gradient, for which FSDP of torch 2.11 lacks zeros."""
    from torch.distributed.fsdp import FSDPModule

    if hasattr(FSDPModule, "set_reduce_scatter_unused_params"):
        return "call model.set_reduce_scatter_unused_params(True), which gives them zeros"
    return (
        "freeze them with requires_grad_(False), or take torch 2.13 or later, where "
        "model.set_reduce_scatter_unused_params(True) gives them zeros"
    )


class _Part:
    """One parameter's gradient in a buffer."""

    def __init__(self, name, sizes, side, world, begin):
        self.name = name
        self._sizes, self._side, self._world = sizes, side, world
        self._shard = list(sizes)  # the longest one
        self._shard[side] = math.ceil(sizes[side] / world)
        self._columns = slice(begin, begin + math.prod(self._shard))
        self.end = self._columns.stop

    def take(self, rows):
        """The gradient, put together in float32."""
        padded = list(self._shard)
        padded[self._side] *= self._world
        whole = torch.empty(padded, dtype=torch.float32, device=rows.device)
        self._shards = whole.unflatten(self._side, (self._world, -1)).movedim(self._side, 0)
        self._shards.copy_(rows[:, self._columns].unflatten(1, self._shard))
        self.gradient = whole.narrow(self._side, 0, self._sizes[self._side])

    def give(self, output, rank, factor):
        """Writes this rank's shard, and zeros behind it."""
        output[self._columns].view(self._shard).copy_(self._shards[rank] * factor)


def _is_trained(parameter):
    # The parameter of the whole size exists after the first forward pass, and has the gradient.
    return getattr(parameter, "_unsharded_param", parameter.sharded_param).requires_grad


def _factor_of(op, world):
    if op == dist.ReduceOp.AVG:
        return 1
    if op == dist.ReduceOp.SUM:
        return world
    name = str(getattr(op, "op", op)).rpartition(".")[2]
    raise ValueError(
        f"infold: FSDP asks for {name}, and a compressed reduce-scatter averages or sums; call "
        "model.set_force_sum_reduction_for_comms(True), so that FSDP divides afterwards"
    )
