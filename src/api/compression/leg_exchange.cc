// SPDX-License-Identifier: Apache-2.0
#include "api/compression/leg_exchange.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include <infold/rows.h>

#include "api/compression/wait_or_stop.h"
#include "io/host/clock.h"

namespace infold {
namespace {

using codec::Answer;
using codec::Leg;
using codec::Travel;

// Bytes of all ranks together. A rank that says it has more is wrong.
constexpr std::uint64_t kGatheredMax = std::uint64_t{1} << 33;

constexpr std::array kTravels = {Travel::maxima, Travel::lanes, Travel::floats, Travel::rows,
                                 Travel::gather};

}  // namespace

Result<std::vector<Answer>> LegExchange::make(std::span<const Leg> legs) {
  const base::Instant started = io::monotonic_now();
  std::vector<Answer> answers(legs.size());
  auto made = make_all(legs, answers);
  time_ = time_ + (io::monotonic_now() - started);
  if (!made) return tl::unexpected(made.error());
  return answers;
}

Result<void> LegExchange::make_all(std::span<const Leg> legs, std::span<Answer> answers) {
  for (const Travel travel : kTravels) {
    std::vector<Slot> slots;
    for (std::size_t i = 0; i < legs.size(); ++i) {
      if (legs[i].travel == travel) slots.push_back({&legs[i], &answers[i]});
    }
    if (slots.empty()) continue;
    Result<void> made;
    switch (travel) {
      case Travel::maxima: made = reduce(slots, DataType::f32, Reduction::max); break;
      case Travel::lanes: made = reduce(slots, DataType::i32, Reduction::sum); break;
      case Travel::floats: made = reduce(slots, DataType::f32, Reduction::average); break;
      case Travel::rows: made = sum_rows(slots); break;
      case Travel::gather: made = gather(slots); break;
    }
    if (!made) return made;
  }
  return {};
}

void LegExchange::clear() {
  kept_.clear();
  gathered_.clear();
}

std::byte* LegExchange::keep(std::size_t bytes) {
  kept_.push_back(std::make_unique<Bytes>(bytes));
  return kept_.back()->data();
}

// In place in copies, because a compressor still needs what it sent.
Result<void> LegExchange::reduce(std::span<const Slot> slots, DataType type, Reduction reduction) {
  std::vector<MutableTensorView> tensors;
  for (const auto& [leg, answer] : slots) {
    const std::size_t bytes = leg->sent.size();
    std::byte* const copy = keep(bytes);
    if (bytes > 0) std::memcpy(copy, leg->sent.data(), bytes);
    tensors.emplace_back(copy, bytes / element_bytes(type), type);
    answer->reduced = {copy, bytes};
    bytes_sent_ += bytes;
    bytes_received_ += bytes;
  }
  CallOptions options = options_;
  options.reduction = reduction;
  options.keep_input = false;
  return wait_or_stop(communicator_.all_reduce_list(tensors, options), stop_);
}

Result<void> LegExchange::sum_rows(std::span<const Slot> slots) {
  CallOptions options = options_;
  options.reduction = Reduction::average;
  std::vector<std::vector<std::int64_t>> indices;
  std::vector<Handle> handles;
  for (const auto& [leg, answer] : slots) {
    indices.emplace_back(leg->indices.begin(), leg->indices.end());
    const RowsView rows{.indices = indices.back(),
                        .values = {leg->sent.data(), leg->indices.size(), DataType::f32},
                        .rows = leg->elements};
    const std::size_t bytes = leg->elements * sizeof(float);
    std::byte* const whole = keep(bytes);
    answer->reduced = {whole, bytes};
    bytes_sent_ += leg->sent.size() + leg->indices.size_bytes();
    handles.push_back(communicator_.all_reduce(
        rows, MutableTensorView(whole, leg->elements, DataType::f32), options));
  }
  for (Handle& handle : handles) {
    if (auto done = wait_or_stop(std::move(handle), stop_); !done) return done;
  }
  return {};
}

// Of each rank, in the order of ranks, the length of each leg.
Result<std::vector<std::uint64_t>> LegExchange::gather_lengths(std::span<const Slot> slots) {
  std::vector<std::int64_t> own;
  for (const auto& [leg, answer] : slots) {
    own.push_back(static_cast<std::int64_t>(leg->sent.size()));
  }
  const auto world = static_cast<std::size_t>(communicator_.world());
  std::vector<std::int64_t> all(own.size() * world);
  auto done = wait_or_stop(communicator_.all_gather(own, all, options_), stop_);
  if (!done) return tl::unexpected(done.error());
  std::vector<std::uint64_t> lengths;
  std::uint64_t together = 0;
  for (const std::int64_t length : all) {
    lengths.push_back(static_cast<std::uint64_t>(length));
    if (lengths.back() > kGatheredMax || (together += lengths.back()) > kGatheredMax) {
      return tl::unexpected(Error{Code::resource_exhausted,
                                  "compression: ranks say that their codes have more than 8 GiB",
                                  -1, ""});
    }
  }
  return lengths;
}

Result<void> LegExchange::gather(std::span<const Slot> slots) {
  auto lengths = gather_lengths(slots);
  if (!lengths) return tl::unexpected(lengths.error());
  const auto world = static_cast<std::size_t>(communicator_.world());
  std::vector<const Bytes*> parts;
  std::vector<Handle> handles;
  for (std::size_t rank = 0; rank < world; ++rank) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < slots.size(); ++i) bytes += (*lengths)[rank * slots.size() + i];
    std::byte* at = keep(bytes);
    parts.push_back(kept_.back().get());
    const MutableTensorView part(at, bytes, DataType::u8);
    if (rank == static_cast<std::size_t>(communicator_.rank())) {
      bytes_sent_ += bytes;
      for (const auto& [leg, answer] : slots) {
        at = std::copy(leg->sent.begin(), leg->sent.end(), at);
      }
    } else {
      bytes_received_ += bytes;
    }
    CallOptions options = options_;
    options.keep_input = false;
    handles.push_back(communicator_.broadcast(part, static_cast<int>(rank), options));
  }
  for (Handle& handle : handles) {
    if (auto done = wait_or_stop(std::move(handle), stop_); !done) return done;
  }
  share_out(slots, *lengths, parts);
  return {};
}

// Gives each leg its piece of each rank's part.
void LegExchange::share_out(std::span<const Slot> slots, std::span<const std::uint64_t> lengths,
                            std::span<const Bytes*> parts) {
  std::vector<std::uint64_t> taken(parts.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    gathered_.push_back(std::make_unique<std::vector<std::span<const std::byte>>>());
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      const std::uint64_t length = lengths[rank * slots.size() + i];
      gathered_.back()->push_back(
          std::span<const std::byte>(*parts[rank]).subspan(taken[rank], length));
      taken[rank] += length;
    }
    slots[i].answer->gathered = *gathered_.back();
  }
}

}  // namespace infold
