// SPDX-License-Identifier: Apache-2.0
//
// Which transfers an exact sum over adders takes, and where its result goes.
#include "rank/calls/adders/digits.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "rank/calls/launch/launch_testing.h"

namespace infold::rank {
namespace {

using core::Collective;
using testing::terms_of;
using Floats = std::vector<float>;

LaunchTerms terms_at_mtu_1500(const CallRequest& request, int rank = 0, int world = 2) {
  LaunchTerms terms = terms_of(request, rank, world);
  terms.limits.datagram_bytes_max = 1472;
  return terms;
}

// Writes the result that this rank would get if it were alone in the job.
template <typename Integer>
void carry(const core::TransferRequest& transfer, std::uint64_t elements) {
  const core::ChunkRange range = {0, static_cast<std::uint32_t>(elements)};
  std::vector<Integer> packet(elements);
  auto* const bytes = reinterpret_cast<std::byte*>(packet.data());
  transfer.codec->encode(transfer.context, transfer.input, range, nullptr, nullptr, bytes);
  core::TensorCodec::Received received;
  received.elements = bytes;
  transfer.codec->decode(transfer.context, transfer.output, range, received);
}

// Carries both transfers.
void carry_all(DigitsLaunch& launch) {
  const core::TransferRequest ranges = launch.transfer(0, core::TransferId::none);
  carry<std::int16_t>(ranges, ranges.elements);
  const core::TransferRequest digits = launch.transfer(1, core::TransferId{1});
  const Launch::Size size = launch.size_after(0, {});
  EXPECT_EQ(size.present, nullptr);
  if (size.elements > 0) carry<std::int32_t>(digits, size.elements);
}

CallRequest sum_in_place(Floats& tensor, bool keep_input = true) {
  return {Collective::all_reduce,
          tensor,
          tensor,
          0,
          {.wire = WireFormat::digits, .keep_input = keep_input}};
}

TEST(DigitsLaunch, ATransferOfRangesGivesTheDigitsTheirSize) {
  ScratchPool pool;
  DigitsLaunch launch(pool);
  Floats tensor(1000, 1.5F);
  const CallRequest request = sum_in_place(tensor);
  const LaunchOutline outline = launch.begin(request, terms_at_mtu_1500(request)).value();
  EXPECT_EQ(outline.transfers, 2U);
  EXPECT_EQ(outline.sizing, 1U);
  EXPECT_EQ(outline.elements, 1000U);
  EXPECT_TRUE(outline.composed);
  EXPECT_TRUE(outline.input_survives);
  EXPECT_FALSE(outline.one_by_one);
  EXPECT_FALSE(outline.leaves_out_zeros);

  const core::TransferRequest ranges = launch.transfer(0, core::TransferId::none);
  EXPECT_EQ(ranges.layout.format, core::WireFormat::i16);
  EXPECT_EQ(ranges.reduction, core::Reduction::max);
  EXPECT_EQ(ranges.elements, 12U) << "three for each of four groups";
  EXPECT_FALSE(ranges.sized_later);
  const core::TransferRequest digits = launch.transfer(1, core::TransferId{41});
  EXPECT_EQ(digits.layout.format, core::WireFormat::i32);
  EXPECT_EQ(digits.reduction, core::Reduction::sum);
  EXPECT_EQ(digits.elements, 1000U) << "for ranks to compare";
  EXPECT_TRUE(digits.sized_later);
  EXPECT_EQ(digits.codes, nullptr);

  carry<std::int16_t>(ranges, 12);
  EXPECT_EQ(launch.size_after(0, {}).elements, 1000U) << "a slice of each element";
}

TEST(DigitsLaunch, AShortTensorIsOnePacket) {
  ScratchPool pool;
  DigitsLaunch launch(pool);
  for (const std::size_t elements : {std::size_t{32}, std::size_t{33}}) {
    Floats tensor(elements, 2.5F);
    const CallRequest request = sum_in_place(tensor, false);
    // Eight ranks leave 28 bits to a digit: 10 digits and the counts are 11 integers, 352 in all.
    const LaunchOutline outline = launch.begin(request, terms_at_mtu_1500(request, 3, 8)).value();
    const bool is_short = elements == 32;
    EXPECT_EQ(outline.transfers, is_short ? 1U : 2U);
    EXPECT_EQ(outline.sizing, is_short ? 0U : 1U);
    if (is_short) {
      const core::TransferRequest digits = launch.transfer(0, core::TransferId::none);
      EXPECT_EQ(digits.elements, 352U);
      EXPECT_FALSE(digits.sized_later);
      carry<std::int32_t>(digits, 352);
      EXPECT_FALSE(launch.deliver().has_value());
      EXPECT_EQ(tensor, Floats(elements, 2.5F));
      EXPECT_EQ(pool.memory_bytes(), 0U);
    }
    launch.clear();
  }
}

TEST(DigitsLaunch, AResultInPlaceWaitsForTheEndOfTheCall) {
  ScratchPool pool;
  DigitsLaunch launch(pool);
  Floats tensor(500, -0.0F);
  tensor[400] = 7;
  const Floats before = tensor;
  for (const bool succeeds : {false, true}) {
    const CallRequest request = sum_in_place(tensor);
    EXPECT_TRUE(launch.begin(request, terms_at_mtu_1500(request)).value().input_survives);
    carry_all(launch);
    EXPECT_TRUE(std::signbit(tensor[0]));
    if (succeeds) {
      EXPECT_FALSE(launch.deliver().has_value());
    }
    launch.clear();
    EXPECT_EQ(std::signbit(tensor[0]), !succeeds);
    EXPECT_EQ(tensor, before) << "-0 equals 0";
  }
  const std::size_t kept = pool.memory_bytes();
  EXPECT_GT(kept, 0U);
  const CallRequest request = sum_in_place(tensor);
  static_cast<void>(launch.begin(request, terms_at_mtu_1500(request)));
  carry_all(launch);
  launch.clear();
  EXPECT_EQ(pool.memory_bytes(), kept);
}

TEST(DigitsLaunch, OnlyARootGetsTheResultOfAReduce) {
  ScratchPool pool;
  for (const int rank : {0, 1}) {
    DigitsLaunch launch(pool);
    Floats tensor(600, 3.0F), output(600, 9.0F);
    const CallRequest request = {
        Collective::reduce, tensor, output, 1, {.wire = WireFormat::digits}};
    static_cast<void>(launch.begin(request, terms_at_mtu_1500(request, rank)));
    EXPECT_EQ(launch.transfer(0, core::TransferId::none).collective, Collective::all_reduce)
        << "all ranks need the ranges";
    EXPECT_EQ(launch.transfer(1, core::TransferId{1}).collective, Collective::reduce);
    EXPECT_EQ(launch.transfer(1, core::TransferId{1}).root, 1);
    carry_all(launch);
    EXPECT_EQ(output, Floats(600, rank == 1 ? 3.0F : 9.0F));
  }
}

TEST(DigitsLaunch, AListIsOneTensorInMemoryOfThePool) {
  ScratchPool pool;
  DigitsLaunch launch(pool);
  Floats first(3, 1.5F), none, second(700, 2.5F);
  const MutableTensorView list[] = {first, none, second};
  CallRequest request = sum_in_place(first);
  request.is_list = true;
  request.list = list;
  const LaunchOutline outline = launch.begin(request, terms_at_mtu_1500(request, 0, 1)).value();
  EXPECT_EQ(outline.elements, 703U);
  EXPECT_EQ(outline.transfers, 2U);
  EXPECT_TRUE(outline.input_survives);
  second.assign(700, 9.0F);  // the input has been read already
  carry_all(launch);
  EXPECT_EQ(second[0], 9.0F);
  EXPECT_FALSE(launch.deliver().has_value());
  EXPECT_EQ(first, Floats(3, 1.5F));
  EXPECT_EQ(second, Floats(700, 2.5F));
  launch.clear();
  EXPECT_GT(pool.memory_bytes(), 0U);
}

TEST(DigitsLaunch, AScatterWritesTheOwnPartAlone) {
  ScratchPool pool;
  for (const bool keeps : {true, false}) {
    DigitsLaunch launch(pool);
    Floats whole(2000, 0.75F);
    const std::span<float> own = std::span(whole).last(1000);
    std::fill(own.begin(), own.end(), -0.0F);
    const CallRequest request = {
        Collective::reduce, whole, own, 0, {.wire = WireFormat::digits, .keep_input = keeps}, true};
    const LaunchOutline outline = launch.begin(request, terms_at_mtu_1500(request, 1)).value();
    EXPECT_EQ(outline.input_survives, keeps);
    EXPECT_EQ(launch.transfer(0, core::TransferId::none).elements, 24U);
    EXPECT_EQ(launch.transfer(1, core::TransferId{1}).elements, 2000U);
    carry_all(launch);
    EXPECT_EQ(std::signbit(own[999]), keeps);
    EXPECT_FALSE(launch.deliver().has_value());
    EXPECT_FALSE(std::signbit(own[999]));
    EXPECT_EQ(Floats(whole.begin(), whole.begin() + 1000), Floats(1000, 0.75F));
    launch.clear();
  }
}

}  // namespace
}  // namespace infold::rank
