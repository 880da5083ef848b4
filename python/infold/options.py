# SPDX-License-Identifier: Apache-2.0
"""The options of a process group, and where they come from.

Each option is taken from the first of these that sets it: `pg_options` of the group, `pg_options`
of the default group, the environment, the TOML file that INFOLD_CONFIG names.
"""

import dataclasses
import difflib
import os
import tomllib
import typing

from infold import _switches


def _list_of(text):
    return [each.strip() for each in text.split(",") if each.strip()]


def _truth_of(text):
    if text not in ("0", "1"):
        raise ValueError("allowed: 0 and 1")
    return text == "1"


@dataclasses.dataclass(repr=False)
class Options:
    """Options of a process group. An option that is None comes from the environment or the
    defaults.

    >>> Options(switches=["10.0.0.254:7700"], wire="bfp16")
    >>> Options(sites="workers", deadline=60)

    switches        join addresses of the switches, "host:port",       INFOLD_SWITCHES, with commas
                    the strings that switches with keys print, or
                    "@path" of a file with these strings
    job             part of the job's name at the switches             INFOLD_JOB
    wire            how floats travel: automatic (native, or digits    INFOLD_WIRE
                    where a site lacks native), native, digits, bfp32,
                    bfp16, bfp8, fixed32
    layout          whether all_reduce leaves out blocks of zeros:     INFOLD_LAYOUT
                    dense (no), blocks (yes), automatic
    sites           what sums: automatic (the switches                 INFOLD_SITES
                    if any are named, else the ranks), switches,
                    workers, mixed
    deadline        seconds until a collective has failed for good;    INFOLD_DEADLINE
                    default: the group's timeout
    address         source address of packets                          INFOLD_ADDRESS
    mtu_bytes       MTU of the path; 0: the MTU of the route           INFOLD_MTU
    drivers         threads for packets, each with some of the sites;  INFOLD_DRIVERS
                    0: by link speed and processors
    shared_memory   whether ranks of one host sum there first: auto,   INFOLD_SHARED_MEMORY
                    off, always
    switch_weight,  shares of sites="mixed"                            INFOLD_SWITCH_WEIGHT,
    worker_weight                                                      INFOLD_WORKER_WEIGHT
    verify          compare every collective's result between ranks    INFOLD_VERIFY
    rejoin          go on after a switch has restarted                 INFOLD_REJOIN
    """

    switches: typing.Sequence[str] | None = None
    job: str | None = None
    wire: str | None = None
    layout: str | None = None
    sites: str | None = None
    deadline: float | None = None
    address: str | None = None
    mtu_bytes: int | None = None
    drivers: int | None = None
    shared_memory: str | None = None
    switch_weight: int | None = None
    worker_weight: int | None = None
    verify: bool | None = None
    rejoin: bool | None = None

    def __repr__(self):
        given = {name: getattr(self, name) for name in _NAMES}
        given["switches"] = _switches.shown(given["switches"])
        set_ones = [f"{name}={value!r}" for name, value in given.items() if value is not None]
        return f"Options({', '.join(set_ones)})"


LAYOUTS = ("dense", "blocks", "automatic")
_NAMES = tuple(field.name for field in dataclasses.fields(Options))
_DEFAULTS = {
    "switches": [],
    "job": "torch",
    "wire": "automatic",
    "layout": "dense",
    "sites": "automatic",
    "deadline": None,
    "address": "",
    "mtu_bytes": 0,
    "drivers": 0,
    "shared_memory": "auto",
    "switch_weight": 1,
    "worker_weight": 1,
    "verify": False,
    "rejoin": True,
}
_VARIABLES = {name: "INFOLD_" + name.upper() for name in _NAMES} | {"mtu_bytes": "INFOLD_MTU"}
_READERS = {
    "switches": _list_of,
    "deadline": float,
    "mtu_bytes": int,
    "drivers": int,
    "switch_weight": int,
    "worker_weight": int,
    "verify": _truth_of,
    "rejoin": _truth_of,
}
_TYPES = {
    "switches": (list, tuple),
    "deadline": (int, float),
    "mtu_bytes": int,
    "drivers": int,
    "switch_weight": int,
    "worker_weight": int,
    "verify": bool,
    "rejoin": bool,
}
_CHOICES = {
    "wire": ("automatic", "native", "digits", "bfp32", "bfp16", "bfp8", "fixed32"),
    "layout": LAYOUTS,
    "sites": ("automatic", "switches", "workers", "mixed"),
    "shared_memory": ("auto", "off", "always"),
}
# The ranges are those of infold/join_options.h. An MTU of 0 means the MTU of the route.
_RANGES = {
    "mtu_bytes": (0, *range(576, 9217)),
    "switch_weight": range(1, 65),
    "worker_weight": range(1, 65),
    "drivers": range(65),
}


