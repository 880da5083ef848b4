/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds a datagram for the aggregator in a frame, and checks its fields. Packets
 * to other addresses are recognised before anything else in them is read.
 */
#pragma once

#include "planes/xdp/bpf/checksum.h"
#include "planes/xdp/bpf/maps.h"

enum found { kNotOurs, kBroken, kOurs };

/* the most parts of an exact sum, rows of the types, and pairs of part 0. */
enum { kExactParts = 32, kRowsF64 = 66, kRowsOthers = 9, kExactPairs = 12 };

INLINE int is_our_address(uint64_t high, uint64_t low) {
  UNROLL for (uint32_t i = 0; i < INFOLD_XDP_ADDRESSES_MAX; ++i) {
    if (i >= config.address_count) return 0;
    if (config.addresses[i].word[0] == high && config.addresses[i].word[1] == low) return 1;
  }
  return 0;
}

INLINE uint64_t mapped_ipv4(uint32_t address) { return (uint64_t)address << 32 | 0xffff0000; }

/* Finds a UDP datagram for us. Leaves packets with options and fragments to the host, because
 * workers do not send any. */
INLINE int find_ipv4(const uint8_t* data, const uint8_t* end, struct work* w) {
  const uint8_t* const ip = data + kEthernetBytes;
  const uint8_t* const udp = ip + kIpv4Bytes;
  if (udp + kUdpBytes > end) return kNotOurs;
  if (ip[0] != 0x45 || ip[9] != kProtocolUdp) return kNotOurs;
  if (!is_our_address(0, mapped_ipv4(*(const uint32_t*)(ip + 16)))) return kNotOurs;
  if (*(const uint16_t*)(udp + 2) != config.port.wire) return kNotOurs;
  if (*(const uint16_t*)(ip + 6) & bpf_htons(0x3fff)) return kNotOurs;
  uint64_t sum = 0;
  UNROLL for (uint32_t i = 0; i < kIpv4Bytes; i += 4) sum += *(const uint32_t*)(ip + i);
  if (fold(sum) != 0xffff) return kBroken;
  const uint32_t ip_bytes = bpf_ntohs(*(const uint16_t*)(ip + 2));
  const uint32_t udp_bytes = bpf_ntohs(*(const uint16_t*)(udp + 4));
  if (udp_bytes < kUdpBytes || kIpv4Bytes + udp_bytes > ip_bytes) return kBroken;
  if (ip_bytes > (uint64_t)(end - ip)) return kBroken;
  w->at = kDatagramAt4;
  w->bytes = udp_bytes - kUdpBytes;
  return kOurs;
}

INLINE int find_ipv6(const uint8_t* data, const uint8_t* end, struct work* w) {
  const uint8_t* const ip = data + kEthernetBytes;
  const uint8_t* const udp = ip + kIpv6Bytes;
  if (udp + kUdpBytes > end) return kNotOurs;
  if (ip[0] >> 4 != 6 || ip[6] != kProtocolUdp) return kNotOurs;
  if (!is_our_address(*(const uint64_t*)(ip + 24), *(const uint64_t*)(ip + 32))) return kNotOurs;
  if (*(const uint16_t*)(udp + 2) != config.port.wire) return kNotOurs;
  const uint32_t ip_bytes = bpf_ntohs(*(const uint16_t*)(ip + 4));
  const uint32_t udp_bytes = bpf_ntohs(*(const uint16_t*)(udp + 4));
  if (udp_bytes < kUdpBytes || udp_bytes > ip_bytes) return kBroken;
  if (ip_bytes > (uint64_t)(end - udp)) return kBroken;
  w->at = kDatagramAt6;
  w->bytes = udp_bytes - kUdpBytes;
  return kOurs;
}

INLINE int find_datagram(const uint8_t* data, const uint8_t* end, struct work* w) {
  if (data + kEthernetBytes > end) return kNotOurs;
  const uint16_t protocol = *(const uint16_t*)(data + 12);
  if (protocol == bpf_htons(0x0800)) return find_ipv4(data, end, w);
  if (protocol == bpf_htons(0x86dd)) return find_ipv6(data, end, w);
  return kNotOurs;
}

/* verifies the checksum only of packets that change state. A sender on the same machine may
 * leave the checksum to a network card that does not exist. The field then contains only the sum of
 * the pseudo-header. That case has a counter of its own, so that people can turn it off. Returns
 * whether the checksum is right. If not, `why` is the counter. */
