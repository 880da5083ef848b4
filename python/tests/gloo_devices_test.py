# SPDX-License-Identifier: Apache-2.0
"""All groups of a process share Gloo's device, which is a thread and a listening socket."""

import os
import signal
import socket
import tempfile

import pytest
import ranks
import torch
import torch.distributed as dist
from failing import SOON_S, meet
from ranks import run_ranks

_GROUPS = 10


def _sent_around(rank, world, group=None):
    """Uses only Gloo, so that infold's job does not begin."""
    received = torch.zeros(1)
    work = dist.isend(torch.full((1,), float(rank)), (rank + 1) % world, group)
    dist.recv(received, (rank - 1) % world, group)
    work.wait()
    return received.item()


def _belongings():
    sockets = [
        os.readlink(f"/proc/self/fd/{each}")
        for each in os.listdir("/proc/self/fd")
        if os.path.lexists(f"/proc/self/fd/{each}")
    ]
    return len(os.listdir("/proc/self/task")), sum(each.startswith("socket:") for each in sockets)


def _many(rank, world):
    assert _sent_around(rank, world) == (rank - 1) % world
    threads, sockets = _belongings()
    groups = [dist.new_group() for _ in range(_GROUPS)]
    more_threads, more_sockets = _belongings()
    # Each group has two threads of its own, and one connection to the other rank.
    assert more_threads - threads <= 2 * _GROUPS
    assert more_sockets - sockets <= _GROUPS
    for group in groups:
        assert _sent_around(rank, world, group) == (rank - 1) % world
        dist.destroy_process_group(group)
        assert _sent_around(rank, world) == (rank - 1) % world


def test_groups_share_a_device():
    run_ranks(2, _many)


def _forked(rank, world, folder):
    """A forked child does not have the threads of its parent."""

    def enter(name):
        dist.init_process_group(
            "infold", init_method=f"file://{folder}/{name}", rank=rank, world_size=world
        )
        assert _sent_around(rank, world) == (rank - 1) % world

    enter("parent")
    dist.destroy_process_group()
    child = os.fork()
    if child == 0:
        signal.alarm(SOON_S)
        enter("child")
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_forked_process_has_a_device_of_its_own():
    with tempfile.TemporaryDirectory() as folder:
        run_ranks(2, _forked, folder, backend=None)


def _listening_ports():
    own = {
        os.readlink(f"/proc/self/fd/{each}")
        for each in os.listdir("/proc/self/fd")
        if os.path.lexists(f"/proc/self/fd/{each}")
    }
    with open("/proc/net/tcp", encoding="ascii") as sockets:
        rows = [line.split() for line in sockets.readlines()[1:]]
    return [
        int(row[1].partition(":")[2], 16)
        for row in rows
        if row[3] == "0A" and f"socket:[{row[9]}]" in own
    ]


_NOISE = (b"", b"x", b"\xff" * 8, bytes(8), b"GET / HTTP/1.1\r\n\r\n" * 100)


def _beside_strangers(rank, world):
    """A stranger connects to the shared socket, sends something or nothing, and stays or leaves."""
    assert _sent_around(rank, world) == (rank - 1) % world
    strangers = []
    address = socket.gethostbyname(socket.gethostname())
    for port in _listening_ports():
        for turn in range(10 * len(_NOISE)):
            stranger = socket.create_connection((address, port))
            stranger.sendall(_NOISE[turn % len(_NOISE)])
            strangers.append(stranger)
            if turn % 2:
                stranger.close()
    assert strangers
    meet(rank, world, "noise")
    for _ in range(3):
        group = dist.new_group()
        assert _sent_around(rank, world, group) == (rank - 1) % world
        dist.destroy_process_group(group)
    assert _sent_around(rank, world) == (rank - 1) % world


def test_strangers_at_the_shared_socket():
    run_ranks(2, _beside_strangers)


def _on_interfaces(rank, world, names):
    os.environ["GLOO_SOCKET_IFNAME"] = names
    assert _sent_around(rank, world, dist.new_group()) == (rank - 1) % world
    os.environ["GLOO_SOCKET_IFNAME"] = "none-such"
    with pytest.raises(RuntimeError, match="none-such"):
        dist.new_group()


@pytest.mark.parametrize("names", ("lo", "lo,lo"))
def test_interfaces_are_those_of_the_environment(names):
    run_ranks(2, _on_interfaces, names)


def test_the_interface_is_chosen_for_the_first_group_too(monkeypatch):
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "none-such")
    with pytest.raises(ranks.RankFailed, match="none-such"):
        run_ranks(2, _many)
