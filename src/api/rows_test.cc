// SPDX-License-Identifier: Apache-2.0
//
// Sums of tensors given by their rows have the bits of dense sums, whatever the rows' length,
// however each rank holds its tensor, and in whichever form it wants the sum. rows_refused_test.cc
// tests refusals.
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "api/rows_testing.h"
#include "api/testing.h"
#include "base/prng.h"

namespace infold {
namespace {

using testing::draw;
using testing::Drawn;
using ::testing::ElementsAre;
using testing::expect_done;
using ::testing::IsEmpty;
using testing::make_group;
using testing::on_every_rank;
using testing::same_bits;
using testing::whole;

template <typename T>
class RowsOf : public ::testing::Test {};
using Types =
    ::testing::Types<float, double, std::int8_t, std::uint8_t, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(RowsOf, Types);

TYPED_TEST(RowsOf, HaveTheBitsOfADenseSum) {
  LocalGroup group = make_group({.world = 3});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    std::uint64_t seed = 0;
    Rows rows;  // reused for each result
    for (const std::size_t length : {1UL, 5UL, 8UL, 31UL, 32UL, 33UL, 64UL, 256UL}) {
      for (const double density : {0.0, 0.05, 0.7, 1.0}) {
        ++seed;
        const std::size_t count = 1 + base::Prng(seed).below(20'000 / length);
        const auto input =
            draw<TypeParam>(count, length, density, seed * 10 + static_cast<std::uint64_t>(rank));
        for (const Reduction reduction : {Reduction::sum, Reduction::average, Reduction::bit_or}) {
          if (reduction == Reduction::bit_or && std::is_floating_point_v<TypeParam>) continue;
          std::vector<TypeParam> dense(count * length), blocks(count * length, TypeParam{7});
          expect_done(comm.all_reduce(input.tensor, dense, {.reduction = reduction}).wait(), 3);
          expect_done(comm.all_reduce(input.view(), rows, {.reduction = reduction}).wait(), 3);
          EXPECT_TRUE(same_bits(whole<TypeParam>(rows), dense)) << length << " " << density;
          expect_done(comm.all_reduce(input.view(), blocks, {.reduction = reduction}).wait(), 3);
          EXPECT_TRUE(same_bits(blocks, dense)) << length << " " << density;
        }
      }
    }
  });
}

// The ranks pass different forms: a whole tensor, rows, elements with their places, and nothing at
// all.
TEST(RowsCalls, RanksHoldTheirTensorsAsTheyLike) {
  LocalGroup group = make_group({.world = 4});
  constexpr std::size_t kRows = 300, kLength = 40, kElements = kRows * kLength;
  on_every_rank(group, [&](Communicator& comm, int rank) {
    for (std::uint64_t seed = 1; seed < 30; ++seed) {
      std::vector<std::vector<float>> inputs;
      const auto as_rows = draw<float>(kRows, kLength, 0.1, seed);
      const auto as_elements = draw<float>(kElements, 1, 0.01, seed + 100);
      const auto as_blocks = draw<float>(kRows / 2, kLength * 2, 0.3, seed + 200);
      const std::vector<float> nothing(kElements);
      const std::vector<float>* const own[] = {&as_rows.tensor, &as_elements.tensor,
                                               &as_blocks.tensor, &nothing};
      std::vector<float> dense(kElements);
      expect_done(comm.all_reduce(*own[rank], dense).wait(), 4);
      std::vector<float> result(kElements, 3);
      Rows rows;
      Handle handle;
      if (rank == 0) handle = comm.all_reduce(as_rows.view(), rows);
      if (rank == 1) handle = comm.all_reduce(as_elements.view(), rows);
      if (rank == 2) {
        handle = comm.all_reduce(as_blocks.tensor, result, {.layout = Layout::blocks});
      }
      if (rank == 3) {
        handle = comm.all_reduce({.values = TensorView(nothing.data(), 0, DataType::f32),
                                  .rows = kRows,
                                  .row_elements = kLength},
                                 result);
      }
      expect_done(handle.wait(), 4);
      EXPECT_TRUE(same_bits(rank < 2 ? whole<float>(rows) : result, dense)) << rank;
    }
  });
}

TEST(RowsCalls, WhereNobodyHasAnythingNothingComesBack) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    Rows rows;
    expect_done(comm.all_reduce({.rows = 1000, .row_elements = 64}, rows).wait(), 2);
    EXPECT_THAT(rows.indices(), IsEmpty());
    EXPECT_EQ(rows.rows(), 1000U);
    EXPECT_EQ(rows.row_elements(), 64U);
    expect_done(comm.all_reduce({.rows = 0}, rows).wait(), 2);
    EXPECT_EQ(rows.rows(), 0U);
    // Rows that cancel each other do not appear in the sum.
    const std::vector<std::int64_t> indices = {3, 9};
    const std::vector<std::int32_t> values = {rank == 0 ? 5 : -5, 1};
    expect_done(comm.all_reduce({indices, values, 10, 1}, rows).wait(), 2);
    EXPECT_THAT(rows.indices(), ElementsAre(9));
  });
}

