# SPDX-License-Identifier: Apache-2.0
"""Trains a small model with PyTorch as one rank, and prints a digest of the model."""

import hashlib

import torch
import torch.distributed as dist

import infold  # noqa: F401  registers the backend

STEPS = 20


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    dist.init_process_group("infold")
    layers = (torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    samples = torch.Generator().manual_seed(1 + dist.get_rank())
    for _ in range(STEPS):
        inputs = torch.randn(16, 8, generator=samples)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), (inputs.sum(1) > 0).long())
        loss.backward()
        optimizer.step()
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    print(digest.hexdigest())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
