// SPDX-License-Identifier: Apache-2.0
#include "api/compression/leg_exchange.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <infold/rows.h>

#include "api/compression/wait_or_stop.h"
#include "io/host/clock.h"

namespace infold {
namespace {

using compress::Answer;
using compress::Leg;
using compress::Travel;

// The limit for the bytes of all ranks together.
constexpr std::uint64_t kGatheredMax = std::uint64_t{1} << 33;

constexpr std::array kTravels = {Travel::maxima, Travel::lanes, Travel::floats, Travel::rows,
                                 Travel::gather};

// The head is longer than the mean length of the last call by this fraction, because lengths vary a
// little.
constexpr std::uint64_t kHeadSpare = 64;

// The length of each leg of each rank, in the order of ranks. `longest` has a limit for each leg. A
// rank that says more is wrong, and all ranks find out before they make room for its code.
Result<std::vector<std::uint64_t>> read_lengths(std::span<const std::byte> parts,
                                                std::size_t part_bytes,
                                                std::span<const std::uint64_t> longest) {
  std::vector<std::uint64_t> lengths;
  std::uint64_t together = 0;
  for (std::size_t at = 0; at < parts.size(); at += part_bytes) {
    for (std::size_t i = 0; i < longest.size(); ++i) {
      std::uint64_t length = 0;
      std::memcpy(&length, parts.data() + at + i * sizeof length, sizeof length);
      lengths.push_back(length);
      if (length > longest[i]) {
        const auto rank = static_cast<int>(at / part_bytes);
        return tl::unexpected(
            Error{Code::invalid_argument,
                  fmt::format("compression: rank {} says that its code has {} bytes, and the "
                              "longest code of that tensor has {}",
                              rank, length, longest[i]),
                  rank, ""});
      }
      if ((together += length) > kGatheredMax) {
        return tl::unexpected(Error{Code::resource_exhausted,
                                    "compression: ranks say that their codes have more than 8 GiB",
                                    -1, ""});
      }
    }
  }
  return lengths;
}

// The total length of each rank's legs.
std::vector<std::uint64_t> totals_of(std::span<const std::uint64_t> lengths, std::size_t legs) {
  std::vector<std::uint64_t> totals;
  for (std::size_t at = 0; at < lengths.size(); at += legs) {
    const auto of_rank = lengths.subspan(at, legs);
    totals.push_back(std::accumulate(of_rank.begin(), of_rank.end(), std::uint64_t{0}));
  }
  return totals;
}

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

// Reduces copies in place, because a compressor still needs what it sent.
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

// First, each rank sends its lengths and the head of its codes, which has the same number of bytes
// at each rank. Then ranks whose codes are longer than the head send the rest.
Result<void> LegExchange::gather(std::span<const Slot> slots) {
  const std::size_t number = next_heads_.size();
  const std::size_t head = number < heads_.size() ? heads_[number] : 0;
  const auto world = static_cast<std::size_t>(communicator_.world());
  const auto self = static_cast<std::size_t>(communicator_.rank());
  const std::size_t lengths_bytes = slots.size() * sizeof(std::uint64_t);
  const std::size_t part_bytes = lengths_bytes + head;

  Bytes own;
  for (const auto& [leg, answer] : slots) {
    own.insert(own.end(), leg->sent.begin(), leg->sent.end());
  }
  std::byte* const parts = keep(part_bytes * world);
  std::byte* const own_part = parts + self * part_bytes;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::uint64_t length = slots[i].leg->sent.size();
    std::memcpy(own_part + i * sizeof length, &length, sizeof length);
  }
  std::copy_n(own.begin(), std::min(own.size(), head), own_part + lengths_bytes);
  const MutableTensorView all(parts, part_bytes * world, DataType::u8);
  auto done = wait_or_stop(
      communicator_.all_gather(TensorView(own_part, part_bytes, DataType::u8), all, options_),
      stop_);
  if (!done) return done;
  std::vector<std::uint64_t> longest;
  for (const auto& [leg, answer] : slots) longest.push_back(leg->bytes_max);
  const auto lengths = read_lengths({parts, part_bytes * world}, part_bytes, longest);
  if (!lengths) return tl::unexpected(lengths.error());
  bytes_sent_ += head;
  bytes_received_ += head * (world - 1);

  const std::uint64_t together =
      std::accumulate(lengths->begin(), lengths->end(), std::uint64_t{0});
  const std::uint64_t mean = together / world;
  next_heads_.push_back(mean + mean / kHeadSpare);
  std::vector<const std::byte*> heads;
  for (std::size_t rank = 0; rank < world; ++rank) {
    heads.push_back(parts + rank * part_bytes + lengths_bytes);
  }
  auto codes = gather_rests(heads, head, totals_of(*lengths, slots.size()), own);
  if (!codes) return tl::unexpected(codes.error());
  share_out(slots, *lengths, *codes);
  return {};
}

// Completes the codes of each rank whose codes are longer than the head. The others stay where they
// are.
Result<std::vector<const std::byte*>> LegExchange::gather_rests(
    std::span<const std::byte* const> heads, std::size_t head,
    std::span<const std::uint64_t> totals, std::span<const std::byte> own) {
  std::vector<const std::byte*> codes(heads.begin(), heads.end());
  std::vector<Handle> handles;
  CallOptions options = options_;
  options.keep_input = false;
  for (std::size_t rank = 0; rank < heads.size(); ++rank) {
    if (totals[rank] <= head) continue;
    const std::size_t rest = totals[rank] - head;
    std::byte* const whole = keep(totals[rank]);
    const bool is_own = rank == static_cast<std::size_t>(communicator_.rank());
    if (is_own) {
      std::copy(own.begin(), own.end(), whole);
    } else {
      std::copy_n(heads[rank], head, whole);
    }
    (is_own ? bytes_sent_ : bytes_received_) += rest;
    codes[rank] = whole;
    handles.push_back(communicator_.broadcast({whole + head, rest, DataType::u8},
                                              static_cast<int>(rank), options));
  }
  for (Handle& handle : handles) {
    if (auto done = wait_or_stop(std::move(handle), stop_); !done) {
      return tl::unexpected(done.error());
    }
  }
  return codes;
}

// Gives each leg its part of each rank's codes.
void LegExchange::share_out(std::span<const Slot> slots, std::span<const std::uint64_t> lengths,
                            std::span<const std::byte* const> codes) {
  std::vector<std::uint64_t> taken(codes.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    gathered_.push_back(std::make_unique<std::vector<std::span<const std::byte>>>());
    for (std::size_t rank = 0; rank < codes.size(); ++rank) {
      const std::uint64_t length = lengths[rank * slots.size() + i];
      gathered_.back()->emplace_back(codes[rank] + taken[rank], length);
      taken[rank] += length;
    }
    slots[i].answer->gathered = *gathered_.back();
  }
}

}  // namespace infold
