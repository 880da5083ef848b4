# SPDX-License-Identifier: Apache-2.0
"""The program as p4c's front end writes it (--toJSON), and the values that its types have. All
controls are in one, and all names in a control are unique.
"""

import json


class Unknown(Exception):
    """The program has something that this interpreter does not know."""


class Broken(Exception):
    """The program does something that it may not do on this chip."""


def kind_of(node):
    return node["Node_Type"]


def each(node):
    return node["vec"]


def load(path):
    """Returns the program's nodes by name, and the names of its annotations. A node that stands in
    several places is written once."""
    root = json.loads(path.read_text(encoding="utf-8"))
    nodes, pending = {}, [root]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            if "Node_Type" in node:
                nodes[node["Node_ID"]] = node
            pending += node.values()
        elif isinstance(node, list):
            pending += node
    for node in nodes.values():
        for owner in (node, node.get("vec")):
            if owner is not None:
                join(owner, nodes)
    names = {each_node.get("name"): each_node for each_node in each(root["objects"])}
    return names, {node.get("name") for node in nodes.values() if kind_of(node) == "Annotation"}


def join(owner, nodes):
    places = owner.items() if isinstance(owner, dict) else enumerate(owner)
    for key, child in list(places):
        if isinstance(child, dict) and "Node_ID" in child and "Node_Type" not in child:
            owner[key] = nodes[child["Node_ID"]]


class Type:
    """Bits, a boolean, or a struct or header of named fields."""

    def __init__(self, width=None, signed=False, name=None, fields=None, is_header=False):
        self.width, self.signed, self.name = width, signed, name
        self.fields, self.is_header = fields, is_header


class Types:
    def __init__(self, names):
        self.names, self.known = names, {}

    def of(self, node):
        if id(node) not in self.known:
            self.known[id(node)] = self.read(node)
        return self.known[id(node)]

    def read(self, node):
        kind = kind_of(node)
        if kind == "Type_Bits":
            return Type(node["size"], node["isSigned"])
        if kind == "Type_Boolean":
            return Type(1)
        if kind in ("Type_InfInt", "Type_Extern"):
            return Type(name=node.get("name"))
        if kind == "Type_Name":
            return self.of(self.names[node["path"]["name"]])
        if kind in ("Type_Typedef", "Type_SerEnum"):
            return self.of(node["type"])
        if kind in ("Type_Struct", "Type_Header"):
            fields = {field["name"]: self.of(field["type"]) for field in each(node["fields"])}
            return Type(None, False, node["name"], fields, kind == "Type_Header")
        raise Unknown(f"type {kind}")


class Fields:
    """A struct or a header. A field that nobody has written reads as `draw` says, and stays the
    same from then on. A write to an invalid header stays, because on this chip its fields have
    places of their own. After a change of validity, fields are unspecified.
    """

    def __init__(self, type_, draw):
        self.type, self.draw, self.valid = type_, draw, not type_.is_header
        self.values = {}
        for name, inner in type_.fields.items():
            if inner.fields is not None:
                self.values[name] = Fields(inner, draw)

    def get(self, name):
        if name not in self.values:
            self.values[name] = self.draw(self.type.fields[name].width)
        return self.values[name]

    def put(self, name, value):
        if not isinstance(value, int) or value >> self.type.fields[name].width:
            raise Broken(f"{self.type.name}.{name} = {value}")
        self.values[name] = int(value)

    def set_valid(self, valid):
        self.valid, self.values = valid, {}

    def copy(self):
        other = Fields(self.type, self.draw)
        other.values = dict(self.values)
        return other

    def bits(self):
        return sum(inner.width for inner in self.type.fields.values())

    def items(self):
        return [(self.get(name), inner.width) for name, inner in self.type.fields.items()]

    def read(self, number):
        """Reads the fields from the bits of a packet, given as one number."""
        self.valid, left = True, self.bits()
        for name, inner in self.type.fields.items():
            left -= inner.width
            self.values[name] = number >> left & (1 << inner.width) - 1


def joined(items):
    """Returns values and widths as one number, and its width."""
    number, width = 0, 0
    for value, bits in items:
        number, width = number << bits | value, width + bits
    return number, width


def as_bytes(items):
    number, width = joined(items)
    if width % 8:
        raise Broken(f"{width} bits are not whole bytes")
    return number.to_bytes(width // 8, "big")
