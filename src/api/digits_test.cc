// SPDX-License-Identifier: Apache-2.0
//
// Tests exact sums over aggregators that can only add integers, as programs request them. They have
// the bits of native sums, whatever the network does.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "api/rows_testing.h"
#include "api/testing.h"
#include "base/prng.h"

namespace infold {
namespace {

using testing::expect_done;
using ::testing::HasSubstr;
using testing::make_group;
using testing::on_every_rank;

// Numbers of all magnitudes, groups of zeros, NaNs and infinities.
std::vector<float> values_of(int rank, std::size_t count) {
  base::Prng prng(static_cast<std::uint64_t>(rank) + 7);
  std::vector<float> tensor(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 2048 < 512) continue;
    const auto mantissa = static_cast<float>(prng.between(-(1 << 24), 1 << 24));
    const auto exponent = prng.between(-30, 30) * (i % 4096 < 2048 ? 4 : 0);
    tensor[i] = std::ldexp(mantissa, static_cast<int>(exponent));
  }
  if (count > 7000) tensor[7000] = std::numeric_limits<float>::infinity();
  if (count > 6000 && rank == 1) tensor[6000] = std::numeric_limits<float>::quiet_NaN();
  return tensor;
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& tensor) {
  std::vector<std::uint32_t> bits(tensor.size());
  std::memcpy(bits.data(), tensor.data(), tensor.size() * sizeof(float));
  return bits;
}

std::vector<std::uint32_t> bits_of_sum(const LocalGroupOptions& options, std::size_t count,
                                       Reduction reduction, WireFormat wire) {
  LocalGroup group = make_group(options);
  std::vector<std::vector<float>> tensors(static_cast<std::size_t>(options.world));
  on_every_rank(group, [&](Communicator& comm, int rank) {
    auto& tensor = tensors[static_cast<std::size_t>(rank)];
    tensor = values_of(rank, count);
    expect_done(comm.all_reduce(tensor, {.reduction = reduction, .wire = wire}).wait(),
                options.world);
  });
  for (const auto& tensor : tensors) EXPECT_EQ(bits_of(tensor), bits_of(tensors[0]));
  return bits_of(tensors[0]);
}

TEST(Digits, HaveTheBitsOfNativeSums) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{40}, std::size_t{30'001}}) {
    for (const Reduction reduction : {Reduction::sum, Reduction::average}) {
      const auto expected = bits_of_sum({.world = 3}, count, reduction, WireFormat::native);
      const LocalGroupOptions groups[] = {
          {.world = 3},
          {.world = 3, .mtu_bytes = 9000},
          {.world = 3, .site_weights = {1, 2}, .faults = {.loss = 0.05}},
          {.world = 3,
           .rack_size = 2,
           .faults = {.loss = 0.1, .duplication = 0.1, .reordering = 0.2}}};
      for (const LocalGroupOptions& options : groups) {
        EXPECT_EQ(bits_of_sum(options, count, reduction, WireFormat::digits), expected)
            << count << " elements, MTU " << options.mtu_bytes;
      }
    }
  }
}

TEST(Digits, ASmallNumberBesideALargeOneIsNotLost) {
  LocalGroup group = make_group({.world = 2, .wire = WireFormat::digits});
  on_every_rank(group, [&](Communicator& comm, int) {
    std::vector<float> tensor = {2.5F, 3e9F};
    expect_done(comm.all_reduce(tensor).wait(), 2);
    EXPECT_EQ(tensor, (std::vector<float>{5.0F, 6e9F}));
    std::vector<double> doubles(5000, 0.1);
    doubles[17] = 3e9;
    expect_done(comm.all_reduce(doubles, {.reduction = Reduction::average}).wait(), 2);
    EXPECT_EQ(doubles[0], 0.1);
    EXPECT_EQ(doubles[17], 3e9);
    expect_done(comm.all_reduce(doubles).wait(), 2);
    EXPECT_EQ(doubles[4999], 0.2);
  });
}

