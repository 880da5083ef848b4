// SPDX-License-Identifier: Apache-2.0
#include "study/sim/scenario/compressed_call.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/prng.h"
#include "compress/choice.h"
#include "numeric/codec.h"
#include "study/oracle/oracle.h"
#include "study/sim/scenario/difference.h"

namespace infold::sim {
namespace {

using compress::Answer;
using compress::Leg;
using compress::Travel;
using core::DataType;
using core::Reduction;

// Elements of all legs have 32 bits.
constexpr std::uint32_t kElementBytes = 4;

struct Sum {
  core::ElementLayout layout;
  Reduction reduction = Reduction::sum;
};

// `floats` is the layout for legs of floats.
Sum sum_of(Travel travel, core::ElementLayout floats) {
  switch (travel) {
    case Travel::lanes: return {{core::WireFormat::i32, DataType::i32}, Reduction::sum};
    case Travel::maxima:
      return {{core::integer_format(DataType::f32), DataType::f32}, Reduction::max};
    case Travel::floats:
    case Travel::gather:
    case Travel::rows: break;
  }
  CHECK(travel == Travel::floats);
  return {floats, Reduction::average};
}

}  // namespace

CompressedCall::CompressedCall(const CallPlan& call, const std::vector<std::uint16_t>& value_ranks)
    : call_(call),
      value_ranks_(value_ranks),
      ranks_(value_ranks.size()),
      compressors_(make_compressors()) {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) ranks_[rank].tensor = tensor_of(rank);
  find_expected();
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    ranks_[rank].mean.resize(call_.elements);
    for (const ExpectedLeg& leg : legs_) {
      const std::size_t bytes = call_.offset_bytes + leg.elements * kElementBytes;
      ranks_[rank].legs.push_back({.input = std::vector<std::byte>(bytes),
                                   .output = std::vector<std::byte>(call_.in_place ? 0 : bytes),
                                   .answer = std::vector<std::byte>(leg.elements * kElementBytes)});
    }
    begin(0, rank, compressors_[rank]->begin(ranks_[rank].tensor, turn_of(rank)));
  }
}

CompressedCall::Compressors CompressedCall::make_compressors() const {
  const auto choice = compress::CompressionChoice::make(
      {.method = call_.compression->method, .settings = call_.compression->settings});
  CHECK(choice.has_value());
  const compress::Shape shape{call_.elements, call_.compression->sides};
  Compressors compressors;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    auto made = choice->make_compressor(shape, static_cast<std::uint32_t>(ranks_.size()));
    CHECK(made.has_value());
    compressors.push_back(*std::move(made));
  }
  return compressors;
}

compress::Turn CompressedCall::turn_of(std::size_t rank) const {
  const std::uint64_t seed = base::mix64(call_.values.seed);
  return {.seed = seed,
          .step = seed % 1000,
          .parameter = base::mix64(seed),
          .rank = value_ranks_[rank],
          .world = static_cast<std::uint32_t>(ranks_.size())};
}

std::vector<float> CompressedCall::tensor_of(std::size_t rank) const {
  std::vector<float> tensor(call_.elements);
  oracle::fill_values(call_.values, value_ranks_[rank], std::as_writable_bytes(std::span(tensor)));
  return tensor;
}

void CompressedCall::find_expected() {
  const Compressors others = make_compressors();
  std::vector<Leg> legs;
  for (std::size_t rank = 0; rank < others.size(); ++rank) {
    legs.push_back(others[rank]->begin(ranks_[rank].tensor, turn_of(rank)));
  }
  while (!legs.empty()) {
    legs_.push_back(expect(legs));
    const Answer answer{.reduced = legs_.back().answer, .gathered = {}};
    legs.clear();
    for (const auto& other : others) {
      if (const auto next = other->next(answer)) legs.push_back(*next);
    }
    CHECK(legs.empty() || legs.size() == others.size());
  }
  expected_mean_.resize(call_.elements);
  others[0]->write_mean(expected_mean_);
}

