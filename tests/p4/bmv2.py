# SPDX-License-Identifier: Apache-2.0
"""BMv2 with the program, in the form of the interpreter's device: `tables` by name, and
set_group()."""

import json
import subprocess
import time

from frames import skip, wide

THRIFT_PORT = 9190
START_S = 120
SLOT_REGISTERS = "slots_before", "slots_after", "slots_open"
OPEN_ROUND_1 = 1 << 32  # and nobody has contributed

try:
    from bm_runtime.simple_pre_lag import SimplePreLAG
    from bm_runtime.standard import Standard, ttypes
    from thrift.protocol import TBinaryProtocol, TMultiplexedProtocol
    from thrift.transport import TSocket, TTransport
except ImportError as missing:
    skip(f"no module {missing.name} of BMv2")


def bytes_of(bits):
    return (bits + 7) // 8


class Table:
    def __init__(self, switch, table, widths, actions):
        self.switch, self.name, self.widths, self.actions = switch, table, widths, actions

    def add(self, keys, action, values=()):
        match = [
            ttypes.BmMatchParam(
                type=ttypes.BmMatchParamType.EXACT,
                exact=ttypes.BmMatchParamExact(wide(key, bytes_of(width))),
            )
            for key, width in zip(keys, self.widths, strict=True)
        ]
        name, widths = self.actions[action]
        data = [wide(value, bytes_of(width)) for value, width in zip(values, widths, strict=True)]
        self.switch.standard.bm_mt_add_entry(
            0, self.name, match, name, data, ttypes.BmAddEntryOptions(0)
        )

    def clear(self):
        self.switch.standard.bm_mt_clear_entries(0, self.name, False)


def tables_of(switch, program):
    fields = {
        (header["name"], name): width
        for header in program["headers"]
        for type_ in program["header_types"]
        if type_["name"] == header["header_type"]
        for name, width, *_ in type_["fields"]
    }
    actions = {
        action["id"]: (action["name"], [each["bitwidth"] for each in action["runtime_data"]])
        for action in program["actions"]
    }
    return {
        table["name"]: Table(
            switch,
            table["name"],
            [fields.get(tuple(key["target"]), 0) for key in table["key"]],
            {
                name.split(".")[-1]: (name, widths)
                for name, widths in (actions[each] for each in table["action_ids"])
            },
        )
        for pipeline in program["pipelines"]
        for table in pipeline["tables"]
    }


class Bmv2:
    def __init__(self, path, ports):
        program = json.loads(path.read_text(encoding="utf-8"))
        self.registers = [each["name"] for each in program["register_arrays"]]
        self.slots = next(
            each["size"] for each in program["register_arrays"] if each["name"] == SLOT_REGISTERS[0]
        )
        self.tables, self.groups = tables_of(self, program), {}
        words = [
            word for side, port in enumerate(ports, 1) for word in ("-i", f"{side}@{port.inner}")
        ]
        self.process = subprocess.Popen(
            [
                "simple_switch",
                *words,
                "--thrift-port",
                str(THRIFT_PORT),
                "--log-level",
                "error",
                str(path),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.connect()

    def connect(self):
        """Connects anew. Thrift ends a connection that has carried 100 MB."""
        deadline = time.monotonic() + START_S
        while True:
            transport = TTransport.TBufferedTransport(TSocket.TSocket("127.0.0.1", THRIFT_PORT))
            try:
                transport.open()
                break
            except TTransport.TTransportException:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
        inner = TBinaryProtocol.TBinaryProtocol(transport)

        def client(kind, name):
            return kind.Client(TMultiplexedProtocol.TMultiplexedProtocol(inner, name))

        self.standard = client(Standard, "standard")
        self.multicast = client(SimplePreLAG, "simple_pre_lag")

    def clear_registers(self):
        """Leaves the registers as the controller leaves them."""
        for register in self.registers:
            self.standard.bm_register_reset(0, register)
        for register in SLOT_REGISTERS:
            self.standard.bm_register_write_range(0, register, 0, self.slots, OPEN_ROUND_1)

    def set_group(self, group, receivers):
        """Sets a group to these replica numbers and ports."""
        handle, nodes = self.groups.pop(group, (None, ()))
        for node in nodes:
            self.multicast.bm_mc_node_destroy(0, node)
        if handle is None:
            handle = self.multicast.bm_mc_mgrp_create(0, group)
        nodes = [
            self.multicast.bm_mc_node_create(0, replica, "1" + "0" * side, "")
            for replica, side in receivers
        ]
        for node in nodes:
            self.multicast.bm_mc_node_associate(0, handle, node)
        self.groups[group] = handle, nodes

    def register(self, name, index):
        return self.standard.bm_register_read(0, name, index)

    def count_of(self, verdict):
        return self.standard.bm_counter_read(0, "Sum.verdicts", verdict).packets

    def end(self):
        self.process.kill()
        self.process.wait()
