#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that tools/wireshark/tables.lua has the tables of the specification, and that a difference
is an error."""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools" / "wireshark"
sys.path.insert(0, str(TOOLS))
import tables

PAGE = (ROOT / "spec" / "protocol.md").read_text(encoding="utf-8")
WIRE = (ROOT / "wire" / "infold_wire.h").read_text(encoding="utf-8")
# {a row of each table of the page: an edit of it}
CHANGES_OF_PAGE = (
    ("| 3 | 1 | worker | a worker number, see below |", "| 3 | 1 | sender | a worker number |"),
    ("| 6 | 2 | slot | |", "| 6 | 4 | slot | |"),
    ("0x08 SPARSE", "0x20 SPARSE"),
    ("0x10 BITS |", "0x10 BITS, 0x20 URGENT |"),
    ("| 9 | REALIGN |", "| 12 | REALIGN |"),
    ("\n| PENDING | BITS |\n", "\n| PENDING | BITS, PARTIAL |\n"),
    ("| 2 | bf16 | i32 | broadcast | min |", "| 2 | bf16 | i32 | broadcast | minimum |"),
    ("| 7 | i64 | native | | |", "| 7 | i64 | native | | |\n| 8 | u64 | | | |"),
    ("| 2 | 1 | *first row*", "| 2 | 1 | *lowest row*"),
    ("| 4 | a rank left |", "| 7 | a rank left |"),
    ("| f64 | 1104 | 4095;", "| f64 | 1023 | 4095;"),
)
CHANGES_OF_WIRE = (
    ("INFOLD_KIND_QUERY = 5", "INFOLD_KIND_ASK = 5"),
    ("INFOLD_FLAG_BITS = 0x10", "INFOLD_FLAG_BITS = 0x40"),
    ("  infold_be16 slot;\n", "  infold_be32 slot;\n"),
    ("case INFOLD_KIND_PARTIAL: return INFOLD_FLAG_SPECIALS |", "case INFOLD_KIND_PARTIAL: return"),
    ("  uint8_t first_row;\n", "  infold_be16 first_row;\n"),
    ("INFOLD_ABORT_STOPPED = 6", "INFOLD_ABORT_STOPPED = 8"),
    ("INFOLD_EXPONENT_BIAS = 120", "INFOLD_EXPONENT_BIAS = 127"),
)


class TablesTest(unittest.TestCase):
    def test_the_file_is_what_the_page_says(self):
        result = subprocess.run(
            [TOOLS / "tables.py", "--check"], capture_output=True, text=True, check=False
        )
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_change_of_one_side_alone_is_named(self):
        for old, new in CHANGES_OF_PAGE:
            self.assertEqual(PAGE.count(old), 1, old)
            with self.assertRaises(tables.Drift, msg=new):
                tables.read(PAGE.replace(old, new), WIRE)
        for old, new in CHANGES_OF_WIRE:
            self.assertEqual(WIRE.count(old), 1, old)
            with self.assertRaises(tables.Drift, msg=new):
                tables.read(PAGE, WIRE.replace(old, new))

    def test_a_change_of_both_sides_changes_the_file(self):
        written = (TOOLS / "tables.lua").read_text(encoding="utf-8")
        self.assertEqual(tables.lua(tables.read(PAGE, WIRE)), written)
        page = PAGE.replace("| 9 | REALIGN |", "| 12 | REALIGN |")
        wire = WIRE.replace("INFOLD_KIND_REALIGN = 9", "INFOLD_KIND_REALIGN = 12")
        self.assertNotEqual(tables.lua(tables.read(page, wire)), written)

    def test_a_table_that_is_gone_is_named(self):
        for titles in ("| kind | name | body |", "| offset | bytes | field | meaning |"):
            with self.assertRaisesRegex(tables.Drift, "no table"):
                tables.read(PAGE.replace(titles, "| x |"), WIRE)

    def test_every_table_is_used(self):
        dissector = "".join(
            (TOOLS / name).read_text(encoding="utf-8")
            for name in ("infold.lua", "body.lua", "exact.lua", "layout.lua")
        )
        used = set(re.findall(r"\btables\.(\w+)", dissector))
        used.discard("lua")  # of the file's own name
        self.assertEqual(set(tables.read(PAGE, WIRE)), used)
        limits = set(re.findall(r"\blimits\.(\w+)", dissector))
        self.assertEqual({name.lower() for name in tables.LIMITS}, limits)


if __name__ == "__main__":
    unittest.main()
