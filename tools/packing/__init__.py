# SPDX-License-Identifier: Apache-2.0
"""What ./dev package makes, one module for each kind of package, and how each is checked."""
