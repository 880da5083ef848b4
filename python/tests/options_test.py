# SPDX-License-Identifier: Apache-2.0
"""Options: all kinds of values in all places, and which place wins."""

import pytest
import torch
import torch.distributed as dist
from failing import message_of
from ranks import run_ranks

import infold
from infold import _c as extension
from infold import _switches
from infold import options as infold_options

_WRONG_VALUES = {
    "switches": ("10.0.0.1:7700", ["nowhere"], 5),
    "job": (5,),
    "wire": ("bfp64", 16),
    "layout": ("sparse", True),
    "sites": ("nowhere", True),
    "deadline": (0, -1, "soon", True),
    "address": (127,),
    "mtu_bytes": ("1500", True, 1.5),
    "drivers": ("2", True),
    "shared_memory": ("maybe", False),
    "switch_weight": ("1", True),
    "worker_weight": ("1", True),
    "verify": (1, "yes"),
    "rejoin": (0, "no"),
}


def _refusal(options):
    """The error of init_process_group() with these options."""
    try:
        return message_of(
            lambda: dist.init_process_group(
                "infold", store=dist.HashStore(), rank=0, world_size=1, pg_options=options
            )
        )
    finally:
        assert not dist.is_initialized()


def _refuse_values(rank, world):
    for name, values in _WRONG_VALUES.items():
        for value in values:
            for options in ({name: value}, infold.Options(**{name: value})):
                text = _refusal(options)
                assert name in text and "allowed" in text, f"{name}={value!r}: {text}"


def test_wrong_values_are_refused():
    assert set(_WRONG_VALUES) == set(infold_options._NAMES)
    run_ranks(1, _refuse_values, backend=None)


def _refuse_limits(rank, world):
    for name, values in (
        ("mtu_bytes", (1, 100_000)),
        ("switch_weight", (0, 65)),
        ("worker_weight", (0, 65)),
        ("drivers", (-1, 65)),
    ):
        for value in values:
            text = _refusal({name: value, "sites": "workers"})
            assert name in text and "allowed" in text, f"{name}={value!r}: {text}"


def test_numbers_beyond_limits_are_refused():
    run_ranks(1, _refuse_limits, backend=None)


def test_choices_are_those_of_the_extension():
    assert infold_options._CHOICES == {
        "wire": extension.WIRES,
        "layout": extension.LAYOUTS,
        "sites": extension.SITES,
        "shared_memory": extension.SHARED_MEMORY,
    }


def _refuse_names(rank, world):
    assert "did you mean 'wire'" in _refusal({"wires": "bfp16"})
    assert "allowed: switches, job" in _refusal({"xyz": 1})
    assert "pass infold.Options" in _refusal("bfp16")
    assert "wires" in message_of(lambda: infold.Options(wires="bfp16"))
    assert "no switch is named" in _refusal({"sites": "switches"})
    assert "INFOLD_SWITCHES" in _refusal({"sites": "mixed"})