INLINE int checksum_is_right(struct xdp_md* ctx, const struct work* w, uint32_t* why) {
  const uint8_t* const data = (const uint8_t*)(long)ctx->data;
  const uint8_t* const end = (const uint8_t*)(long)ctx->data_end;
  *why = INFOLD_XDP_DROPPED_CHECKSUM;
  if (data + kDatagramAt4 > end) return 0;
  const uint32_t udp_bytes = w->bytes + kUdpBytes;
  uint64_t sum = bpf_htonl(kProtocolUdp) + (uint64_t)bpf_htonl(udp_bytes);
  uint32_t sent;
  if (w->at == kDatagramAt4) {
    UNROLL for (uint32_t i = 26; i < 34; i += 4) sum += *(const uint32_t*)(data + i);
    sent = *(const uint16_t*)(data + kDatagramAt4 - 2);
  } else {
    if (data + kDatagramAt6 > end) return 0;
    UNROLL for (uint32_t i = 22; i < 54; i += 4) sum += *(const uint32_t*)(data + i);
    sent = *(const uint16_t*)(data + kDatagramAt6 - 2);
  }
  if (sent == 0) return 0;
  if (fold(sum + sum_of_frame(ctx, w->at - kUdpBytes, udp_bytes)) == 0xffff) return 1;
  if (fold(sum) == sent) *why = INFOLD_XDP_DROPPED_UNSUMMED;
  return 0;
}

INLINE uint32_t blocks_of(const struct work* w) {
  return w->wide ? (w->elements + 63) >> 6 : (w->elements + 31) >> 5;
}
INLINE uint32_t exponent_bytes(const struct work* w) {
  return w->is_blocks ? ((blocks_of(w) << w->wide) + 3) & ~3U : 0;
}
INLINE uint32_t partial_exponent_bytes(const struct work* w) {
  return ((2 * blocks_of(w) << w->wide) + 7) & ~7U;
}
INLINE uint32_t partial_bytes(const struct work* w, int specials) {
  const uint32_t sets = specials ? 2 * 8 * ((w->elements + 63) >> 6) : 0;
  return partial_exponent_bytes(w) + 8 * w->elements + sets;
}
INLINE uint32_t payload_bytes(const struct work* w) {
  return exponent_bytes(w) + (w->elements << w->element_shift);
}

INLINE int ends_job(uint32_t kind) {
  return kind == INFOLD_KIND_ABORT || kind == INFOLD_KIND_ABORTED;
}

/* The offset of the body, which follows the tag if there is one. Tagged packets are dropped, but
 * malformed ones are counted as such. */
INLINE uint32_t body_at(const struct work* w) {
  const uint32_t tagged = w->flags & INFOLD_FLAG_TAGGED;
  return INFOLD_HEADER_BYTES + tagged * (INFOLD_TAG_BYTES / INFOLD_FLAG_TAGGED);
}

/* Whether the bytes after `used` bytes of codes are 0, up to the end of their word. */
INLINE int last_code_word_fits(const struct infold_header* h, const uint8_t* end,
                               const struct work* w, uint32_t used) {
  if ((used & 3) == 0) return 1;
  uint32_t at = body_at(w) + (used & ~3U);
  OPAQUE(at);
  if (at > INFOLD_XDP_DATAGRAM_BYTES_MAX) return 0;
  const uint8_t* const word = (const uint8_t*)h + at;
  return word + 4 <= end && *(const uint32_t*)word >> 8 * (used & 3) == 0;
}

/* whether the padding after codes is 0. A partial sum may have another word of padding. */
INLINE int padding_fits(const struct infold_header* h, const uint8_t* end, const struct work* w) {
  const int is_partial = w->kind == INFOLD_KIND_PARTIAL;
  const uint32_t used = blocks_of(w) << (w->wide + is_partial);
  if (!last_code_word_fits(h, end, w, used)) return 0;
  const uint32_t beyond = (used + 3) & ~3U;
  if (!is_partial || (beyond & 4) == 0) return 1;
  uint32_t at = body_at(w) + beyond;
  OPAQUE(at);
  if (at > INFOLD_XDP_DATAGRAM_BYTES_MAX) return 0;
  const uint8_t* const word = (const uint8_t*)h + at;
  return word + 4 <= end && *(const uint32_t*)word == 0;
}

/* The bitwise or of all codes of f64, four bytes at a time. It is a separate function, so that the
 * verifier follows its loop once. */