TEST(Digits, OfTensorsInPlaceApartAndAtARoot) {
  LocalGroup group = make_group({.world = 3, .faults = {.loss = 0.02}, .wire = WireFormat::digits});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    const std::vector<float> input(20'000, 0.1F);
    std::vector<float> output(input.size()), in_place = input, rooted(input.size());
    expect_done(comm.all_reduce(input, output).wait(), 3);
    expect_done(comm.all_reduce(in_place, {.keep_input = false}).wait(), 3);
    expect_done(comm.reduce(input, rooted, 1).wait(), 3);
    EXPECT_EQ(input, std::vector<float>(input.size(), 0.1F));
    const auto exact = static_cast<float>(3 * static_cast<double>(0.1F));
    EXPECT_EQ(output, std::vector<float>(input.size(), exact));
    EXPECT_EQ(in_place, output);
    EXPECT_EQ(rooted, rank == 1 ? output : std::vector<float>(input.size()));
    // The output starts half a tensor after the input.
    std::vector<float> memory(30'000, 0.1F);
    const std::span<float> all(memory);
    expect_done(comm.all_reduce(all.first(20'000), all.last(20'000)).wait(), 3);
    EXPECT_EQ(memory[9'999], 0.1F);
    EXPECT_EQ(memory[10'000], exact);
    EXPECT_EQ(memory[29'999], exact);
    EXPECT_EQ(comm.statistics().calls_sparse, 0U);
  });
}

TEST(Digits, OfListsAndPartsAreThoseOfWholeTensors) {
  constexpr std::size_t kPart = 3001;
  LocalGroup group = make_group({.world = 3, .faults = {.loss = 0.02}, .wire = WireFormat::digits});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    const std::vector<float> input = values_of(rank, 3 * kPart);
    std::vector<float> whole(input.size()), part(kPart), in_place = input;
    expect_done(comm.all_reduce(input, whole).wait(), 3);
    expect_done(comm.reduce_scatter(input, part).wait(), 3);
    const auto first = static_cast<std::size_t>(rank) * kPart;
    const std::span<float> own = std::span(in_place).subspan(first, kPart);
    expect_done(comm.reduce_scatter(in_place, own, {.keep_input = false}).wait(), 3);
    const std::vector<float> expected(whole.begin() + static_cast<std::ptrdiff_t>(first),
                                      whole.begin() + static_cast<std::ptrdiff_t>(first + kPart));
    EXPECT_EQ(bits_of(part), bits_of(expected));
    EXPECT_EQ(bits_of({own.begin(), own.end()}), bits_of(expected));
    std::vector<float> rest = in_place, untouched = input;
    for (std::size_t i = first; i < first + kPart; ++i) rest[i] = untouched[i] = 0;
    EXPECT_EQ(bits_of(rest), bits_of(untouched));

    std::vector<float> list[] = {{}, {}, {}};
    list[0].assign(input.begin(), input.begin() + 5);
    list[2].assign(input.begin() + 5, input.end());
    const MutableTensorView views[] = {list[0], list[1], list[2]};
    expect_done(comm.all_reduce_list(views).wait(), 3);
    list[0].insert(list[0].end(), list[2].begin(), list[2].end());
    EXPECT_EQ(bits_of(list[0]), bits_of(whole));
    expect_done(comm.all_reduce_list({}).wait(), 3);
  });
}

// Each rank passes its tensor in a different form: whole and in place, rows to rows, or rows to a
// whole tensor.
template <typename T>
std::vector<T> sparse_sum(Communicator& comm, const testing::Drawn<T>& input, CallOptions options) {
  switch (comm.rank() % 3) {
    case 0: {
      std::vector<T> in_place = input.tensor;
      options.layout = Layout::blocks;
      expect_done(comm.all_reduce(in_place, options).wait(), comm.world());
      return in_place;
    }
    case 1: {
      Rows rows;
      expect_done(comm.all_reduce(input.view(), rows, options).wait(), comm.world());
      return testing::whole<T>(rows);
    }
    default: break;
  }
  std::vector<T> apart(input.tensor.size(), T{9});
  expect_done(comm.all_reduce(input.view(), apart, options).wait(), comm.world());
  return apart;
}

template <typename T>
void leaves_out_zeros_and_no_bits(const LocalGroupOptions& options) {
  LocalGroup group = make_group(options);
  on_every_rank(group, [&](Communicator& comm, int rank) {
    std::uint64_t calls = 0;
    for (const double density : {0.0, 0.02, 1.0}) {
      for (const std::size_t length : {1UL, 7UL, 64UL}) {
        const auto input = testing::draw<T>(30'000 / length, length, density,
                                            ++calls * 10 + static_cast<unsigned>(rank));
        const CallOptions call = {.reduction =
                                      calls % 2 == 0 ? Reduction::sum : Reduction::average};
        std::vector<T> native(input.tensor.size());
        CallOptions dense = call;
        dense.wire = WireFormat::native;
        expect_done(comm.all_reduce(input.tensor, native, dense).wait(), comm.world());
        EXPECT_TRUE(testing::same_bits(sparse_sum(comm, input, call), native))
            << density << " of rows of " << length;
      }
    }
    EXPECT_EQ(comm.statistics().calls_sparse, calls);
  });
}

TEST(Digits, OfBlocksAndRowsLeaveOutZerosAndNoBits) {
  constexpr WireFormat kDigits = WireFormat::digits;
  leaves_out_zeros_and_no_bits<float>({.world = 3, .wire = kDigits});
  leaves_out_zeros_and_no_bits<float>(
      {.world = 4, .rack_size = 2, .faults = {.loss = 0.02, .seed = 5}, .wire = kDigits});
  leaves_out_zeros_and_no_bits<double>({.world = 3, .mtu_bytes = 9000, .wire = kDigits});
}

TEST(Digits, OfRowsOfOtherLengthsAreAnErrorThatAllFind) {
  LocalGroup group = make_group({.world = 2, .wire = WireFormat::digits});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    const std::vector<std::int64_t> indices = {1};
    const std::vector<float> values(rank == 0 ? 10 : 20, 1.0F);
    Rows rows;
    const RowsView view = {indices, values, 1000 / values.size(), values.size()};
    const Result<Completion> done = comm.all_reduce(view, rows).wait();
    ASSERT_FALSE(done.has_value());
    EXPECT_THAT(done.error().message, HasSubstr("rank 1 passed rows of 20 elements, rank 0 of 10"));
    std::vector<float> tensor(100, 1.0F);
    expect_done(comm.all_reduce(tensor).wait(), 2);
    EXPECT_EQ(tensor, std::vector<float>(100, 2.0F));
  });
}

// The call takes only one packet, because all its digits are sent at once.
TEST(Digits, OfAShortTensorTakeOneRoundTrip) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int) {
    std::vector<float> tensor(20, 1.0F);
    expect_done(comm.all_reduce(tensor, {.wire = WireFormat::digits}).wait(), 2);
    const Statistics statistics = comm.statistics();
    EXPECT_EQ(statistics.packets_sent - statistics.packets_asked - statistics.packets_resent, 1U);
  });
}

}  // namespace
}  // namespace infold
