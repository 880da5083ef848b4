#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the PyTorch backend compiles with the headers of a release of torch that is not
installed, and that it holds the lock of each member that it touches. The headers come from the
release's wheel on PyPI; reading only parts of the wheel fetches 15 MB of its 530. Without a
network, the check ends with status 77 and the reason.

    tools/torch_headers.py 2.11.0
"""

import argparse
import concurrent.futures
import functools
import io
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import sysconfig
import urllib.error
import urllib.request
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
INDEX = "https://pypi.org/simple/torch/"
SKIPPED = 77
BLOCK_BYTES = 1 << 20
PATIENCE_S = 60
HEADERS = ("torch/include/", ".h", ".hpp", ".cuh")


class RemoteFile(io.RawIOBase):
    """A file on a server, read in blocks."""

    def __init__(self, url, size):
        super().__init__()
        self._url, self._size, self._at = url, size, 0
        self._block = functools.lru_cache(maxsize=32)(self._fetch)

    def _fetch(self, number):
        first = number * BLOCK_BYTES
        last = min(first + BLOCK_BYTES, self._size) - 1
        request = urllib.request.Request(self._url, headers={"Range": f"bytes={first}-{last}"})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            data = answer.read(BLOCK_BYTES + 1)
        if len(data) != last - first + 1:
            raise urllib.error.URLError("the server sends no parts of files")
        return data

    def seekable(self):
        return True

    def readable(self):
        return True

    def tell(self):
        return self._at

    def seek(self, offset, whence=os.SEEK_SET):
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def readinto(self, buffer):
        if self._at >= self._size:
            return 0
        number, skipped = divmod(self._at, BLOCK_BYTES)
        part = self._block(number)[skipped : skipped + len(buffer)]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)


def wheel_of(release):
    """Returns the address and size of the release's wheel for this Python."""
    kind = {"Accept": "application/vnd.pypi.simple.v1+json"}
    with urllib.request.urlopen(
        urllib.request.Request(INDEX, headers=kind), timeout=PATIENCE_S
    ) as answer:
        files = json.load(answer)["files"]
    python = "cp" + sysconfig.get_config_var("py_version_nodot")
    for each in files:
        name = each["filename"]
        if name.startswith(f"torch-{release}-{python}-{python}-manylinux") and name.endswith(
            f"_{platform.machine()}.whl"
        ):
            return each["url"], each["size"]
    raise urllib.error.URLError(f"there is no wheel of torch {release} for {python}")


def fetch(release):
    """Fetches the headers unless they are there, and returns their folder."""
    folder = ROOT / "build" / "torch-headers" / release
    include = folder / "torch" / "include"
    if (folder / "complete").exists():
        return include
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(io.BufferedReader(RemoteFile(*wheel_of(release)), 1 << 16)) as wheel:
        start, *ends = HEADERS
        wheel.extractall(
            folder,
            [
                name
                for name in wheel.namelist()
                if name.startswith(start) and name.endswith(tuple(ends))
            ],
        )
    (folder / "complete").touch()
    return include


def complaints_about(headers, source):
    """Returns what clang says about one file. Unlike g++, clang also follows the locks."""
    folders = (headers, headers / "torch/csrc/api/include", sysconfig.get_path("include"))
    words = [
        "clang++-19",
        "-fsyntax-only",
        "-std=c++20",
        "-Wno-everything",
        "-Wthread-safety",
        "-Werror",
        "-DTORCH_EXTENSION_NAME=_c",
        "-DUSE_C10D_GLOO",
        "-Isrc",
        "-Iinclude",
        "-I.",
        *(word for each in folders for word in ("-isystem", each)),
        source,
    ]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode != 0 else ""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("release", help="for example 2.11.0")
    options = parser.parse_args()
    try:
        headers = fetch(options.release)
    except (OSError, zipfile.BadZipFile) as error:
        print(f"the headers of torch {options.release} cannot be fetched: {error}")
        return SKIPPED
    sources = [
        path.relative_to(ROOT) for path in sorted((ROOT / "python" / "backend").rglob("*.cc"))
    ]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        complaints = list(pool.map(functools.partial(complaints_about, headers), sources))
    for complaint in filter(None, complaints):
        print(complaint)
    if any(complaints):
        return 1
    print(f"torch {options.release}: {len(sources)} files compile")
    return 0


if __name__ == "__main__":
    sys.exit(main())
