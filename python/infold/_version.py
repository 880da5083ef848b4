# SPDX-License-Identifier: Apache-2.0
"""Which releases of torch this package has extensions for, and what it says to other releases.
Between minor versions of torch nothing is stable, so each has an extension of its own, in a folder
of the package that is named for it: torch_2_13, say. Without torch, the rest of the package works.
"""

import importlib.util
import pathlib

try:
    from infold import _build
except ImportError:
    raise ImportError(
        f"infold: {pathlib.Path(__file__).parent} is the package's source, which is not built; "
        "`pip install .` in the repository, and start Python in another folder") from None

__version__ = _build.VERSION
FOLDER = pathlib.Path(__file__).parent
_BUILD_AGAIN = ("build infold for this torch with `pip install --force-reinstall --no-deps .` in "
                "its repository")


def has_torch():
    return importlib.util.find_spec("torch") is not None


def _minor(version):
    return ".".join(version.split(".")[:2])


def reason_against(version):
    """Why this package has no part for a torch of that version; empty where it has one."""
    minors = [_minor(each) for each in _build.TORCH_VERSIONS]
    if _minor(version) in minors:
        return ""
    if not minors:
        return f"infold: this package was built without torch; {_BUILD_AGAIN}"
    return (f"infold was built against torch {' and '.join(minors)}, and this is torch {version}: "
            f"install torch {' or '.join(minors)}, or {_BUILD_AGAIN}")


def extension_folder(version):
    """Where `import infold._c` finds the extension for a torch of that version."""
    return str(FOLDER / ("torch_" + _minor(version).replace(".", "_")))


def check_torch():
    import torch
    if reason := reason_against(torch.__version__):
        raise ImportError(reason)


def _refuse(*_arguments):
    check_torch()


def register_refusal():
    """Makes "infold" a backend that says why there is none, in place of torch's "Invalid backend".
    Importing torch, or infold for its Communicator, stays possible."""
    import torch.distributed as dist
    if dist.is_available() and "INFOLD" not in dist.Backend._plugins:
        dist.Backend.register_backend("infold", _refuse, extended_api=True, devices=["cpu"])
