# SPDX-License-Identifier: Apache-2.0
"""Builds the libraries that wheels contain in place of Debian's shared libraries.
packaging/libraries builds them from the sources of Debian's packages: protobuf in the installed
version, whose headers we use, and OpenSSL in the newest version of Debian's stable branch, whatever
this machine has installed, so that a wheel has all fixes."""

import functools
import json
import pathlib
import re
import shutil
import subprocess

INSTALLED = {"protobuf": "libprotobuf-dev"}
NEWEST = ("openssl",)
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


def _versions(package, options, run):
    """Returns the versions of a source package in Debian's archives, the newest first."""
    shown = run(["apt-cache", *options, "showsrc", "--only-source", package])
    found = set(re.findall(r"^Version: (\S+)$", shown, re.MULTILINE))
    is_newer = ("dpkg", "--compare-versions")

    def compared(one, other):
        return (
            -1 if subprocess.run([*is_newer, one, "gt", other], check=False).returncode == 0 else 1
        )

    return sorted(found, key=functools.cmp_to_key(compared))


def _take(package, versions, options, folder, run):
    """Fetches the newest of these versions that the archive still or already holds."""
    for version in versions:
        try:
            run(["apt-get", *options, "source", f"{package}={version}"], cwd=folder)
            return version
        except Exception:  # noqa: BLE001  the caller's own error, whose reason is in the log
            print(f"package: Debian's archive does not hold {package} {version}", flush=True)
    raise FileNotFoundError(f"Debian's archive holds no source of {package}")


def _fetch(folder, run):
    """Fetches Debian's sources, whose signatures apt checks, to folder/protobuf and so on."""
    lists = folder / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
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
    run(["apt-get", *options, "update"])
    wanted = {
        name: [run(["dpkg-query", "-W", "-f", _FORMAT, package]).partition("=")[2]]
        for name, package in INSTALLED.items()
    }
    wanted |= {name: _versions(name, options, run) for name in NEWEST}
    stamp = folder / "fetched"
    text = json.dumps(wanted)
    if stamp.exists() and stamp.read_text("utf-8") == text:
        return
    stamp.unlink(missing_ok=True)
    for name, versions in wanted.items():
        print(f"package: fetching the sources of {name} {versions[0]}", flush=True)
        version = re.sub(r"-[^-]*$", "", _take(name, versions, options, folder, run))
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / f"{name}-{version}").rename(folder / name)
    stamp.write_text(text, "utf-8")


@functools.cache
def build(root, run):
    """Builds the libraries, and returns the folder that INFOLD_STATIC names."""
    sources, out = root / "build" / "packages" / "sources", root / "build" / "libraries"
    _fetch(sources, run)
    print("package: building protobuf and OpenSSL (minutes, the first time)", flush=True)
    launcher = [
        f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache"
        for language in ("C", "CXX")
        if shutil.which("ccache")
    ]
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
