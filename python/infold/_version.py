# SPDX-License-Identifier: Apache-2.0
"""Which torch this package was built against. Between minor versions nothing is stable."""

import torch

from infold import _build

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
