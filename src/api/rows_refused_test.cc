// SPDX-License-Identifier: Apache-2.0
//
// Tests sums of rows that must fail: ranks disagree or do not come, or arguments are wrong.
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/rows_testing.h"
#include "api/testing.h"

namespace infold {
namespace {

using testing::draw;
using testing::expect_done;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::make_group;
using testing::on_every_rank;
using testing::same_bits;
using testing::whole;

TEST(RowsRefused, ALateRankEndsInADeadlineThatNamesItAndLeavesTheResultAlone) {
  LocalGroup group = make_group({.world = 2, .deadline = std::chrono::milliseconds(300)});
  const auto input = draw<float>(50, 100, 0.5, 1);
  Rows rows;
  const auto result = group[0].all_reduce(input.view(), rows).wait();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::deadline_exceeded);
  EXPECT_THAT(result.error().message, HasSubstr("rank 1"));
  EXPECT_THAT(rows.indices(), IsEmpty());
}

// Every rank gets an error with the rank and the field that differ.
TEST(RowsRefused, TensorsOfOtherSizesAreAMismatchAtEveryRank) {
  struct Shape {
    std::size_t rows, row_elements;
  };
  const Shape others[] = {{100, 32}, {101, 64}, {100, 63}, {0, 64}, {100'000, 64}};
  for (const Shape& other : others) {
    LocalGroup group = make_group({.world = 3});
    on_every_rank(group, [&](Communicator& comm, int rank) {
      const Shape shape = rank == 2 ? other : Shape{100, 64};
      const auto input = draw<float>(shape.rows, shape.row_elements, 0.5, 3);
      Rows rows;
      const auto done = comm.all_reduce(input.view(), rows).wait();
      ASSERT_FALSE(done) << other.rows << " x " << other.row_elements;
      EXPECT_EQ(done.error().code, Code::mismatch);
      EXPECT_STREQ(done.error().field, "size") << done.error().message;
      EXPECT_THAT(done.error().message, HasSubstr("rank 2"));
    });
  }
}

// Nothing is summed in this case. All ranks find the error in the same call, so that later calls
// work.
TEST(RowsRefused, RowsOfOtherLengthsAreAMismatchAtEveryRankAndTheJobGoesOn) {
  LocalGroup group = make_group({.world = 4});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    // It takes one step to find out, or three. Rank 3 passes single elements or a whole tensor,
    // which agree with rows of any length.
    for (const std::size_t count : {4UL, 100'000UL}) {
      const std::size_t length = rank == 2 ? 32 : 64;
      const auto input = draw<float>(count * 64 / length, length, 0.5, 3);
      const auto as_elements = draw<float>(count * 64, 1, 0.001, 3);
      std::vector<float> in_place = input.tensor;
      Rows rows;
      for (const bool is_whole : {false, true}) {
        Handle handle = rank < 3   ? comm.all_reduce(input.view(), rows)
                        : is_whole ? comm.all_reduce(in_place, {.layout = Layout::blocks})
                                   : comm.all_reduce(as_elements.view(), rows);
        const auto done = handle.wait();
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, Code::mismatch);
        EXPECT_STREQ(done.error().field, "row size");
        EXPECT_EQ(done.error().rank, 2);
        EXPECT_THAT(done.error().message,
                    HasSubstr("rank 2 passed rows of 32 elements, rank 0 of 64; all ranks"));
        EXPECT_THAT(rows.indices(), IsEmpty());
        EXPECT_EQ(in_place, input.tensor);
      }
      std::vector<float> dense(count * 64);
      expect_done(comm.all_reduce(input.tensor, dense).wait(), 4);
      if (rank == 2) {
        expect_done(comm.all_reduce(input.tensor, in_place, {.layout = Layout::blocks}).wait(), 4);
        EXPECT_TRUE(same_bits(in_place, dense));
      } else {
        expect_done(comm.all_reduce(input.view(), rows).wait(), 4);
        EXPECT_TRUE(same_bits(whole<float>(rows), dense));
      }
    }
  });
}

TEST(RowsRefused, OtherTypesOrOperationsAreAMismatchAtEveryRank) {
  for (const bool other_type : {false, true}) {
    LocalGroup group = make_group({.world = 2});
    on_every_rank(group, [&](Communicator& comm, int rank) {
      const DataType type = other_type && rank == 1 ? DataType::f32 : DataType::i32;
      const Reduction reduction = !other_type && rank == 1 ? Reduction::average : Reduction::sum;
      Rows rows;
      const auto done = comm.all_reduce({.values = TensorView(nullptr, 0, type), .rows = 10}, rows,
                                        {.reduction = reduction})
                            .wait();
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code, Code::mismatch);
      EXPECT_STREQ(done.error().field, other_type ? "type" : "operation");
    });
  }
}

