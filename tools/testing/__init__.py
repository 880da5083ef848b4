# SPDX-License-Identifier: Apache-2.0
"""The parts of ./dev test: they run steps, read results, and report."""
