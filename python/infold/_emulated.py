# SPDX-License-Identifier: Apache-2.0
"""What PyTorch needs in a job of `infold emulate`, where most ranks do not exist. The environment
says which ranks exist: INFOLD_REAL_RANKS=2 means ranks 0 and 1."""

import datetime
import os
import threading

import torch.distributed as dist

_VARIABLE = "INFOLD_REAL_RANKS"
_TIMEOUT = datetime.timedelta(minutes=30)


def real_ranks(size):
    """How many ranks of a group of this size exist."""
    text = os.environ.get(_VARIABLE, "")
    if not text:
        return size
    if not text.isdecimal() or not 1 <= int(text) < size:
        raise ValueError(
            f"infold: {_VARIABLE} is '{text}'; allowed: 1 to {size - 1} in a group of "
            f"{size} ranks, of which an emulator plays the others"
        )
    return int(text)


def check_sites(sites):
    """Refuses "workers": ranks next to emulated ones meet at the emulator, not at rank 0."""
    if sites == "workers" and os.environ.get(_VARIABLE):
        raise ValueError(
            f"infold: {_VARIABLE} is set, so this job's ranks meet at an emulator; "
            "set INFOLD_SWITCHES to its address, and INFOLD_SITES=mixed if ranks sum"
        )


def meet_at_store():
    """torch's store waits until as many clients as ranks have come. A thread at rank 0 therefore
    connects clients for the ranks that do not exist. They stay connected until the process ends."""
    variables = [os.environ.get(name, "") for name in ("RANK", "WORLD_SIZE", "MASTER_PORT")]
    if not os.environ.get(_VARIABLE) or not all(each.isdecimal() for each in variables):
        return
    rank, world, port = map(int, variables)
    if rank == 0:
        clients = world - real_ranks(world)
        host = os.environ.get("MASTER_ADDR", "localhost")
        threading.Thread(
            target=_bring_clients, args=(host, port, world, clients), daemon=True
        ).start()


_clients = []


def _bring_clients(host, port, world, count):
    for _ in range(count):
        _clients.append(dist.TCPStore(host, port, world, False, _TIMEOUT))
