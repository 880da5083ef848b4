# SPDX-License-Identifier: Apache-2.0
"""The packages that ./dev package makes, a module for each kind, and their checks."""
