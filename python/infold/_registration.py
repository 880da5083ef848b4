# SPDX-License-Identifier: Apache-2.0
"""Makes "infold" a name for init_process_group() and new_group()."""

import atexit
import datetime
import functools
import importlib
import os
import socket

import torch
import torch.distributed as dist

from infold import _emulated
from infold import options as _options

_NAME = "infold"
# The options of the default group. Later groups, such as the groups of a device mesh, inherit them.
_default_options = None
_devices = {}  # Gloo's, by process and interface names; kept until the process ends


def register():
    """May be called repeatedly. The first group loads the extension module."""
    if not dist.is_available() or _NAME.upper() in dist.Backend._plugins:
        return
    # ShardedTensor uses every device named here, so "cuda" is named only if there is a GPU.
    # device_count() does not start CUDA, because a process that forks later must not have started
    # it.
    devices = ["cpu", "cuda"] if torch.cuda.device_count() > 0 else ["cpu"]
    dist.Backend.register_backend(_NAME, _create, extended_api=True, devices=devices)
    _apply_timeouts()


def _apply_timeouts():
    """torch's _set_pg_timeout() sets the timeout only for torch's own backends, and warns for
    others. It is therefore wrapped."""
    of_torch = dist.distributed_c10d._set_pg_timeout

    @functools.wraps(of_torch)
    def set_timeout(timeout, group=None):
        group = group or dist.distributed_c10d._get_default_group()
        if isinstance(group, dist.ProcessGroup) and _has_ours(group):
            group.set_timeout(timeout)
        else:
            of_torch(timeout, group)

    dist.distributed_c10d._set_pg_timeout = set_timeout


def _has_ours(group):
    found = (_unwrapped(group._get_backend(device)) for device in group._device_types)
    return any(hasattr(backend, "all_reduce_as") for backend in found)


def _unwrapped(backend):
    """The backend inside the wrapper of TORCH_DISTRIBUTED_DEBUG=DETAIL."""
    while hasattr(backend, "wrapped_pg"):
        backend = backend.wrapped_pg
    return backend


def _extension():
    module = importlib.import_module("infold._c")
    # Groups close before the interpreter ends, because a rank that is done would otherwise look
    # dead.
    atexit.unregister(module.close_all)
    atexit.register(module.close_all)
    return module


def _create(group, given):
    global _default_options
    if not dist.is_initialized():
        _default_options = given
    settled = _options.settle(given, _default_options)
    _emulated.check_sites(settled["sites"])
    extension = _extension()
    timeout = settled["deadline"]
    if timeout is None:
        timeout = _seconds(group.timeout)
    timeout = datetime.timedelta(seconds=timeout)
    store, delegate = begin(group.store, group.group_rank, group.group_size, timeout)
    settled["job"] = _job_of(settled["job"], group.group_id)
    settled["rendezvous"] = ""
    settled["token"] = os.environ.get("INFOLD_TOKEN", "")
    if settled["sites"] == "workers":
        settled["rendezvous"] = _bracketed(settled["address"] or _own_address(group.store)) + ":0"
    return extension.Backend(store, group.group_rank, group.group_size, timeout, delegate, settled)


def begin(store, rank, size, timeout):
    """A store and a Gloo backend for a group that all its ranks are making now."""
    store = _own_store(store, rank)
    size = _emulated.real_ranks(size)
    options = dist.ProcessGroupGloo._Options()
    options._devices = _gloo_devices()
    options._threads = 2 * len(options._devices)
    options._timeout = timeout
    delegate = dist.ProcessGroupGloo(dist.PrefixStore("gloo", store), rank, size, options)
    _wait_for_all(store, size, timeout)
    return store, delegate


def _gloo_devices():
    """The devices that torch would choose, shared by all groups of a process. Each device is a
    thread that wakes 100 times a second. A forked process has its own devices, because it does not
    have its parent's threads."""
    interfaces = os.environ.get("GLOO_SOCKET_IFNAME", "")
    of_process = (os.getpid(), interfaces)
    if of_process not in _devices:
        gloo = dist.ProcessGroupGloo
        _devices[of_process] = (
            [gloo.create_device(interface=name) for name in interfaces.split(",")]
            if interfaces
            else [gloo.create_default_device()]
        )
    return _devices[of_process]


def _seconds(timeout):
    return timeout.total_seconds() if isinstance(timeout, datetime.timedelta) else float(timeout)


def _own_store(store, rank):
    """A store with keys that no earlier group of this name has used. A group may be made again in a
    store that outlives it."""
    lives = store.add(f"infold/{rank}", 1)
    return dist.PrefixStore(f"infold/{lives}", store)


def _wait_for_all(store, size, timeout):
    """Waits until all ranks have their delegate. A rank that destroyed its group earlier would
    close connections that other ranks are still making. Only some releases of torch have stores
    with a barrier."""
    if store.add("made", 1) == size:
        store.set("all made", "")
    store.wait(["all made"], timeout)


def _job_of(job, group_id):
    run = os.environ.get("TORCHELASTIC_RUN_ID", "")
    parts = [job, run if run != "none" else "", str(group_id)]
    return "/".join(part for part in parts if part)[:100]


def _own_address(store):
    """This host's address for the other ranks: the one on the route to the store's host."""
    host = os.environ.get("MASTER_ADDR", "")
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    host = getattr(store, "host", host) or host
    if not host:
        return "127.0.0.1"  # a store in a file, or in memory: one host
    for family, kind, protocol, _, address in socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM):
        with socket.socket(family, kind, protocol) as probe:
            try:
                probe.connect(address)
            except OSError:
                continue
            return probe.getsockname()[0].partition("%")[0]
    raise RuntimeError(
        f"infold: no route to {host}, which has the process group's store; set "
        "this host's address with Options(address=...) or INFOLD_ADDRESS"
    )


def _bracketed(address):
    return f"[{address}]" if ":" in address else address


def backend_of(group=None, device="cpu"):
    """The extension's Backend object of an infold group."""
    group = group or dist.group.WORLD
    if group is None:
        raise RuntimeError('infold: no process group yet; call init_process_group("infold")')
    backend = _unwrapped(group._get_backend(torch.device(device)))
    if not hasattr(backend, "all_reduce_as"):
        raise RuntimeError(f"infold: this group's backend is {backend.name()}, not infold")
    return backend


def statistics(group=None):
    """A group's counters as a dict, or None before its first collective.

    `ranks_in_memory` and `contributions_on_network` show which path its tensors take.
    """
    return backend_of(group).statistics()
