// SPDX-License-Identifier: Apache-2.0
//
// Helps tests of single methods to see what one rank's compressor sends and what others see of it.
#pragma once

#include "compress/testing.h"
#include "compress/unbiased_testing.h"

namespace infold::compress {

inline std::unique_ptr<Compressor> make_one(const std::string& method, Settings::Given settings,
                                            std::size_t elements, std::uint32_t world = 1) {
  auto compressor = choose(method, std::move(settings)).make_compressor({elements, {}}, world);
  EXPECT_TRUE(compressor.has_value());
  return *std::move(compressor);
}

// Returns what the compressor of a tensor sends in a job of one rank, decoded to floats.
inline std::vector<float> what_is_sent(const std::string& method, Settings::Given settings,
                                       const std::vector<float>& tensor, Turn turn = {}) {
  const auto compressor = make_one(method, std::move(settings), tensor.size());
  compressor->begin(tensor, turn);
  std::vector<float> sent(tensor.size());
  compressor->write_sent(sent);
  return sent;
}

// Returns the code that a rank contributes to a gather.
inline std::vector<std::byte> code_of(Compressor& compressor, std::span<const float> tensor,
                                      const Turn& turn = {}) {
  const Leg leg = compressor.begin(tensor, turn);
  EXPECT_EQ(leg.travel, Travel::gather);
  return {leg.sent.begin(), leg.sent.end()};
}

// Whether the compressor accepts these bytes as a rank's code. Requires: it has begun a step.
inline bool takes(Compressor& compressor, std::span<const std::byte> code) {
  const std::vector<std::span<const std::byte>> gathered = {code};
  EXPECT_FALSE(compressor.next({.reduced = {}, .gathered = gathered}).has_value());
  return compressor.is_sound();
}

}  // namespace infold::compress
