# SPDX-License-Identifier: Apache-2.0
"""The checks of ./dev tidy. Importing a module registers its checks."""

from tidy_checks import (  # noqa: F401  register
    calls,
    comments,
    docs,
    headers,
    layers,
    picture,
    sizes,
    source,
    spec,
    words,
)