def _unknown(name, where):
    near = difflib.get_close_matches(name, _NAMES, 1)
    hint = f"did you mean '{near[0]}'?" if near else "allowed: " + ", ".join(_NAMES)
    return ValueError(f"infold: {where} has no option '{name}'; {hint}")


def _checked(name, value, where):
    shown = _switches.shown(value) if name == "switches" else value
    wanted = _TYPES.get(name, str)
    is_bool = isinstance(value, bool)
    if not isinstance(value, wanted) or (is_bool and wanted is not bool):
        raise ValueError(f"infold: {where}: {name} is {shown!r}; allowed: {_kind_of(name)}")
    if name == "switches" and not all(_switches.is_one(each) for each in value):
        raise ValueError(f"infold: {where}: switches is {shown!r}; allowed: {_kind_of(name)}")
    if name == "deadline" and value <= 0:
        raise ValueError(f"infold: {where}: deadline is {value}; allowed: more than 0 seconds")
    if value not in _CHOICES.get(name, (value,)) or value not in _RANGES.get(name, (value,)):
        raise ValueError(f"infold: {where}: {name} is {value!r}; allowed: {_kind_of(name)}")
    return value


def _kind_of(name):
    if name in _CHOICES:
        return ", ".join(_CHOICES[name])
    return {
        "switches": 'a list of "host:port", of strings to join with, or of "@path"',
        "deadline": "seconds",
        "mtu_bytes": "576 to 9216, and 0 for the MTU of the route",
        "drivers": "0 to 64",
        "switch_weight": "1 to 64",
        "worker_weight": "1 to 64",
        "verify": "True or False",
        "rejoin": "True or False",
    }.get(name, "a word")


def _of_group(given):
    """The options that pg_options sets, as a dict. pg_options may be a plain dict."""
    if given is None:
        return {}
    if dataclasses.is_dataclass(given) and isinstance(given, Options):
        given = {name: getattr(given, name) for name in _NAMES}
    if not isinstance(given, dict):
        kind = type(given).__name__
        raise ValueError(
            f"infold: pg_options is of type {kind}; pass infold.Options(...) or a dict"
        )
    for name in given:
        if name not in _NAMES:
            raise _unknown(name, "pg_options")
    return {
        name: _checked(name, value, "pg_options")
        for name, value in given.items()
        if value is not None
    }


def _of_environment():
    found = {}
    for name, variable in _VARIABLES.items():
        text = os.environ.get(variable, "")
        if not text:
            continue
        try:
            found[name] = _checked(name, _READERS.get(name, str)(text), variable)
        except ValueError as error:
            if str(error).startswith("infold:"):
                raise
            raise ValueError(f"infold: {variable} is '{text}'; allowed: {_kind_of(name)}") from None
    return found


def _of_file():
    path = os.environ.get("INFOLD_CONFIG", "")
    if not path:
        return {}
    try:
        with open(path, "rb") as file:
            found = tomllib.load(file)
    except OSError as error:
        raise ValueError(f"infold: INFOLD_CONFIG: cannot read {path}: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"infold: {path} is not TOML: {error}") from None
    for name in found:
        if name not in _NAMES:
            raise _unknown(name, path)
    return {name: _checked(name, value, path) for name, value in found.items()}


def settle(given, inherited=None):
    """All options of a group as a dict. `inherited` are the pg_options of the default group."""
    options = _DEFAULTS | _of_file() | _of_environment() | _of_group(inherited) | _of_group(given)
    options["switches"] = list(options["switches"])
    if options["sites"] == "automatic":
        options["sites"] = "switches" if options["switches"] else "workers"
    if options["sites"] in ("switches", "mixed") and not options["switches"]:
        raise ValueError(
            f"infold: sites is '{options['sites']}' and no switch is named: set "
            'Options(switches=["host:port"]) or INFOLD_SWITCHES'
        )
    return options
