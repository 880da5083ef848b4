# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch's own cases in this process and in ranks that it forks; torch_suite.py starts it.

Usage: torch_suite_cases.py BACKEND FILE OUTCOMES

FILE is a test file of PyTorch's repository, or "" for the DistributedTest in torch's wheel.
OUTCOMES gets a line of JSON for each case. If TORCH_SUITE_CASES in the environment names cases, one
on each line, only these run.
"""

import functools
import json
import os
import pathlib
import re
import sys
import tempfile
import types
import unittest

# Parts of FSDP's cases for a GPU, and what replaces them without one.
_ON_CPU = {
    r'"cuda"': '"cpu"',
    r"\.cuda\(\)": ".cpu()",
    r'f"cuda:\{[^}]*\}"': '"cpu"',
    r"torch\.cuda\.(synchronize|set_device)\(.*\)": "None",
}
_GRACE_S = 60  # for torch to end ranks that are too late
WORLD = 4  # torch's cases need at least, or exactly, this many ranks


def _lift_skips():
    """Also runs cases that need a GPU, if Gloo passes them. Torch's decorators take effect when its
    test modules are imported, so call this first."""

    def same(case):
        if isinstance(case, type):
            return case
        return functools.wraps(case)(lambda *arguments, **words: case(*arguments, **words))

    def lifted(*words, **_):
        return same(words[0]) if words and callable(words[0]) else same

    from torch.testing._internal import common_utils

    for name in ("skip_but_pass_in_sandcastle", "skip_but_pass_in_sandcastle_if"):
        setattr(common_utils, name, lifted)
    for name in ("skip", "skipIf", "skipUnless"):
        setattr(unittest, name, lifted)
    from torch.testing._internal import common_distributed

    for name in (
        "skip_if_no_gpu",
        "skip_if_lt_x_gpu",
        "skip_if_small_worldsize",
        "nccl_skip_if_lt_x_gpu",
        "require_n_gpus_for_nccl_backend",
    ):
        setattr(common_distributed, name, lifted)


def _count_ranks_as_devices():
    """FSDP's cases use one rank for each device."""
    import torch
    from torch.testing._internal import common_fsdp

    torch.accelerator.device_count = torch.cuda.device_count = lambda: WORLD
    common_fsdp.DEVICE_COUNT = WORLD


def _fork_ranks():
    """Makes torch fork its ranks, which then keep the replacements."""
    import torch
    from torch.testing._internal import common_distributed

    torch.multiprocessing.set_start_method("fork")
    process = torch.multiprocessing.get_context("fork").Process
    common_distributed.MultiProcessTestCase._spawn_processes = lambda case: case._start_processes(
        process
    )


class _Marks:
    """A file that grows by one byte for each infold group of any rank."""

    def __init__(self, path):
        self._path = path
        pathlib.Path(path).touch()

    def add(self):
        with open(self._path, "ab") as file:
            file.write(b".")

    def count(self):
        return os.path.getsize(self._path)


def _named(call, marks):
    """`call`, with infold instead of gloo in its arguments."""

    def renamed(word):
        is_gloo = isinstance(word, str) and re.search(r"\bgloo\b", word.lower())
        return re.sub(r"\bgloo\b", "infold", word.lower()) if is_gloo else word

    @functools.wraps(call)
    def replaced(*arguments, **options):
        arguments = [renamed(argument) for argument in arguments]
        options = {name: renamed(argument) for name, argument in options.items()}
        if call.__name__ == "init_process_group" and not arguments and not options.get("backend"):
            options["backend"] = "infold"  # torch's own choice is Gloo for CPUs
        if "infold" in str(arguments[:1]) + str(options.get("backend")):
            marks.add()
            options.pop("pg_options", None)
        return call(*arguments, **options)

    return replaced


class _Constructor:
    """Replaces torch.distributed.ProcessGroupGloo and makes an infold group. infold itself needs a
    Gloo group, and gets one."""

    def __init__(self, gloo, marks):
        from infold import _registration

        self._gloo = gloo
        self._marks = marks
        self._is_infold = False
        self._begin = _registration.begin
        self._create = _registration._create
        _registration.begin = self._begin_with_gloo

    def __getattr__(self, name):
        return getattr(self._gloo, name)

    def _begin_with_gloo(self, *arguments):
        self._is_infold = True
        try:
            return self._begin(*arguments)
        finally:
            self._is_infold = False

    def __call__(self, store, rank, size, options=None, timeout=None):
        timeout = timeout or options
        if self._is_infold:
            return self._gloo(store, rank, size, timeout)
        self._marks.add()
        return self._create(
            types.SimpleNamespace(
                store=store,
                group_rank=rank,
                group_size=size,
                group_id="direct",
                timeout=getattr(timeout, "_timeout", timeout),
            ),
            None,
        )


