# SPDX-License-Identifier: Apache-2.0
"""Selects samples by way, and prints tables of them."""

import statistics


def of_way(samples, way):
    return [each for each in samples if each["way"] == way]


def median_of(samples, key):
    return statistics.median(each[key] for each in samples)


def print_table(rows):
    """The first row has the names of the columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        first, *others = (
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([first, *others]), flush=True)