static __attribute__((noinline)) uint32_t join_codes(const uint8_t* at, const uint8_t* end,
                                                     uint32_t bytes) {
  uint32_t any = 0;
  for (uint32_t i = 0; i < INFOLD_XDP_BLOCKS_MAX; i += 2) {
    if (2 * i >= bytes || at + 4 > end) break;
    any |= *(const uint32_t*)at;
    at += 4;
  }
  return any;
}

/* codes of f64 have 12 bits. */
INLINE int codes_fit(const struct infold_header* h, const uint8_t* end, const struct work* w) {
  const int is_partial = w->kind == INFOLD_KIND_PARTIAL;
  const uint32_t used = blocks_of(w) << (1 + is_partial);
  return (join_codes((const uint8_t*)h + body_at(w), end, used) & 0x00f000f0) == 0;
}

/* whether bits beyond the chunk's elements are 0. */
INLINE int sets_fit(const struct infold_header* h, const uint8_t* end, const struct work* w) {
  const uint32_t left = w->elements & 63;
  if (w->kind != INFOLD_KIND_PARTIAL || !(w->flags & INFOLD_FLAG_SPECIALS) || left == 0) return 1;
  const uint32_t sets = body_at(w) + partial_exponent_bytes(w) + 8 * w->elements;
  const uint32_t set_bytes = 8 * ((w->elements + 63) >> 6);
  uint32_t plus = sets + set_bytes - 8;
  uint32_t minus = plus + set_bytes;
  OPAQUE(plus);
  OPAQUE(minus);
  if (plus > INFOLD_XDP_DATAGRAM_BYTES_MAX || minus > INFOLD_XDP_DATAGRAM_BYTES_MAX) return 0;
  const uint8_t* const at_plus = (const uint8_t*)h + plus;
  const uint8_t* const at_minus = (const uint8_t*)h + minus;
  if (at_plus + 8 > end || at_minus + 8 > end) return 0;
  return (*(const uint64_t*)at_plus | *(const uint64_t*)at_minus) >> left == 0;
}

/* whether the body of an ABORT is valid. */
INLINE int abort_fits(const struct infold_header* h, const uint8_t* end, const struct work* w) {
  const struct infold_abort* const said = (const void*)((const uint8_t*)h + body_at(w));
  if ((const uint8_t*)(said + 1) > end) return 0;
  const uint32_t reason = infold_from_be16(said->reason);
  return reason != 0 && reason < INFOLD_ABORT_REASON_COUNT && said->reserved.wire == 0;
}

/* the bytes of part 0 of an exact sum, with `lows` second doubles. */
INLINE uint32_t exact_bytes(const struct work* w, uint32_t lows) {
  const uint32_t indices = w->wide ? 0 : (2 * lows + 7) & ~7U;
  return sizeof(struct infold_exact) + 8 * w->elements + indices + 8 * lows;
}
INLINE uint32_t exact_lows_max(const struct work* w) {
  return w->wide || w->elements < kExactPairs ? w->elements : kExactPairs;
}

/* whether indices rise and zeros follow them. It is a separate function, so that the
 * verifier follows its loop once. */
static __attribute__((noinline)) int indices_fit(const uint8_t* at, const uint8_t* end,
                                                 uint32_t lows, uint32_t elements) {
  uint32_t least = 0;
  for (uint32_t i = 0; i < kExactPairs; ++i) {
    if (i >= ((lows + 3) & ~3U) || at + 2 > end) break;
    const uint32_t index = *(const uint16_t*)at;
    if (i >= lows ? index != 0 : index < least || index >= elements) return 0;
    least = index + 1;
    at += 2;
  }
  return 1;
}

/* whether the body is a part of an exact sum. The program takes none, but counts a sound one
 * in the order of R-007. */
INLINE int exact_fits(const struct infold_header* h, const uint8_t* end, const struct work* w) {
  const uint32_t start = body_at(w);
  const struct infold_exact* const head = (const void*)((const uint8_t*)h + start);
  if ((const uint8_t*)(head + 1) > end) return 0;
  const uint32_t body = w->bytes - start;
  const uint32_t lows = infold_from_be16(head->lows);
  const uint32_t rows = head->rows;
  if (head->part >= head->parts || head->parts > kExactParts || head->reserved.wire) return 0;
  const uint32_t rows_max = w->wide ? kRowsF64 : kRowsOthers;
  if (head->part != 0) {
    return lows == 0 && rows != 0 && head->first_row + rows <= rows_max &&
           body == sizeof(*head) + 4 * rows * w->elements;
  }
  if (head->first_row | rows) return 0;
  if (lows > exact_lows_max(w) || body != exact_bytes(w, lows)) return 0;
  if (w->wide) return lows == 0 || lows == w->elements;
  uint32_t at = start + sizeof(*head) + 8 * w->elements;
  OPAQUE(at);
  if (at > INFOLD_XDP_DATAGRAM_BYTES_MAX) return 0;
  return indices_fit((const uint8_t*)h + at, end, lows, w->elements);
}

