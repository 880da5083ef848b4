#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tools/wireshark/tables.lua, the dissector's tables, from spec/protocol.md.

Usage: tables.py --check | --update
First it compares each table of the page with wire/infold_wire.h, and stops with a message if only
one of the two has a name or number. --check fails if tables.lua differs from the new tables.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = pathlib.Path(__file__).resolve().parent / "tables.lua"
UPDATE = "tools/wireshark/tables.py --update"
# {the page's name of a byte with two halves: the C header's name}
WIRE_NAMES = {
    "version, kind": "version_kind",
    "data type, format": "format",
    "collective, reduction": "operation",
}
# The constants of the header that the dissector computes with.
LIMITS = (
    "MAGIC",
    "VERSION",
    "PROBE_MAGIC",
    "ECHO_MAGIC",
    "PROBE_BYTES_MIN",
    "HEADER_BYTES",
    "TAG_BYTES",
    "PAYLOAD_BYTES_MAX",
    "BLOCK_ELEMENTS",
    "BLOCK_ELEMENTS_F64",
    "EXPONENT_BIAS",
    "EXPONENT_BIAS_F64",
    "EXPONENT_CODE_MAX",
    "EXPONENT_CODE_MAX_F64",
    "PENDING_BYTES_MAX",
    "SPARSE_CHUNKS_MAX",
)
# Columns of the page's table of codes, with the prefix that the header gives their names.
CODES = {
    "data type": "DTYPE",
    "wire format": "FORMAT",
    "collective": "COLLECTIVE",
    "reduction": "REDUCTION",
}
BYTES = {"uint8_t": 1, "infold_be16": 2, "infold_be32": 4}


class Drift(Exception):
    """The page and the header disagree, or one of them cannot be read."""


def expect_same(what, of_page, of_wire):
    if of_page != of_wire:
        raise Drift(f"{what}: spec/protocol.md has {of_page}, wire/infold_wire.h has {of_wire}")


def snake(name):
    return re.sub(r"[ -]", "_", name.lower())


# The page


def table(page, *titles):
    """Returns the rows of the first table with these titles, as lists of cells."""
    head = r"^\|\s*" + r"\s*\|\s*".join(map(re.escape, titles)) + r"\s*\|\n\|[-|]+\|\n((?:\|.*\n)+)"
    found = re.search(head, page, re.MULTILINE)
    if not found:
        raise Drift(f"spec/protocol.md has no table with the columns {', '.join(titles)}")
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()]


def header_of_page(page):
    """Returns [(offset, bytes, name)] and {bit: flag}."""
    fields, flags = [], {}
    for offset, size, name, meaning in table(page, "offset", "bytes", "field", "meaning"):
        fields.append((int(offset), int(size), name))
        if name == "flags":
            flags = {
                int(bit, 16): flag for bit, flag in re.findall(r"(0x[0-9A-F]{2}) ([A-Z]+)", meaning)
            }
    return fields, flags


def kinds_of_page(page):
    return {int(kind): name for kind, name, _ in table(page, "kind", "name", "body")}


def flags_of_kinds(page, kinds):
    """Returns {kind: names of its flags}; every packet may have TAGGED."""
    allowed = {kind: {"TAGGED"} for kind in kinds.values()}
    for kind, flags in table(page, "kind", "flags"):
        if kind in allowed:
            allowed[kind] |= set(flags.split(", "))
        elif (kind, flags) != ("every other kind", "none"):
            raise Drift(f"spec/protocol.md gives flags to {kind}, which is not a kind")
    return allowed


def codes_of_page(page):
    """Returns {column: {code: name}} of R-020."""
    columns = {column: {} for column in CODES}
    for code, *names in table(page, "code", *CODES):
        for column, name in zip(columns, names, strict=True):
            if name:
                columns[column][int(code)] = name
    return columns


def reasons_of_page(page):
    return sorted(int(code) for code, _, _ in table(page, "reason", "meaning", "`other`"))


def exact_of_page(page):
    """Returns [(offset, bytes, name)] of the first bytes of R-042."""
    rows = table(page, "offset", "bytes", "field")
    names = [re.match(r"\*([a-z ]+)\*", field) for _, _, field in rows]
    return [
        (int(offset), int(size), snake(name[1]) if name else "reserved")
        for (offset, size, _), name in zip(rows, names, strict=True)
    ]


def exponents_of_page(page):
    """Returns {tensor: (bias, last code)} of R-027."""
    return {
        tensor: (int(bias), int(re.match(r"\d+", last)[0]))
        for tensor, bias, last in table(page, "tensor", "bias", "last code")
    }


# The header


def constants(wire):
    text = re.sub(r"/\*.*?\*/", "", wire, flags=re.DOTALL)
    return {
        name: int(value, 0)
        for name, value in re.findall(r"\bINFOLD_(\w+) = (0x[0-9A-F]+|\d+)\s*[,}\n]", text)
    }


def enumeration(numbers, prefix):
    return {
        number: name[len(prefix) + 1 :]
        for name, number in numbers.items()
        if name.startswith(prefix + "_") and not name.endswith("_COUNT")
    }


