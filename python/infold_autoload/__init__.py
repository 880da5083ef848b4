# SPDX-License-Identifier: Apache-2.0
"""What torch loads at the end of its own import, so that "infold" is a backend with no import of
it. Apart from the package, because torch may be imported by the package itself, which is half made
then; and because `import torch` must not fail where the package is for another torch."""

import warnings


def load():
    try:
        import infold  # noqa: F401
    except ImportError as error:
        warnings.warn(str(error), stacklevel=2)