struct Refused {
  std::vector<std::int64_t> indices;
  std::size_t values;
  std::size_t rows;
  std::size_t row_elements;
  Code code;
  const char* reason;
};

TEST(RowsRefused, WhatIsWrongWithTheRowsIsSaid) {
  constexpr std::size_t kMost = std::size_t{1} << 37;
  const Refused refused[] = {
      {{4, 2}, 2, 9, 1, Code::invalid_argument, "row 2, at place 1 of the indices, comes after"},
      {{2, 5, 5}, 3, 9, 1, Code::invalid_argument, "row 5, at place 2 of the indices, has been"},
      {{2, 9}, 2, 9, 1, Code::out_of_range, "row 9, at place 1 of the indices, is not in the tens"},
      {{-1, 2}, 2, 9, 1, Code::out_of_range, "row -1, at place 0 of the indices, is not in the t"},
      {{0}, 1, 0, 1, Code::out_of_range, "is not in the tensor, which has 0 rows"},
      {{1, 2}, 3, 9, 1, Code::invalid_argument, "2 indices of rows of 1 elements, and values of 3"},
      {{1, 2}, 64, 9, 64, Code::invalid_argument, "pass a row of values for each index"},
      {{1}, 1, 9, 0, Code::invalid_argument, "the rows have 0 elements"},
      {{1}, 1, kMost + 1, 1, Code::out_of_range, "the most is 137438953472 in all"},
      {{1}, 64, kMost / 64 + 1, 64, Code::out_of_range, "split larger ones"},
      {{1}, 64, SIZE_MAX, 64, Code::out_of_range, "split larger ones"},
      {{1}, 1, 2, SIZE_MAX / 2 + 1, Code::out_of_range, "split larger ones"},
  };
  for (const Refused& each : refused) {
    LocalGroup group = make_group({.world = 2});
    on_every_rank(group, [&](Communicator& comm, int rank) {
      const std::vector<float> values(each.values, 1);
      Rows rows;
      const auto done =
          rank == 0
              ? comm.all_reduce({each.indices, values, each.rows, each.row_elements}, rows).wait()
              : comm.all_reduce({.rows = 9}, rows).wait();
      ASSERT_FALSE(done);
      if (rank == 0) {
        EXPECT_EQ(done.error().code, each.code);
        EXPECT_THAT(done.error().message, HasSubstr(each.reason));
      } else {
        EXPECT_THAT(done.error().message, HasSubstr("rank 0 gave a call up"));
      }
    });
  }
}

TEST(RowsRefused, WhatCannotLeaveOutZerosIsRefused) {
  const std::pair<CallOptions, const char*> refused[] = {
      {{.reduction = Reduction::max}, "zeros count under max"},
      {{.wire = WireFormat::fixed32}, "fixed32 cannot leave out zeros"},
      {{.layout = static_cast<Layout>(9)}, "not a Layout"}};
  for (const auto& [options, reason] : refused) {
    LocalGroup group = make_group({.world = 1});
    Rows rows;
    const auto done = group[0].all_reduce({.rows = 9}, rows, options).wait();
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message, HasSubstr(reason));
  }
  LocalGroup group = make_group({.world = 1});
  std::vector<float> output(8);
  const auto done = group[0].all_reduce({.rows = 9}, output).wait();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("the input has 9 elements, the output 8"));
}

}  // namespace
}  // namespace infold
