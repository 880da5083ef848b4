#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the parts of the P4 program that repeat for each element: p4/generated/.

    tools/p4_elements.py            writes the files
    tools/p4_elements.py --check    fails if they are not what it would write
"""

import argparse
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "p4" / "generated"
ELEMENTS = 64
SLOTS = 1024
JOBS = 16
WORKERS = 32
STATIONS = 1024

HEAD = """\
// SPDX-License-Identifier: Apache-2.0
//
// {what}
// Written by tools/p4_elements.py.
"""


def all_elements():
    names = [f"headers.elements{bits}[{i}]" for bits in (8, 16, 32) for i in range(ELEMENTS)]
    rows = [", ".join(names[i:i + 4]) for i in range(0, len(names), 4)]
    return ", \\\n".join("  " + row for row in rows)


def sizes():
    return HEAD.format(what="How much there is of everything.") + f"""\
#ifndef INFOLD_SIZES
#define INFOLD_SIZES

#define ELEMENTS_MAX {ELEMENTS}
#define SLOTS_MAX {SLOTS}
#define COPIES_MAX {2 * SLOTS}
#define JOBS_MAX {JOBS}
#define SENDERS_MAX {JOBS * WORKERS}
#define STATIONS_MAX {STATIONS}
#define FLOOD_GROUP 1

// For checksums, which take headers and no stacks.
#define ALL_ELEMENTS(headers) \\
{all_elements()}

#endif
"""


def swapped(field, bits):
    """The bytes of a field in reverse."""
    return " ++ ".join(f"{field}[{low + 7}:{low}]" for low in range(0, bits, 8))


def element(index):
    e8, e16, e32 = (f"headers.elements{bits}[{index}].value" for bits in (8, 16, 32))
    return f"""\
    if (elements > {index}) {{
      element_t value = 0;
      if (metadata.adds == 1) {{
        if (format == FORMAT_I8) value = (element_t)(int<32>)(int<8>){e8};
        if (format == FORMAT_I16) value = (element_t)(int<32>)(int<16>)({swapped(e16, 16)});
        if (format == FORMAT_I32) value = {swapped(e32, 32)};
      }}
      element_t sum;
      ELEMENT_TOUCH(sums{index}, metadata.copy, operation, value, sum)
      if (metadata.is_answer == 1) {{
        if (format == FORMAT_I8) {{
          headers.elements8[{index}].setValid();
          {e8} = sum[7:0];
        }}
        if (format == FORMAT_I16) {{
          headers.elements16[{index}].setValid();
          {e16} = {swapped("sum", 16)};
        }}
        if (format == FORMAT_I32) {{
          headers.elements32[{index}].setValid();
          {e32} = {swapped("sum", 32)};
        }}
      }}
    }}
"""


def elements():
    registers = "".join(f"  ELEMENT_REGISTER(sums{i})\n" for i in range(ELEMENTS))
    return HEAD.format(what="The sums, one register for each element: core::Adder::sum().") + f"""\
#include "../headers.p4"
#include TARGET_REGISTERS

control Elements(inout headers_t headers, inout metadata_t metadata) {{
{registers}
  apply {{
    bit<16> elements = metadata.chunk.contributors == 0 ? 0 : metadata.chunk.format[31:16];
    bit<4> format = metadata.chunk.format[11:8];
    bit<4> reduction = metadata.chunk.format[3:0];
    operation_t operation = operation_t.read;
    if (metadata.adds == 1) {{
      operation = operation_t.add;
      if (reduction == REDUCTION_MIN) operation = operation_t.min;
      if (reduction == REDUCTION_MAX) operation = operation_t.max;
      if (reduction == REDUCTION_OR) operation = operation_t.bit_or;
      if (metadata.chunk.had_data == 0) operation = operation_t.write;
    }}
{"".join(element(i) for i in range(ELEMENTS))}  }}
}}
"""


# Of Tofino: registers hold pairs, of the lower and of the higher elements.
PAIRS = ELEMENTS // 2
# How many of them a stage has room for, from stage 3 on. Two stages have another register.
PAIRS_OF_STAGES = (3, 3, 4, 4, 4, 4, 4, 4, 2)
FIRST_STAGE = 3
# A header for each bit of the number of elements, and one more element for a full packet.
LANES = [(f"lanes{1 << bit}", 1 << bit) for bit in range(5, -1, -1)] + [("lane", 1)]
UDP_AND_HEADER_BYTES = 40


def lane_of(index):
    """The header and the field."""
    for name, count in LANES:
        if index < count:
            return f"headers.{name}", f"headers.{name}.element{index}"
        index -= count
    raise IndexError(index)


def continued(lines):
    return " \\\n".join(lines)


def lane_states():
    """The states of a parser that take one header after the other, by the bits of the number."""
    def selection(bits):
        """The next of these bits that is set."""
        rows = ["      transition select(headers.infold.ELEMENTS) {"]
        for place, bit in enumerate(bits):
            above = sum(1 << each for each in bits[:place])
            rows.append(f"        {1 << bit} &&& {above | 1 << bit:#04x}: NAME##_{1 << bit};")
        return rows + ["        default: accept;", "      }"]
    lines = ["  state NAME {", "    transition select(headers.infold.ELEMENTS) {",
             f"      {ELEMENTS}: NAME##_all;"]
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
        f"header {name}_t {{\n" + "".join(f"  element_t element{i};\n" for i in range(count)) +
        "}\n" for name, count in LANES)
    members = continued(f"  {name}_t {name};" for name, _ in LANES)
    cleared = continued(["  action clear_lanes() {"] +
                        [f"    {lane_of(i)[1]} = 0;" for i in range(ELEMENTS)] + ["  }"])
    every = continued(f"            headers.{name}{',' if i + 1 < len(LANES) else ''}"
                      for i, (name, _) in enumerate(LANES))
    lengths = continued(
        "      ({0}, {1}, {2}, {2}) : fit();".format(
            kind, i, UDP_AND_HEADER_BYTES + bytes_of_element * i)
        for kind, bytes_of_element in (("KIND_ADD", 4), ("KIND_SKIP", 0), ("KIND_QUERY", 0))
        for i in range(ELEMENTS + 1))
    states = lane_states()
    read = continued(re.sub(r"TAKE\((.*)\)", r"packet.extract(\1);", line) for line in states)
    make = continued(re.sub(r"TAKE\((.*)\)", r"\1.setValid();", line) for line in states)
    what = "The elements of a packet for Tofino, and the lengths of packets."
    return HEAD.format(what=what) + f"""\
