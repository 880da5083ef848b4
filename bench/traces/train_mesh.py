# SPDX-License-Identifier: Apache-2.0
"""One rank of a training whose model is sharded over pairs of ranks (FSDP2), with a replica at each
pair, so that each rank belongs to two groups. It records its steps. whatif.py starts it."""

import argparse
import json
import pathlib
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import infold

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import train


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--record", required=True, metavar="PATH")
    return parser.parse_args()


def main():
    options = parse()
    torch.set_num_threads(1)
    dist.init_process_group("infold")
    mesh = init_device_mesh(
        "cpu", (dist.get_world_size() // 2, 2), mesh_dim_names=("replicas", "shards")
    )
    model = train.make_model(options.width)
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    batches = train.batches(dist.get_rank(), options.batch)

    def step():
        samples, labels = next(batches)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(samples), labels).backward()
        optimizer.step()

    step()
    dist.barrier()
    with infold.trace.record(options.record) as recording:
        for _ in range(options.steps):
            step()
            recording.step()
    print(json.dumps({"steps": options.steps}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