def struct(wire, name):
    """Returns [(offset, bytes, name)] of the members."""
    body = re.search(rf"^struct {name} \{{\n(.*?)^\}};", wire, re.MULTILINE | re.DOTALL)
    if not body:
        raise Drift(f"wire/infold_wire.h has no struct {name}")
    members, offset = [], 0
    for kind, member, count in re.findall(r"^  (\w+) (\w+)(?:\[(\d+)\])?;", body[1], re.MULTILINE):
        size = BYTES[kind] * int(count or 1)
        members.append((offset, size, member))
        offset += size
    return members


def flags_of_wire(wire, kinds):
    """Returns {kind: names of its flags} of infold_flags_of()."""
    body = re.search(r"infold_flags_of\(uint32_t kind\) \{(.*?)^\}", wire, re.MULTILINE | re.DOTALL)
    cases = re.findall(r"(?:case INFOLD_KIND_(\w+)|default):\s*return ([^;]+);", body[1])
    named = {kind: set(re.findall(r"INFOLD_FLAG_(\w+)", flags)) for kind, flags in cases}
    return {kind: named.get(kind, named[""]) for kind in kinds.values()}


# Both


def read(page, wire):
    """Returns the tables of the dissector. Raises Drift if page and header differ."""
    numbers = constants(wire)
    fields, flags = header_of_page(page)
    expect_same(
        "the header",
        [(at, size, WIRE_NAMES.get(name, snake(name))) for at, size, name in fields],
        struct(wire, "infold_header"),
    )
    expect_same("flags", flags, enumeration(numbers, "FLAG"))
    kinds = kinds_of_page(page)
    expect_same("kinds", kinds, enumeration(numbers, "KIND"))
    allowed = flags_of_kinds(page, kinds)
    expect_same("flags of kinds", allowed, flags_of_wire(wire, kinds))
    codes = codes_of_page(page)
    for column, prefix in CODES.items():
        expect_same(
            column,
            {code: snake(name).upper() for code, name in codes[column].items()},
            enumeration(numbers, prefix),
        )
    reasons = enumeration(numbers, "ABORT")
    expect_same("reasons", reasons_of_page(page), sorted(reasons))
    expect_same(
        "exponents",
        exponents_of_page(page),
        {
            "f64": (numbers["EXPONENT_BIAS_F64"], numbers["EXPONENT_CODE_MAX_F64"]),
            "all others": (numbers["EXPONENT_BIAS"], numbers["EXPONENT_CODE_MAX"]),
        },
    )
    expect_same("a part of R-042", exact_of_page(page), struct(wire, "infold_exact"))
    bits = {flag: bit for bit, flag in flags.items()}
    return {
        "limits": {snake(name): numbers[name] for name in LIMITS},
        "header": fields,
        "flags": flags,
        "kinds": kinds,
        "flags_of": {
            kind: sum(bits[flag] for flag in allowed[name]) for kind, name in kinds.items()
        },
        **{snake(column) + "s": names for column, names in codes.items()},
        "grains": {code: name.lower() for code, name in enumeration(numbers, "GRAIN").items()},
        "reasons": {code: name.lower() for code, name in reasons.items()},
        "sparse": struct(wire, "infold_sparse"),
        "exact": struct(wire, "infold_exact"),
        "rank_range": struct(wire, "infold_rank_range"),
        "abort": struct(wire, "infold_abort"),
    }


# Lua


def value(item):
    return f'"{item}"' if isinstance(item, str) else str(item)


def lines_of(name, content):
    yield f"  {name} = {{"
    if isinstance(content, list):
        yield from (f"    {{{', '.join(map(value, row))}}}," for row in content)
    else:
        for key, item in content.items():
            yield f"    {key if isinstance(key, str) else f'[{key}]'} = {value(item)},"
    yield "  },"


def lua(tables):
    lines = [
        "-- SPDX-License-Identifier: Apache-2.0",
        "--",
        "-- Fields, names and limits of infold's packets, made from spec/protocol.md and",
        "-- wire/infold_wire.h. Do not edit this file; change those and run:",
        f"--   {UPDATE}",
        "-- A field is {offset, bytes, name}; two names share a byte, half each.",
        "return {",
    ]
    for name, content in tables.items():
        lines += lines_of(name, content)
    return "\n".join(lines + ["}"]) + "\n"


def main():
    if sys.argv[1:] not in (["--check"], ["--update"]):
        print(__doc__, file=sys.stderr)
        return 2
    page = (ROOT / "spec" / "protocol.md").read_text(encoding="utf-8")
    wire = (ROOT / "wire" / "infold_wire.h").read_text(encoding="utf-8")
    try:
        text = lua(read(page, wire))
    except Drift as drift:
        print(drift, file=sys.stderr)
        return 1
    if sys.argv[1] == "--update":
        TABLES.write_text(text, encoding="utf-8")
    elif not TABLES.exists() or TABLES.read_text(encoding="utf-8") != text:
        print(f"tools/wireshark/tables.lua is old; run: {UPDATE}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
