# SPDX-License-Identifier: Apache-2.0
"""Checks which folder may include which, and that every file is used."""

import os
import re

from tidy_checks.repo import Finding, check

# {layer: the layers that it may include besides itself}, in the order of docs/ARCHITECTURE.md. The
# list is explicit, so that an exception is a visible edit here. "public" is include/infold. Its
# header of enumerations is a layer of its own, "vocabulary", which all parts share with callers.
BELOW_CORE = {"wire", "vocabulary", "base"}
BELOW_PLAN = BELOW_CORE | {"status", "core", "numeric"}
BELOW_TOP = BELOW_PLAN | {"encoding", "compress", "plan", "sparse", "public"}
BELOW_JOIN = BELOW_TOP | {"io", "keys", "proto"}
JOIN = {"join", "join/client", "join/registry", "join/relay", "join/service"}
BELOW_SITE = BELOW_TOP | {"io", "keys"} | JOIN
RANK = {"rank", "rank/calls", "rank/session"}
ALLOWED = {
    "vocabulary": set(),
    "public": {"vocabulary"},
    "wire": set(),
    "base": {"wire", "vocabulary"},
    "status": BELOW_CORE,
    # Simulators, emulators and programs replay traces, so a trace must not depend on any of them.
    "trace": BELOW_CORE | {"proto"},
    "core": BELOW_CORE,
    "numeric": BELOW_CORE | {"status", "core"},
    "encoding": BELOW_PLAN | {"public"},
    "compress": BELOW_PLAN | {"public"},
    "sparse": BELOW_PLAN,
    "plan": BELOW_PLAN,
    "io": BELOW_TOP,
    # Certificates and tokens. Ranks and switches share them, so they know nothing of joining.
    "keys": BELOW_CORE | {"io"},
    "join": BELOW_JOIN,
    "join/client": BELOW_JOIN | {"join"},
    "join/registry": BELOW_JOIN | {"join"},
    "join/relay": BELOW_JOIN | {"join", "join/client", "join/registry"},
    "join/service": BELOW_JOIN | {"join"},
    "site": BELOW_SITE,
    "switch": BELOW_SITE | {"site"},
    "rank/calls": BELOW_SITE,
    "rank": BELOW_SITE | {"site", "rank/calls"},
    # A rank that sums runs a switch for its job.
    "rank/session": BELOW_SITE | {"site", "switch", "rank", "rank/calls"},
    "api": BELOW_SITE | {"site", "switch"} | RANK,
    "proto": set(),
    # The packet program is C for another machine: it shares only the layout of packets.
    "planes/xdp/bpf": {"wire"},
    # The kernel's switch is another plane, and ranks join it in the same way.
    "planes/xdp": BELOW_SITE | {"planes/xdp/bpf", "site", "switch"},
    "planes/p4": BELOW_SITE | {"proto", "site"},  # likewise, with the devices' own protocol
    # The oracle judges encodings and compressors, so it may not use them.
    "study/oracle": BELOW_CORE | {"core"},
    "study/sim": BELOW_TOP | {"study/oracle"},
    "study/predict": BELOW_PLAN | {"plan"},
    "study/mix": BELOW_TOP | {"study/sim", "trace"},
    # A what-if asks joining how many slots a job gets.
    "study/whatif": BELOW_TOP | {"study/predict", "study/sim", "trace", "join"},
    # The emulator is the simulator in step with the wall clock, and ranks join it like a switch.
    "study/emulate": BELOW_SITE | {"study/oracle", "study/sim", "site", "trace"},
    "study/emulate/at_switch": BELOW_SITE | {"study/oracle", "study/sim", "site", "study/emulate"},
    # It runs the emulator's network in virtual time, among others.
    "study/reproduce": BELOW_SITE
    | {"study/predict", "study/sim", "study/mix", "study/whatif", "trace", "study/emulate"},
    "study/desk": BELOW_TOP | {"io"},
    "study/demo": BELOW_CORE | {"public", "study/desk"},
    "study/measure": BELOW_SITE
    | RANK
    | {"study/desk", "study/oracle", "study/predict", "study/sim", "trace", "planes/xdp"},
}
# Folders whose tests call from above, through the public API or a switch, or ask the oracle.
ABOVE = {
    "site": {"switch"},
    "switch": {"api"},
    "rank": {"api"},
    "encoding": {"study/oracle"},
    "compress": {"study/oracle"},
    "study/emulate": {"api"},
    "study/emulate/at_switch": {"api", "switch"},
    "study/whatif": {"rank/calls"},
}
# Tests, benchmarks and files that only they include may include all folders beside its own.
_TEST = re.compile(r"(^|_)(test|testing|fuzz|fuzzing|bench)\.(cc|h)$")
_INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<(infold/[^>]+)>)')


