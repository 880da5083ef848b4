// SPDX-License-Identifier: Apache-2.0
//
// The transfers of a prediction must be those that a rank makes.
#include "study/whatif/calls/transfers.h"

#include <gtest/gtest.h>

#include "encoding/format_choice.h"
#include "rank/calls/launch/parts.h"
#include "rank/calls/launch/whole.h"

namespace infold::whatif {
namespace {

using trace::CollectiveKind;

constexpr std::uint16_t kRanks = 4;

struct Sizes {
  std::size_t input;
  std::size_t output;
};

// Returns what one of infold's ranks submits for such a call, by running the rank's code.
std::vector<core::TransferRequest> transfers_of_rank(core::Collective collective, Sizes sizes,
                                                     DataType type, bool in_parts) {
  static std::vector<std::byte> memory(1 << 20);
  rank::CallRequest request;
  request.collective = collective;
  request.input = {memory.data(), sizes.input, type};
  request.output = {memory.data(), sizes.output, type};
  request.in_parts = in_parts;
  request.options.reduction = trace::reduction_of(type);
  encoding::FormatRequest format;
  format.collective = collective;
  format.type = type;
  format.world = kRanks;
  if (collective != core::Collective::broadcast) format.reduction = request.options.reduction;
  rank::LaunchTerms terms;
  terms.format = encoding::choose_format(format).value();
  terms.rank = 1;
  terms.world = kRanks;
  rank::ScratchPool pool;
  rank::WholeLaunch whole(pool);
  rank::PartsLaunch parts(pool);
  rank::Launch& launch = in_parts ? static_cast<rank::Launch&>(parts) : whole;
  const auto outline = launch.begin(request, terms);
  EXPECT_TRUE(outline);
  std::vector<core::TransferRequest> transfers;
  for (std::uint32_t i = 0; i < outline->transfers; ++i) {
    transfers.push_back(launch.transfer(i, core::TransferId::none));
  }
  return transfers;
}

TEST(Transfers, AreThoseOfARank) {
  Setting setting;
  setting.ranks = kRanks;
  struct Case {
    CollectiveKind kind;
    core::Collective collective;
    Sizes sizes;
    bool in_parts;
  };
  const Case cases[] = {
      {CollectiveKind::all_reduce, core::Collective::all_reduce, {1001, 1001}, false},
      {CollectiveKind::reduce, core::Collective::reduce, {1001, 1001}, false},
      {CollectiveKind::broadcast, core::Collective::broadcast, {1001, 1001}, false},
      {CollectiveKind::all_gather, core::Collective::broadcast, {251, 1004}, true},
      {CollectiveKind::reduce_scatter, core::Collective::reduce, {1004, 251}, true},
  };
  for (const Case& each : cases) {
    for (const DataType type : {DataType::f32, DataType::bf16, DataType::i64, DataType::u8}) {
      trace::CallShape shape = {each.kind, type, each.sizes.input, 0, 0};
      if (each.in_parts) shape.output = each.sizes.output;
      const auto ours = transfers_of(shape, setting);
      const auto theirs = transfers_of_rank(each.collective, each.sizes, type, each.in_parts);
      ASSERT_EQ(ours.size(), theirs.size());
      for (std::size_t i = 0; i < ours.size(); ++i) {
        EXPECT_EQ(ours[i].collective, theirs[i].collective);
        EXPECT_EQ(ours[i].reduction, theirs[i].reduction);
        EXPECT_EQ(ours[i].elements, theirs[i].elements);
        EXPECT_EQ(ours[i].root, theirs[i].root);
        EXPECT_EQ(ours[i].layout.format, theirs[i].layout.format);
        EXPECT_EQ(ours[i].layout.dtype, theirs[i].layout.dtype);
      }
    }
  }
}

}  // namespace
}  // namespace infold::whatif
