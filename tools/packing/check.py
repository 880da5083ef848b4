# SPDX-License-Identifier: Apache-2.0
"""Installs packages in a bare Debian 12, made by debootstrap, and sums there. Each program runs in
a root directory of its own (chroot), with /proc and loopback. The only files of this machine that
it sees are the ones that are named here."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import python_env

from packing import image

MIRROR = "http://deb.debian.org/debian"
HERE = pathlib.Path(__file__).resolve().parent
# The mounts end with their namespace in every case. The root is a mount of its own, because `ip
# netns exec` expects that of a root.
_ENTER = """set -e
mount --make-rprivate /
mount --bind "$ROOT" "$ROOT"
mount -t proc proc "$ROOT/proc"
mount -t sysfs sysfs "$ROOT/sys"
mount -t tmpfs shm "$ROOT/dev/shm"
for each in $BIND; do mkdir -p "$ROOT$each"; mount --rbind -o ro "$each" "$ROOT$each"; done
exec chroot "$ROOT" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive bash -ec "$SCRIPT"
"""


class Bare:
    """A root directory with Debian's smallest system, and what a check adds to it."""

    def __init__(self, root, name, run):
        self._run = run
        folder = root / "build" / "packages"
        pristine, self.root = folder / "bare", folder / f"check-{name}"
        if not (pristine / "complete").exists():
            shutil.rmtree(pristine, ignore_errors=True)
            print("package: making a bare Debian 12 (debootstrap, a minute)", flush=True)
            run(["debootstrap", "--variant=minbase", "bookworm", pristine, MIRROR])
            (pristine / "complete").touch()
        shutil.rmtree(self.root, ignore_errors=True)
        run(["cp", "-a", pristine, self.root])
        shutil.copy("/etc/resolv.conf", self.root / "etc" / "resolv.conf")
        (self.root / "check").mkdir()

    def add(self, *paths):
        for path in paths:
            shutil.copy(path, self.root / "check")

    def sh(self, script, bind=()):
        return self._run(
            ["unshare", "--mount", "bash", "-c", _ENTER],
            env=os.environ
            | {"ROOT": str(self.root), "SCRIPT": script, "BIND": " ".join(map(str, bind))},
        )


_SWITCH = """
{infold} switch --listen 127.0.0.1:7700 --json >/check/switch.log &
switch=$!
until grep -q join /check/switch.log; do kill -0 $switch; sleep 0.1; done
{ranks}
kill -TERM $switch
wait $switch
"""


def _plain(bare, wheel):
    """Sums without and with a switch. Returns the seconds from no environment to the first sum."""
    begun = time.monotonic()
    bare.sh(
        f"python3 -m venv /venv; /venv/bin/pip install --no-index /check/{wheel.name}; "
        "INFOLD_RENDEZVOUS=127.0.0.1:7600 /venv/bin/python /check/first_sum.py"
    )
    took = time.monotonic() - begun
    bare.sh(
        _SWITCH.format(
            infold="/venv/bin/infold",
            ranks="INFOLD_SWITCHES=127.0.0.1:7700 /venv/bin/python /check/first_sum.py",
        )
    )
    return took


def _beside_another_grpc(root, bare, run):
    folder = root / "build" / "packages" / "grpcio"
    run(
        [
            root / "build" / "packages" / "tools" / "bin" / "python",
            "-m",
            "pip",
            "download",
            "--quiet",
            "--only-binary=:all:",
            "--python-version=3.11",
            "-d",
            folder,
            "grpcio",
            "protobuf",
        ]
    )
    bare.add(*folder.glob("*.whl"))
    bare.sh(
        "/venv/bin/pip install --no-index --find-links /check grpcio protobuf; "
        "INFOLD_RENDEZVOUS=127.0.0.1:7601 /venv/bin/python /check/first_sum.py beside"
    )


