# SPDX-License-Identifier: Apache-2.0
"""The terms of a job: whether a Joined makes sense (J-010, J-014), and what follows from it
(J-011, J-022)."""

import blocks
import packet
from worker import partial_bytes

JOB_MAX, SLOTS_MAX, SITES_MAX, WEIGHT_MAX = 0xFFFF, 0x7FFF, 64, 64
RECORD_ELEMENTS_MIN, RECORD_ELEMENTS_MAX = 32, 8192
# The blocks of f64, the longest ones, and the chunks of what has no blocks.
LONGEST_BLOCK, PLAIN_GRANULE = 64, 16
KNOWN_FORMATS = sum(1 << code for code in packet.FORMATS.values())
KNOWN_PENDING_FORMS = 3


def misfit(joined, rank, world):
    """Returns why a rank cannot take these terms, or None."""
    slots = joined["small_slots"] + joined["bulk_slots"]
    sites = joined["sites"]
    if joined["job"] > JOB_MAX or not 1 <= slots <= SLOTS_MAX:
        return f"job {joined['job']} with {slots} slots is out of range"
    if not joined["formats"] & KNOWN_FORMATS:
        return "this rank knows none of the job's wire formats"
    if not 1 <= len(sites) <= SITES_MAX:
        return f"the job has {len(sites)} sites"
    if not all(rise(joined[ranges], world) for ranges in ("groups", "racks")):
        return "the job's groups or racks overlap or end beyond its ranks"
    if joined["wants_transfers"] and rank == 0:
        return "rank 0 must tell this switch its transfers, which this program cannot"
    for name, code in packet.FORMATS.items():
        if joined["formats"] >> code & 1 and not holds_granule(joined, name):
            return f"its datagrams or elements hold no chunk of {name}"
    problems = ((at, site_misfit(site, joined)) for at, site in enumerate(sites))
    return next((f"site {at} {problem}" for at, problem in problems if problem), None)


def site_misfit(site, joined):
    record = site["record"]
    if site["weight"] > WEIGHT_MAX:
        return f"has weight {site['weight']}"
    if (
        record is None
        or record["elements_max"] < RECORD_ELEMENTS_MIN
        or record["workers_max"] < 1
        or not record["pending_forms"] & KNOWN_PENDING_FORMS
    ):
        return "has no record, or one out of bounds"
    lacks_native = 0
    if not record["formats"] >> packet.FORMATS["native"] & 1:
        lacks_native = joined["native_types"] & ~record["native_types"]
    if joined["formats"] & ~record["formats"] or lacks_native:
        return "lacks formats that the job uses"
    if joined["elements_max"] > min(record["elements_max"], RECORD_ELEMENTS_MAX):
        return "takes fewer elements than the job's chunks have"
    if record["reductions_lacking"] >> packet.SUM & 1:
        return "cannot sum"
    return None


def holds_granule(joined, wire_format):
    has_trees = bool(joined["racks"] or joined["groups"])
    has_longer = wire_format in blocks.WIDTHS or wire_format == "i32"
    elements = LONGEST_BLOCK if has_longer else PLAIN_GRANULE
    element_bytes = {"native": 8, "i16": 2}.get(wire_format)  # native: of f64
    body = element_bytes * elements if element_bytes else blocks.body_bytes(wire_format, elements)
    if has_trees:
        body = max(body, partial_bytes(wire_format, elements))
    fits = packet.HEADER.size + body <= joined["datagram_bytes_max"]
    return fits and elements <= joined["elements_max"]


def rise(ranges, world):
    """Returns whether ranges of ranks rise, do not overlap, and end within the world."""
    end = 0
    for each in ranges:
        if each["first"] < end or each["count"] < 1:
            return False
        end = each["first"] + each["count"]
    return end <= world


def site_order(job, epoch, weights):
    """J-022, for the sites of one switch."""
    order, mask = 0, (1 << 64) - 1
    for weight in weights:
        h = order + 0x9E3779B97F4A7C15 + (job << 48 | weight << 32 | epoch) & mask
        h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 & mask
        h = (h ^ h >> 27) * 0x94D049BB133111EB & mask
        order = h ^ h >> 31
    return order


def members(ranges, rank):
    """Returns the group or rack that has this rank as a range, or None."""
    return next(
        (
            range(each["first"], each["first"] + each["count"])
            for each in ranges
            if each["first"] <= rank < each["first"] + each["count"]
        ),
        None,
    )


def worker_number(rank, groups, racks, at_rank):
    """J-011: the number of the site's parties that come before this rank's party. A rack is one
    party at a switch's site, unless this rank is in it."""
    own_rack = None if at_rank else members(racks, rank)
    parties = set()
    for other in range(own_rack.start if own_rack else 0, rank):
        together = None if at_rank or own_rack else members(racks, other)
        together = together or members(groups, other)
        parties.add(together.start if together else other)
    return len(parties)