/* whether this kind of packet may have these flags, and whether unused fields are 0. */
INLINE int reserved_fits(const struct infold_header* h, const struct work* w) {
  if (w->flags) {
    if (w->flags & ~infold_flags_of(w->kind)) return 0;
    if (w->flags & INFOLD_FLAG_SPECIALS && !w->is_blocks) return 0;
    if (w->flags & INFOLD_FLAG_PARTIAL && w->kind == INFOLD_KIND_RESULT) return 0; /* */
  }
  if (w->kind < INFOLD_KIND_QUERY || w->kind == INFOLD_KIND_RESULT ||
      w->kind == INFOLD_KIND_REALIGN) {
    return 1;
  }
  if (h->contributors.wire | h->weight.wire | h->contributor_digest.wire) return 0;
  return !ends_job(w->kind) || (h->slot.wire | h->round.wire | w->signature) == 0;
}

/* Makes the checks beyond lengths. */
INLINE int contents_fit(const struct infold_header* h, const uint8_t* end, const struct work* w) {
  if (!w->is_blocks) {
    if (w->kind == INFOLD_KIND_PARTIAL) return exact_fits(h, end, w);
    return ends_job(w->kind) ? abort_fits(h, end, w) : 1;
  }
  /* The most frequent kind comes first. */
  if (w->kind == INFOLD_KIND_ADD && !w->wide) return last_code_word_fits(h, end, w, blocks_of(w));
  if (ends_job(w->kind) || w->kind == INFOLD_KIND_SKIP || w->kind == INFOLD_KIND_QUERY ||
      w->kind == INFOLD_KIND_PENDING) {
    return !ends_job(w->kind);
  }
  if (w->kind == INFOLD_KIND_RESULT && h->contributors.wire == 0) return 1;
  if (!padding_fits(h, end, w) || !sets_fit(h, end, w)) return 0;
  return !w->wide || codes_fit(h, end, w);
}

/* R-014, and the tables of R-020. */
INLINE int fields_fit(const struct infold_header* h, const struct work* w) {
  const uint32_t kind = w->kind;
  if (kind == 0 || kind == 7 || kind > INFOLD_KIND_ABORTED) return 0;
  const uint32_t format = h->format & 15;
  if (format >= INFOLD_FORMAT_COUNT || w->dtype >= INFOLD_DTYPE_COUNT) return 0;
  if (w->reduction >= INFOLD_REDUCTION_COUNT) return 0;
  if (h->operation >> 4 >= INFOLD_COLLECTIVE_COUNT) return 0;
  if (w->is_blocks || w->is_native) {
    if (w->reduction > INFOLD_REDUCTION_AVERAGE || w->dtype > INFOLD_DTYPE_F64) return 0;
  } else if (kind == INFOLD_KIND_PARTIAL) {
    return 0;
  }
  if (!w->is_blocks && (kind == INFOLD_KIND_OVERRANGE || kind == INFOLD_KIND_REALIGN)) return 0;
  if (w->elements << w->element_shift > INFOLD_PAYLOAD_BYTES_MAX) return 0;
  if (w->flags & INFOLD_FLAG_SPARSE) return 0; /* ranks learn that when they join */
  const int adds =
      kind == INFOLD_KIND_ADD || kind == INFOLD_KIND_PARTIAL || kind == INFOLD_KIND_OVERRANGE;
  if (adds) return h->contributors.wire != 0;
  if (kind != INFOLD_KIND_SKIP) return 1;
  return (h->contributors.wire | h->weight.wire | h->contributor_digest.wire) == 0;
}