def _give_infold_for_gloo(marks):
    """This holds in the present process and in processes that it forks."""
    import torch.distributed as dist

    import infold  # noqa: F401  registers the backend

    for name in ("init_process_group", "new_group"):
        original = getattr(dist, name)
        replaced = _named(original, marks)
        for module in list(sys.modules.values()):
            if vars(module).get(name) is original:
                setattr(module, name, replaced)
    dist.ProcessGroupGloo = _Constructor(dist.ProcessGroupGloo, marks)


def _run_case(case, out):
    """Runs a case in a process of its own, so that what it leaves cannot affect others."""
    os.dup2(2, 1)  # torch's output goes to the log
    result = unittest.TestResult()
    unittest.TestSuite([case]).run(result)
    outcome = "passed" if result.wasSuccessful() else "failed"
    if result.skipped:
        outcome = "skipped"
    texts = [text for _, text in result.skipped + result.failures + result.errors]
    print(json.dumps([outcome, "\n".join(texts)]), file=out, flush=True)
    os._exit(0)


def _outcome_of(case, patience_s):
    import torch

    with tempfile.TemporaryFile("w+") as out:
        process = torch.multiprocessing.get_context("fork").Process(
            target=_run_case, args=(case, out)
        )
        process.start()
        process.join(patience_s)
        process.kill()
        process.join()
        out.seek(0)
        said = out.read()
    return json.loads(said) if said else ["failed", "the case's process ended, or was too late"]


def _name_of(case):
    return ".".join(case.id().split(".")[-2:])


def _module_of(file, on_cpu):
    """The file as a module; or torch's DistributedTest, which has no file of its own."""
    if file:
        sys.path.insert(0, str(pathlib.Path(file).resolve().parent))
        name = pathlib.Path(file).stem
        module = sys.modules[name] = types.ModuleType(name)
        module.__file__ = file
        source = pathlib.Path(file).read_text(encoding="utf-8")
        if on_cpu:
            for of_gpu, of_cpu in _ON_CPU.items():
                source = re.sub(of_gpu, of_cpu, source)
        exec(compile(source, file, "exec"), vars(module))
        return module
    from torch.testing._internal.distributed import distributed_test

    class DistributedTest(
        distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase
    ):
        def setUp(self):
            super().setUp()
            self._spawn_processes()

    return types.SimpleNamespace(DistributedTest=DistributedTest)


def _cases_of(module, wanted):
    classes = [
        item
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, unittest.TestCase)
    ]
    loader = unittest.TestLoader()
    for group in classes:
        for case in loader.loadTestsFromTestCase(group):
            if not wanted or _name_of(case) in wanted:
                yield case


def main():
    backend, file, outcomes = sys.argv[1:]
    on_cpu = bool(os.environ.get("TORCH_SUITE_ON_CPU"))
    sys.argv[1:] = []  # torch's test modules read it
    folder = tempfile.mkdtemp(prefix="torch-suite-")
    os.environ.update(
        BACKEND="gloo",
        WORLD_SIZE=str(WORLD),
        TEMP_DIR=folder,
        INIT_METHOD=f"file://{folder}/store",
        OMP_NUM_THREADS="1",
    )
    tempfile.tempdir = folder
    marks = _Marks(os.path.join(folder, "marks"))
    _lift_skips()
    _count_ranks_as_devices()
    _fork_ranks()
    if backend == "infold":
        _give_infold_for_gloo(marks)
    import torch

    torch.set_num_threads(1)
    wanted = set(os.environ.get("TORCH_SUITE_CASES", "").split())
    patience_s = int(os.environ["DISTRIBUTED_TESTS_DEFAULT_TIMEOUT"]) + _GRACE_S
    with open(outcomes, "w", encoding="utf-8") as out:
        for case in _cases_of(_module_of(file, on_cpu), wanted):
            before = marks.count()
            outcome, text = _outcome_of(case, patience_s)
            print(f"{backend}: {_name_of(case)}: {outcome}", flush=True)
            line = {
                "case": _name_of(case),
                "outcome": outcome,
                "text": text,
                "groups": marks.count() - before,
            }
            print(json.dumps(line), file=out, flush=True)


if __name__ == "__main__":
    main()
