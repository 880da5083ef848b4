# SPDX-License-Identifier: Apache-2.0
"""Makes, describes and removes a lab: its namespaces, links and addresses, and nothing else.

The kernel holds all of a lab's state: the lab's options are in the aliases of the switch's ports
and of its bridge. The bridge's alias is written last, so a lab without it is incomplete and is made
again.
"""

import contextlib
import dataclasses
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

import p4_device
import reorder
from links import ETHERNET_BYTES, Bucket, LabError, Unavailable, compile_loss

BRIDGE = "br0"  # with a P4 device: the interface of the switch's own host
SWITCH = "switch"
SWITCH_HOST = 254  # the last address of a /24
GRACE_S = 2  # for processes in a namespace that goes away
# These messages of commands mean that the kernel or the container is at fault, and not the lab.
REFUSALS = re.compile(
    r"Operation not permitted|Permission denied|Operation not supported"
    r"|Unknown device type|qdisc kind is unknown|Read-only file system"
)
# Runs in each namespace before its interfaces exist. Addresses are usable at once, because no other
# host can have them, and no host asks for routes. A firewall that the machine has on bridges does
# not see the lab's packets.
SETUP = """
cd /proc/sys/net
echo 0 > ipv6/conf/all/disable_ipv6
echo 0 > ipv6/conf/default/disable_ipv6
echo 0 > ipv6/conf/default/accept_dad
echo 0 > ipv6/conf/default/accept_ra
echo 0 > ipv6/conf/default/router_solicitations
for name in iptables ip6tables arptables; do
    [ ! -e bridge/bridge-nf-call-$name ] || echo 0 > bridge/bridge-nf-call-$name
done
"""
PER_PACKET = "tso off gso off gro off tx-udp-segmentation off"
# A P4 device reads frames as they are, and verifies checksums.
WHOLE_FRAMES = f"{PER_PACKET} tx off"


@dataclasses.dataclass(frozen=True)
class Options:
    world: int
    rate: int | None = None  # bits per second, None for as fast as the machine copies
    mtu: int = 1500
    loss: float = 0.0  # probability for each packet, in each direction of each link
    congestion: str = ""  # of TCP; empty for the machine's own
    plane: str = "bridge"  # between the ports: the kernel's bridge, or p4, BMv2
    reorder: float = 0.0  # share of the packets held back, in each direction of each link
    # Values of single links, by rank, if they differ from the above.
    rate_at: dict[int, int | None] = dataclasses.field(default_factory=dict)
    loss_at: dict[int, float] = dataclasses.field(default_factory=dict)

    def rate_of(self, rank):
        return self.rate_at.get(rank, self.rate)

    def loss_of(self, rank):
        return self.loss_at.get(rank, self.loss)

    @property
    def is_p4(self):
        return self.plane == "p4"

    def per_packet(self, rank):
        return (
            self.is_p4
            or self.rate_of(rank) is not None
            or self.loss_of(rank) > 0
            or self.reorder > 0
        )

    @property
    def has_programs(self):
        return self.reorder > 0 or any(self.loss_of(rank) > 0 for rank in range(self.world))

    def detours(self, rank):
        """Returns the detours of a rank's link, or None."""
        if self.reorder == 0:
            return None
        return reorder.Detours(self.reorder, self.rate_of(rank), self.mtu + ETHERNET_BYTES)

    def common(self):
        """The options of the whole lab, as the bridge's alias has them."""
        return {k: v for k, v in dataclasses.asdict(self).items() if not k.endswith("_at")}

    def own(self, rank):
        """The options of one link, as its port's alias has them."""
        return {
            k: at[rank] for k, at in (("rate", self.rate_at), ("loss", self.loss_at)) if rank in at
        }


def address(node, family=4):
    """Returns a rank's address, or the switch's."""
    host = SWITCH_HOST if node == SWITCH else int(node) + 1
    return f"10.77.0.{host}" if family == 4 else f"fd77::{host:x}"


def run(*command, text=None):
    """Runs a command and returns its output. If it fails, its error output becomes the
    exception."""
    result = subprocess.run(command, input=text, check=False, capture_output=True, text=True)
    if result.returncode == 0:
        return result.stdout
    complaint = result.stderr.strip() or result.stdout.strip()
    shown = f"{shlex.join(command)}: {complaint}"
    if REFUSALS.search(complaint):
        raise Unavailable(
            f"the kernel refuses a part of the lab: {shown}\n"
            "needed: root with CAP_SYS_ADMIN and CAP_NET_ADMIN, and a kernel with "
            "network namespaces, veth, bridge, htb and cls_bpf"
        )
    raise LabError(shown)


def require(options=None):
    """Raises an error that names a missing program, if one is missing."""
    if os.geteuid() != 0:
        raise Unavailable(
            "a lab makes network namespaces, and that needs root: try it with sudo in front"
        )
    wanted = {"ip": "iproute2", "tc": "iproute2", "ethtool": "ethtool"}
    if options and options.has_programs:
        wanted["clang-19"] = "clang-19"
    if options and options.is_p4:
        p4_device.require()
    for tool, package in wanted.items():
        if shutil.which(tool) is None:
            raise Unavailable(f"{tool} is missing: apt-get install {package}")


