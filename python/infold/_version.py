# SPDX-License-Identifier: Apache-2.0
"""Which torch this package was built against. Between minor versions nothing is stable."""

import pathlib

import torch

try:
    from infold import _build
except ImportError:
    raise ImportError(
        f"infold: {pathlib.Path(__file__).parent} is the package's source, which is not built; "
        "`pip install .` in the repository, and start Python in another folder") from None

__version__ = _build.VERSION


def _minor(version):
    return ".".join(version.split(".")[:2])


def check_torch():
    if _minor(torch.__version__) == _minor(_build.TORCH_VERSION):
        return
    raise ImportError(
        f"infold was built against torch {_build.TORCH_VERSION} and this is torch "
        f"{torch.__version__}: build it again with `pip install --force-reinstall --no-deps` "
        f"from the repository, or install torch {_minor(_build.TORCH_VERSION)}")