def _with_torch(root, bare):
    """Checks the wheel's extensions. PyTorch is too large to fetch for this check, so the check
    sees the folders of this machine that have it."""
    other, _ = python_env.python_with("2.14")
    for python in filter(None, (python_env.python_of(root), other)):
        base = subprocess.run(
            [python, "-c", "import sys; print(sys.base_prefix, sys.prefix)"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        said = bare.sh(
            "site=$(echo /venv/lib/python3*/site-packages); "
            f"PYTHONPATH=$site {python} -m infold.doctor; "
            f"PYTHONPATH=$site {python} -c 'import infold; print(infold.__file__)'",
            bind=base,
        )
        if "sums: right" not in said or "\n/venv/" not in said:
            raise RuntimeError(said)
        print("package: checked " + said.splitlines()[0].removeprefix("OK").strip(), flush=True)


def wheels(root, paths, run):
    for path in paths:
        bare = Bare(root, "wheel", run)
        bare.add(path, HERE / "first_sum.py")
        bare.sh(
            "apt-get -q update; apt-get -qy install --no-install-recommends python3 python3-venv"
        )
        took = _plain(bare, path)
        print(
            f"package: {path.name}: from no virtual environment to the first sum in "
            f"{took:.1f} s, without torch",
            flush=True,
        )
        _beside_another_grpc(root, bare, run)
        print(f"package: {path.name}: sums beside grpcio and protobuf", flush=True)
        if "-none-" not in path.name:
            _with_torch(root, bare)


def _sum_at_switch(bare, infold):
    """Two ranks sum at a switch, each started with this command."""
    bench = (
        infold + " bench allreduce --switch 127.0.0.1:7700 --rank {} --ranks 2 --bytes 4096 "
        "--check --iterations 10"
    )
    bare.sh(
        _SWITCH.format(
            infold=infold, ranks=bench.format(0) + " & rank=$!\n" + bench.format(1) + "\nwait $rank"
        )
    )


def debian_package(root, path, run):
    bare = Bare(root, "deb", run)
    bare.add(path)
    begun = time.monotonic()
    bare.sh(f"apt-get -q update; apt-get -qy install --no-install-recommends /check/{path.name}")
    _sum_at_switch(bare, "infold")
    took = time.monotonic() - begun
    bare.sh(
        "echo '# changed' >>/etc/infold/switch.toml; apt-get -qy remove infold; "
        "grep changed /etc/infold/switch.toml; test ! -e /usr/bin/infold; "
        "apt-get -qy purge infold; test ! -e /etc/infold/switch.toml"
    )
    print(
        f"package: {path.name}: installed, summed, removed and purged; to the first sum in "
        f"{took:.1f} s",
        flush=True,
    )


def image_steps(root, path, run):
    """Runs the steps of the Containerfile without a container engine: each stage in a root
    directory of its own, then the switch as the image's user."""
    words = image.instructions(root)
    fetch, install = (re.sub(r"--mount=\S+", "", rest) for word, rest in words if word == "RUN")
    first, second = Bare(root, "image-package", run), Bare(root, "image", run)
    shutil.copy(path, first.root / "tmp")
    first.sh(fetch)
    for each in (first.root / "tmp").glob("*.deb"):
        shutil.copy(each, second.root / "mnt")
    second.sh(install)
    user = dict(words)["USER"]
    _sum_at_switch(second, f"setpriv --reuid={user} --regid={user} --clear-groups infold")
    print(
        f"package: the image's steps around {path.name}: installed, and summed as {user}",
        flush=True,
    )


# The steps that can run in a bare root directory without torch.
_REHEARSED = {"1 Gbit/s", "unshaped, MTU 1500", "unshaped, MTU 9000", "processor time of a rank"}


def rehearsal(root, path, run):
    """Rehearses the folder as a stranger's machine would run it, with Python but without software
    of ours. Every step must pass, or say why it cannot run."""
    bare = Bare(root, "prove", run)
    bare.sh("apt-get -q update; apt-get -qy install --no-install-recommends python3")
    shutil.copytree(path, bare.root / "prove")
    begun = time.monotonic()
    bare.sh("/prove/prove.sh --rehearse --out /check/results")
    result = json.loads((bare.root / "check" / "results" / "prove.json").read_text("utf-8"))
    steps = {step["name"]: step for step in result["steps"]}
    for name, step in steps.items():
        passed = step["status"] == "passed" and step["figures"]
        skipped = step["status"] == "skipped" and step["reason"] and name not in _REHEARSED
        if not passed and not skipped:
            raise RuntimeError(f"{name}: {step}")
    if missing := _REHEARSED - steps.keys():
        raise RuntimeError(f"no step {missing}")
    print(
        f"package: {path.name}/: rehearsed in {time.monotonic() - begun:.0f} s, "
        f"{len(_REHEARSED)} steps of {len(steps)}; the others: "
        f"{', '.join(sorted(steps.keys() - _REHEARSED))}",
        flush=True,
    )


def source(root, path, run):
    bare = Bare(root, "source", run)
    bare.add(path)
    begun = time.monotonic()
    bare.sh(
        f"mkdir /source; tar -xf /check/{path.name} -C /source --strip-components=1; "
        "cd /source; ./dev demo; test -s infold-demo.svg"
    )
    print(
        f"package: {path.name}: from the source to the picture of ./dev demo in "
        f"{time.monotonic() - begun:.0f} s",
        flush=True,
    )
