#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the parts of the P4 program that repeat for each element: planes/p4/pipeline/generated/.

tools/p4_elements.py            writes the files
tools/p4_elements.py --check    fails if they are not what it would write
"""

import argparse
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "planes" / "p4" / "pipeline" / "generated"
ELEMENTS = 64
SLOTS = 256  # slots of each job
JOBS = 16
WORKERS = 32
STATIONS = 1024

HEAD = """\
// SPDX-License-Identifier: Apache-2.0
//
// {what}
// Written by tools/p4_elements.py.
"""


def sizes():
    return (
        HEAD.format(what="How much there is of everything.")
        + f"""\
#ifndef INFOLD_SIZES
#define INFOLD_SIZES

// Jobs, and slots of each.
#define JOB_BITS {(JOBS - 1).bit_length()}
#define SLOT_BITS {(SLOTS - 1).bit_length()}
#define SLOTS_BEYOND {0xFFFF ^ SLOTS - 1:#06x}
#define COPY_BITS (JOB_BITS + SLOT_BITS + 1)
#define SENDERS_MAX {JOBS * WORKERS}
#define STATIONS_MAX {STATIONS}
#define FLOOD_GROUP 1

#endif
"""
    )


# A register holds pairs of an element from the lower half and one from the higher half.
PAIRS = ELEMENTS // 2
# How many of these registers fit in each stage of Tofino, from stage 3 on. Some stages also have
# another register.
PAIRS_OF_STAGES = (3, 3, 4, 4, 4, 4, 4, 4, 2)
FIRST_STAGE = 3
# A header for each bit of the number of elements, and one more element for a full packet.
LANES = [(f"lanes{1 << bit}", 1 << bit) for bit in range(5, -1, -1)] + [("lane", 1)]
UDP_AND_HEADER_BYTES = 40


def lane_of(index):
    """Returns the header and the field of an element."""
    for name, count in LANES:
        if index < count:
            return f"headers.{name}", f"headers.{name}.element{index}"
        index -= count
    raise IndexError(index)


def continued(lines):
    return " \\\n".join(lines)


def lane_states():
    """Returns the states of a parser that takes one header after the other, by the bits of the
    number."""

    def selection(bits):
        """Returns the lines that go on with the next of these bits that is set."""
        rows = ["      transition select(headers.infold.ELEMENTS) {"]
        for place, bit in enumerate(bits):
            above = sum(1 << each for each in bits[:place])
            rows.append(f"        {1 << bit} &&& {above | 1 << bit:#04x}: NAME##_{1 << bit};")
        return rows + ["        default: accept;", "      }"]

    lines = [
        "  state NAME {",
        "    transition select(headers.infold.ELEMENTS) {",
        f"      {ELEMENTS}: NAME##_all;",
    ]
    for bit in range(5, -1, -1):
        lines.append(f"      {1 << bit} &&& {0xFFFF >> bit << bit:#06x}: NAME##_{1 << bit};")
    lines += ["      default: accept;", "    }", "  }", "  state NAME##_all {"]
    lines += [f"    TAKE(headers.{name})" for name, _ in LANES]
    lines += ["    transition accept;", "  }"]
    for bit in range(5, -1, -1):
        lines += [f"  state NAME##_{1 << bit} {{", f"    TAKE(headers.lanes{1 << bit})"]
        below = list(range(bit - 1, -1, -1))
        lines += [row[2:] for row in selection(below)] if below else ["    transition accept;"]
        lines.append("  }")
    return lines


def lanes():
    headers = "".join(
        f"header {name}_t {{\n"
        + "".join(f"  element_t element{i};\n" for i in range(count))
        + "}\n"
        for name, count in LANES
    )
    members = continued(f"  {name}_t {name};" for name, _ in LANES)
    cleared = continued(
        ["  action clear_lanes() {"]
        + [f"    {lane_of(i)[1]} = 0;" for i in range(ELEMENTS)]
        + ["  }"]
    )
    every = continued(
        f"            headers.{name}{',' if i + 1 < len(LANES) else ''}"
        for i, (name, _) in enumerate(LANES)
    )
    lengths = continued(
        "      ({0}, {1}, {2}, {2}) : fit();".format(
            kind, i, UDP_AND_HEADER_BYTES + bytes_of_element * i
        )
        for kind, bytes_of_element in (("KIND_ADD", 4), ("KIND_SKIP", 0), ("KIND_QUERY", 0))
        for i in range(ELEMENTS + 1)
    )
    states = lane_states()
    read = continued(re.sub(r"TAKE\((.*)\)", r"packet.extract(\1);", line) for line in states)
    make = continued(re.sub(r"TAKE\((.*)\)", r"\1.setValid();", line) for line in states)
    bits = {f"headers.{name}": 32 * count for name, count in LANES}
    skip = continued(
        re.sub(r"TAKE\((.*)\)", lambda each: f"packet.advance({bits[each[1]]});", line)
        for line in states
    )
    what = "The elements of a packet, and the lengths of packets."
    return (
        HEAD.format(what=what)
        + f"""\
#ifndef INFOLD_LANES
#define INFOLD_LANES

{headers}
#define LANE_HEADERS \\
{members}

#define CLEAR_LANES \\
{cleared}

#define ALL_LANES(headers) \\
{every}

#define READ_LANES(NAME) \\
{read}

// Puts them where a packet would have brought them.
#define MAKE_LANES(NAME) \\
{make}

// Moves past those of a packet, so that they are left out of what is sent.
#define SKIP_LANES(NAME) \\
{skip}

#define LENGTHS \\
{lengths}

#endif
"""
    )


def stage_of(pair):
    stage = FIRST_STAGE
    for room in PAIRS_OF_STAGES:
        if pair < room:
            return stage
        pair -= room
        stage += 1
    raise IndexError(pair)


def pair(index):
    low, (high_header, high) = lane_of(index)[1], lane_of(PAIRS + index)
    return f"  SUM({index}, {low}, {high}, {high_header}, {stage_of(index)})\n"


def sums():
    registers = "".join(
        f"REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums{i})\n" for i in range(PAIRS)
    )
    of_each = "".join(pair(i) for i in range(PAIRS))
    applied = "".join(f"    sum{i}.apply();\n" for i in range(PAIRS))
    what = "The sums, a register for each pair of elements: core::Adder::sum()."
    return (
        HEAD.format(what=what)
        + f"""\
#include "headers.p4"
#include "registers.p4"
#include "pair.p4"

{registers}
control Sums(inout headers_t headers, inout metadata_t metadata) {{
{of_each}
  apply {{
{applied}  }}
}}
"""
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    wrong = []
    for name, text in (("sizes.p4", sizes()), ("lanes.p4", lanes()), ("sums.p4", sums())):
        path = FOLDER / name
        if options.check:
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                wrong.append(path)
        else:
            FOLDER.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path in wrong:
        print(f"{path} is not what tools/p4_elements.py writes", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
