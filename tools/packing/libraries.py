# SPDX-License-Identifier: Apache-2.0
"""Builds the archives that wheels contain in place of Debian's shared libraries.
packaging/libraries builds them from the sources of Debian's packages, in the installed versions."""

import functools
import pathlib
import re
import shutil
import subprocess

PACKAGES = {"protobuf": "libprotobuf-dev"}
_FORMAT = "${source:Package}=${source:Version}"


def _sources_list():
    """Returns a deb-src line for each of Debian's archives that this machine takes packages from.
    apt checks these with the keys that the machine trusts."""
    shown = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(COMPONENT) $(CREATED_BY)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = {
        f"deb-src {site} {release} {component}"
        for site, release, component, kind in map(str.split, shown.splitlines())
        if kind == "Packages" and "debian" in site
    }
    return "\n".join(sorted(lines)) + "\n"


def _fetch(folder, run):
    """Fetches Debian's sources, whose signatures apt checks, to folder/abseil and so on."""
    wanted = [run(["dpkg-query", "-W", "-f", _FORMAT, package]) for package in PACKAGES.values()]
    stamp = folder / "fetched"
    if stamp.exists() and stamp.read_text("utf-8").split() == wanted:
        return
    shutil.rmtree(folder, ignore_errors=True)
    lists = folder / "lists"
    (lists / "partial").mkdir(parents=True)
    (folder / "sources.list").write_text(_sources_list(), "utf-8")
    options = [
        "-o",
        f"Dir::Etc::SourceList={folder}/sources.list",
        "-o",
        "Dir::Etc::SourceParts=/dev/null",
        "-o",
        f"Dir::State::Lists={lists}",
        "-o",
        "Dir::Cache::pkgcache=",
        "-o",
        "Dir::Cache::srcpkgcache=",
        "-o",
        "APT::Sandbox::User=root",
    ]
    print(f"package: fetching the sources of {', '.join(wanted)}", flush=True)
    run(["apt-get", *options, "update"])
    run(["apt-get", *options, "source", *wanted], cwd=folder)
    for name, package in zip(PACKAGES, wanted, strict=True):
        version = re.sub(r"-[^-]*$", "", package.partition("=")[2])
        (folder / f"{package.partition('=')[0]}-{version}").rename(folder / name)
    stamp.write_text("\n".join(wanted), "utf-8")


@functools.cache
def build(root, run):
    """Builds the archives, and returns the folder that INFOLD_STATIC names."""
    sources, out = root / "build" / "packages" / "sources", root / "build" / "libraries"
    _fetch(sources, run)
    print("package: building protobuf (a minute, the first time)", flush=True)
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    run(
        [
            "cmake",
            "-GNinja",
            "-S",
            root / "packaging" / "libraries",
            "-B",
            out,
            f"-DSOURCES={sources}",
            "-DCMAKE_CXX_COMPILER=g++",
            *launcher,
        ]
    )
    run(["cmake", "--build", out])
    return pathlib.Path(out)
