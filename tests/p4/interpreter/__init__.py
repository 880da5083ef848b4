# SPDX-License-Identifier: Apache-2.0
"""Runs a P4 program for Tofino from what p4c's front end makes of its text. It is for tests: it is
slow, and stops at everything that it does not know. It does not know what the program is for.
"""