def layer_of(path):
    """Returns the layer of a file, or None if it may include everything (cli, tests, ...)."""
    if path == "include/infold/vocabulary.h":
        return "vocabulary"
    if path.startswith("include/"):
        return "public"
    folder = os.path.dirname(path.removeprefix("src/"))
    while folder and folder not in ALLOWED:
        folder = os.path.dirname(folder)
    return folder or None


def resolve(repo, path, quoted, angled):
    """Returns the included file's path in the repository, or None."""
    if angled:
        candidate = "include/" + angled
        return candidate if repo.exists(candidate) else None
    # A generated header of protoc stands for its source.
    source = re.sub(r"(\.grpc)?\.pb\.h$", ".proto", quoted)
    for candidate in ("src/" + quoted, source):
        if repo.exists(candidate):
            return candidate
    return None


def are_tests_beside(path, own, other):
    if other is None or not _TEST.search(path.rpartition("/")[2]):
        return False
    return room_of(own) == room_of(other) or other in ABOVE.get(own, ABOVE.get(room_of(own), ()))


def room_of(layer):
    """Returns the outermost folder of a layer below src/, planes/ or study/."""
    parts = layer.split("/")
    return "/".join(parts[: 2 if parts[0] in ("planes", "study") else 1])


def includes(repo, path):
    """Yields (line number, text as written, resolved path or None) of our own includes."""
    for number, line in repo.code_lines(path):
        found = _INCLUDE.match(line)
        if found:
            yield number, found.group(1) or found.group(2), resolve(repo, path, *found.groups())


@check("layers", "an include points at the same layer or a lower one, by its full path")
def layers(repo):
    for path in repo.cpp():
        own = layer_of(path)
        for number, written, target in includes(repo, path):
            if target is None:
                if not repo.exists(
                    os.path.dirname(written) + "/" + os.path.basename(written) + ".in"
                ):
                    yield Finding(path, number, f'"{written}" is not a path below src/ or the root')
                continue
            if written.startswith("src/"):
                yield Finding(path, number, f'write "{written[4:]}" without src/')
            other = layer_of(target)
            if own is None or own == other or are_tests_beside(path, own, other):
                continue
            if other is None or other not in ALLOWED[own]:
                allowed = ", ".join(sorted(ALLOWED[own])) or "nothing"
                yield Finding(path, number, f"{own} may not include {target}, only {allowed}")


@check("dead-files", "every header is included, every source built, every script mentioned")
def dead_files(repo):
    included = {target for path in repo.cpp() for _, _, target in includes(repo, path)}
    build_text = "\n".join(
        repo.text(p) for p in repo.paths if p.endswith((".cmake", "CMakeLists.txt"))
    )
    scripts = "\n".join(repo.text(p) for p in repo.paths if p.endswith((".py", ".sh")))
    for path in repo.cpp():
        folder, _, name = path.rpartition("/")
        if name.endswith(".bpf.c") and name in scripts:
            continue  # the script that loads it compiles it for the kernel
        if path.endswith(".h"):
            # A public header is included by its users.
            if path not in included and not path.startswith("include/"):
                yield Finding(path, 1, "no file includes this header")
        elif not built(repo, folder, name, build_text):
            yield Finding(path, 1, "no CMakeLists.txt builds this file")
    yield from dead_scripts(repo)


def built(repo, folder, name, build_text):
    # A folder without its own CMakeLists.txt belongs to the module around it.
    lists = [f"{room}/CMakeLists.txt" for room in (folder, os.path.dirname(folder))]
    nearest = next((text for text in lists if repo.exists(text)), None)
    if nearest and re.search(r"infold_module\(|GLOB", repo.text(nearest)):
        return True
    return name in build_text


def dead_scripts(repo):
    for path in repo.paths:
        if not path.startswith("tools/") or not path.endswith((".py", ".sh")):
            continue
        stem = path.rpartition("/")[2].rpartition(".")[0]
        if stem == "__init__" or stem.endswith("_test"):  # Found by tools/CMakeLists.txt.
            continue
        others = (
            p
            for p in repo.paths
            if p != path and (p == "dev" or p.endswith((".py", ".sh", ".txt", ".cmake")))
        )
        # `./dev fmt` runs tools/fmt.py, without its suffix.
        if not any(re.search(rf"\b{re.escape(stem)}\b", repo.text(p)) for p in others):
            yield Finding(path, 1, "no other file mentions this script")
