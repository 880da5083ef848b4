#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the README's picture from its table in docs/benchmarks.md. ./dev tidy compares the two."""

import pathlib

from tidy_checks.picture import PAGE, PICTURE, draw, read_table

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    (ROOT / PICTURE).write_text(draw(*read_table(page)), encoding="utf-8")
    print(PICTURE)


if __name__ == "__main__":
    main()
