# SPDX-License-Identifier: Apache-2.0
"""The chip's externs. Each refuses what the chip could not do: a register is touched once in a
pass, has four actions at most, and each of its actions has one output.
"""

from interpreter.ir import Broken, Fields, Unknown, as_bytes, each, joined, kind_of

ACTIONS_OF_REGISTER = 4


def only(method, *known):
    if method not in known:
        raise Unknown(f"method {method}")


class Register:
    """A register. An entry that nobody has written may read as anything."""

    def __init__(self, name, node, types, random):
        (size,) = (argument["expression"] for argument in each(node["arguments"]))
        self.name, self.size, self.actions = name, size["value"], 0
        self.type = types.of(each(node["type"]["arguments"])[0])
        self.random, self.first, self.entries = random, (), {}

    def reset(self, *values):
        """Makes all entries as they are at the start, or gives all of them these values."""
        self.first, self.entries = values, {}

    def read(self, index):
        if index >= self.size:
            raise Broken(f"{self.name}[{index}]")
        if index not in self.entries:
            self.entries[index] = self.first_entry()
        entry = self.entries[index]
        return entry.copy() if isinstance(entry, Fields) else entry

    def first_entry(self):
        if self.type.fields is None:
            return self.first[0] if self.first else self.random.getrandbits(self.type.width)
        entry = Fields(self.type, self.random.getrandbits)
        for name, value in zip(self.type.fields, self.first, strict=False):
            entry.put(name, value)
        return entry


class RegisterAction:
    def __init__(self, node, expressions, compile_body):
        (register,) = each(node["arguments"])
        self.register = expressions.instances[register["expression"]["path"]["name"]]
        self.register.actions += 1
        if self.register.actions > ACTIONS_OF_REGISTER:
            raise Broken(f"{self.register.name} has too many actions")
        (function,) = each(node["initializer"]["components"])
        if kind_of(function) != "Function" or function["name"] != "apply":
            raise Unknown(f"{kind_of(function)} in a register's action")
        parameters = each(function["type"]["parameters"]["parameters"])
        if [each_one["direction"] for each_one in parameters] not in (["inout"], ["inout", "out"]):
            raise Broken("a register's action has one output")
        self.names = [parameter["name"] for parameter in parameters]
        outer = expressions.declared
        expressions.instances["this"] = self
        expressions.declared = outer | {
            parameter["name"]: expressions.types.of(parameter["type"]) for parameter in parameters
        }
        self.body = compile_body(function["body"], self.names)
        expressions.declared = outer
        del expressions.instances["this"]

    def call(self, method, expressions, node):
        only(method, "execute", "predicate")
        if method == "predicate":
            low, high = expressions.arguments(node)
            return lambda p: 1 << (2 * high(p) + low(p))
        (index,) = expressions.arguments(node)
        return lambda p: self.execute(p, index(p))

    def execute(self, p, index):
        p.once(self.register)
        outer = p.variables
        p.variables = outer | {self.names[0]: self.register.read(index)}
        if len(self.names) > 1:
            p.variables[self.names[1]] = None  # no value, if the action gives none
        self.body(p)
        inner, p.variables = p.variables, outer
        self.register.entries[index] = inner[self.names[0]]
        return inner[self.names[1]] if len(self.names) > 1 else None


class Hash:
    """Knows the identity alone, which puts fields side by side."""

    def __init__(self, node, expressions):
        (algorithm,) = expressions.arguments(node)
        if algorithm(None) != "IDENTITY":
            raise Unknown("a hash")
        self.width = expressions.types.of(each(node["type"]["arguments"])[0]).width

    def call(self, method, expressions, node):
        only(method, "get")
        items = expressions.items(each(node["arguments"])[0]["expression"])

        def place(p):
            number, width = joined(items(p))
            if width != self.width:
                raise Broken(f"a place of {width} bits, not {self.width}")
            return number

        return place


def folded(data):
    if len(data) % 2:
        raise Broken("a checksum over an odd number of bytes")
    total = sum(int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def extract(p, packet, header):
    packet.extract(header)
    for name in p.deposits:
        p.subtracted[name] += as_bytes(header.items())


def deposit(p):
    """Deposits the checksums at the end of a parser."""
    for name, target in p.deposits.items():
        target(p, 0xFFFF ^ folded(p.subtracted.pop(name)))


class Checksum:
    """In a parser, the deposited value is zero less the fields that were subtracted, and less all
    headers that are extracted later. A parser can also compare fields that include a checksum, and
    get whether they are wrong. In a deparser, invalid headers are left out.
    """

    def __init__(self, name):
        self.name = name

    def call(self, method, expressions, node):
        only(method, "update", "subtract", "subtract_all_and_deposit", "add", "verify")
        if method == "verify":
            return lambda p: folded(p.added.pop(self.name)) != 0xFFFF
        first, *others = [argument["expression"] for argument in each(node["arguments"])]
        if method == "subtract_all_and_deposit":
            target = expressions.target(first)
            return lambda p: p.deposits.update({self.name: target})
        items = expressions.items(first, only_valid=method == "update")
        if method == "subtract":
            return lambda p: self.subtract(p, as_bytes(items(p)))
        if method == "add":
            return lambda p: p.added.update({self.name: as_bytes(items(p))})
        zeros_as_ones = bool(others) and expressions.compile(others[0])(None)
        return lambda p: self.update(as_bytes(items(p)), zeros_as_ones)

    def subtract(self, p, data):
        p.subtracted[self.name] = p.subtracted.get(self.name, b"") + data

    @staticmethod
    def update(data, zeros_as_ones):
        checksum = 0xFFFF ^ folded(data)
        return 0xFFFF if zeros_as_ones and checksum == 0 else checksum


class Counter:
    def call(self, method, expressions, node):
        only(method, "count")
        (index,) = expressions.arguments(node)
        return lambda p: p.counted.append(index(p))


class Digest:
    def __init__(self, name):
        self.name = name

    def call(self, method, expressions, node):
        only(method, "pack")
        items = expressions.items(each(node["arguments"])[0]["expression"])
        return lambda p: p.notes.append((self.name, [value for value, _ in items(p)]))
