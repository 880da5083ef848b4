# SPDX-License-Identifier: Apache-2.0
"""Compiles expressions into functions of a pass. Numbers are kept without sign, and a comparison
looks at types."""

from interpreter.externs import extract
from interpreter.ir import Fields, Unknown, each, kind_of

PACKETS = ("packet_in", "packet_out")


def signed(value, type_):
    return value - (1 << type_.width) if type_.signed and value >> type_.width - 1 else value


ARITHMETIC = {
    "Add": lambda a, b: a + b,
    "BOr": lambda a, b: a | b,
    "BAnd": lambda a, b: a & b,
    "Shl": lambda a, b: a << b,
}
COMPARISONS = {
    "Equ": lambda a, b: a == b,
    "Neq": lambda a, b: a != b,
    "Grt": lambda a, b: a > b,
    "Geq": lambda a, b: a >= b,
}


class Expressions:
    """`instances` has the externs of a block by name, and `declared` the types of its variables."""

    def __init__(self, types, names):
        self.types, self.names, self.instances, self.declared = types, names, {}, {}

    def compile(self, node):
        kind = kind_of(node)
        if kind in ARITHMETIC:
            return self.arithmetic(node, ARITHMETIC[kind])
        if kind in COMPARISONS:
            return self.comparison(node, COMPARISONS[kind])
        method = getattr(self, f"compile_{kind}", None)
        if method is None:
            raise Unknown(f"expression {kind}")
        return method(node)

    def type_of(self, node):
        """Returns a node's type. The compiler leaves out some types; a place's is found by its
        name."""
        kind = kind_of(node)
        if kind == "PathExpression":
            return self.declared[node["path"]["name"]]
        if kind == "Member" and kind_of(node["expr"]) in ("Member", "PathExpression"):
            return self.type_of(node["expr"]).fields[node["member"]]
        return self.types.of(node["type"])

    def width(self, node):
        return self.type_of(node).width

    def arithmetic(self, node, operation):
        left, right = self.compile(node["left"]), self.compile(node["right"])
        if self.type_of(node).signed:
            raise Unknown("signed arithmetic")
        mask = (1 << self.width(node)) - 1
        return lambda p: operation(left(p), right(p)) & mask

    def comparison(self, node, operation):
        left, right = self.compile(node["left"]), self.compile(node["right"])
        type_ = self.type_of(node["left"])
        if type_.signed:
            return lambda p: operation(signed(left(p), type_), signed(right(p), type_))
        return lambda p: operation(left(p), right(p))

    def compile_LAnd(self, node):
        left, right = self.compile(node["left"]), self.compile(node["right"])
        return lambda p: left(p) and right(p)

    def compile_LOr(self, node):
        left, right = self.compile(node["left"]), self.compile(node["right"])
        return lambda p: left(p) or right(p)

    def compile_Constant(self, node):
        value = node["value"]
        if value < 0:
            raise Unknown("a constant below zero")
        return lambda p: value

    def compile_BoolLiteral(self, node):
        value = node["value"]
        return lambda p: value

    def compile_PathExpression(self, node):
        name = node["path"]["name"]
        return lambda p: p.variables[name]

    def compile_Member(self, node):
        name = node["member"]
        if kind_of(node["expr"]) == "TypeNameExpression":
            return self.member_of_enum(self.names[node["expr"]["typeName"]["path"]["name"]], name)
        owner = self.compile(node["expr"])
        return lambda p: owner(p).get(name)

    def member_of_enum(self, enum, name):
        for member in each(enum["members"]):
            if member["name"] == name and kind_of(enum) == "Type_SerEnum":
                return self.compile(member["value"])
            if member["name"] == name:
                return lambda p: name
        raise Unknown(f"{name} of {enum['name']}")

    def compile_Cmpl(self, node):
        inner, mask = self.compile(node["expr"]), (1 << self.width(node)) - 1
        return lambda p: ~inner(p) & mask

    def compile_Cast(self, node):
        inner, source = self.compile(node["expr"]), self.type_of(node["expr"])
        target = self.types.of(node["destType"])
        if (source.signed or target.signed) and source.width != target.width:
            raise Unknown("a cast that extends a sign")
        mask = (1 << target.width) - 1
        return lambda p: inner(p) & mask

    def compile_Slice(self, node):
        inner, low = self.compile(node["e0"]), node["e2"]["value"]
        mask = (1 << node["e1"]["value"] - low + 1) - 1
        return lambda p: inner(p) >> low & mask

    def compile_Concat(self, node):
        left, right = self.compile(node["left"]), self.compile(node["right"])
        shift = self.width(node["right"])
        return lambda p: left(p) << shift | right(p)

    def compile_MethodCallExpression(self, node):
        method = node["method"]
        if kind_of(method) == "PathExpression" and method["path"]["name"] == "invalidate":
            return self.invalidate(each(node["arguments"])[0]["expression"])
        if kind_of(method) != "Member":
            raise Unknown(f"call of {kind_of(method)}")
        owner, name = method["expr"], method["member"]
        if kind_of(owner) == "This":
            return self.instances["this"].call(name, self, node)
        if kind_of(owner) == "PathExpression" and owner["path"]["name"] in self.instances:
            return self.instances[owner["path"]["name"]].call(name, self, node)
        value, type_ = self.compile(owner), self.type_of(owner)
        if type_.is_header and name == "isValid":
            return lambda p: value(p).valid
        if type_.is_header and name in ("setValid", "setInvalid"):
            return lambda p: value(p).set_valid(name == "setValid")
        if type_.name in PACKETS and name == "lookahead":
            width = self.types.of(each(node["typeArguments"])[0]).width
            return lambda p: value(p).lookahead(width)
        if type_.name in PACKETS and name == "extract":
            (header,) = self.arguments(node)
            return lambda p: extract(p, value(p), header(p))
        if type_.name in PACKETS and name in ("advance", "emit"):
            (argument,) = self.arguments(node)
            return lambda p: getattr(value(p), name)(argument(p))
        raise Unknown(f"method {name} of {type_.name}")

    def invalidate(self, node):
        """Compiles the invalidation of a field of intrinsic metadata, after which nobody has
        written it."""
        if kind_of(node) != "Member" or self.is_header(node["expr"]):
            raise Unknown("invalidation of another thing")
        owner, name = self.compile(node["expr"]), node["member"]
        return lambda p: owner(p).values.pop(name, None)

    def arguments(self, node):
        return [self.compile(argument["expression"]) for argument in each(node["arguments"])]

    def items(self, node, only_valid=False):
        """Compiles a list of fields into a function that returns values and widths."""
        kind = kind_of(node)
        if kind in ("ListExpression", "StructExpression"):
            parts = [
                self.items(part if kind == "ListExpression" else part["expression"], only_valid)
                for part in each(node["components"])
            ]
            return lambda p: [item for part in parts for item in part(p)]
        value = self.compile(node)
        if kind == "Member" and self.is_header(node["expr"]) and only_valid:
            header, width = self.compile(node["expr"]), self.width(node)
            return lambda p: [(value(p), width)] if header(p).valid else []
        if self.is_header(node):
            return lambda p: header_items(value(p), only_valid)
        width = self.width(node)
        return lambda p: [(value(p), width)]

    def is_header(self, node):
        return self.type_of(node).is_header

    def target(self, node, writable=None):
        """Compiles what writes to an expression. `writable` has the only names that may be
        written."""
        root = node
        while kind_of(root) == "Member":
            root = root["expr"]
        if kind_of(root) != "PathExpression":
            raise Unknown(f"assignment to {kind_of(root)}")
        if writable is not None and root["path"]["name"] not in writable:
            raise Unknown(f"assignment to {root['path']['name']} in a register's action")
        if kind_of(node) == "PathExpression":
            name, width = root["path"]["name"], self.width(node)
            return lambda p, value: p.put(name, value, width)
        owner, member = self.compile(node["expr"]), node["member"]
        return lambda p, value: owner(p).put(member, value)


def header_items(header, only_valid):
    if not isinstance(header, Fields) or (not header.valid and not only_valid):
        raise Unknown("the fields of an invalid header")
    return header.items() if header.valid else []
