// SPDX-License-Identifier: Apache-2.0
//
// Makes the legs of many compressors as collectives of a communicator. Legs of one kind share one
// call, so that small parameters share packets. make() blocks, and only one thread at a time may
// use an object. All ranks must pass legs of the same kinds in the same order.
//
// Gathered codes have a different length at each rank. They travel together with their lengths, up
// to the length that the last call predicts, so that only the rest needs a second round trip.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <infold/communicator.h>
#include <infold/compression.h>
#include <infold/compressor.h>

#include "base/instant.h"

namespace infold {

class LegExchange {
 public:
  // For each gather of a call: how many bytes of a rank's codes travel together with the lengths.
  using Heads = std::vector<std::uint64_t>;

  // `encoding` distinguishes codes that only look alike (CallOptions::encoding). All ranks must
  // pass equal `heads`. A gather that has no entry in `heads` first sends only the lengths.
  LegExchange(Communicator& communicator, std::uint16_t encoding, const AverageOptions& options,
              Heads heads)
      : communicator_(communicator),
        options_{.deadline = options.deadline, .encoding = encoding},
        stop_(options.stop),
        heads_(std::move(heads)) {}

  // Returns one answer for each leg, which is valid until clear(). Requires: each leg of a gather
  // has its bytes_max.
  Result<std::vector<compress::Answer>> make(std::span<const compress::Leg> legs);
  // Frees the answers' memory for the next step.
  void clear();

  // The heads for the next call of the same kind. All ranks have the same if make() succeeded at
  // all of them.
  const Heads& next_heads() const { return next_heads_; }
  std::uint64_t bytes_sent() const { return bytes_sent_; }
  std::uint64_t bytes_received() const { return bytes_received_; }
  // The time spent in make().
  base::Duration time() const { return time_; }

 private:
  using Bytes = std::vector<std::byte>;
  struct Slot {
    const compress::Leg* leg;
    compress::Answer* answer;
  };

  Result<void> make_all(std::span<const compress::Leg> legs, std::span<compress::Answer> answers);
  Result<void> reduce(std::span<const Slot> slots, DataType type, Reduction reduction);
  Result<void> sum_rows(std::span<const Slot> slots);
  Result<void> gather(std::span<const Slot> slots);
  Result<std::vector<const std::byte*>> gather_rests(std::span<const std::byte* const> heads,
                                                     std::size_t head,
                                                     std::span<const std::uint64_t> totals,
                                                     std::span<const std::byte> own);
  void share_out(std::span<const Slot> slots, std::span<const std::uint64_t> lengths,
                 std::span<const std::byte* const> codes);
  std::byte* keep(std::size_t bytes);

  Communicator& communicator_;
  CallOptions options_;
  const std::stop_token stop_;
  const Heads heads_;
  Heads next_heads_;
  std::vector<std::unique_ptr<Bytes>> kept_;
  std::vector<std::unique_ptr<std::vector<std::span<const std::byte>>>> gathered_;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t bytes_received_ = 0;
  base::Duration time_;
};

}  // namespace infold
