# SPDX-License-Identifier: Apache-2.0
"""torch loads this at the end of its own import, so that programs can use the backend "infold"
without an import. It is separate from the package for two reasons: the package itself may be
importing torch, and is then only half imported; and `import torch` must not fail if the package is
for another torch."""

import importlib.util
import pathlib
import warnings


def load():
    found = importlib.util.find_spec("infold")
    if found is None or not pathlib.Path(found.origin).with_name("_build.py").exists():
        return  # the source folder comes first on the path, and it is not built
    try:
        import infold  # noqa: F401  registers the backend
    except ImportError as error:
        warnings.warn(str(error), stacklevel=2)
