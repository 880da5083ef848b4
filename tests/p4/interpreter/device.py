# SPDX-License-Identifier: Apache-2.0
"""The chip around the program: the ingress, the traffic manager with its multicast groups, the
queue of the recirculation port, and the egress.

The parser reads a packet from its bytes in each pass. A packet whose bytes end within a header is
dropped at the ingress. Metadata is zero at first if the program asks the compiler for that
(@pa_auto_init_metadata), and may be anything otherwise.
"""

import collections
import dataclasses

from interpreter.blocks import Block, Dropped
from interpreter.expressions import Expressions
from interpreter.externs import Register
from interpreter.ir import Broken, Fields, Types, Unknown, as_bytes, each, kind_of, load

PORT_METADATA_BYTES = 8
RECIRCULATION_PORT = 68
DROP_ALL = 1
OF_INGRESS = {
    "for_manager": "ingress_intrinsic_metadata_for_tm_t",
    "for_deparser": "ingress_intrinsic_metadata_for_deparser_t",
    "from_parser": "ingress_intrinsic_metadata_from_parser_t",
}
OF_EGRESS = {
    "for_port": "egress_intrinsic_metadata_for_output_port_t",
    "for_deparser": "egress_intrinsic_metadata_for_deparser_t",
    "from_parser": "egress_intrinsic_metadata_from_parser_t",
}


