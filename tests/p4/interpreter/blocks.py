# SPDX-License-Identifier: Apache-2.0
"""Compiles statements, actions, tables and the states of a parser into functions of a pass."""

from interpreter.externs import Checksum, Counter, Digest, Hash, RegisterAction, deposit
from interpreter.ir import Broken, Unknown, each, kind_of

ACCEPT, REJECT = "accept", "reject"


class Dropped(Exception):
    """A packet that the parser does not take."""


def name_of(node):
    """Returns the name by which the controller knows the node."""
    for annotation in each(node["annotations"]):
        if annotation["name"] == "name":
            return each(annotation["body"]["value"])[0]["value"].removeprefix(".")
    raise Unknown(f"{node['name']} has no name of its own")


def matcher(node, expressions):
    """Returns the condition on one key, as a function of the key's value."""
    kind = kind_of(node)
    if kind == "DefaultExpression":
        return lambda value: True
    if kind in ("Mask", "Range"):
        left, right = (expressions.compile(node[side])(None) for side in ("left", "right"))
        if kind == "Range":
            return lambda value: left <= value <= right
        return lambda value: value & right == left & right
    wanted = expressions.compile(node)(None)
    return lambda value: value == wanted


def matchers(node, expressions, count):
    """Returns the conditions on all keys."""
    if kind_of(node) == "DefaultExpression":
        return [matcher(node, expressions)] * count
    parts = each(node["components"]) if kind_of(node) == "ListExpression" else [node]
    if len(parts) != count:
        raise Unknown(f"{len(parts)} keys, not {count}")
    return [matcher(part, expressions) for part in parts]


class Action:
    def __init__(self, node, block):
        parameters = each(node["parameters"]["parameters"])
        if any(parameter["direction"] for parameter in parameters):
            raise Unknown("an action's parameter with a direction")
        types = block.expressions.types
        for parameter in parameters:
            block.expressions.declared[parameter["name"]] = types.of(parameter["type"])
        self.names = [
            (parameter["name"], types.of(parameter["type"]).width) for parameter in parameters
        ]
        self.body = block.statement(node["body"])

    def run(self, p, values):
        for (name, width), value in zip(self.names, values, strict=True):
            p.variables[name] = 0
            p.put(name, value, width)
        self.body(p)


class Table:
    """A table. Entries of the program come first; all other entries have values for all keys."""

    def __init__(self, node, block):
        self.name, self.entries, self.fixed = name_of(node), {}, []
        self.keys, self.kinds, self.actions, self.default = [], [], {}, None
        expressions, self.size = block.expressions, None
        for each_one in each(node["properties"]["properties"]):
            value = each_one["value"]
            if each_one["name"] == "key":
                for key in each(value["keyElements"]):
                    self.keys.append(expressions.compile(key["expression"]))
                    self.kinds.append(key["matchType"]["path"]["name"])
            elif each_one["name"] == "actions":
                self.actions = {
                    element["expression"]["method"]["path"]["name"]
                    for element in each(value["actionList"])
                }
            elif each_one["name"] == "default_action":
                self.default = self.call(value["expression"], block)
            elif each_one["name"] == "entries":
                self.fixed = [
                    (
                        matchers(entry["keys"], expressions, len(self.keys)),
                        self.call(entry["action"], block),
                    )
                    for entry in each(value["entries"])
                ]
            elif each_one["name"] == "size":
                self.size = value["expression"]["value"]
            else:
                raise Unknown(f"{each_one['name']} of a table")
        if set(self.kinds) - {"exact", "ternary"} or self.default is None:
            raise Unknown(f"the keys or the default of {self.name}")
        self.known = {
            name_of(block.nodes[name]).split(".")[-1]: block.actions[name]
            for name in self.actions
            if name in block.actions and name_of(block.nodes[name]) != "NoAction"
        }

    def call(self, node, block):
        name = node["method"]["path"]["name"]
        if name not in self.actions:
            raise Unknown(f"{name} in {self.name}")
        values = [argument(None) for argument in block.expressions.arguments(node)]
        return block.actions[name], values

    def add(self, keys, action, values=()):
        """Adds an entry, as the controller does."""
        if self.fixed or len(keys) != len(self.keys) or set(self.kinds) != {"exact"}:
            raise Broken(f"no entry of {self.name}: {keys}")
        self.entries[tuple(keys)] = self.known[action], list(values)
        if len(self.entries) > self.size:
            raise Broken(f"{self.name} is full")

    def clear(self):
        self.entries = {}

    def apply(self, p):
        p.once(self)
        keys = tuple(key(p) for key in self.keys)
        action, values = self.entries.get(keys) or self.default
        for wanted, found in self.fixed:
            if all(matches(key) for matches, key in zip(wanted, keys, strict=True)):
                action, values = found
                break
        action.run(p, values)


