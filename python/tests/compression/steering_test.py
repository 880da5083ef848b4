# SPDX-License-Identifier: Apache-2.0
"""Compressed gradients whose settings follow the network, in DistributedDataParallel."""

import io

import models
import pytest
import torch
from failing import message_of
from ranks import run_ranks
from torch.nn.parallel import DistributedDataParallel

import infold
from infold._hidden_time import HiddenTimes, shares

_STEERING = {"setting": "ratio", "cheapest": 0.03, "finest": 0.2, "may_skip": True}


def _made(steering=_STEERING):
    """A model with buckets of 20 kB, so that there are several."""
    model = DistributedDataParallel(models.made("transformer"), bucket_cap_mb=0.02)
    hook = infold.compress.hook("topk", ratio=0.05, memory="residual", steering=steering)
    return model, hook.register(model)


def _sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def _calls(hook):
    return sorted(
        (each["first_parameter"], each["parameters"], each["value"], each["is_compressed"])
        for each in hook.statistics()["steered_calls"]
    )


def _train(rank, world):
    model, hook = _made()
    optimizer, losses, seen = _sgd(model), [], []
    for step in range(25):
        losses += models.train(model, optimizer, "transformer", rank, 1, step)
        seen.append(_calls(hook))
    assert len(seen[-1]) > 1  # buckets
    assert losses[-1] < losses[0] / 2
    return seen, models.digest(model.module)


def test_ranks_change_settings_alike():
    answers = run_ranks(3, _train)
    assert answers[0] == answers[1] == answers[2]
    values = {value for calls in answers[0][0] for _, _, value, _ in calls}
    assert len(values) > 1 and min(values) >= 0.03 and max(values) <= 0.2


def _resumed(rank, world):
    model, hook = _made()
    models.train(model, _sgd(model), "transformer", rank, 6)
    file = io.BytesIO()
    torch.save(hook.state_dict(), file)
    state = torch.load(io.BytesIO(file.getvalue()), weights_only=True)
    assert set(state["parameters"]) == {name for name, _ in model.module.named_parameters()}
    assert state["steering"]
    again, resumed = _made()
    resumed.load_state_dict(state)
    taken = resumed.state_dict()
    assert {name: each.tolist() for name, each in taken["steering"].items()} == {
        name: each.tolist() for name, each in state["steering"].items()
    }
    models.train(again, _sgd(again), "transformer", rank, 3, 6)
    next(iter(state["steering"].values()))[0] = 99
    with pytest.raises(ValueError, match="the state's steering of calls .* is none"):
        resumed.load_state_dict(state)


def test_a_checkpoint_has_the_steering():
    run_ranks(2, _resumed)


def _other_steering(rank, world):
    model, _ = _made({**_STEERING, "tolerance": 0.2} if rank == 1 else _STEERING)
    text = message_of(lambda: models.train(model, _sgd(model), "transformer", rank, 1))
    assert "rank 1 has other steering than rank 0" in text, text


def test_ranks_with_other_steering_get_one_mismatch():
    run_ranks(3, _other_steering)


def test_wrong_options_are_refused_by_name():
    for wanted, change in (
        ("steering has no option 'ratio'; it has: setting, cheapest", {"ratio": 0.1}),
        ("steering: finest is 'much', which has the wrong type", {"finest": "much"}),
        ('steering: topk has no setting "bits"', {"setting": "bits"}),
        ("steering: tolerance is 7.0; the limits are 0.01 to 1|tolerance is 7", {"tolerance": 7}),
    ):
        with pytest.raises(ValueError, match=wanted):
            infold.compress.hook("topk", memory="residual", steering={**_STEERING, **change})
    assert "steered_calls" not in infold.compress.hook("topk").statistics()


def test_a_bucket_has_the_time_from_its_readiness_on():
    # Each bucket has the time until the next one is ready; nothing hides the last one.
    assert shares([(0.0, 10), (3.0, 10), (5.0, 10)]) == [3.0, 2.0, 0.0]
    # The second bucket has more time than its part, so the first one shares it, by bytes.
    assert shares([(0.0, 30), (1.0, 10), (5.0, 10)]) == [3.75, 1.25, 0.0]
    # The clock stands still, and buckets are empty.
    assert shares([(0.0, 0), (0.0, 0)]) == [0.0, 0.0]
    assert shares([]) == []


def test_a_pass_is_the_guess_for_the_next():
    times = HiddenTimes()
    first = [times.ready(index, 10, index == 2).total_seconds() for index in range(3)]
    assert first == [0, 0, 0]
    times.ready(0, 10, False)  # a pass that ended early
    second = [times.ready(index, 10, index == 2).total_seconds() for index in range(3)]
    assert all(each >= 0 for each in second) and second[-1] == 0
