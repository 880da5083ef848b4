// SPDX-License-Identifier: Apache-2.0
//
// Tests where the result of one tensor goes, and when.
#include "rank/calls/launch/whole.h"

#include <gtest/gtest.h>

#include "rank/calls/adders/agreed.h"
#include "rank/calls/launch/launch_testing.h"

namespace infold::rank {
namespace {

using core::Collective;
using testing::Tensor;
using testing::terms_of;
using testing::write_result;

const Tensor kSevens(100, 7);

TEST(WholeLaunch, AResultElsewhereIsWrittenAtOnce) {
  ScratchPool pool;
  WholeLaunch launch(pool);
  const Tensor input(100, 1);
  Tensor output(100);
  const CallRequest request = {Collective::all_reduce, input, output, 0, {}};
  const LaunchOutline outline = launch.begin(request, terms_of(request)).value();
  EXPECT_EQ(outline.transfers, 1U);
  EXPECT_EQ(outline.elements, 100U);
  EXPECT_TRUE(outline.input_survives);
  write_result(launch.transfer(0, {}), kSevens);
  EXPECT_EQ(output, kSevens);
  EXPECT_FALSE(launch.deliver().has_value());
  EXPECT_EQ(output, kSevens);
  launch.clear();
  EXPECT_EQ(pool.memory_bytes(), 0U) << "nothing was staged";
}

TEST(WholeLaunch, AResultInPlaceWaitsForTheEndOfTheCall) {
  ScratchPool pool;
  WholeLaunch launch(pool);
  Tensor tensor(100, 1);
  const CallRequest request = {Collective::all_reduce, tensor, tensor, 0, {}};
  for (const bool succeeds : {false, true}) {
    EXPECT_TRUE(launch.begin(request, terms_of(request)).value().input_survives);
    write_result(launch.transfer(0, {}), kSevens);
    EXPECT_EQ(tensor, Tensor(100, 1));
    if (succeeds) {
      EXPECT_FALSE(launch.deliver().has_value());
    }
    launch.clear();
    EXPECT_EQ(tensor, succeeds ? kSevens : Tensor(100, 1));
  }
  const std::size_t kept = pool.memory_bytes();
  EXPECT_GE(kept, 400U);
  static_cast<void>(launch.begin(request, terms_of(request)));
  EXPECT_EQ(pool.memory_bytes(), 0U) << "the second launch takes what the first gave back";
  launch.clear();
  EXPECT_EQ(pool.memory_bytes(), kept);
}

TEST(WholeLaunch, WithoutKeepInputTheTensorItselfIsWritten) {
  ScratchPool pool;
  WholeLaunch launch(pool);
  Tensor tensor(100, 1);
  CallRequest request = {Collective::all_reduce, tensor, tensor, 0, {.keep_input = false}};
  EXPECT_FALSE(launch.begin(request, terms_of(request)).value().input_survives);
  write_result(launch.transfer(0, {}), kSevens);
  EXPECT_EQ(tensor, kSevens);
  launch.clear();

  // If the output starts half a tensor later, a result would overwrite elements that are not
  // encoded yet.
  Tensor longer(150, 1);
  request.input = TensorView(std::span(longer).first(100));
  request.output = MutableTensorView(std::span(longer).last(100));
  EXPECT_TRUE(launch.begin(request, terms_of(request)).value().input_survives);
  write_result(launch.transfer(0, {}), kSevens);
  EXPECT_EQ(longer, Tensor(150, 1));
  EXPECT_FALSE(launch.deliver().has_value());
  EXPECT_EQ(longer[49], 1);
  EXPECT_EQ(longer[50], 7);
}

TEST(WholeLaunch, OnlyWhoNeedsItGivesOrGetsTheTensor) {
  ScratchPool pool;
  WholeLaunch launch(pool);
  Tensor tensor(100, 1);
  for (const Collective collective : {Collective::reduce, Collective::broadcast}) {
    for (const int rank : {0, 1}) {
      const CallRequest request = {collective, tensor, tensor, 1, {}};
      static_cast<void>(launch.begin(request, terms_of(request, rank, 2)));
      const core::TransferRequest transfer = launch.transfer(0, {});
      const bool broadcasts = collective == Collective::broadcast;
      EXPECT_EQ(transfer.root, 1);
      EXPECT_EQ(transfer.input != nullptr, !broadcasts || rank == 1);
      EXPECT_EQ(transfer.output != nullptr, broadcasts == (rank == 0));
      launch.clear();
    }
  }
  const CallRequest barrier;
  LaunchTerms terms;
  EXPECT_EQ(launch.begin(barrier, terms).value().elements, 0U);
  EXPECT_EQ(launch.transfer(0, {}).output, nullptr);
}

TEST(AgreedLaunch, ATransferOfCodesComesFirst) {
  ScratchPool pool;
  AgreedLaunch launch(pool);
  std::vector<float> tensor(100, 1.5F);
  const CallRequest request = {
      Collective::all_reduce, tensor, tensor, 0, {.wire = WireFormat::fixed32}};
  const LaunchOutline outline = launch.begin(request, terms_of(request, 0, 2)).value();
  EXPECT_EQ(outline.transfers, 2U);
  EXPECT_EQ(outline.elements, 100U);
  EXPECT_TRUE(outline.composed);
  EXPECT_FALSE(outline.one_by_one);

  const core::TransferRequest codes = launch.transfer(0, core::TransferId::none);
  EXPECT_EQ(codes.layout.format, core::WireFormat::i16);
  EXPECT_EQ(codes.reduction, core::Reduction::max);
  EXPECT_EQ(codes.elements, 8U) << "two for each of four blocks";
  const core::TransferRequest data = launch.transfer(1, core::TransferId{41});
  EXPECT_EQ(data.after, core::TransferId{41});
  EXPECT_EQ(data.layout.format, core::WireFormat::i32);
  EXPECT_EQ(data.elements, 100U);

  // Carries the codes of this rank, which is alone in the job, through the network and back.
  std::vector<std::byte> packet(8 * sizeof(std::int16_t));
  codes.codec->encode(codes.context, codes.input, {0, 8}, nullptr, nullptr, packet.data());
  EXPECT_EQ(data.codes[3], 0);
  core::TensorCodec::Received received;
  received.elements = packet.data();
  codes.codec->decode(codes.context, codes.output, {0, 8}, received);
  EXPECT_NE(data.codes[0], 0);
  EXPECT_EQ(data.codes[3], data.codes[0]);
}

}  // namespace
}  // namespace infold::rank
