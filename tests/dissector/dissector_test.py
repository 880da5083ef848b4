#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the Wireshark dissector on the packets of spec/vectors. It must show the fields that each
vector has. It must call a packet, whole or damaged, malformed exactly if the core does.

Usage: dissector_test.py PROGRAM    (infold_vector_packets, which prints the packets)
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import capture
import vector_fields as wanted

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The dissector names the errors in a body of quarters in more detail than the core.
IN_QUARTERS = {"sparse", "truncated", "reserved", "codes"}
SEED = 15


def is_probe(datagram):
    return len(datagram) >= 32 and datagram[0] in (0xF0, 0xF2)


class DissectorTest(unittest.TestCase):
    """One capture of all packets, dissected once."""

    @classmethod
    def setUpClass(cls):
        out = subprocess.run(
            [PROGRAM], cwd=ROOT, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ).stdout
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name) / "vectors.pcap"
        # An empty datagram has nothing to dissect.
        cls.packets = [p for p in map(json.loads, out.splitlines()) if p["bytes"]]
        for packet in cls.packets:
            packet["datagram"] = bytes.fromhex(packet["bytes"])
        capture.write(cls.path, [p["datagram"] for p in cls.packets])
        cls.shown = list(capture.dissect(cls.path))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def good(self):
        """Packets that have all their fields, and are not malformed."""
        return [
            (p, s)
            for p, s in zip(self.packets, self.shown, strict=True)
            if "fields" in p and p["verdict"] == "none"
        ]

    def test_there_are_packets_of_every_kind(self):
        self.assertEqual(len(self.packets), len(self.shown))
        kinds = {p["fields"]["kind"].upper() for p, _ in self.good()}
        self.assertEqual(kinds, set(wanted.KINDS.values()))

    def test_a_packet_is_malformed_where_the_core_says_so(self):
        verdicts = set()
        for packet, shown in zip(self.packets, self.shown, strict=True):
            found, verdict = shown.malformed(), packet["verdict"]
            about = (packet["of"], packet["bytes"], verdict, found)
            self.assertEqual(shown.lua_errors, [], about)
            if is_probe(packet["datagram"]):
                self.assertEqual(found, set(), about)
                continue
            verdicts.add(verdict)
            if verdict == "none":
                self.assertEqual(found, set(), about)
            else:
                self.assertTrue(found & (IN_QUARTERS if verdict == "sparse" else {verdict}), about)
        self.assertGreaterEqual(len(verdicts), 16)

    def test_headers_are_what_the_vectors_say(self):
        for packet, shown in self.good():
            numbers = wanted.header(packet["fields"])
            for name, number in numbers.items():
                self.assertEqual(shown.numbers(name), [number], (name, packet))
            for name, word in wanted.names(numbers).items():
                self.assertIn(f": {word} (", shown.texts(name)[0], packet)
            for name, bit in wanted.FLAGS.items():
                self.assertEqual(shown.numbers(f"flags.{name}"), [int(numbers["flags"] & bit != 0)])
                self.assertIn(f"= {name.upper()}: ", shown.texts(f"flags.{name}")[0])
            tag = packet["fields"]["tag"]
            self.assertEqual([t.replace(":", "") for t in shown.values("tag")], [tag] * bool(tag))

    def test_codes_and_elements_are_what_the_vectors_say(self):
        specials = 0
        for packet, shown in self.good():
            fields = packet["fields"]
            layout = wanted.Layout(fields)
            blocks, places = wanted.blocks_and_places(fields, layout)
            is_partial = fields["kind"] == "partial"
            if is_partial and layout.is_native:
                continue
            self.assertEqual(
                shown.numbers("low_code" if is_partial else "code"), fields["codes"], packet
            )
            self.assertEqual(shown.numbers("high_code"), fields["high_codes"], packet)
            values = fields["values"] if fields["kind"] in ("add", "result", "partial") else []
            if layout.is_native:
                values = [layout.signed(number) for number in values]
            self.assertEqual(shown.numbers("lane" if is_partial else "element"), values, packet)
            if not values:
                continue
            has_specials = fields["flags"] & 2 and not is_partial
            specials += bool(has_specials)
            code_at = (
                dict(zip(blocks, fields["codes"], strict=False)) if not fields["held"] else None
            )
            codes = iter(
                self.codes_of(fields, layout)
                if code_at is None
                else [code_at.get(place // layout.block, 0) for place in places]
            )
            for number, text in zip(values, shown.values("value"), strict=False):
                value = (
                    layout.block_value(number, next(codes), has_specials)
                    if layout.is_block
                    else layout.integer_value(number)
                )
                self.assertTrue(wanted.same_value(text, value), (text, value, packet))
            has_values = layout.is_block or layout.integer_value(0) is not None
            self.assertEqual(len(shown.values("value")), len(values) * has_values, packet)
        self.assertGreater(specials, 5)

    def test_partial_sums_of_native_are_what_the_vectors_say(self):
        partials = [
            (p["fields"], s)
            for p, s in self.good()
            if p["fields"]["kind"] == "partial" and wanted.Layout(p["fields"]).is_native
        ]
        for fields, shown in partials:
            for name in ("part", "parts", "first_row"):
                self.assertEqual(shown.numbers(f"exact.{name}"), [fields[name]], fields)
            self.assertEqual(shown.numbers("exact.lows"), [len(fields["second"])], fields)
            self.assertEqual(shown.numbers("exact.rows"), [len(fields["rows"])], fields)
            self.assertEqual(shown.numbers("second_at"), fields["second_at"], fields)
            for name, bits in (("double", fields["values"]), ("second", fields["second"])):
                for text, each in zip(shown.values(name), bits, strict=True):
                    self.assertTrue(
                        wanted.same_value(text, wanted.float_of("f64", each)), (text, each, fields)
                    )
            digits = sum(fields["rows"], [])
            first, rows = fields["first_row"], len(fields["rows"]) * bool(digits)
            self.assertEqual(shown.numbers("row"), list(range(first, first + rows)), fields)
            self.assertEqual(shown.numbers("digit"), digits, fields)
        self.assertGreater(sum(bool(fields["second_at"]) for fields, _ in partials), 2)
        self.assertGreater(sum(bool(fields["rows"]) for fields, _ in partials), 10)

    @staticmethod
    def codes_of(fields, layout):
        """Yields the code of each element of a packet that leaves out zeros."""
        codes = iter(fields["codes"])
        for index, held in enumerate(fields["held"]):
            one = {**fields, "held": [held], "quarters": fields["quarters"][index : index + 1]}
            of_block = {block: next(codes, 0) for block in held}
            for place in wanted.blocks_and_places(one, layout)[1]:
                yield of_block[place // layout.block]

    def test_sets_are_what_the_vectors_say(self):
        seen = set()
        for packet, shown in self.good():
            fields = packet["fields"]
            seen |= {name for name in ("held", "quarters", "plus", "missing") if fields[name]}
            self.assertEqual(
                [text.partition(": blocks ")[2] for text in shown.texts("block_set")],
                [wanted.ranges_text(held) for held in fields["held"]],
                packet,
            )
            self.assertEqual(
                shown.numbers("chunk"),
                [fields["slot"] + i for i in range(len(fields["held"]))],
                packet,
            )
            self.assertEqual(
                shown.numbers("sparse.chunks"), [len(fields["held"])] * bool(fields["held"]), packet
            )
            if fields["held"]:
                grain = "quarters" if fields["quarters"] else "blocks"
                self.assertIn(f": {grain} (", shown.texts("sparse.grain")[0], packet)
            self.assertEqual(shown.numbers("quarters"), sum(fields["quarters"], []), packet)
            for name in ("plus", "minus"):
                text = [wanted.ranges_text(fields[name])] * (
                    fields["kind"] == "partial" and fields["flags"] & 2 != 0
                )
                self.assertEqual(
                    [t.partition(": elements ")[2] for t in shown.texts(name)], text, packet
                )
            if fields["kind"] == "pending":
                self.check_missing(fields, shown)
        self.assertEqual(seen, {"held", "quarters", "plus", "missing"})

    def check_missing(self, fields, shown):
        ranks = [rank for first, count in fields["missing"] for rank in range(first, first + count)]
        if fields["missing_bytes"]:
            ranks = [rank for rank in ranks if rank < 8 * fields["missing_bytes"]]
        elif not fields["missing"]:
            self.assertEqual(shown.values("missing"), [])
            return
        self.assertEqual(shown.values("missing"), [wanted.ranges_text(ranks)], fields)
        if not fields["missing_bytes"]:
            ranges = list(
                zip(
                    shown.numbers("rank_range.first"),
                    shown.numbers("rank_range.count"),
                    strict=True,
                )
            )
            self.assertEqual(ranges, [tuple(each) for each in fields["missing"]], fields)

    def test_the_end_of_a_job_is_what_the_vectors_say(self):
        ends = [(p, s) for p, s in self.good() if p["fields"]["kind"] in ("abort", "aborted")]
        for packet, shown in ends:
            fields = packet["fields"]
            for name in ("reason", "rank", "other"):
                self.assertEqual(shown.numbers(f"abort.{name}"), [fields[name]], packet)
            self.assertEqual(shown.numbers("abort.reserved"), [0])
            self.assertIn(
                f": {wanted.REASONS[fields['reason']]} (", shown.texts("abort.reason")[0], packet
            )
            pairs = [
                wanted.signature_of(fields[name]) for name in ("rank_signature", "other_signature")
            ]
            for name in wanted.WORDS:
                self.assertEqual(
                    shown.numbers(f"signature.{name}"), [each[name] for each in pairs], packet
                )
            self.assertIn("infold.ended", shown.fields)
        self.assertEqual({p["fields"]["reason"] for p, _ in ends}, set(range(1, 7)))

    def test_what_a_capture_lacks_is_not_malformed(self):
        draw = random.Random(SEED)
        # Cut packets at a few lengths, so that every part of every kind is cut somewhere.
        good = [p["datagram"] for p, _ in self.good() if len(p["datagram"]) > 33]
        for kept in (1, 16, 31, 32, 36, 40, 48, 64):
            path = pathlib.Path(self.folder.name) / "cut.pcap"
            cut = [d for d in draw.sample(good, 300) if len(d) > kept]
            capture.write(path, cut, kept_bytes=kept)
            for datagram, shown in zip(cut, capture.dissect(path), strict=True):
                about = (kept, datagram.hex())
                self.assertEqual(shown.lua_errors, [], about)
                self.assertEqual(shown.malformed(), set(), about)
                self.assertIn("infold.cut_short", shown.fields, about)

    def test_packets_are_known_on_every_port(self):
        draw = random.Random(SEED)
        path = pathlib.Path(self.folder.name) / "ports.pcap"
        ours = [p["datagram"] for p, _ in self.good()][::10]
        ours += [b"\xf0" + bytes(99), b"\xf2" + bytes(7) + draw.randbytes(40)]
        capture.write(path, ours, ports=(45001, 45002))
        for shown in capture.dissect(path):
            self.assertIn("infold", shown.protocols)
        others = [draw.randbytes(draw.randrange(1, 200)) for _ in range(500)]
        others += [bytes(64), b"\xf1" * 64, b"\xf1\x11" + bytes(14) + b"\xff" * 60]
        capture.write(path, others, ports=(45003, 45004))
        for shown in capture.dissect(path):
            self.assertNotIn("infold", shown.protocols)

    def test_trains_that_no_card_has_cut_yet_are_shown_packet_by_packet(self):
        draw, good = random.Random(SEED), self.good()
        trains = [draw.sample(good, draw.randrange(2, 8)) for _ in range(200)]
        path = pathlib.Path(self.folder.name) / "trains.pcap"
        capture.write(path, [b"".join(p["datagram"] for p, _ in train) for train in trains])
        for train, shown in zip(trains, capture.dissect(path), strict=True):
            self.assertEqual(shown.malformed(), set())
            for name in ("kind", "slot", "round", "shape", "element", "code", "missing"):
                self.assertEqual(shown.values(name), sum((s.values(name) for _, s in train), []))
        for train, (_, line) in zip(trains, capture.columns(path), strict=True):
            self.assertIn(f"Train of {len(train)} packets", line)

    def test_the_filters_of_the_page_are_filters(self):
        page = (ROOT / "docs" / "wireshark.md").read_text(encoding="utf-8")
        rows = page.partition("| filter | shows |")[2].partition("\n\n")[0].splitlines()[2:]
        filters = [row.split("`")[1].replace("\\|", "|") for row in rows]
        self.assertGreater(len(filters), 5)
        shown = {text: len(list(capture.columns(self.path, "-Y", text))) for text in filters}
        bad = sum(p["verdict"] != "none" and not is_probe(p["datagram"]) for p in self.packets)
        self.assertEqual(shown['infold && _ws.expert.group == "Malformed"'], bad)
        results = sum(s.numbers("kind") == [8] for s in self.shown)
        self.assertEqual(shown["infold.kind == 8"], results)

    def test_a_line_tells_what_a_packet_is(self):
        lines = list(capture.columns(self.path))
        for (packet, _), line in zip(
            self.good(),
            [
                line
                for packet, line in zip(self.packets, lines, strict=True)
                if "fields" in packet and packet["verdict"] == "none"
            ],
            strict=True,
        ):
            fields = packet["fields"]
            self.assertEqual(line[0], "infold")
            said = [fields["kind"].upper(), f"job {fields['job']}"]
            if fields["kind"] in ("abort", "aborted"):
                said += [wanted.REASONS[fields["reason"]], f"rank {fields['rank']}"]
            else:
                said += [
                    f"slot {fields['slot']} ",
                    f"round {fields['round']} ",
                    f"{fields['elements']} x {wanted.DATA_TYPES[fields['data_type']]}/"
                    f"{wanted.FORMATS[fields['format']]}",
                ]
            said += [name.upper() for name, bit in wanted.FLAGS.items() if fields["flags"] & bit]
            for part in said:
                self.assertIn(part, line[1], packet)


if __name__ == "__main__":
    if capture.why_not():
        print(capture.why_not())
        sys.exit(capture.SKIPPED)
    PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