TEST(RowsCalls, EveryWireFormatHasItsOwnBits) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    for (const WireFormat wire : {WireFormat::native, WireFormat::digits, WireFormat::bfp32,
                                  WireFormat::bfp16, WireFormat::bfp8}) {
      for (const std::size_t length : {50UL, 8UL, 1UL}) {
        const auto input =
            draw<float>(45'000 / length, length, 0.1, 5 + static_cast<unsigned>(rank));
        std::vector<float> dense(input.tensor.size());
        Rows rows;
        expect_done(comm.all_reduce(input.tensor, dense, {.wire = wire}).wait(), 2);
        expect_done(comm.all_reduce(input.view(), rows, {.wire = wire}).wait(), 2);
        EXPECT_TRUE(same_bits(whole<float>(rows), dense)) << length;
      }
    }
  });
}

// There is no arithmetic for sixteen-bit floats here, so the test compares bits.
TEST(RowsCalls, HoldSixteenBitFloats) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    for (const DataType type : {DataType::f16, DataType::bf16}) {
      std::vector<std::uint16_t> tensor(64 * 20), dense(tensor.size()), result(tensor.size(), 9);
      std::vector<std::int64_t> indices;
      std::vector<std::uint16_t> values;
      for (std::int64_t row = rank; row < 64; row += 5) {
        indices.push_back(row);
        for (std::size_t i = 0; i < 20; ++i) {
          const auto bits =
              static_cast<std::uint16_t>(0x3C00 + i * 37 + static_cast<unsigned>(row));
          tensor[static_cast<std::size_t>(row) * 20 + i] = bits;
          values.push_back(bits);
        }
      }
      const MutableTensorView wanted(dense.data(), dense.size(), type);
      expect_done(comm.all_reduce({tensor.data(), tensor.size(), type}, wanted).wait(), 2);
      expect_done(comm.all_reduce({indices, {values.data(), values.size(), type}, 64, 20},
                                  MutableTensorView(result.data(), result.size(), type))
                      .wait(),
                  2);
      EXPECT_EQ(result, dense);
    }
  });
}

TEST(RowsCalls, NotANumberIsNotZero) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    const std::vector<std::int64_t> indices = {rank == 0 ? 500 : 900};
    const std::vector<float> values = {rank == 0 ? std::numeric_limits<float>::quiet_NaN()
                                                 : -std::numeric_limits<float>::infinity()};
    Rows rows;
    expect_done(comm.all_reduce({indices, values, 1000, 1}, rows).wait(), 2);
    ASSERT_THAT(rows.indices(), ElementsAre(500, 900));
    const float* const got = static_cast<const float*>(rows.values().data);
    EXPECT_TRUE(std::isnan(got[0]));
    EXPECT_EQ(got[1], -std::numeric_limits<float>::infinity());
  });
}

