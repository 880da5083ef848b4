# SPDX-License-Identifier: Apache-2.0
"""Two processes are ranks 0 and 1 of eight, and an emulator plays the others. Only the environment
tells the processes. Run as a script, this file is an ordinary training program.
"""

import json
import os
import signal
import subprocess
import sys

import pytest
import torch
import torch.distributed as dist
from ranks import PATIENCE_S, free_port
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from infold import _emulated

_WORLD, _REAL = 8, 2


def _program():
    dist.init_process_group("infold")
    rank, world = dist.get_rank(), dist.get_world_size()
    ones = torch.ones(1000)
    dist.all_reduce(ones)
    gathered = [torch.empty(3) for _ in range(world)]
    dist.all_gather(gathered, torch.full((3,), rank + 5.0))
    torch.manual_seed(1)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(rank)
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.randn(16, 64, generator=generator)).square().mean().backward()
        optimizer.step()
    gradient = next(model.parameters()).grad.flatten()[:4].tolist()
    dist.destroy_process_group()
    print(
        json.dumps(
            {
                "world": world,
                "ones": [ones.min().item(), ones.max().item()],
                "gathered": [each[0].item() for each in gathered],
                "gradient": gradient,
            }
        )
    )


def _run(world, real, *words, **own):
    """What the real ranks print, by rank. The last element is the emulator's report."""
    emulator = subprocess.Popen(
        [
            os.environ["INFOLD_BINARY"],
            "emulate",
            "--listen",
            "127.0.0.1:0",
            "--ranks",
            str(world),
            "--real",
            str(real),
            "--json",
            "--log-level",
            "error",
            *words,
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        address = json.loads(emulator.stdout.readline())["listen"]
        variables = {
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(free_port()),
            "WORLD_SIZE": str(world),
            "INFOLD_REAL_RANKS": str(real),
            "INFOLD_SWITCHES": address,
            **own,
        }
        ranks = [
            subprocess.Popen(
                [sys.executable, __file__],
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | variables | {"RANK": str(rank)},
            )
            for rank in range(real)
        ]
        try:
            said = [json.loads(rank.communicate(timeout=PATIENCE_S)[0]) for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
        emulator.send_signal(signal.SIGINT)
        return [*said, json.loads(emulator.communicate(timeout=PATIENCE_S)[0])]
    finally:
        emulator.kill()
        emulator.communicate()


def test_a_training_program_runs_as_it_is():
    *said, report = _run(_WORLD, _REAL)
    for each in said:
        assert each["world"] == _WORLD
        assert each["ones"] == [_REAL, _REAL]
        assert each["gathered"] == [5, 6] + 6 * [5]  # emulated ranks say what rank 0 says
        assert each["gradient"] == said[0]["gradient"]
    assert report["transfers"] > 6
    assert report["kept_pace"]  # links without limits do not set a pace


def test_a_rank_may_be_alone():
    said, _ = _run(3, 1, "--rtt-us", "500", "--loss", "0.02")
    assert said["ones"] == [1, 1]
    assert said["gathered"] == [5, 5, 5]


def test_ranks_may_sum():
    *said, report = _run(4, 2, "--place", "workers", INFOLD_SITES="mixed")
    for each in said:
        assert each["ones"] == [2, 2]
        assert each["gathered"] == [5, 6, 5, 5]
        assert each["gradient"] == said[0]["gradient"]
    assert report["transfers"] > 6


def test_ranks_that_sum_meet_at_the_emulator(monkeypatch):
    _emulated.check_sites("workers")
    monkeypatch.setenv("INFOLD_REAL_RANKS", "2")
    _emulated.check_sites("mixed")
    with pytest.raises(ValueError, match="set INFOLD_SWITCHES to its address"):
        _emulated.check_sites("workers")


@pytest.mark.parametrize("text", ["0", "8", "two", "-1"])
def test_the_number_of_real_ranks_is_below_that_of_all(text, monkeypatch):
    monkeypatch.setenv("INFOLD_REAL_RANKS", text)
    with pytest.raises(ValueError, match="allowed: 1 to 7 in a group of 8"):
        _emulated.real_ranks(8)


if __name__ == "__main__":
    _program()
