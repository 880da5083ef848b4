# SPDX-License-Identifier: Apache-2.0
"""The checks of ./dev tidy. Importing a module registers its checks."""

from tidy_checks import calls, docs, layers, picture, sizes, source, spec  # noqa: F401