// Each rank learns the sizes at other moments, which must not disturb the calls around them.
TEST(RowsCalls, ManyInFlightAmongDenseCallsOverALossyNetwork) {
  LocalGroup group = make_group(
      {.world = 4, .rack_size = 2, .faults = {.loss = 0.02, .duplication = 0.01, .seed = 3}});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    constexpr std::size_t kCalls = 24;
    std::vector<Drawn<float>> inputs;
    std::vector<Rows> outputs(kCalls);
    std::vector<std::vector<float>> wanted, scattered;
    for (std::size_t i = 0; i < kCalls; ++i) {
      inputs.push_back(draw<float>(1 + i * i * 10, 1 + i * 7, i % 4 == 0 ? 0 : 0.04,
                                   i * 4 + static_cast<unsigned>(rank)));
      wanted.emplace_back(inputs.back().tensor.size());
      scattered.emplace_back(inputs.back().tensor.size());
    }
    std::vector<Handle> handles;
    for (std::size_t i = 0; i < kCalls; ++i) {
      handles.push_back(comm.all_reduce(inputs[i].view(), outputs[i]));
      handles.push_back(comm.all_reduce(inputs[i].tensor, wanted[i]));
      handles.push_back(comm.all_reduce(inputs[i].view(), scattered[i]));
    }
    for (Handle& handle : handles) expect_done(handle.wait(), 4);
    for (std::size_t i = 0; i < kCalls; ++i) {
      EXPECT_TRUE(same_bits(whole<float>(outputs[i]), wanted[i])) << i;
      EXPECT_TRUE(same_bits(scattered[i], wanted[i])) << i;
    }
  });
}

// Bytes sent and memory depend on the rows; the whole tensor would take 512 GiB.
TEST(RowsCalls, TensorsMayBeLongerThanAnyMemory) {
  LocalGroup group = make_group({.world = 3});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    constexpr std::int64_t kRows = std::int64_t{1} << 37;
    const std::vector<std::int64_t> indices = {rank, 1000, kRows / 3 + rank * 7, kRows - 1};
    const std::vector<std::int32_t> values = {1, 10, 100, 1000 + rank};
    Rows rows;
    const std::uint64_t before = comm.statistics().packets_sent;
    expect_done(comm.all_reduce({indices, values, kRows, 1}, rows).wait(), 3);
    EXPECT_THAT(rows.indices(),
                ElementsAre(0, 1, 2, 1000, kRows / 3, kRows / 3 + 7, kRows / 3 + 14, kRows - 1));
    const auto* const got = static_cast<const std::int32_t*>(rows.values().data);
    EXPECT_THAT(std::vector<std::int32_t>(got, got + 8),
                ElementsAre(1, 1, 1, 30, 100, 100, 100, 3003));
    EXPECT_LT(comm.statistics().packets_sent - before, 60U);
  });
}

TEST(RowsCalls, ALongTensorsLengthIsComparedBeyond32Bits) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    const std::size_t rows = (std::size_t{1} << 33) + (rank == 0 ? 0 : std::size_t{1} << 32);
    Rows result;
    const auto done = comm.all_reduce({.rows = rows, .row_elements = 1}, result).wait();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::mismatch);
    EXPECT_STREQ(done.error().field, "size");
  });
}

// Results return their memory to their communicator, or keep it if the communicator is gone.
TEST(RowsCalls, ResultsOutliveTheirCommunicator) {
  Rows kept;
  {
    LocalGroup group = make_group({.world = 1});
    const auto input = draw<float>(100, 64, 0.5, 1);
    std::vector<float> first(input.tensor.size());
    for (int i = 0; i < 3; ++i) {
      Rows rows;
      expect_done(group[0].all_reduce(input.view(), rows).wait(), 1);
      first = whole<float>(rows);
      kept = std::move(rows);
      EXPECT_THAT(rows.indices(), IsEmpty());
      EXPECT_TRUE(same_bits(whole<float>(kept), first));
    }
    // The sum replaces its own input.
    expect_done(group[0].all_reduce(kept, kept).wait(), 1);
    EXPECT_TRUE(same_bits(whole<float>(kept), first));
  }
  EXPECT_EQ(kept.rows(), 100U);
}

TEST(RowsCalls, TheWholeTensorMayLieWhereItsRowsAre) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int) {
    std::vector<std::int32_t> memory(64 * 10);
    for (std::size_t i = 0; i < 128; ++i) memory[256 + i] = static_cast<std::int32_t>(i + 1);
    const std::vector<std::int64_t> indices = {1, 7};
    const TensorView values(&memory[256], 128, DataType::i32);
    expect_done(comm.all_reduce({indices, values, 10, 64}, memory).wait(), 2);
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const std::size_t row = i / 64;
      const std::size_t wanted = row == 1 ? i - 64 + 1 : row == 7 ? i - 448 + 65 : 0;
      ASSERT_EQ(static_cast<std::size_t>(memory[i]), 2 * wanted) << i;
    }
  });
}

}  // namespace
}  // namespace infold