#ifndef INFOLD_TNA_LANES
#define INFOLD_TNA_LANES

{headers}
#define LANE_HEADERS \\
{members}

#define CLEAR_LANES \\
{cleared}

#define ALL_LANES(headers) \\
{every}

#define READ_LANES(NAME) \\
{read}

// As if the packet had had them.
#define MAKE_LANES(NAME) \\
{make}

#define LENGTHS \\
{lengths}

#endif
"""


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
    return f"""
  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums{index};
  RegisterAction<pair_t, copy_place_t, element_t>(sums{index}) write{index} = {{
    void apply(inout pair_t sum, out element_t low) {{
      sum.low = {low};
      sum.high = {high};
      low = sum.low;
    }}
  }};
  RegisterAction<pair_t, copy_place_t, element_t>(sums{index}) add{index} = {{
    void apply(inout pair_t sum, out element_t low) {{
      sum.low = sum.low + {low};
      sum.high = sum.high + {high};
      low = sum.low;
    }}
  }};
  RegisterAction<pair_t, copy_place_t, element_t>(sums{index}) max{index} = {{
    void apply(inout pair_t sum, out element_t low) {{
      if ((int<32>){low} > (int<32>)sum.low) sum.low = {low};
      if ((int<32>){high} > (int<32>)sum.high) sum.high = {high};
      low = sum.low;
    }}
  }};
  RegisterAction<pair_t, copy_place_t, element_t>(sums{index}) read_high{index} = {{
    void apply(inout pair_t sum, out element_t high) {{ high = sum.high; }}
  }};
  action do_write{index}() {{ {low} = write{index}.execute(metadata.copy); }}
  action do_add{index}() {{ {low} = add{index}.execute(metadata.copy); }}
  action do_max{index}() {{ {low} = max{index}.execute(metadata.copy); }}
  action do_read_high{index}() {{ {high} = read_high{index}.execute(metadata.copy); }}
  @stage({stage_of(index)})
  table sum{index} {{
    key = {{
      metadata.operation : exact;
      {high_header}.isValid() : ternary;
    }}
    actions = {{ do_write{index}; do_add{index}; do_max{index}; do_read_high{index}; NoAction; }}
    const default_action = NoAction();
    size = 8;
    const entries = {{
      (operation_on_pair_t.write, _) : do_write{index}();
      (operation_on_pair_t.add, _) : do_add{index}();
      (operation_on_pair_t.max, _) : do_max{index}();
      (operation_on_pair_t.read_high, true) : do_read_high{index}();
    }}
  }}
"""


def pairs():
    of_each = "".join(pair(i) for i in range(PAIRS))
    applied = "".join(f"    sum{i}.apply();\n" for i in range(PAIRS))
    return HEAD.format(what="The sums on Tofino, a register for each pair of elements.") + f"""\
struct pair_t {{
  element_t low;
  element_t high;
}}

control Sums(inout headers_t headers, inout metadata_t metadata) {{{of_each}
  apply {{
{applied}  }}
}}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    wrong = []
    for name, text in (("sizes.p4", sizes()), ("elements.p4", elements()),
                       ("tna_lanes.p4", lanes()), ("tna_sums.p4", pairs())):
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
