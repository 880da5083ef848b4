# SPDX-License-Identifier: Apache-2.0
"""DDP through a switch in the kernel has the same bits as through a switch in user space, and
through both at once, with and without packet loss. Every rank has its own network namespace.

Usage: xdp_training.py INFOLD [TEST ...]
Needs root. If packet programs or namespaces are not available, ends with status 77 and says why.
"""

import ctypes
import os
import pathlib
import sys

import models
import torch
from ranks import run_ranks
from torch.nn.parallel import DistributedDataParallel

import infold

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "network"))
from processes import expect
from xdp_network import NAME, SWITCH, Network, be_alone, lose_uphill, network, ports, run_all, stop

WORLD = 4
STEPS = 20
USER_SWITCH = "10.77.0.254:7701"
# Each switch's share of the chunks.
PATHS = {"user": [USER_SWITCH], "kernel": [SWITCH], "both": [SWITCH, USER_SWITCH]}
CLONE_NEWNET = 0x40000000


def be_at(rank):
    """Moves this process to a rank's namespace, and Gloo to its interface."""
    space = os.open(f"/run/netns/{NAME}-{rank}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(space, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    os.environ["GLOO_SOCKET_IFNAME"] = "eth0"


def train(rank, world, name):
    """Returns the losses, and a digest of all bits of the model after the last step."""
    # With buckets of 20 kB, there are several.
    model = DistributedDataParallel(models.made(name), bucket_cap_mb=0.02)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = models.train(model, optimizer, name, rank, STEPS)
    return losses, models.digest(model.module)


def train_on(job, path, name):
    """Returns the ranks' answers. Each path has a job and switches of its own, and all switches
    must sum."""
    started = {}
    if USER_SWITCH in PATHS[path]:
        started["user"] = job.at(
            "switch", "switch", "--insecure", "--listen", USER_SWITCH, "--json"
        )
        expect("listening" in started["user"].stdout.readline(), "no switch in user space")
    if SWITCH in PATHS[path]:
        started["kernel"], _ = job.start_xdp(ports(WORLD))
    options = infold.Options(switches=PATHS[path], shared_memory="off", sites="switches")
    answers = run_ranks(WORLD, train, name, options=options, settle=be_at)
    for plane, switch in started.items():
        counted, said = stop(switch)
        expect(not said, f"{plane}: {said}")
        expect(counted["completed"] > STEPS, f"{plane} on the path {path}: {counted}")
    return answers


def has_the_same_bits(binary, name, loss=0):
    words = ("--loss", str(loss)) if loss else ()
    with network(WORLD, *words, rate="200mbit"), Network(binary) as job:
        if loss:
            lose_uphill(WORLD, loss)
        wanted = train_on(job, "user", name)
        losses = wanted[0][0]
        expect(losses[-1] < losses[0], f"it learns nothing: {losses}")
        for path in ("kernel", "both"):
            found = train_on(job, path, name)
            expect(found == wanted, f"{path}: {found}, user: {wanted}")


def convnet(binary):
    has_the_same_bits(binary, "convnet")


def transformer(binary):
    has_the_same_bits(binary, "transformer")


def losses_change_no_bit(binary):
    """Every link loses one packet in a hundred, in each direction."""
    has_the_same_bits(binary, "transformer", loss=0.01)


if __name__ == "__main__":
    be_alone()
    sys.exit(run_all(convnet, transformer, losses_change_no_bit))
