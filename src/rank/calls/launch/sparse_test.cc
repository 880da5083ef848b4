// SPDX-License-Identifier: Apache-2.0
//
// Tests chains of transfers that give each other their sizes: for whole tensors, for rows, and for
// both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rank/calls/launch/blocks.h"
#include "rank/calls/launch/launch_testing.h"
#include "rank/calls/launch/rows_launch.h"

namespace infold::rank {
namespace {

using core::Collective;
using testing::Ranks;
using testing::Tensor;

constexpr std::size_t kElements = 10'000;

CallRequest blocks_of(Tensor& input, Tensor& output) {
  return {Collective::all_reduce, input, output, 0, {.layout = Layout::blocks}};
}

CallRequest rows_of(std::span<const std::int64_t> indices, const Tensor& values,
                    std::size_t row_elements) {
  CallRequest request{Collective::all_reduce, {}, {}, 0, {}};
  request.input = {nullptr, kElements, DataType::i32};
  request.rows = RowsView{indices, values, kElements / row_elements, row_elements};
  return request;
}

Tensor with(std::size_t place, std::int32_t value) {
  Tensor tensor(kElements);
  tensor[place] = value;
  return tensor;
}

TEST(BlocksLaunch, SumsWhatSomeRankHas) {
  const auto pool = std::make_shared<ScratchPool>();
  BlocksLaunch first(*pool), second(*pool);
  Tensor inputs[2] = {with(40, 5), with(9'999, 7)};
  Tensor elsewhere(kElements, 3);
  Ranks ranks;
  ranks.begin(first, blocks_of(inputs[0], inputs[0]), 2);
  EXPECT_TRUE(ranks.outline().input_survives);
  ranks.begin(second, blocks_of(inputs[1], elsewhere), 2);
  EXPECT_EQ(ranks.outline().transfers, ranks.outline().sizing + 1);
  EXPECT_GT(ranks.outline().sizing, 0U);
  ranks.carry_all();
  EXPECT_EQ(inputs[0], with(40, 5)) << "staged";
  EXPECT_FALSE(first.deliver().has_value());
  EXPECT_FALSE(second.deliver().has_value());
  Tensor sum = with(40, 5);
  sum[9'999] = 7;
  EXPECT_EQ(inputs[0], sum);
  EXPECT_EQ(elsewhere, sum);
  EXPECT_EQ(first.outcome().union_blocks, 2U);
  EXPECT_EQ(first.outcome().blocks, 313U);
  first.clear();
  EXPECT_GT(pool->memory_bytes(), 0U);
}

TEST(BlocksLaunch, OpinionsAreJoinedBesideTheSum) {
  const auto pool = std::make_shared<ScratchPool>();
  BlocksLaunch first(*pool), second(*pool);
  Tensor inputs[2] = {with(40, 5), with(40, 6)};
  Ranks ranks;
  ranks.begin(first, blocks_of(inputs[0], inputs[0]), 2, sparse::kItPaid);
  ranks.begin(second, blocks_of(inputs[1], inputs[1]), 2, sparse::kItDidNot);
  EXPECT_EQ(ranks.outline().transfers, ranks.outline().sizing + 2);
  ranks.carry_all();
  EXPECT_EQ(first.outcome().opinions, sparse::kItPaid | sparse::kItDidNot);
  EXPECT_EQ(second.outcome().opinions, sparse::kItPaid | sparse::kItDidNot);
  EXPECT_FALSE(first.deliver().has_value());
  EXPECT_EQ(inputs[0], with(40, 11));
}

TEST(RowsLaunch, RanksHoldTensorsInWaysOfTheirOwn) {
  const auto pool = std::make_shared<ScratchPool>();
  RowsLaunch to_rows(pool), to_whole(pool);
  BlocksLaunch whole(*pool);
  const std::int64_t rows[] = {3, 90};
  Tensor values(200, 1), output(kElements, 9), in_place = with(300, 20);
  Rows result;
  for (int turn = 0; turn < 2; ++turn) {
    CallRequest request = rows_of(rows, values, 100);
    request.output_rows = &result;
    Ranks ranks;
    ranks.begin(to_rows, request, 3);
    CallRequest second =
        rows_of(std::span(rows).first(1), Tensor(values.begin(), values.begin()), 100);
    second.rows->values = TensorView(std::span<const std::int32_t>(values).first(100));
    second.output = output;
    ranks.begin(to_whole, second, 3);
    ranks.begin(whole, blocks_of(in_place, in_place), 3);
    ranks.carry_all();
    for (Launch* const launch : {static_cast<Launch*>(&to_rows), static_cast<Launch*>(&to_whole),
                                 static_cast<Launch*>(&whole)}) {
      EXPECT_FALSE(launch->deliver().has_value());
      launch->clear();
    }
    EXPECT_EQ(output[300], 22);
    EXPECT_EQ(output[399], 2);
    EXPECT_EQ(output[9'000], 1);
    EXPECT_EQ(output[400], 0);
    EXPECT_EQ(in_place, output);
    EXPECT_THAT(result.indices(), ::testing::ElementsAre(3, 90));
    const auto* const sums = static_cast<const std::int32_t*>(result.values().data);
    EXPECT_EQ(Tensor(sums, sums + 100), Tensor(output.begin() + 300, output.begin() + 400));
    EXPECT_EQ(result.rows(), 100U);
    in_place = with(300, 20);
  }
}

TEST(RowsLaunch, RowsOfAnotherLengthAreAnErrorThatAllFind) {
  const auto pool = std::make_shared<ScratchPool>();
  RowsLaunch first(pool), second(pool);
  const std::int64_t rows[] = {3};
  const Tensor hundred(100, 1), fifty(50, 1);
  Rows results[2];
  CallRequest request = rows_of(rows, hundred, 100);
  request.output_rows = &results[0];
  CallRequest other = rows_of(rows, fifty, 50);
  other.output_rows = &results[1];
  Ranks ranks;
  ranks.begin(first, request, 2);
  ranks.begin(second, other, 2);
  ranks.carry_all();
  for (RowsLaunch* const launch : {&first, &second}) {
    const std::optional<Error> error = launch->deliver();
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code, Code::mismatch);
    EXPECT_STREQ(error->field, "row size");
    EXPECT_THAT(error->message, ::testing::StartsWith("rank 1 passed rows of 50 elements, rank 0"));
    launch->clear();
  }
  EXPECT_TRUE(results[0].indices().empty());
}

}  // namespace
}  // namespace infold::rank
