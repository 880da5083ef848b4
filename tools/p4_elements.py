#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the parts of the P4 program that repeat for each element: p4/generated/.

    tools/p4_elements.py            writes the files
    tools/p4_elements.py --check    fails if they are not what it would write
"""

import argparse
import pathlib
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


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    wrong = []
    for name, text in (("sizes.p4", sizes()), ("elements.p4", elements())):
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
