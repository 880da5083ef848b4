# SPDX-License-Identifier: Apache-2.0
"""A recorded run is a set of Chakra traces, which `infold trace` reads and replays."""

import json
import os
import subprocess

import models
import pytest
import torch
import torch.distributed as dist
from ranks import run_ranks, running_switch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import infold

_STEPS = 4


def _infold(*words):
    done = subprocess.run(
        [os.environ["INFOLD_BINARY"], *words],
        text=True,
        check=False,
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _trace(*words):
    return _infold("trace", *words)


def _shown(path, rank):
    """The objects that `infold trace show` prints, by their event."""
    found = {}
    for each in _trace("show", f"{path}.{rank}.et", "--json"):
        found.setdefault(each["event"], []).append(each)
    return found


def _train(model, rank, recording):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(_STEPS):
        models.train(model, optimizer, "transformer", rank, 1, first=step)
        recording.step()


def _ddp(rank, world, path):
    model = DistributedDataParallel(models.made("transformer"), bucket_cap_mb=0.02)
    models.train(model, torch.optim.SGD(model.parameters(), lr=0.1), "transformer", rank, 2)
    with infold.trace.record(path) as recording:
        _train(model, rank, recording)
    return recording.file, sum(each.numel() for each in model.parameters())


def _fsdp(rank, world, path):
    model = models.made("transformer")
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    models.train(model, torch.optim.SGD(model.parameters(), lr=0.1), "transformer", rank, 1)
    with infold.trace.record(path) as recording:
        _train(model, rank, recording)


def test_ddp_run_is_recorded_and_replayed(tmp_path, one_switch):
    path = str(tmp_path / "run")
    answers = run_ranks(2, _ddp, path, options=one_switch)
    files = [f"{path}.{rank}.et" for rank in range(2)]
    assert [file for file, _ in answers] == files
    _trace("check", *files)
    for rank in range(2):
        shown = _shown(path, rank)
        assert (shown["trace"][0]["rank"], shown["trace"][0]["world"]) == (rank, 2)
        assert len(shown["step"]) == _STEPS
        [sums] = shown["collective"]
        assert sums["kind"] == "all_reduce"
        assert sums["bytes"] == 4 * answers[rank][1] * _STEPS  # every gradient once in each step
        assert sums["calls"] > 2 * _STEPS  # several buckets
        times = shown["times"][0]
        assert times["critical_collective_us"] <= times["critical_us"] <= times["span_us"]
        # Some compute waits for each of them.
        assert _arrows(tmp_path, files[rank], rank) == sums["calls"]
    _check_replay(path, 2, sums["calls"])


def _arrows(folder, file, rank):
    """How many arrows lead from a collective to a compute."""
    _trace("perfetto", file, str(folder / "run.json"))
    events = json.loads((folder / "run.json").read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {rank}
    return sum(event["ph"] == "s" for event in events)


def _replayed(path, world):
    """What each rank of the replay prints."""
    with running_switch() as switch:
        ranks = [
            subprocess.Popen(
                [
                    os.environ["INFOLD_BINARY"],
                    "trace",
                    "replay",
                    f"{path}.{rank}.et",
                    "--switch",
                    switch,
                    "--rank",
                    str(rank),
                    "--ranks",
                    str(world),
                    "--json",
                ],
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(world)
        ]
        said = [process.communicate(timeout=120)[0] for process in ranks]
        assert [process.returncode for process in ranks] == [0] * world
    return [[json.loads(line) for line in lines.splitlines()] for lines in said]


def _check_replay(path, world, calls):
    for *steps, result in _replayed(path, world):
        assert result["calls"] == calls
        assert [step["step"] for step in steps] == list(range(_STEPS))
        assert result["replayed_ns"] > 0


def _mesh(rank, world, path):
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicas", "shards"))
    model = models.made("transformer")
    fully_shard(model, mesh=mesh)
    models.train(model, torch.optim.SGD(model.parameters(), lr=0.1), "transformer", rank, 1)
    with infold.trace.record(path) as recording:
        _train(model, rank, recording)


def test_replicas_of_shards_are_predicted_and_replayed(tmp_path, one_switch):
    path = str(tmp_path / "run")
    run_ranks(4, _mesh, path, options=one_switch)
    files = [f"{path}.{rank}.et" for rank in range(4)]
    _trace("check", *files)
    groups = [{each["group"] for each in _shown(path, rank)["collective"]} for rank in range(4)]
    assert [len(names) for names in groups] == [2] * 4
    assert len(set.union(*groups)) == 4  # two rows and two columns
    predicted = _infold("whatif", *files, "--link", "1G", "--json")
    steps = {each["place"]: each["step_us"] for each in predicted if each["event"] == "prediction"}
    assert set(steps) == {"nowhere", "ring", "workers", "switch"}
    assert all(step > steps["nowhere"] for place, step in steps.items() if place != "nowhere")
    _check_replay(path, 4, sum(each["calls"] for each in _shown(path, 0)["collective"]))


def test_fsdp_waits_are_dependencies(tmp_path, one_switch):
    path = str(tmp_path / "run")
    run_ranks(2, _fsdp, path, options=one_switch)
    _trace("check", f"{path}.0.et", f"{path}.1.et")
    shown = _shown(path, 0)
    kinds = {each["kind"]: each for each in shown["collective"]}
    # Each of three groups of parameters is gathered for every forward pass.
    assert kinds["all_gather"]["calls"] >= 3 * _STEPS
    assert kinds["reduce_scatter"]["calls"] == 3 * _STEPS
    calls = sum(each["calls"] for each in shown["collective"])
    assert _arrows(tmp_path, f"{path}.0.et", 0) == calls


def _two_groups(rank, world, path):
    group = dist.new_group([0, 2])
    tensor = torch.ones(1000, dtype=torch.bfloat16)
    dist.barrier()
    with infold.trace.record(path) as recording:
        dist.broadcast(tensor, 1)
        if rank != 1:
            dist.all_reduce(tensor, group=group)
        work = dist.all_reduce(torch.ones(3), async_op=True)  # nobody waits for it in the recording
    work.wait()
    with pytest.raises(AssertionError), infold.trace.record(path + "-failed"):
        raise AssertionError
    with infold.trace.record(path + "-again") as again:
        with (
            pytest.raises(RuntimeError, match="a recording is on already"),
            infold.trace.record(path),
        ):
            pass
        dist.barrier()
    no_folder = "Cannot write to /absent: create the directory first"
    with pytest.raises(FileNotFoundError, match=no_folder), infold.trace.record("/absent/run"):
        pass
    return recording.file, again.file


def test_groups_and_failures(tmp_path):
    path = str(tmp_path / "run")
    run_ranks(3, _two_groups, path)
    _trace("check", *(f"{path}.{rank}.et" for rank in range(3)))
    assert sorted(os.listdir(tmp_path)) == sorted(
        f"run{what}.{rank}.et" for what in ("", "-again") for rank in range(3)
    )
    groups = {(each["kind"], each["group"]) for each in _shown(path, 0)["collective"]}
    assert len(groups) == 3
    assert len({group for _, group in groups}) == 2
    # Rank 1 has one group, and the other ranks have two. They still meet.
    assert [said[-1]["calls"] for said in _replayed(path, 3)] == [3, 2, 3]
    calls = {each["kind"]: each["bytes"] for each in _shown(path, 1)["collective"]}
    assert calls == {"broadcast": 2000, "all_reduce": 12}
    assert [each["kind"] for each in _shown(path + "-again", 0)["collective"]] == ["barrier"]


def _named(rank, world, path):
    tensor = torch.ones(200, 200)
    with infold.trace.record(path, operators=True) as recording:
        for _ in range(3):
            tensor = tensor @ tensor / 200
        dist.all_reduce(tensor)
        torch.sort(tensor)
        recording.step()
    # PyTorch can run only one profiler at a time.
    activities = [torch.profiler.ProfilerActivity.CPU]
    with (
        torch.profiler.profile(activities=activities) as own,
        pytest.warns(UserWarning, match="another profiler is on"),
        infold.trace.record(path + "-unnamed", operators=True),
    ):
        torch.relu(tensor)
        dist.barrier()
    assert any(event.name == "aten::relu" for event in own.events())
    with (
        pytest.warns(UserWarning, match="another profiler began"),
        infold.trace.record(path + "-unnamed", operators=True),
    ):
        with torch.profiler.profile(activities=activities):
            torch.relu(tensor)
        dist.barrier()
    with pytest.raises(AssertionError), infold.trace.record(path, operators=True):
        raise AssertionError
    with infold.trace.record(path + "-later", operators=True):
        torch.relu(tensor)
    return recording.file


def _operators(folder, file):
    """The operators of each compute, with their microseconds."""
    _trace("perfetto", file, str(folder / "operators.json"))
    events = json.loads((folder / "operators.json").read_text())["traceEvents"]
    return [
        dict(each.split("=") for each in event["args"]["operators"].split(","))
        for event in events
        if "operators" in event.get("args", {})
    ]


def test_computes_name_their_operators(tmp_path):
    path = str(tmp_path / "run")
    files = run_ranks(2, _named, path)
    _trace("check", *files)
    for file in files:
        before, *_, after = _operators(tmp_path, file)
        assert int(before["aten::matmul"]) > 0
        assert "aten::div" in before
        assert "aten::sort" in after
        assert not {"aten::matmul", "aten::mm", "c10d::allreduce_"} & set(after)
    assert _operators(tmp_path, f"{path}-unnamed.0.et") == []
    [later] = _operators(tmp_path, f"{path}-later.0.et")
    assert "aten::relu" in later


def test_without_a_group_it_says_so(tmp_path):
    with (
        pytest.raises(RuntimeError, match="init_process_group"),
        infold.trace.record(tmp_path / "run"),
    ):
        pass