INLINE int body_fits(const struct infold_header* h, const struct work* w) {
  const uint32_t start = body_at(w);
  if (w->bytes < start) return 0;
  const uint32_t body = w->bytes - start;
  switch (w->kind) {
    case INFOLD_KIND_ADD: return body == payload_bytes(w);
    case INFOLD_KIND_PARTIAL:
      return w->is_native || body == partial_bytes(w, w->flags & INFOLD_FLAG_SPECIALS);
    case INFOLD_KIND_OVERRANGE:
    case INFOLD_KIND_REALIGN: return body == exponent_bytes(w);
    case INFOLD_KIND_ABORT:
    case INFOLD_KIND_ABORTED: return body == sizeof(struct infold_abort);
    case INFOLD_KIND_RESULT: return body == (h->contributors.wire ? payload_bytes(w) : 0);
    case INFOLD_KIND_PENDING: return (body & 3) == 0 && body <= INFOLD_PENDING_BYTES_MAX;
    default: return body == 0;
  }
}

INLINE uint32_t native_shift(uint32_t dtype) {
  return dtype == INFOLD_DTYPE_F32 ? 2 : dtype == INFOLD_DTYPE_F64 ? 3 : 1;
}

/* Works like core::parse. Sets all fields except job, slot and copy. */
INLINE int parse(const struct infold_header* h, const uint8_t* end, struct work* w) {
  if (h->magic != INFOLD_MAGIC || h->version_kind >> 4 != INFOLD_VERSION) return 0;
  w->kind = h->version_kind & 15;
  w->flags = h->flags;
  w->worker = h->worker;
  w->round = infold_from_be32(h->round);
  w->elements = infold_from_be16(h->elements);
  const uint32_t format = h->format & 15;
  w->dtype = h->format >> 4;
  w->is_native = format == INFOLD_FORMAT_NATIVE;
  w->is_blocks = format >= INFOLD_FORMAT_BFP8 && !w->is_native;
  w->element_shift = w->is_blocks   ? format - INFOLD_FORMAT_BFP8
                     : w->is_native ? native_shift(w->dtype)
                                    : format & 3;
  w->element_bytes = w->elements << w->element_shift;
  w->wide = w->dtype == INFOLD_DTYPE_F64;
  w->reduction = h->operation & 15;
  w->signature = *(const uint64_t*)&h->elements;
  w->contributors.count = infold_from_be16(h->contributors);
  w->contributors.weight = infold_from_be16(h->weight);
  w->contributors.digest = infold_from_be32(h->contributor_digest);
  return fields_fit(h, w) && reserved_fits(h, w) && body_fits(h, w) && contents_fit(h, end, w);
}

/* whether the job may have a chunk like this. */
INLINE int fits_limits(const struct infold_xdp_job* job, const struct work* w) {
  if (w->elements > job->elements_max) return 0;
  const int widens = job->has_parent && (w->is_blocks || w->is_native);
  const uint32_t body = !widens        ? payload_bytes(w)
                        : w->is_native ? exact_bytes(w, exact_lows_max(w))
                                       : partial_bytes(w, 1);
  return INFOLD_HEADER_BYTES + body <= job->datagram_bytes_max;
}

/* Whether a native contribution has rows. Ranks do not send others, and aggregators no exact sums,
 * because they learn of it when they join. */
INLINE int sums_native(const struct infold_xdp_job* job, const struct work* w) {
  if (w->kind == INFOLD_KIND_PARTIAL) return 0;
  return w->kind != INFOLD_KIND_ADD || (job->sums_native && w->dtype <= INFOLD_DTYPE_BF16);
}

/* core::Aggregator::fits_worker. */
INLINE int fits_worker(const struct infold_header* h, const struct work* w) {
  if (w->kind == INFOLD_KIND_SKIP || w->kind == INFOLD_KIND_QUERY) return 1;
  const struct infold_xdp_member* const member =
      entry(&members, w->job * INFOLD_XDP_MEMBERS + w->worker);
  if (!member || (w->kind != INFOLD_KIND_ADD && !member->is_aggregator)) return 0;
  const uint32_t count = w->contributors.count;
  if (w->contributors.weight != count) return 0;
  if (count == member->count && w->contributors.digest == member->digest) return 1;
  return count == 1 && member->count > 1 && h->operation >> 4 >= INFOLD_COLLECTIVE_BROADCAST;
}

/* whether the end of a job names only ranks of the job, or one of its sites. */
INLINE int names_members(const struct infold_header* h, const uint8_t* end,
                         const struct infold_xdp_job* job) {
  const struct infold_abort* const said = (const struct infold_abort*)(h + 1);
  if ((const uint8_t*)(said + 1) > end) return 0;
  const int is_site = infold_from_be16(said->reason) == INFOLD_ABORT_STOPPED;
  const uint32_t others = is_site ? INFOLD_SITES_MAX : job->world;
  return infold_from_be16(said->rank) < job->world && infold_from_be16(said->other) < others;
}
