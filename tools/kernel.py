#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the packet program's tests on kernels other than this machine's.

A kernel is either a series such as 6.1, whose newest Debian cloud image is fetched with apt-get, or
a file: such a package, or a vmlinuz. It starts in QEMU, without KVM and without a disk. Its
initramfs has busybox, the tests, the vectors, ip, and the package's modules for interfaces. The
command does not need root. Every test must pass; a skipped test also fails, because it has shown
nothing. A vmlinuz without modules has no interfaces, so leave out their tests with --filter
'Xdp*:Replay*'. A kernel takes six minutes on two cores.
"""

import argparse
import lzma
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

from testing.process import Ticker, run_logged

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ROOT / "build" / "kernels"
TESTS = (
    "planes/xdp/infold_xdp_test",
    "tests/conformance/infold_conformance_test",
    "tests/replay/infold_replay_test",
)
# The kernel's modules, in the order of their dependencies.
MODULES = ("llc", "stp", "bridge", "veth", "sch_ingress", "cls_bpf")
FILTER = "Attachment*:Xdp*:Replay*"
# Six times as long as two slow cores need.
LIMIT_S = 1800
ENDED = "infold-kernel: ended with"
INIT = f"""#!/bin/busybox sh
/bin/busybox --install -s /bin
rm /bin/ip
ln -sf /sbin/dash /bin/sh
export PATH=/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
uname -r
for module in {" ".join(MODULES)}; do
  test ! -f /modules/$module.ko || insmod /modules/$module.ko