class Lab:
    """One lab by name. Two labs of different names do not meet, so they use the same addresses."""

    def __init__(self, name):
        self.name = name

    def namespace(self, node):
        return f"{self.name}-{node}"

    def namespaces(self):
        """Returns the existing namespaces in the order of the ranks, with the switch last."""
        listed = run("ip", "netns", "list").split("\n")
        names = {line.split()[0] for line in listed if line}
        found = [n for n in names if re.fullmatch(re.escape(self.name) + r"-(switch|\d+)", n)]
        return sorted(found, key=lambda n: (len(n), n))

    def options(self):
        """Returns the options of the lab that exists, or None. A damaged lab counts as missing."""
        if self.namespace(SWITCH) not in self.namespaces():
            return None
        try:
            links = json.loads(run("ip", "-n", self.namespace(SWITCH), "-j", "link", "show"))
        except LabError:
            return None  # A crash of `ip netns add` leaves a name without a namespace.
        alias = next((k.get("ifalias") for k in links if k["ifname"] == BRIDGE), None)
        if not alias:
            return None
        options = Options(**json.loads(alias))
        for port in (k for k in links if k["ifname"].startswith("port") and k.get("ifalias")):
            rank, own = int(port["ifname"].removeprefix("port")), json.loads(port["ifalias"])
            for key, at in (("rate", options.rate_at), ("loss", options.loss_at)):
                if key in own:
                    at[rank] = own[key]
        nodes = [SWITCH, *range(options.world)]
        whole = {self.namespace(n) for n in nodes} == set(self.namespaces())
        ports = {k["ifname"] for k in links} >= {f"port{r}" for r in range(options.world)}
        works = not options.is_p4 or p4_device.runs(self.namespace(SWITCH))
        return options if whole and ports and works else None

    def up(self, options):
        """Makes the lab. Returns False if the same lab exists already."""
        if self.options() == options:
            return False
        self.down()
        try:
            self._build(options)
        except BaseException:
            self.down()
            raise
        return True

    def down(self):
        """Removes what exists of the lab, and ends the processes in it. Returns the number of
        namespaces."""
        found = self.namespaces()
        for sign in (signal.SIGTERM, signal.SIGKILL):
            deadline = time.monotonic() + GRACE_S
            while self._signal(found, sign) and time.monotonic() < deadline:
                time.sleep(0.05)
                sign = 0
        for namespace in found:
            run("ip", "netns", "delete", namespace)
        return len(found)

    @staticmethod
    def _signal(namespaces, sign):
        """Signals every process in the namespaces; 0 only looks. Returns whether there is one."""
        seen = False
        for namespace in namespaces:
            listed = subprocess.run(
                ["ip", "netns", "pids", namespace], check=False, capture_output=True, text=True
            ).stdout
            for pid in listed.split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), sign)
                    seen = True
        return seen

    def _build(self, options):
        nodes = [SWITCH, *range(options.world)]
        run("ip", "-batch", "-", text="".join(f"netns add {self.namespace(n)}\n" for n in nodes))
        for node in nodes:
            run("ip", "netns", "exec", self.namespace(node), "sh", "-ec", SETUP)
        bridge = f"{BRIDGE} type bridge forward_delay 0 mcast_snooping 0"
        if options.is_p4:
            bridge = f"{p4_device.HOST_PORT} mtu {options.mtu} type veth peer name {BRIDGE}"
        self._ip(
            SWITCH,
            "link set lo up",
            f"link add {bridge}",
            *(
                f"link add port{r} mtu {options.mtu} type veth "
                f"peer name eth0 mtu {options.mtu} netns {self.namespace(r)}"
                for r in range(options.world)
            ),
            *(
                f"link set port{r} {'' if options.is_p4 else f'master {BRIDGE} '}up"
                for r in range(options.world)
            ),
            *([f"link set {p4_device.HOST_PORT} up"] if options.is_p4 else []),
            f"link set {BRIDGE} mtu {options.mtu} up",
            *self._addresses(SWITCH, BRIDGE),
        )
        for rank in range(options.world):
            self._ip(rank, "link set lo up", "link set eth0 up", *self._addresses(rank, "eth0"))
        self._shape(options)
        if options.is_p4:
            p4_device.start(self.namespace(SWITCH), options.world)
        for node in nodes if options.congestion else []:
            device = BRIDGE if node == SWITCH else "eth0"
            self._ip(
                node,
                f"route change 10.77.0.0/24 dev {device} proto kernel scope link "
                f"src {address(node)} congctl {options.congestion}",
                f"route change fd77::/64 dev {device} proto kernel metric 256 "
                f"congctl {options.congestion}",
            )
        # An alias holds 255 bytes, which are too few for the options of a hundred links.
        self._ip(
            SWITCH,
            *(
                f"link set port{r} alias '{json.dumps(options.own(r))}'"
                for r in range(options.world)
                if options.own(r)
            ),
            f"link set {BRIDGE} alias '{json.dumps(options.common())}'",
        )

    @staticmethod
    def _addresses(node, device):
        return (
            f"addr add {address(node)}/24 dev {device}",
            f"addr add {address(node, 6)}/64 dev {device}",
        )

    def _ip(self, node, *lines):
        run("ip", "-n", self.namespace(node), "-batch", "-", text="\n".join(lines) + "\n")

    def _tc(self, node, lines):
        if lines:
            run("tc", "-n", self.namespace(node), "-batch", "-", text="\n".join(lines) + "\n")

    def _shape(self, options):
        ends = {SWITCH: {f"port{r}": r for r in range(options.world)}}
        ends |= {r: {"eth0": r} for r in range(options.world)}
        with tempfile.TemporaryDirectory(prefix="infold-lab-") as folder:
            losses = {options.loss_of(r) for r in range(options.world)} - {0}
            programs = {loss: compile_loss(loss, folder) for loss in losses}
            detours = {options.detours(r) for r in range(options.world)} - {None}
            diversions = {each: each.compile(folder) for each in detours}
            for node, devices in ends.items():
                lines = []
                for device, rank in devices.items():
                    if options.rate_of(rank) is not None:
                        bucket = Bucket(options.rate_of(rank), options.mtu + ETHERNET_BYTES)
                        lines += bucket.added(device)
                    # A P4 device reads a frame before its ingress could drop it, so the ranks' ends
                    # lose packets of both directions.
                    ways = ("ingress",)
                    if options.is_p4:
                        ways = () if node == SWITCH else ("ingress", "egress")
                    program = programs.get(options.loss_of(rank))
                    filters = [
                        f"filter add dev {device} {way} bpf direct-action object-file "
                        f"{program} section classifier"
                        for way in ways
                        if program
                    ]
                    detour = None if node == SWITCH else options.detours(rank)
                    if detour:
                        self._ip(node, *detour.interfaces())
                        lines += detour.queues(diversions[detour])
                        filters = [*detour.filters(diversions[detour], device), *filters]
                    if filters:
                        lines += [f"qdisc add dev {device} clsact", *filters]
                self._tc(node, lines)
                off = [d for d, rank in devices.items() if options.per_packet(rank)]
                if options.is_p4 and node == SWITCH:
                    off += [BRIDGE, p4_device.HOST_PORT]
                features = WHOLE_FRAMES if options.is_p4 else PER_PACKET
                script = "\n".join(f"ethtool -K {device} {features}" for device in off)
                if script:
                    run("ip", "netns", "exec", self.namespace(node), "sh", "-ec", script)

    def change_rate(self, rate):
        """Changes the rate of the links that have no rate of their own, while programs run. Queues
        keep their packets."""
        options = self.options()
        if options is None or options.rate is None:
            raise LabError(f"there is no lab {self.name} with links of a rate")
        bucket = Bucket(rate, options.mtu + ETHERNET_BYTES)
        followers = [r for r in range(options.world) if r not in options.rate_at]
        self._tc(SWITCH, [line for r in followers for line in bucket.changed(f"port{r}")])
        for rank in followers:
            self._tc(rank, bucket.changed("eth0"))
        common = dataclasses.replace(options, rate=rate).common()
        self._ip(SWITCH, f"link set {BRIDGE} alias '{json.dumps(common)}'")

    def links(self, options):
        """Yields what each link has carried since the lab was made, by rank and direction."""
        at_switch = self._counters(SWITCH)
        for rank in range(options.world):
            at_rank = self._counters(rank)
            here, there = at_rank["eth0"], at_switch[f"port{rank}"]
            # The sender's counter includes lost packets, because the other end drops them.
            for direction, sender, receiver in (("up", here, there), ("down", there, here)):
                yield {
                    "rank": rank,
                    "direction": direction,
                    "rate": options.rate_of(rank),
                    "loss": options.loss_of(rank),
                    "reorder": options.reorder,
                    "packets": sender["packets"],
                    "bytes": sender["bytes"],
                    "lost": receiver["lost"],
                    "overflowed": sender["overflowed"],
                    "held": reorder.held(at_rank[reorder.end_of(direction)]["arrived"])
                    if options.reorder
                    else 0,
                }

    def _counters(self, node):
        namespace = self.namespace(node)
        counters = {}
        for link in json.loads(run("ip", "-n", namespace, "-s", "-j", "link", "show")):
            sent = link["stats64"]["tx"]
            counters[link["ifname"]] = {
                "packets": sent["packets"],
                "bytes": sent["bytes"],
                "lost": 0,
                "arrived": 0,
                "overflowed": 0,
            }
        for qdisc in json.loads(run("tc", "-n", namespace, "-s", "-j", "qdisc", "show") or "[]"):
            if qdisc["kind"] == "clsact":
                counters[qdisc["dev"]] |= {"lost": qdisc["drops"], "arrived": qdisc["packets"]}
            elif qdisc["kind"] == "htb":
                counters[qdisc["dev"]]["overflowed"] = qdisc["drops"]
        return counters
