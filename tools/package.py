#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the packages that people install, in build/packages/.

wheel   infold-*.whl for pip: PyTorch's backend, infold.Communicator and the program infold
deb     infold_*.deb for Debian 12: the program with its systemd units
image   a container of the switch, by packaging/Containerfile and podman or docker
prove   a folder that proves infold on a machine with a GPU or many processors; prove/prove.sh there
source  infold-*.tar.gz of the last commit
all     wheel and deb

With --check, each package is then installed in a bare Debian 12, where ranks sum (debootstrap;
needs root and a network). With deb --check, the image's steps also run there, without an engine.
With source --check, ./dev demo builds the source there and draws its picture. With prove --check,
the folder is rehearsed there. docs/packages.md has more.
"""

import argparse
import pathlib
import subprocess
import sys

from packing import check, deb, image, prove, source, wheel

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "packages"
LOG = ROOT / "build" / "logs" / "package.log"
LINES_SHOWN = 25


class Failed(Exception):
    """A command failed; the message names it."""


def run(command, **where):
    """Runs a command with its output in the log, and returns its stdout."""
    words = [str(word) for word in command]
    with open(LOG, "a", encoding="utf-8") as log:
        log.write(f"$ {' '.join(words)}\n")
        log.flush()
        done = subprocess.run(
            words, stdout=subprocess.PIPE, stderr=log, text=True, check=False, **where
        )
        log.write(done.stdout)
    if done.returncode != 0:
        raise Failed(f"{' '.join(words)} failed with {done.returncode}")
    return done.stdout.strip()


def parse():
    parser = argparse.ArgumentParser(
        prog="./dev package",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "kind",
        nargs="?",
        default="all",
        choices=("wheel", "deb", "image", "prove", "source", "all"),
    )
    parser.add_argument(
        "--check", action="store_true", help="install each in a bare Debian 12 and sum there"
    )
    return parser.parse_args()


def make(options):
    if options.kind in ("wheel", "all"):
        wheels = wheel.make(ROOT, OUT, run)
        for path in wheels:
            print(f"package: {path.relative_to(ROOT)}, {path.stat().st_size / 1e6:.1f} MB")
        if options.check:
            check.wheels(ROOT, wheels, run)
    if options.kind in ("deb", "all"):
        path = deb.make(ROOT, OUT, run)
        print(f"package: {path.relative_to(ROOT)}, {path.stat().st_size / 1e6:.1f} MB")
        if options.check:
            check.debian_package(ROOT, path, run)
            check.image_steps(ROOT, path, run)
    if options.kind == "image":
        image.make(ROOT, OUT, run)
    if options.kind == "prove":
        path = prove.make(ROOT, OUT, run)
        print(f"package: {path.relative_to(ROOT)}/, {prove.size_of(path) / 2**20:.1f} MiB")
        if options.check:
            check.rehearsal(ROOT, path, run)
    if options.kind == "source":
        path = source.make(ROOT, OUT, run)
        print(f"package: {path.relative_to(ROOT)}, {path.stat().st_size / 1e6:.1f} MB")
        if options.check:
            check.source(ROOT, path, run)


def main():
    options = parse()
    OUT.mkdir(parents=True, exist_ok=True)
    LOG.parent.mkdir(parents=True, exist_ok=True)
    LOG.write_text("", "utf-8")
    try:
        make(options)
    except (Failed, RuntimeError) as error:
        lines = LOG.read_text("utf-8", errors="replace").splitlines()
        print("\n".join("    " + line for line in lines[-LINES_SHOWN:]), file=sys.stderr)
        print(f"package: {error}; whole log: {LOG.relative_to(ROOT)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
