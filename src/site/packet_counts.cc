// SPDX-License-Identifier: Apache-2.0
#include "site/packet_counts.h"

#include "base/check.h"

namespace infold::site {

const char* count_name(std::size_t index) {
  CHECK_THAT(index, <, kPacketCounts);
  if (index < count_index(core::Verdict::count_)) {
    return core::verdict_name(static_cast<core::Verdict>(index));
  }
  switch (static_cast<PlaneVerdict>(index - count_index(core::Verdict::count_))) {
    case PlaneVerdict::dropped_checksum: return "dropped_checksum";
    case PlaneVerdict::dropped_busy: return "dropped_busy";
    case PlaneVerdict::dropped_broken: return "dropped_broken";
    case PlaneVerdict::dropped_unsummed: return "dropped_unsummed";
    case PlaneVerdict::dropped_unsendable: return "dropped_unsendable";
    case PlaneVerdict::answered_probe: return "answered_probe";
    case PlaneVerdict::heard_echo: return "heard_echo";
    case PlaneVerdict::dropped_stray: return "dropped_stray";
    case PlaneVerdict::count_: break;
  }
  return "unknown";
}

}  // namespace infold::site