def test_wrong_names_are_refused():
    run_ranks(1, _refuse_names, backend=None)


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Writes a file and sets INFOLD_CONFIG to its path."""

    def write(text):
        path = tmp_path / "infold.toml"
        path.write_text(text, encoding="utf-8")
        monkeypatch.setenv("INFOLD_CONFIG", str(path))
        return str(path)

    return write


@pytest.mark.parametrize(
    ("variable", "value"),
    (
        ("INFOLD_MTU", "large"),
        ("INFOLD_DEADLINE", "soon"),
        ("INFOLD_DEADLINE", "-1"),
        ("INFOLD_VERIFY", "yes"),
        ("INFOLD_REJOIN", "2"),
        ("INFOLD_SWITCHES", "nowhere"),
        ("INFOLD_SWITCH_WEIGHT", "many"),
        ("INFOLD_WIRE", "bfp64"),
        ("INFOLD_SITES", "nowhere"),
        ("INFOLD_LAYOUT", "sparse"),
        ("INFOLD_SHARED_MEMORY", "maybe"),
    ),
)
def test_wrong_environment(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    run_ranks(1, _refuse_all, (variable, value, "allowed"), backend=None)


def _refuse_all(rank, world, words):
    text = _refusal(None)
    for word in words:
        assert word in text, f"no '{word}' in: {text}"


@pytest.mark.parametrize(
    ("text", "words"),
    (
        ("wires = 'bfp16'", ("did you mean 'wire'",)),
        ("wire = 16", ("wire is 16", "allowed")),
        ("wire = 'bfp64'", ("wire", "bfp64", "allowed: automatic")),
        ("switches = 'a:1'", ("switches is 'a:1'", "allowed")),
        ("deadline = 0", ("deadline is 0", "more than 0")),
        ("verify = 1", ("verify is 1", "True or False")),
        ("wire = ", ("is not TOML",)),
        ("sites = 'switches'", ("no switch is named",)),
    ),
)
def test_wrong_file(config, text, words):
    path = config(text)
    near = () if "no switch" in words[0] else (path,)
    run_ranks(1, _refuse_all, (*words, *near), backend=None)


def test_a_file_that_is_missing(monkeypatch):
    monkeypatch.setenv("INFOLD_CONFIG", "/nowhere/infold.toml")
    run_ranks(1, _refuse_all, ("INFOLD_CONFIG", "/nowhere/infold.toml"), backend=None)


def test_where_an_option_is_taken_from(config, monkeypatch):
    settle = infold_options.settle
    assert settle(None)["job"] == "torch"
    config("job = 'file'\nwire = 'bfp8'\nmtu_bytes = 9000\nswitches = ['s:1']\ndeadline = 5")
    assert settle(None)["job"] == "file"
    monkeypatch.setenv("INFOLD_JOB", "environment")
    monkeypatch.setenv("INFOLD_MTU", "1500")
    monkeypatch.setenv("INFOLD_SWITCHES", "t:1, t:2")
    monkeypatch.setenv("INFOLD_VERIFY", "1")
    monkeypatch.setenv("INFOLD_DEADLINE", "2.5")
    settled = settle(None)
    assert settled["job"] == "environment" and settled["mtu_bytes"] == 1500
    assert settled["switches"] == ["t:1", "t:2"] and settled["verify"] is True
    assert settled["wire"] == "bfp8" and settled["deadline"] == 2.5
    assert settled["sites"] == "switches"
    default = infold.Options(job="default", address="10.0.0.1")
    assert settle(None, default)["job"] == "default"
    settled = settle({"job": "own", "verify": False}, default)
    assert settled["job"] == "own" and settled["address"] == "10.0.0.1"
    assert settled["verify"] is False and settled["switches"] == ["t:1", "t:2"]
    assert settle({"job": None}, default)["job"] == "default"
    assert settle(infold.Options(switches=[]), default)["sites"] == "workers"


def _inherit(rank, world):
    """A later group without options inherits the options of the default group."""
    group = dist.new_group()
    for each in (None, group):
        dist.all_reduce(torch.ones(10), group=each)
    return infold.statistics(group)["contributions_on_network"]


def test_groups_have_the_default_groups_options(monkeypatch):
    assert run_ranks(2, _inherit, options={"shared_memory": "off"}) == [2, 2]
    assert run_ranks(2, _inherit) == [0, 0]
    monkeypatch.setenv("INFOLD_SHARED_MEMORY", "off")
    assert run_ranks(2, _inherit) == [2, 2]
    assert run_ranks(2, _inherit, options={"shared_memory": "auto"}) == [0, 0]


def test_keys_are_never_shown(tmp_path):
    """Neither a message nor an option that is printed shows a token."""
    join = "10.0.0.1:7700#fingerprint.secret"
    assert repr(infold.Options(switches=[join], job="a")) == (
        "Options(switches=['10.0.0.1:7700'], job='a')"
    )
    for wrong in (join, [join, 5], (join, "nowhere")):
        refusal = _refusal({"switches": wrong})
        assert "10.0.0.1:7700" in refusal and "secret" not in refusal
    path = tmp_path / "join.txt"
    path.write_text(f"# two switches\n{join}, b:1\n")
    assert _switches.places([f"@{path}", "c:1"]) == ["10.0.0.1:7700", "b:1", "c:1"]
    with pytest.raises(ValueError, match="cannot read"):
        _switches.places([f"@{tmp_path}/none"])
