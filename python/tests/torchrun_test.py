# SPDX-License-Identifier: Apache-2.0
"""A rank is killed while torchrun trains. The other ranks say which one it was, torchrun restarts
all of them, and training continues from its checkpoint to the same bits as without the accident.

Run as a script, this file is what torchrun runs.
"""

import os
import random
import re
import signal
import subprocess
import sys
import time

import models
import pytest
import torch
import torch.distributed as dist
from ranks import run_ranks, running_switches
from torch.nn.parallel import DistributedDataParallel

_WORLD = 3
_STEPS = 12
# The timeout of a collective. Ranks must notice much sooner that a process has ended.
_DEADLINE_S = 20
_PATIENCE_S = 100


def _checkpoint(folder):
    return os.path.join(folder, "checkpoint")


def _save(folder, step, model, optimizer):
    path = _checkpoint(folder)
    torch.save(
        {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()},
        path + ".new",
    )
    os.replace(path + ".new", path)  # never half a file


def _load(folder, model, optimizer):
    """Loads the checkpoint, and returns the first step that is not in it."""
    if not os.path.exists(_checkpoint(folder)):
        return 0
    saved = torch.load(_checkpoint(folder), weights_only=True)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    return saved["step"] + 1


def _train(rank, world):
    model = models.made("transformer")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = models.train(DistributedDataParallel(model), optimizer, "transformer", rank, _STEPS)
    return losses, models.digest(model)


def _train_and_die(folder, victim, fatal_step):
    rank = dist.get_rank()
    model = models.made("transformer")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    first = _load(folder, model, optimizer)
    dist.barrier()  # no rank writes the file before all have read it
    wrapped = DistributedDataParallel(model)
    is_first_life = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    sys.stdout.write(f"rank {rank} begins at step {first}\n")  # in one piece, unlike print()
    sys.stdout.flush()
    for step in range(first, _STEPS):
        if is_first_life and rank == victim and step == fatal_step:
            os.kill(os.getpid(), signal.SIGKILL)
        begun = time.monotonic()
        try:
            models.train(wrapped, optimizer, "transformer", rank, 1, step)
        except RuntimeError as error:
            spent = time.monotonic() - begun
            sys.stderr.write(f"rank {rank} stops after {spent:.3f} s: {error}\n")
            raise
        if rank == 0:
            _save(folder, step, model, optimizer)


def _environment(options):
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("INFOLD_SW", "INFOLD_DEADLINE", "TORCHELASTIC"))
    }
    environment |= {
        "INFOLD_SHARED_MEMORY": "off",
        "INFOLD_DEADLINE": str(_DEADLINE_S),
        "OMP_NUM_THREADS": "1",
    }
    if options.switches:
        environment["INFOLD_SWITCHES"] = ",".join(options.switches)
    return environment


def _torchrun(folder, options, victim, fatal_step):
    """Returns the program's output, and the digest of its last parameters."""
    words = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--monitor-interval=0.1",
        f"--nproc-per-node={_WORLD}",
        "--max-restarts=1",
        __file__,
        str(folder),
        str(victim),
        str(fatal_step),
    ]
    with subprocess.Popen(
        words,
        env=_environment(options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=_PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert process.returncode == 0, err
    model = models.made("transformer")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    assert _load(str(folder), model, optimizer) == _STEPS
    return out, err, models.digest(model)


@pytest.mark.parametrize("switches", [0, 1], ids=["no_switch", "one_switch"])
def test_training_goes_on_after_a_rank_was_killed(tmp_path, switches):
    seed = random.randrange(2**32)
    print(f"repeat with random.Random({seed})")  # pytest shows it with a failure
    chance = random.Random(seed)
    victim, fatal_step = chance.randrange(_WORLD), chance.randrange(1, _STEPS)
    with running_switches(switches) as options:
        out, err, digest = _torchrun(tmp_path, options, victim, fatal_step)
        (_, wanted), *_ = run_ranks(_WORLD, _train, options=options)
    assert digest == wanted
    # The victim may have the sums of a step before rank 0, which writes the checkpoint, has them.
    again = re.findall(r"begins at step (\d+)\n", out)[_WORLD:]
    assert again in ([str(fatal_step)] * _WORLD, [str(fatal_step - 1)] * _WORLD), out
    stops = re.findall(r"rank (\d) stops after ([\d.]+) s: (infold: .*)", err)
    assert {int(rank) for rank, _, _ in stops} == set(range(_WORLD)) - {victim}, err
    for _, spent, message in stops:
        assert float(spent) < _DEADLINE_S
        assert f"rank {victim}" in message


def _main(folder, victim, fatal_step):
    torch.set_num_threads(1)
    # Otherwise torchrun would end the other ranks before they can report.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    dist.init_process_group("infold")
    _train_and_die(folder, int(victim), int(fatal_step))
    dist.destroy_process_group()


if __name__ == "__main__":
    _main(*sys.argv[1:])
