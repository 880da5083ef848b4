# SPDX-License-Identifier: Apache-2.0
"""What torch loads at the end of its own import, so that "infold" is a backend with no import of
it. Apart from the package, because torch may be imported by the package itself, which is half made
then; and because `import torch` must not fail where the package is for another torch."""

import importlib.util
import pathlib
import warnings


def load():
    found = importlib.util.find_spec("infold")
    if found is None or not pathlib.Path(found.origin).with_name("_build.py").exists():
        return  # the source's folder comes first on the path, and nothing is built there
    try:
        import infold  # noqa: F401
    except ImportError as error:
        warnings.warn(str(error), stacklevel=2)
