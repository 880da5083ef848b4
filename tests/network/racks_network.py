# SPDX-License-Identifier: Apache-2.0
"""Two racks and a parent above them, in namespaces of their own: node `parent`, the racks' switches
`a` and `b`, and ranks `a0`, `a1`, ... Each switch has a bridge with a port for each node below
it."""

import contextlib
import tempfile

from xdp_network import NAME, at, lose, run

PARENT = "10.80.0.254:7700"
RACKS = ("a", "b")
SETUP = (
    "for f in all default; do echo 0 > /proc/sys/net/ipv4/conf/$f/rp_filter; done; "
    "ip link set lo up"
)


def switch_of(rack):
    """Returns the address at which the rack's ranks join."""
    return f"10.{81 + RACKS.index(rack)}.0.254:7700"


def ranks_of(per_rack):
    """Returns the nodes of all ranks, in their order, with the switch of each."""
    return [(f"{rack}{rank}", switch_of(rack)) for rack in RACKS for rank in range(per_rack)]


def devices(per_rack):
    """Returns the interfaces of a rack's switch at which packets arrive."""
    return ",".join(["up0", *(f"port{rank}" for rank in range(per_rack))])


def _ip(node, *lines):
    with tempfile.NamedTemporaryFile("w") as batch:
        batch.write("\n".join(lines) + "\n")
        batch.flush()
        run("ip", "-n", f"{NAME}-{node}", "-batch", batch.name)


def _join(node, port, below, device, mtu):
    """Makes a link from a port of a node's bridge to a device of the node below it."""
    _ip(
        node,
        f"link add {port} mtu {mtu} type veth peer name {device} mtu {mtu} netns {NAME}-{below}",
        f"link set {port} master br0 up",
    )
    _ip(below, f"link set {device} up")
    at(below, "ethtool", "-K", device, "tx", "off")
    at(node, "ethtool", "-K", port, "tx", "off")


def _shape(node, device, rate):
    """Limits the rate. Turns offloads off, so that packets pass one by one, as on a wire."""
    at(
        node,
        "ethtool",
        "-K",
        device,
        *["tso", "off", "gso", "off", "gro", "off", "tx-udp-segmentation", "off"],
    )
    at(
        node,
        "tc",
        "qdisc",
        "replace",
        "dev",
        device,
        "root",
        "tbf",
        "rate",
        rate,
        "burst",
        "16kb",
        "latency",
        "20ms",
    )


def _build(per_rack, mtu, uplink_mtu, rate):
    # By default, a bridge has the address of one of its ports, and would keep that address beside a
    # new one.
    _ip(
        "parent",
        "link add br0 address 02:00:00:00:00:01 type bridge forward_delay 0",
        f"link set br0 mtu {uplink_mtu} up",
        "address add 10.80.0.254/24 dev br0",
    )
    at("parent", "ethtool", "-K", "br0", "tx", "off")
    for number, rack in enumerate(RACKS):
        net = 81 + number
        _ip(
            rack,
            "link add br0 type bridge forward_delay 0",
            f"link set br0 mtu {mtu} up",
            f"address add 10.{net}.0.254/24 dev br0",
        )
        at(rack, "ethtool", "-K", "br0", "tx", "off")
        _join("parent", f"down{number}", rack, "up0", uplink_mtu)
        _ip(rack, f"address add 10.80.0.{number + 1}/24 dev up0")
        _ip("parent", f"route add 10.{net}.0.0/24 via 10.80.0.{number + 1}")
        at(rack, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        for rank in range(per_rack):
            node = f"{rack}{rank}"
            _join(rack, f"port{rank}", node, "eth0", mtu)
            _ip(
                node,
                f"address add 10.{net}.0.{rank + 1}/24 dev eth0",
                f"route add default via 10.{net}.0.254",
            )
            if rate:
                _shape(node, "eth0", rate)
                _shape(rack, f"port{rank}", rate)
        if rate:
            _shape(rack, "up0", rate)
            _shape("parent", f"down{number}", rate)


@contextlib.contextmanager
def racks(per_rack, mtu=1500, uplink_mtu=1500, rate=None):
    """Makes the racks. Any rank can reach every address, as through routers."""
    nodes = ["parent", *RACKS, *(node for node, _ in ranks_of(per_rack))]
    try:
        for node in nodes:
            run("ip", "netns", "add", f"{NAME}-{node}")
            at(node, "sh", "-ec", SETUP)
        _build(per_rack, mtu, uplink_mtu, rate)
        yield
    finally:
        for node in nodes:
            run("ip", "netns", "delete", f"{NAME}-{node}", status=None)


def lose_on_uplinks(loss):
    """Loses this share of the packets that go up and down. A program in the kernel sends past the
    qdisc of its own device, so packets are lost where they arrive."""
    for number, rack in enumerate(RACKS):
        for node, device in (("parent", f"down{number}"), (rack, "up0")):
            at(node, "tc", "qdisc", "add", "dev", device, "clsact")
            lose(node, device, "egress", loss)
