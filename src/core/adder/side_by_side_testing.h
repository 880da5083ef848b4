// SPDX-License-Identifier: Apache-2.0
//
// Helpers for tests that give the same packets to a core::Adder and a core::Aggregator.
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "core/adder/adder.h"

namespace infold::core {

// An honest rank sends only such packets to a pipeline that only adds, because the pipeline's
// record says what it sums.
inline bool is_summed_by_both(std::span<const std::byte> datagram) {
  Packet packet;
  if (parse(datagram, packet) != Malformed::none) return true;
  const FormatSet formats = adder_record(INFOLD_ELEMENTS_MAX).formats;
  return !packet.is_sparse() && formats.has(packet.header.signature.layout().format);
}

// Gives the datagram to both. Returns how the verdicts or packets differ, or an empty text if they
// do not.
inline std::string deliver_to_both(Adder& adder, Aggregator& aggregator,
                                   std::span<const std::byte> datagram) {
  const Verdict verdict = adder.handle_datagram(datagram);
  const Verdict wanted = aggregator.handle_datagram(datagram);
  if (verdict != wanted) {
    return std::string("verdict ") + verdict_name(verdict) + ", not " + verdict_name(wanted);
  }
  while (true) {
    const auto sent = adder.poll_transmit();
    const auto expected = aggregator.poll_transmit();
    if (!sent && !expected) return "";
    const bool is_same = sent && expected && sent->to == expected->to &&
                         sent->worker == expected->worker &&
                         std::ranges::equal(sent->datagram, expected->datagram);
    if (!is_same) return std::string("other packets after ") + verdict_name(wanted);
  }
}

}  // namespace infold::core
