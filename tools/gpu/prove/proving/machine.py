# SPDX-License-Identifier: Apache-2.0
"""Finds out by trying what this machine is and can do: its processors, GPU and compilers, and
whether root can make a network of namespaces with limited rates."""

import concurrent.futures
import importlib.util
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import time

from steps import FOLDER, INFOLD

PROGRAMS = {
    "cmake": "--version",
    "ninja": "--version",
    "g++": "--version",
    "nvcc": "--version",
    "ip": "-Version",
    "tc": "-Version",
    "ethtool": "--version",
    "taskset": "--version",
}
SPIN_S = 0.3


def _said(*words, timeout_s=60):
    """Returns exit status and output. The status is 127 if the program is missing or too slow."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=timeout_s,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 127, str(error)
    return done.returncode, (done.stdout + done.stderr).strip()


def _read(path):
    try:
        return pathlib.Path(path).read_text("utf-8", errors="replace").strip()
    except OSError:
        return ""


def _version(program, word):
    if shutil.which(program) is None:
        return ""
    found = re.search(r"\d+(\.\d+)+|iproute2-[\w.]+", _said(program, word)[1].split("Build")[0])
    return found[0] if found else "of unknown version"


def _spin(processor):
    """Returns how many loops one processor makes in a short time."""
    os.sched_setaffinity(0, {processor})
    count, end = 0, time.perf_counter() + SPIN_S
    while time.perf_counter() < end:
        for _ in range(1000):
            count += 1
    return count


def processors_worth(processors):
    """Returns how many times the work of one processor all of them do together. The figure falls
    where hardware threads share a core, and where other programs use the processors."""
    with concurrent.futures.ProcessPoolExecutor(len(processors)) as pool:
        list(pool.map(_spin, processors))  # the processes exist before the measurement
        alone = max(pool.submit(_spin, processors[0]).result() for _ in range(3))
        together = sum(pool.map(_spin, processors))
    return round(together / alone, 2)


def _sandbox():
    if "gVisor" in _said("dmesg")[1]:
        return "gVisor"
    status, said = _said("systemd-detect-virt")
    return said if status == 0 else "unknown"


def _model():
    found = re.search(r"^model name\s*:\s*(.*)$", _read("/proc/cpuinfo"), re.MULTILINE)
    return found[1] if found else platform.machine()


def _memory_gib():
    found = re.search(r"MemTotal:\s+(\d+)", _read("/proc/meminfo"))
    return round(int(found[1]) / 2**20, 1) if found else 0


def _torch():
    """Returns torch's version and the GPU's name, each empty if there is none. torch may print
    warnings before the line of JSON."""
    script = (
        "import json, torch; has = torch.cuda.is_available(); "
        "print(json.dumps({'torch': torch.__version__, 'cuda': torch.version.cuda, "
        "'gpu': torch.cuda.get_device_name(0) if has else ''}))"
    )
    _, said = _said(sys.executable, "-c", script, timeout_s=120)
    for line in said.splitlines():
        if line.startswith("{"):
            found = json.loads(line)
            return f"{found['torch']}, CUDA {found['cuda']}", found["gpu"]
    return "", ""


def _infold():
    """Says whether the folder's program starts here. An old C library refuses it with a message."""
    status, said = _said(str(INFOLD), "--version")
    return {"starts": status == 0, "said": said.partition("\n")[0]}


def lab_tool(*words):
    return _said(sys.executable, str(FOLDER / "tools" / "lab" / "lab.py"), *words, timeout_s=60)


def remove_lab(name):
    """Removes the lab that a killed measurement left behind."""
    if os.geteuid() == 0 and shutil.which("ip"):
        lab_tool("down", "--name", name)


def _lab():
    """ "yes" if a lab with rates works here; otherwise the reason."""
    # `infold bench compare` takes a lock in this folder.
    if os.geteuid() == 0:
        os.makedirs("/run/lock", exist_ok=True)
    status, said = lab_tool(
        "up", "--name", "infold-probe", "--ranks", "2", "--link", "1gbit", "--congestion", "cubic"
    )
    if status == 0:
        status, said = lab_tool("exec", "--name", "infold-probe", "0", "true")
    if os.geteuid() == 0:
        lab_tool("down", "--name", "infold-probe")
    # The kernel's message comes last, after the script that it is about.
    return "yes" if status == 0 else " ".join(said.removeprefix("dev lab: ").split())[-200:]


def describe(log):
    processors = sorted(os.sched_getaffinity(0))
    torch, gpu = _torch()
    siblings = {
        _read(f"/sys/devices/system/cpu/cpu{each}/topology/thread_siblings_list")
        for each in processors
    } - {""}
    made = {
        "system": f"{platform.system()} {platform.release()}, {_distribution()}",
        "sandbox": _sandbox(),
        "processor": _model(),
        "processors": len(processors),
        "hardware threads of each core, as the kernel says": " ".join(sorted(siblings)),
        "processors at once do the work of": processors_worth(processors),
        "memory_gib": _memory_gib(),
        "python": platform.python_version(),
        "python_headers": (pathlib.Path(sysconfig.get_path("include")) / "Python.h").exists(),
        "pytest": importlib.util.find_spec("pytest") is not None,
        "torch": torch,
        "gpu": gpu,
        "gpu_link": _said(
            "nvidia-smi",
            "--query-gpu=driver_version,memory.total,pcie.link.gen.current,pcie.link.width.current",
            "--format=csv,noheader",
        )[1].splitlines()[-1]
        if gpu
        else "",
        "programs": {name: _version(name, word) for name, word in PROGRAMS.items()},
        "infold": _infold(),
        "lab": _lab(),
    }
    log.write(f"lscpu:\n{_said('lscpu')[1]}\n")
    if gpu:
        log.write(f"nvidia-smi:\n{_said('nvidia-smi')[1]}\n")
    return made


def _distribution():
    found = re.search(r'^PRETTY_NAME="?([^"\n]*)', _read("/etc/os-release"), re.MULTILINE)
    return found[1] if found else "unknown distribution"
