# SPDX-License-Identifier: Apache-2.0
"""torch loads this at the end of its own import, so that programs can use the backend "infold"
without an import. It is apart from the package for two reasons. The package itself may import
torch, and is then only half imported. And `import torch` must not fail if the package is for
another torch."""

import importlib.util
import pathlib
import warnings


def load():
    found = importlib.util.find_spec("infold")
    if found is None or not pathlib.Path(found.origin).with_name("_build.py").exists():
        return  # the source folder comes first on the path, and it is not built
    try:
        import infold  # noqa: F401
    except ImportError as error:
        warnings.warn(str(error), stacklevel=2)