class Bytes:
    """A packet as it is read."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, bits):
        end = self.at + bits // 8
        if bits % 8 or end > len(self.data):
            raise Dropped("the packet is too short")
        return int.from_bytes(self.data[self.at : end], "big")

    def lookahead(self, bits):
        return self.take(bits)

    def advance(self, bits):
        self.take(bits)
        self.at += bits // 8

    def extract(self, header):
        if header.valid:
            raise Broken(f"{header.type.name} is read twice")
        header.read(self.take(header.bits()))
        self.at += header.bits() // 8


class Written:
    """A packet as it is written."""

    def __init__(self):
        self.data = b""

    def emit(self, value):
        if not value.type.is_header:
            for name in value.type.fields:
                self.emit(value.get(name))
        elif value.valid:
            self.data += as_bytes(value.items())


class Pass:
    """What a packet has with it while it is in the ingress or in the egress."""

    def __init__(self):
        self.variables, self.touched, self.subtracted, self.deposits = {}, set(), {}, {}
        self.added, self.counted, self.notes = {}, [], []

    def put(self, name, value, width):
        if name not in self.variables or not isinstance(value, int) or value >> width:
            raise Broken(f"{name} = {value}")
        self.variables[name] = int(value)

    def once(self, what):
        if what in self.touched:
            raise Broken(f"{what.name} is used twice in one pass")
        self.touched.add(what)


@dataclasses.dataclass
class Outcome:
    """What becomes of a packet in all its passes together."""

    sent: list = dataclasses.field(default_factory=list)  # port and frame
    counted: list = dataclasses.field(default_factory=list)
    notes: list = dataclasses.field(default_factory=list)
    passes: int = 0


def is_register(node):
    """Whether this is a register. The program has all registers outside of its controls."""
    return (
        kind_of(node) == "Declaration_Instance"
        and node["type"].get("baseType", {}).get("path", {}).get("name") == "Register"
    )


class Device:
    """`groups`: the ports of each multicast group, with the replica number of each copy."""

    def __init__(self, path, random):
        names, annotations = load(path)
        self.types, self.random = Types(names), random
        self.names, self.groups, self.queue = names, {}, collections.deque()
        expressions = Expressions(self.types, names)
        pipe = names[each(names["main"]["arguments"])[0]["expression"]["path"]["name"]]
        blocks = [
            argument["expression"]["constructedType"]["path"]["name"]
            for argument in each(pipe["arguments"])
        ]
        self.registers = {
            name: Register(name, node, self.types, random)
            for name, node in names.items()
            if is_register(node)
        }
        self.blocks = [Block(names[name], expressions, self.registers) for name in blocks]
        self.tables = {name: table for block in self.blocks for name, table in block.tables.items()}
        is_zero = "pa_auto_init_metadata" in annotations
        self.draw_metadata = (lambda width: 0) if is_zero else random.getrandbits

    def set_group(self, group, receivers):
        """Sets a group to these replica numbers and ports."""
        self.groups[group] = receivers

    def fields(self, name, draw):
        return Fields(self.types.of(self.names[name]), draw)

    def run(self, block, p, values):
        p.variables = {name: values[type_] for name, type_ in block.parameters}
        for name, width in block.variables.items():
            p.variables[name] = self.random.getrandbits(width)
        p.touched = set()
        (block.parse if hasattr(block, "states") else block.body)(p)

    def start(self, frame, port):
        """Gives the device a packet, which may have passes in the queue afterwards."""
        outcome = Outcome()
        self.pass_ingress(frame, port, outcome)
        return outcome

    def continue_first(self):
        """Makes the next pass of the packet that has waited longest."""
        frame, outcome = self.queue.popleft()
        self.pass_ingress(frame, RECIRCULATION_PORT, outcome)
        return outcome

    def values_of(self, parser, intrinsic, of_side):
        """Returns what all blocks of one side share: by type, as their parameters have it."""
        _, headers, metadata, *_ = (type_ for _, type_ in parser.parameters)
        values = {name: self.fields(name, lambda width: None) for name in of_side.values()}
        values[of_side["from_parser"]] = self.fields(
            of_side["from_parser"], self.random.getrandbits
        )
        values[of_side["for_deparser"]].put("drop_ctl", 0)
        values[headers] = self.fields(headers, self.random.getrandbits)
        values[metadata] = self.fields(metadata, self.draw_metadata)
        values[intrinsic] = self.fields(intrinsic, self.random.getrandbits)
        return values

    def before(self, intrinsic, **fields):
        """Returns the bytes that the chip puts in front of a packet."""
        header = self.fields(intrinsic, self.random.getrandbits)
        header.set_valid(True)
        for name, value in fields.items():
            header.put(name, value)
        return as_bytes(header.items())

    def pass_side(self, blocks, packet, intrinsic, of_side, outcome):
        parser, control, deparser = blocks
        values, p = self.values_of(parser, intrinsic, of_side), Pass()
        values["packet_in"], values["packet_out"] = Bytes(packet), Written()
        for block in (parser, control, deparser):
            self.run(block, p, values)
        outcome.counted += p.counted
        outcome.notes += p.notes
        rest = packet[values["packet_in"].at :]
        return values, values["packet_out"].data + rest

    def pass_ingress(self, frame, port, outcome):
        intrinsic = "ingress_intrinsic_metadata_t"
        packet = self.before(intrinsic, ingress_port=port) + bytes(PORT_METADATA_BYTES) + frame
        outcome.passes += 1
        try:
            values, out = self.pass_side(self.blocks[:3], packet, intrinsic, OF_INGRESS, outcome)
        except Dropped:
            return
        if values[OF_INGRESS["for_deparser"]].get("drop_ctl") & DROP_ALL:
            return
        self.manage(values[OF_INGRESS["for_manager"]], out, outcome)

    def manage(self, wishes, packet, outcome):
        """Acts as the traffic manager. What the program has not written is not asked for."""
        asked = set(wishes.values)
        if asked - {"ucast_egress_port", "mcast_grp_a", "bypass_egress"}:
            raise Unknown(f"the traffic manager's {asked}")
        group, port = wishes.get("mcast_grp_a"), wishes.get("ucast_egress_port")
        if wishes.get("bypass_egress"):
            if port != RECIRCULATION_PORT or group:
                raise Unknown("a packet without egress to another port")
            self.queue.append((packet, outcome))
            return
        for replica, to in self.groups.get(group, ()):
            self.pass_egress(packet, to, replica, outcome)
        if port is not None:
            self.pass_egress(packet, port, 0, outcome)

    def pass_egress(self, packet, port, replica, outcome):
        intrinsic = "egress_intrinsic_metadata_t"
        packet = self.before(intrinsic, egress_port=port, egress_rid=replica) + packet
        try:
            values, out = self.pass_side(self.blocks[3:], packet, intrinsic, OF_EGRESS, outcome)
        except Dropped as why:
            raise Broken("the egress cannot read a packet") from why
        if values[OF_EGRESS["for_deparser"]].get("drop_ctl") & DROP_ALL == 0:
            if port == RECIRCULATION_PORT:
                raise Unknown("recirculation from the egress")
            outcome.sent.append((port, out))
