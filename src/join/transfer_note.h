// SPDX-License-Identifier: Apache-2.0
//
// What rank 0 tells an emulator about its transfers, so that emulated ranks make the same ones.
#pragma once

#include <cstdint>
#include <variant>

#include "core/worker/worker.h"

namespace infold::join {

// A transfer that rank 0 has begun. Notes come in the order of transfers, whose numbers are those
// of core::TransferId.
struct TransferNote {
  core::Collective collective = core::Collective::all_reduce;
  core::Reduction reduction = core::Reduction::sum;
  core::ElementLayout layout;
  std::uint64_t elements = 0;
  std::uint16_t root = 0;
  std::uint16_t encoding = 0;
  core::Priority priority = core::Priority::automatic;
  std::uint64_t after = 0;   // the transfer that must be done first; 0: none
  bool sized_later = false;  // a SizeNote follows
  bool has_codes = false;    // its exponents come from the transfer `after`
};

struct SizeNote {
  std::uint64_t transfer = 0;
  std::uint64_t elements = 0;
};

using CallNote = std::variant<TransferNote, SizeNote>;

}  // namespace infold::join
