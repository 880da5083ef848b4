# SPDX-License-Identifier: Apache-2.0
"""The releases of torch for which this package has extensions, and the error for other releases.
torch does not have a stable interface between its minor versions, so each minor version has an
extension in a folder of its own, such as torch_2_13. Without torch, the rest of the package works.
"""

import importlib.util
import pathlib

try:
    from infold import _build
except ImportError:
    raise ImportError(
        f"infold: {pathlib.Path(__file__).parent} is the package's source, which is not built; "
        "run `pip install .` in the repository and start Python in another folder"
    ) from None

__version__ = _build.VERSION
FOLDER = pathlib.Path(__file__).parent
_BUILD_AGAIN = (
    "build infold for this torch with `pip install --force-reinstall --no-deps .` in its repository"
)


def has_torch():
    return importlib.util.find_spec("torch") is not None


def _minor(version):
    return ".".join(version.split(".")[:2])


def reason_against(version):
    """Why this package has no extension for this version of torch, or "" if it has one."""
    minors = [_minor(each) for each in _build.TORCH_VERSIONS]
    if _minor(version) in minors:
        return ""
    if not minors:
        return f"infold: this package was built without torch; {_BUILD_AGAIN}"
    return (
        f"infold was built against torch {' and '.join(minors)}, and this is torch {version}: "
        f"install torch {' or '.join(minors)}, or {_BUILD_AGAIN}"
    )


def extension_folder(version):
    """The folder in which `import infold._c` finds the extension for this version of torch."""
    return str(FOLDER / ("torch_" + _minor(version).replace(".", "_")))


def check_torch():
    import torch

    if reason := reason_against(torch.__version__):
        raise ImportError(reason)


def require_torch(module):
    """Raises ImportError if torch is missing. A module that needs torch calls this first."""
    if not has_torch():
        raise ImportError(f"{module} is for PyTorch, and torch is not installed")
    check_torch()


def _refuse(*_arguments):
    check_torch()


def register_refusal():
    """Registers "infold" as a backend that raises the reason, instead of torch's "Invalid backend".
    `import torch`, and `import infold` for its Communicator, still work."""
    import torch.distributed as dist

    if dist.is_available() and "INFOLD" not in dist.Backend._plugins:
        dist.Backend.register_backend("infold", _refuse, extended_api=True, devices=["cpu"])