CompressedCall::ExpectedLeg CompressedCall::expect(std::span<const Leg> legs) const {
  ExpectedLeg expected;
  expected.travel = legs[0].travel;
  expected.elements = legs[0].sent.size() / kElementBytes;
  const Sum sum = sum_of(expected.travel, call_.layout);
  oracle::Request request{.layout = sum.layout,
                          .reduction = sum.reduction,
                          .world = static_cast<std::uint32_t>(legs.size()),
                          .elements = expected.elements,
                          .inputs = {}};
  for (const Leg& leg : legs) {
    CHECK(leg.travel == expected.travel);
    CHECK_THAT(leg.sent.size(), ==, expected.elements * kElementBytes);
    request.inputs.push_back(leg.sent.data());
    expected.sent.emplace_back(leg.sent.begin(), leg.sent.end());
  }
  expected.answer.resize(expected.elements * kElementBytes);
  oracle::expected_result(request, expected.answer);
  return expected;
}

core::TransferRequest CompressedCall::request_of(std::uint32_t leg, std::uint16_t rank) {
  const auto [layout, reduction] = sum_of(legs_[leg].travel, call_.layout);
  Buffers& own = ranks_[rank].legs[leg];
  core::TransferRequest request;
  request.layout = layout;
  request.reduction = reduction;
  request.elements = legs_[leg].elements;
  if (request.elements == 0) return request;
  request.codec =
      numeric::codec(layout.dtype, layout.format, reduction, core::Collective::all_reduce);
  CHECK(request.codec != nullptr);
  request.input = own.input.data() + call_.offset_bytes;
  request.output = (call_.in_place ? own.input : own.output).data() + call_.offset_bytes;
  return request;
}

void CompressedCall::begin(std::uint32_t leg, std::size_t rank, const Leg& made) {
  Buffers& own = ranks_[rank].legs[leg];
  CHECK(made.travel == legs_[leg].travel);
  CHECK_THAT(made.sent.size(), ==, own.answer.size());
  std::copy(made.sent.begin(), made.sent.end(), own.input.begin() + call_.offset_bytes);
  own.is_begun = true;
}

std::optional<Leg> CompressedCall::next_leg(std::uint32_t leg, std::size_t rank) {
  return compressors_[rank]->next({.reduced = ranks_[rank].legs[leg].answer, .gathered = {}});
}

std::uint64_t CompressedCall::begin_leg(std::uint32_t leg, std::uint16_t rank) {
  const std::optional<Leg> made = next_leg(leg - 1, rank);
  CHECK(made.has_value());
  begin(leg, rank, *made);
  return legs_[leg].elements;
}

void CompressedCall::end_leg(std::uint32_t leg, std::uint16_t rank) {
  Buffers& own = ranks_[rank].legs[leg];
  const auto got = std::span(call_.in_place ? own.input : own.output).subspan(call_.offset_bytes);
  std::copy(got.begin(), got.end(), own.answer.begin());
  if (leg + 1 < leg_count()) return;
  CHECK(!next_leg(leg, rank).has_value());
  compressors_[rank]->write_mean(ranks_[rank].mean);
}

// A rank must send the same from the network's answers as from the oracle's.
std::string CompressedCall::compare_sent(std::uint32_t leg, std::size_t rank) const {
  const Buffers& own = ranks_[rank].legs[leg];
  if (call_.in_place || !own.is_begun) return "";
  const auto sent = std::span(own.input).subspan(call_.offset_bytes);
  const std::string difference = first_difference(sent, legs_[leg].sent[rank], kElementBytes);
  return difference.empty() ? "" : fmt::format("sent leg {}: {}", leg, difference);
}

std::string CompressedCall::compare(std::uint32_t leg) const {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    std::string fault = compare_sent(leg, rank);
    if (fault.empty()) {
      fault = first_difference(ranks_[rank].legs[leg].answer, legs_[leg].answer, kElementBytes);
    }
    if (fault.empty() && leg + 1 == leg_count()) {
      fault = first_difference(std::as_bytes(std::span(ranks_[rank].mean)),
                               std::as_bytes(std::span(expected_mean_)), kElementBytes);
    }
    if (!fault.empty()) return fmt::format("at rank {}, leg {}: {}", rank, leg, fault);
  }
  return "";
}

std::string CompressedCall::compare_inputs() const {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const std::vector<float> before = tensor_of(rank);
    std::string fault = first_difference(std::as_bytes(std::span(ranks_[rank].tensor)),
                                         std::as_bytes(std::span(before)), kElementBytes);
    for (std::uint32_t leg = 0; leg < leg_count() && fault.empty(); ++leg) {
      fault = compare_sent(leg, rank);
    }
    if (!fault.empty()) return fmt::format("of rank {}: {}", rank, fault);
  }
  return "";
}

}  // namespace infold::sim
