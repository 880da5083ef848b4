// SPDX-License-Identifier: Apache-2.0
//
// For tests of launches: terms as a member gives them, and the launches of several ranks for one
// call. A loop replaces the network and carries the transfers of i32 between the ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "rank/calls/launch/launch.h"

namespace infold::rank::testing {

using Tensor = std::vector<std::int32_t>;

inline LaunchTerms terms_of(const CallRequest& request, int rank = 0, int world = 1) {
  const auto format = encoding::choose_format(
      {request.collective, request.input.type, request.options.reduction, request.options.wire,
       WireFormat::automatic, static_cast<std::uint32_t>(world)});
  return {format.value(), rank, world, base::Instant::never()};
}

// Writes a result as the network would.
inline void write_result(const core::TransferRequest& transfer, const Tensor& values) {
  core::TensorCodec::Received received;
  received.elements = reinterpret_cast<const std::byte*>(values.data());
  transfer.codec->decode(transfer.context, transfer.output,
                         {0, static_cast<std::uint32_t>(values.size())}, received);
}

// Does what the network does with a transfer that all ranks make.
inline void carry(std::span<const core::TransferRequest> transfers, std::uint64_t elements) {
  constexpr std::uint32_t kChunk = 96;
  for (std::uint64_t first = 0; first < elements; first += kChunk) {
    const core::ChunkRange range = {
        first, static_cast<std::uint32_t>(std::min<std::uint64_t>(kChunk, elements - first))};
    Tensor all(range.elements);
    for (const core::TransferRequest& transfer : transfers) {
      if (transfer.input == nullptr && transfer.context == nullptr) continue;
      Tensor own(range.elements);
      transfer.codec->encode(transfer.context, transfer.input, range, nullptr, nullptr,
                             reinterpret_cast<std::byte*>(own.data()));
      for (std::size_t i = 0; i < own.size(); ++i) {
        all[i] = transfer.reduction == core::Reduction::bit_or ? all[i] | own[i] : all[i] + own[i];
      }
    }
    for (const core::TransferRequest& transfer : transfers) {
      if (!transfer.wants_result()) continue;
      core::TensorCodec::Received received;
      received.elements = reinterpret_cast<const std::byte*>(all.data());
      transfer.codec->decode(transfer.context, transfer.output, range, received);
    }
  }
}

// The launches of one call, one for each rank. They may be of different kinds.
class Ranks {
 public:
  void begin(Launch& launch, const CallRequest& request, int world,
             std::optional<sparse::Opinions> opinion = {}) {
    LaunchTerms terms = terms_of(request, static_cast<int>(launches_.size()), world);
    terms.opinion = opinion;
    outline_ = launch.begin(request, terms).value();
    launches_.push_back(&launch);
  }

  // Carries all transfers, but does not deliver their results.
  void carry_all() {
    std::vector<std::vector<core::TransferRequest>> transfers(outline_.transfers);
    for (std::uint32_t number = 0; number < outline_.transfers; ++number) {
      for (Launch* const launch : launches_) {
        transfers[number].push_back(launch->transfer(number, core::TransferId{number}));
        const bool is_sized = number > 0 && number <= outline_.sizing;
        EXPECT_EQ(transfers[number].back().sized_later, is_sized);
      }
    }
    std::uint64_t size = 0;
    for (std::uint32_t number = 0; number < outline_.transfers; ++number) {
      const bool is_sized = number > 0 && number <= outline_.sizing;
      carry(transfers[number], is_sized ? size : transfers[number].back().elements);
      if (number >= outline_.sizing) continue;
      for (Launch* const launch : launches_) size = launch->size_after(number, {}).elements;
    }
  }

  const LaunchOutline& outline() const { return outline_; }

 private:
  std::vector<Launch*> launches_;
  LaunchOutline outline_;
};

}  // namespace infold::rank::testing