class Block:
    """A control or a parser, with all that is declared in it."""

    def __init__(self, node, expressions, registers):
        self.name, self.expressions = node["name"], expressions
        self.nodes, self.actions, self.tables = {}, {}, {}
        self.variables = {}
        self.parameters = [
            (parameter["name"], parameter["type"]["path"]["name"])
            for parameter in each(node["type"]["applyParams"]["parameters"])
        ]
        expressions.instances = dict(registers)
        expressions.declared = {
            name: expressions.types.of(expressions.names[type_]) for name, type_ in self.parameters
        }
        is_parser = kind_of(node) == "P4Parser"
        for local in each(node["parserLocals" if is_parser else "controlLocals"]):
            self.declare(local)
        if is_parser:
            self.states = {state["name"]: self.state(state) for state in each(node["states"])}
        else:
            self.body = self.statement(node["body"])

    def declare(self, node):
        kind, name = kind_of(node), node["name"]
        self.nodes[name] = node
        if kind == "P4Action":
            self.actions[name] = Action(node, self)
        elif kind == "P4Table":
            table = Table(node, self)
            self.tables[table.name] = self.nodes[name]["table"] = table
        elif kind == "Declaration_Variable" and node.get("initializer") is None:
            self.expressions.declared[name] = self.expressions.types.of(node["type"])
            self.variables[name] = self.expressions.declared[name].width
        elif kind == "Declaration_Instance":
            self.expressions.instances[name] = self.instance(node)
        else:
            raise Unknown(f"declaration {kind}")

    def instance(self, node):
        base = node["type"]
        kind = (base.get("baseType") or base)["path"]["name"]
        if kind == "RegisterAction":
            return RegisterAction(node, self.expressions, self.statement)
        if kind == "Hash":
            return Hash(node, self.expressions)
        if kind in ("Checksum", "Digest"):
            return {"Checksum": Checksum, "Digest": Digest}[kind](name_of(node))
        if kind == "Counter":
            return Counter()
        raise Unknown(f"extern {kind}")

    def statement(self, node, writable=None):
        kind = kind_of(node)
        if kind == "BlockStatement":
            parts = [self.statement(part, writable) for part in each(node["components"])]

            def run(p):
                for part in parts:
                    part(p)

            return run
        if kind == "AssignmentStatement":
            target = self.expressions.target(node["left"], writable)
            value = self.expressions.compile(node["right"])
            return lambda p: target(p, value(p))
        if kind == "IfStatement":
            condition = self.expressions.compile(node["condition"])
            then = self.statement(node["ifTrue"], writable)
            if node.get("ifFalse") is None:
                return lambda p: then(p) if condition(p) else None
            other = self.statement(node["ifFalse"], writable)
            return lambda p: then(p) if condition(p) else other(p)
        if kind == "EmptyStatement":
            return lambda p: None
        if kind == "MethodCallStatement" and writable is None:
            return self.call(node["methodCall"])
        raise Unknown(f"statement {kind}")

    def call(self, node):
        method = node["method"]
        if kind_of(method) == "PathExpression" and method["path"]["name"] in self.actions:
            action = self.actions[method["path"]["name"]]
            arguments = self.expressions.arguments(node)
            return lambda p: action.run(p, [argument(p) for argument in arguments])
        if kind_of(method) == "Member" and method["member"] == "apply":
            table = self.nodes[method["expr"]["path"]["name"]]["table"]
            return table.apply
        return self.expressions.compile(node)

    def state(self, node):
        parts = [self.statement(part) for part in each(node["components"])]
        after = node.get("selectExpression")
        if after is None:
            return None  # accept or reject
        if kind_of(after) == "PathExpression":
            return parts, [], [([], after["path"]["name"])]
        keys = [self.expressions.compile(key) for key in each(after["select"]["components"])]
        cases = [
            (matchers(case["keyset"], self.expressions, len(keys)), case["state"]["path"]["name"])
            for case in each(after["selectCases"])
        ]
        return parts, keys, cases

    def parse(self, p):
        name = "start"
        while name != ACCEPT:
            if name == REJECT:
                raise Dropped("rejected")
            parts, keys, cases = self.states[name]
            for part in parts:
                part(p)
            values = [key(p) for key in keys]
            for wanted, state in cases:
                if all(matches(value) for matches, value in zip(wanted, values, strict=True)):
                    name = state
                    break
            else:
                raise Dropped("no case matches")
        deposit(p)
