# SPDX-License-Identifier: Apache-2.0
"""Trains a small convnet and a small transformer with DDP, with 2 and 4 ranks on one GPU. The
losses must equal those of the same training on the CPU within TOLERANCE, and the parameters of all
ranks must be equal bit for bit. Then measures steps over Gloo, over infold in memory, and over
infold with a switch.
"""

import contextlib
import dataclasses
import functools
import hashlib
import sys
import time

import gpu_job
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel


@dataclasses.dataclass(frozen=True)
class Lengths:
    """How many steps compare losses, come before the measured ones, and are measured."""

    compared: int
    warm_ups: int
    timed: int


FULL, SMALL = Lengths(8, 3, 15), Lengths(2, 0, 1)
# The losses are near 2.3 and 6.9. A GPU's kernels add in a different order from the CPU's, which
# changes a sum by about 2^-24 of its terms. In eight steps that difference may grow a hundredfold.
TOLERANCE = 2e-3
CLASSES, WORDS, WIDTH, LENGTH = 10, 1000, 384, 64


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention, self.before_mlp = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q_k_v, self.o = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        heads = self.q_k_v(self.before_attention(x)).unflatten(-1, (3, -1, 48)).transpose(1, 3)
        mixed = F.scaled_dot_product_attention(*heads.unbind(2), is_causal=True)
        x = x + self.o(mixed.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.before_mlp(x))))


class Transformer(nn.Sequential):
    """6.1 million parameters."""

    def __init__(self):
        super().__init__(
            nn.Embedding(WORDS, WIDTH),
            Block(),
            Block(),
            Block(),
            nn.Linear(WIDTH, WORDS),
            nn.Flatten(0, 1),
        )


class Convnet(nn.Sequential):
    """4.6 million parameters. Its functions are smooth, because a kink would turn a difference in
    the last bit into a large one."""

    def __init__(self):
        super().__init__(
            nn.Conv2d(3, 64, 3, padding=1),
            nn.BatchNorm2d(64),
            nn.GELU(),
            nn.AvgPool2d(2),
            nn.Conv2d(64, 128, 3, padding=1),
            nn.BatchNorm2d(128),
            nn.GELU(),
            nn.AvgPool2d(2),
            nn.Conv2d(128, 256, 3, padding=1),
            nn.BatchNorm2d(256),
            nn.GELU(),
            nn.Flatten(),
            nn.Linear(256 * 16, 1024),
            nn.GELU(),
            nn.Linear(1024, CLASSES),
        )


MODELS = {"convnet": Convnet, "transformer": Transformer}


@functools.cache
def batch(name, rank, step):
    random = torch.Generator().manual_seed(1000 * step + rank)
    if name == "convnet":
        return (
            torch.randn(16, 3, 16, 16, generator=random),
            torch.randint(CLASSES, (16,), generator=random),
        )
    words = torch.randint(WORDS, (4, LENGTH + 1), generator=random)
    return words[:, :-1], words[:, 1:].flatten()


class Training:
    def __init__(self, name, group, rank, device):
        torch.manual_seed(7)
        self.name, self.rank, self.device = name, rank, device
        self.model = DistributedDataParallel(MODELS[name]().to(device), process_group=group)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.02, momentum=0.9)
        self.backward_ms = []  # the host's time in backward(), step by step

    def step(self, number):
        inputs, classes = (each.to(self.device) for each in batch(self.name, self.rank, number))
        loss = F.cross_entropy(self.model(inputs), classes)
        self.optimizer.zero_grad()
        begun = time.perf_counter()
        loss.backward()
        self.backward_ms.append(1e3 * (time.perf_counter() - begun))
        self.optimizer.step()
        return loss

    def losses(self, steps):
        return [self.step(number).item() for number in range(steps)]

    def digest(self):
        hashed = hashlib.sha256()
        for tensor in self.model.module.parameters():
            hashed.update(tensor.detach().cpu().numpy().tobytes())
        return hashed.hexdigest()

    def times_ms(self, lengths, synchronized):
        """Returns the medians of a step, and of the host's time in backward()."""
        scope = contextlib.nullcontext() if synchronized else self.model.no_sync()
        with scope:
            steps = [
                gpu_job.timed_ms(lambda: self.step(0), self.device)
                for _ in range(lengths.warm_ups + lengths.timed)
            ]
        return tuple(gpu_job.median(each[lengths.warm_ups :]) for each in (steps, self.backward_ms))


def measure(size, way, lengths, *which):
    """All ranks measure, and rank 0 prints its figures at once."""
    name, _, rank, _ = which
    step_ms, backward_ms = Training(*which).times_ms(lengths, True)
    alone_ms, backward_alone_ms = Training(*which).times_ms(lengths, False)
    if rank == 0:
        gpu_job.show(
            what="steps",
            model=name,
            ranks=size,
            way=way,
            step_ms=step_ms,
            step_without_sums_ms=alone_ms,
            host_in_backward_ms=backward_ms,
            host_in_backward_without_sums_ms=backward_alone_ms,
        )


def body(rank, groups, device, small):
    """Returns {(model, ranks, way): what this rank found}. On the CPU the way is "cpu"."""
    lengths = SMALL if small else FULL
    found = {}
    for name in MODELS:
        for size in gpu_job.SIZES:
            if rank >= size:
                continue
            on_cpu = Training(name, groups[size, gpu_job.MEMORY], rank, torch.device("cpu"))
            found[name, size, "cpu"] = {"losses": on_cpu.losses(lengths.compared)}
            for way in gpu_job.WAYS:
                which = (name, groups[size, way], rank, device)
                training = Training(*which)
                found[name, size, way] = {
                    "losses": training.losses(lengths.compared),
                    "digest": training.digest(),
                }
                del training
                measure(size, way, lengths, *which)
    return found


def judge(answers, name, size, way):
    """Prints the losses of one training, and returns whether they are right."""
    of_ranks = [answers[rank][name, size, way] for rank in range(size)]
    difference = max(
        abs(here - there)
        for rank in range(size)
        for here, there in zip(
            of_ranks[rank]["losses"], answers[rank][name, size, "cpu"]["losses"], strict=True
        )
    )
    equal = len({each["digest"] for each in of_ranks}) == 1
    gpu_job.show(
        what="losses",
        model=name,
        ranks=size,
        way=way,
        first_loss=of_ranks[0]["losses"][0],
        last_loss=of_ranks[0]["losses"][-1],
        largest_difference_to_the_cpu=f"{difference:.2e}",
        ranks_equal=equal,
    )
    return equal and difference <= TOLERANCE


def main():
    answers = gpu_job.run(body, gpu_job.parse(__doc__))
    right = [
        judge(answers, name, size, way)
        for name in MODELS
        for size in gpu_job.SIZES
        for way in gpu_job.WAYS
    ]
    if not all(right):
        sys.exit(
            f"{right.count(False)} trainings differ: between ranks, or from the CPU's losses "
            f"by more than {TOLERANCE}"
        )


if __name__ == "__main__":
    main()