done
cd /infold
status=0
for test in ./*_test; do $test --gtest_color=no --gtest_filter='FILTER' || status=1; done
echo {ENDED} $status
poweroff -f
"""


def parse():
    parser = argparse.ArgumentParser(
        prog="./dev kernel",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kernels", nargs="+", metavar="KERNEL", help="6.1, or a file")
    parser.add_argument(
        "--filter",
        default=FILTER,
        metavar="PATTERN",
        help=f"GoogleTest's, of test names (default {FILTER})",
    )
    options = parser.parse_args()
    for kernel in options.kernels:
        if not re.fullmatch(r"\d+\.\d+", kernel) and not pathlib.Path(kernel).is_file():
            parser.error(f"{kernel} is neither a series like 6.1 nor a file")
    if "'" in options.filter:
        parser.error("--filter cannot hold a quote")
    return options


def newest(series, names):
    """Returns the package of the series' newest kernel, or None if there is none."""
    ours = re.compile(rf"linux-image-{re.escape(series)}\.\d.*-cloud-amd64")
    return max(
        (n for n in names if ours.fullmatch(n)),
        default=None,
        key=lambda name: [int(number) for number in re.findall(r"\d+", name)],
    )


def fetch(series):
    """Downloads the package, unless it is there already, and returns its path."""
    listed = subprocess.run(
        ["apt-cache", "pkgnames", f"linux-image-{series}."],
        text=True,
        capture_output=True,
        check=True,
    )
    name = newest(series, listed.stdout.split())
    if name is None:
        sys.exit(f"dev: apt knows no linux-image-{series}.*-cloud-amd64; apt-get update may help")
    KEPT.mkdir(parents=True, exist_ok=True)
    result = subprocess.run(
        ["apt-get", "download", name],
        cwd=KEPT,
        check=False,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if result.returncode != 0:
        sys.exit(f"dev: apt-get download {name} failed:\n{result.stdout}")
    return max(KEPT.glob(f"{name}_*.deb"), key=lambda path: path.stat().st_mtime)


def unpack(package, into):
    """Puts the package's kernel into the folder and returns its path. Its modules are beside it."""
    (into / "modules").mkdir()
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as deb:
        with tarfile.open(fileobj=deb.stdout, mode="r|") as files:
            for file in files:
                if file.name.startswith("./boot/vmlinuz-"):
                    (into / "vmlinuz").write_bytes(files.extractfile(file).read())
                elif module := module_of(file.name):
                    data = files.extractfile(file).read()
                    data = lzma.decompress(data) if file.name.endswith(".xz") else data
                    (into / "modules" / f"{module}.ko").write_bytes(data)
    if not (into / "vmlinuz").is_file():
        sys.exit(f"dev: no kernel in {package}")
    return into / "vmlinuz"


def module_of(path):
    """Returns the module's name if this path of a package is that of a module that we need."""
    found = re.search(r"/([^/]+)\.ko(\.xz)?$", path)
    return found[1] if found and found[1] in MODULES else None


def take(tree, program, into):
    """Copies a program without debug data, and the libraries that it needs."""
    subprocess.run(["strip", "-o", tree / into / program.name, program], check=True)
    for library in libraries(program):
        copy = tree / library.relative_to("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, copy)


def libraries(program):
    """Returns the paths of a program's shared libraries, including its loader."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return {pathlib.Path(path) for path in re.findall(r"(/\S+) \(0x", listed)}


def make_initramfs(into, pattern):
    """Packs all files of the virtual machine, and returns the path of the archive."""
    tree = into / "tree"
    for folder in ("bin", "sbin", "proc", "sys", "dev", "infold/spec"):
        (tree / folder).mkdir(parents=True)
    shutil.copy2("/bin/busybox", tree / "bin")
    shutil.copytree(ROOT / "spec" / "vectors", tree / "infold" / "spec" / "vectors")
    if (into / "modules").is_dir():
        shutil.copytree(into / "modules", tree / "modules")
    # Busybox's own ip cannot make a veth, and its shell prefers that ip to any other.
    take(tree, pathlib.Path(shutil.which("ip")), "sbin")
    take(tree, pathlib.Path("/bin/dash"), "sbin")
    for test in TESTS:
        take(tree, ROOT / "build" / "release" / test, "infold")
    init = tree / "init"
    init.write_text(INIT.replace("FILTER", pattern), encoding="utf-8")
    init.chmod(0o755)
    names = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    archive = into / "initramfs.cpio"
    with archive.open("wb") as out:
        subprocess.run(
            ["cpio", "--create", "--format=newc", "--quiet"],
            cwd=tree,
            stdout=out,
            input=names.encode(),
            check=True,
        )
    return archive


def judge(console):
    """Returns whether the virtual machine's output shows success, and a short reason."""
    if (ended := re.search(rf"^{ENDED} (\d+)", console, re.MULTILINE)) is None:
        return False, "the machine did not come to the end of the tests"
    counts = {}
    for outcome in ("OK", "FAILED", "SKIPPED"):
        # Count the line at a test's end, which has its time, and not GoogleTest's list of failed
        # tests.
        counts[outcome] = len(re.findall(rf"\[ +{outcome} +\] \S+.*\(\d+ ms\)", console))
    words = "{OK} passed, {FAILED} failed, {SKIPPED} skipped".format(**counts)
    return counts["OK"] > 0 and counts["SKIPPED"] == 0 and ended.group(1) == "0", words


def run_on(kernel, pattern):
    """Runs the tests on one kernel. Returns whether all passed."""
    given = pathlib.Path(kernel)
    path = given if given.is_file() else fetch(kernel)
    log = ROOT / "build" / "logs" / f"kernel-{given.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="infold-kernel-") as folder:
        into = pathlib.Path(folder)
        vmlinuz = unpack(path, into) if path.suffix == ".deb" else path.resolve()
        command = [
            "qemu-system-x86_64",
            "-accel",
            "tcg,thread=multi",
            "-cpu",
            "max",
            "-smp",
            "2",
            "-m",
            "2G",
            "-nographic",
            "-no-reboot",
            "-net",
            "none",
            "-kernel",
            str(vmlinuz),
            "-initrd",
            str(make_initramfs(into, pattern)),
            "-append",
            "console=ttyS0 quiet panic=-1",
        ]
        ticker = Ticker(f"kernel {path.name}")
        with log.open("w", encoding="utf-8") as out:
            status = run_logged(command, out, LIMIT_S, into, ticker)
    text = log.read_text(encoding="utf-8", errors="replace")
    passed, words = judge(text) if status == 0 else (False, f"QEMU ended with {status}")
    ticker.done(words if passed else f"FAILED: {words}")
    if not passed:
        print("\n".join(text.splitlines()[-60:]))
        print(f"whole log: {log}\nrepeat with: ./dev kernel {kernel} --filter '{pattern}'")
    return passed


def main():
    options = parse()
    commands = (
        ["cmake", "--preset", "release"],
        [
            "cmake",
            "--build",
            "--preset",
            "tests",
            "--target",
            *(pathlib.Path(test).name for test in TESTS),
        ],
    )
    for command in commands:
        result = subprocess.run(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if result.returncode != 0:
            print(result.stdout, file=sys.stderr, end="")
            sys.exit("dev: building the tests failed")
    sys.exit(0 if all([run_on(kernel, options.filter) for kernel in options.kernels]) else 1)


if __name__ == "__main__":
    main()
