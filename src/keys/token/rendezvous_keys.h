// SPDX-License-Identifier: Apache-2.0
//
// The keys of a rendezvous, where ranks meet at rank 0 without a switch. Nobody has made a
// certificate or a token there before, but all ranks share one secret text. From it, rank 0 makes
// its certificate and each rank makes its token, so that each knows the other one. Whoever has the
// text can be any rank of the job, also rank 0.
#pragma once

#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "keys/certificate.h"
#include "keys/token/keyring.h"

namespace infold::keys {

// A text of random letters and digits of this length has over 80 bits.
inline constexpr std::size_t kSharedTextMin = 16;
inline constexpr std::size_t kSharedTextMax = 1024;

struct RendezvousKeys {
  Identity identity;  // rank 0's
  Keyring keyring;    // by which rank 0 checks tokens
  std::string token;  // every rank joins with it

  // The error is the end of a sentence about the text, and does not show it.
  static tl::expected<RendezvousKeys, const char*> of(std::string_view shared);
};

}  // namespace infold::keys
