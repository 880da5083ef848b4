# SPDX-License-Identifier: Apache-2.0
"""What ./dev test is made of: running steps, reading their results, telling the outcome."""
