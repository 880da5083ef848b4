# SPDX-License-Identifier: Apache-2.0
"""The package around the backend. It registers itself, refuses another torch, and reports the path
in use. Its stubs are complete."""

import ast
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import torch
from ranks import running_switch

import infold
from infold import _build, _c, _version

PACKAGE = pathlib.Path(infold.__file__).parent
PACKAGE_SOURCE = pathlib.Path(__file__).parent.parent
ALONE = """
import torch, torch.distributed as dist
dist.init_process_group("infold", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
tensor = torch.ones(3)
dist.all_reduce(tensor)
print(dist.get_backend(), tensor.tolist())
"""


def run(*words, **variables):
    return subprocess.run(
        [sys.executable, *words],
        env=os.environ | variables,
        text=True,
        capture_output=True,
        check=False,
        timeout=120,
    )


def needs_installation():
    if "site-packages" not in str(PACKAGE):
        pytest.skip("the package is not installed, so that torch cannot find it")


def test_needs_no_import():
    needs_installation()
    done = run("-c", ALONE)
    assert done.stdout == "infold [1.0, 1.0, 1.0]\n", done.stderr


def test_importing_it_is_enough():
    done = run("-c", "import infold" + ALONE, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.stdout == "infold [1.0, 1.0, 1.0]\n", done.stderr


def test_may_be_imported_before_torch():
    done = run(
        "-c",
        "import infold; import torch.distributed as dist; print('INFOLD' in dist.Backend._plugins)",
    )
    assert done.stdout == "True\n", done.stderr


OTHER_BUILD = """
import sys, types
build = types.ModuleType("infold._build")
build.TORCH_VERSIONS, build.VERSION = ["1.7.0"], "0"
sys.modules["infold._build"] = build
import torch, infold
print("goes on", infold.Communicator.__name__, hasattr(infold, "statistics"))
try:
    torch.distributed.init_process_group("infold", init_method="tcp://127.0.0.1:0", rank=0,
                                         world_size=1)
except ImportError as error:
    print(error)
"""


def test_does_not_stop_another_torch_from_being_imported():
    needs_installation()
    done = run("-c", OTHER_BUILD)
    lines = done.stdout.splitlines()
    assert lines[0] == "goes on Communicator False", done.stderr
    assert lines[1].startswith("infold was built against torch 1.7, and this is torch 2.")
    assert done.stderr == ""


def test_the_source_is_no_package_and_does_not_disturb_torch():
    source = PACKAGE_SOURCE
    if not (source / "infold" / "_version.py").exists():
        pytest.skip("the tests run apart from the source")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import torch; print('fine')"],
        cwd=source,
        text=True,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert (done.stdout, done.stderr) == ("fine\n", "")
    done = subprocess.run(
        [sys.executable, "-c", "import infold"],
        cwd=source,
        text=True,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert "is the package's source, which is not built" in done.stderr, done.stderr


def test_refuses_another_minor_version(monkeypatch):
    monkeypatch.setattr(torch, "__version__", "2.99.1")
    minor = re.escape(".".join(_build.TORCH_VERSIONS[0].split(".")[:2]))
    with pytest.raises(ImportError, match=rf"built against torch {minor}.*this is torch 2\.99\.1"):
        _version.check_torch()


def test_takes_another_patch_release(monkeypatch):
    minor = ".".join(_build.TORCH_VERSIONS[0].split(".")[:2])
    monkeypatch.setattr(torch, "__version__", f"{minor}.77+cpu")
    _version.check_torch()


def test_doctor_says_that_there_is_no_switch():
    done = run("-m", "infold.doctor", INFOLD_SWITCHES="")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 contributions are summed at the ranks themselves (no switch)" in done.stdout
    assert "OK    sums: right" in done.stdout


def test_doctor_says_that_the_switch_sums():
    with running_switch() as address:
        done = run("-m", "infold.doctor", "--json", INFOLD_SWITCHES=address)
    assert done.returncode == 0, done.stdout + done.stderr
    findings = {each["name"]: each for each in map(json.loads, done.stdout.splitlines())}
    assert f"2 contributions are summed at switch {address}" in findings["path"]["found"]
    assert all(each["ok"] and not each["advice"] for each in findings.values())


@pytest.mark.parametrize(
    "variables, words",
    [
        ({"INFOLD_SWITCHES": "127.0.0.1:9"}, "WARN  switch: 127.0.0.1:9 does not answer"),
        ({"INFOLD_SITES": "switch"}, "sites is 'switch'; allowed: automatic, switches"),
        ({"INFOLD_CONFIG": "/nowhere.toml"}, "cannot read /nowhere.toml"),
    ],
)
def test_doctor_names_what_is_wrong(variables, words):
    done = run("-m", "infold.doctor", **variables)
    assert done.returncode == 1
    assert words in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_doctor_has_help():
    assert "Exit codes:" in run("-m", "infold.doctor", "--help").stdout


def _symbols(path):
    done = subprocess.run(
        ["nm", "-D", "--defined-only", path], text=True, capture_output=True, check=True
    )
    return [line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()]


def test_symbols_of_other_libraries_stay_inside():
    """A process may also have another gRPC or protobuf, such as torch's own."""
    library = _symbols(PACKAGE / "libinfold.so")
    assert "infold_join" in library
    ours = re.compile(
        r"infold_|_ZNK?6infold(12Communicator|11Compression|6Handle|4Rows|"
        r"10LocalGroup|8compress8Settings|8compress10add_method|9code_name|"
        r"19measure_codec_error|19measure_codec_speed|20measure_format_error|"
        r"20measure_format_speed|6encode|6decode|14exponent_bytes|14mantissa_bytes|"
        r"14data_type_name|14reduction_name|16wire_format_name)"
    )
    assert [name for name in library if not ours.match(name)] == []
    extension = _symbols(_c.__file__)
    assert "PyInit__c" in extension
    assert [name for name in extension if re.search("grpc|google|absl", name)] == []


def _names_in(stub):
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield (
                node.name,
                [
                    each.name
                    for each in getattr(node, "body", [])
                    if isinstance(each, ast.FunctionDef)
                ],
            )
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id, []


@pytest.mark.parametrize("module", ["infold", "infold._c"])
def test_stubs_name_what_is_there(module):
    words = module.split(".")
    stub = PACKAGE.joinpath(*words[1:-1], (words[-1] if words[1:] else "__init__") + ".pyi")
    there = __import__(module, fromlist=["*"])
    for name, members in _names_in(stub):
        for member in members:
            assert hasattr(getattr(there, name), member), f"{name}.{member}"
        assert hasattr(there, name), name
