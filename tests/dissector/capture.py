# SPDX-License-Identifier: Apache-2.0
"""Writes packets into capture files, and runs tshark with infold's dissector on capture files."""

import contextlib
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree

DISSECTOR = pathlib.Path(__file__).resolve().parents[2] / "tools" / "wireshark" / "infold.lua"
PORT = 7700
SKIPPED = 77
LIMIT_S = 600


def why_not():
    """Returns the reason why no capture can be read here, or an empty text if one can."""
    return "" if shutil.which("tshark") else "tshark is not installed (Debian: tshark)"


def why_not_live():
    """Returns the reason why packets of this host cannot be captured, or an empty text."""
    if not shutil.which("dumpcap"):
        return "dumpcap is not installed (Debian: wireshark-common)"
    found = subprocess.run(
        ["dumpcap", "-D"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if "lo (Loopback)" in found.stdout or "lo\n" in found.stdout:
        return ""
    return f"no capture at loopback, which needs root: {found.stderr.strip()}"


def frame(datagram, ipv6, ports):
    udp = struct.pack("!HHHH", *ports, 8 + len(datagram), 0) + datagram
    if ipv6:
        addresses = bytes(15) + b"\1" + bytes(15) + b"\2"
        head = struct.pack("!IHBB", 6 << 28, len(udp), 17, 64) + addresses
        return bytes(12) + b"\x86\xdd" + head + udp
    head = (
        struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0)
        + bytes((10, 0, 0, 1))
        + bytes((10, 0, 0, 2))
    )
    return bytes(12) + b"\x08\x00" + head + udp


def write(path, datagrams, ports=(40000, PORT), kept_bytes=None):
    """Writes a pcap file of Ethernet frames, IPv4 and IPv6 by turns. It has `kept_bytes` of each
    datagram, or all if that is None."""
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number, datagram in enumerate(datagrams):
            ipv6 = number % 2 == 1
            whole = frame(datagram, ipv6, ports)
            kept = whole
            if kept_bytes is not None:
                kept = whole[: len(whole) - len(datagram) + kept_bytes]
            out.write(struct.pack("<IIII", number, 0, len(kept), len(whole)) + kept)


@contextlib.contextmanager
def run_tshark(*words):
    """Runs tshark with the dissector but no person's preferences, and yields its output."""
    with tempfile.TemporaryDirectory() as home:
        command = ["tshark", "-n", "-X", f"lua_script:{DISSECTOR}", *words]
        environment = {**os.environ, "HOME": home, "XDG_CONFIG_HOME": home}
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=environment,
        ) as process:
            yield process.stdout
            said = process.stderr.read().decode()
            if process.wait(LIMIT_S) != 0 or "Lua" in said:
                raise RuntimeError(f"{' '.join(command)}: {said}")


class Shown:
    """The fields that the dissector shows for a datagram, or for one of its packets."""

    def __init__(self, element):
        self.protocols = [proto.get("name") for proto in element.iter("proto")]
        self.fields = {}
        for field in element.iter("field"):
            self.fields.setdefault(field.get("name"), []).append(
                (field.get("show"), field.get("showname") or "")
            )
        self.lua_errors = self.fields.get("_ws.lua.error", [])
        self.packets = [
            Shown(proto) for proto in element.findall("proto") if proto.get("name") == "infold"
        ]

    def values(self, name):
        return [show for show, _ in self.fields.get(f"infold.{name}", [])]

    def numbers(self, name):
        return [int(show, 0) for show in self.values(name)]

    def texts(self, name):
        return [text for _, text in self.fields.get(f"infold.{name}", [])]

    def malformed(self):
        prefix = "infold.malformed."
        return {name[len(prefix) :] for name in self.fields if name.startswith(prefix)}


def dissect(path, *options):
    """Yields a Shown for each packet of the file."""
    with run_tshark("-r", str(path), "-T", "pdml", *options) as output:
        for _, element in ElementTree.iterparse(output):
            if element.tag == "packet":
                yield Shown(element)
                element.clear()


def columns(path, *options):
    """Yields the text of the info column of each packet of the file."""
    with run_tshark(
        "-r", str(path), "-T", "fields", "-e", "_ws.col.Protocol", "-e", "_ws.col.Info", *options
    ) as output:
        for line in output:
            yield tuple(line.decode().rstrip("\n").split("\t"))
