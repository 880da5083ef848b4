// SPDX-License-Identifier: Apache-2.0
//
// Compares sums that leave out zeros with dense sums. A loop carries the transfers instead of a
// network. The tests check which blocks travel, and what becomes of the blocks that do not.
#include "sparse/block_sum.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "numeric/codec.h"

namespace infold::sparse {
namespace {

using core::Reduction;

constexpr std::size_t kWorld = 3;
using Tensor = std::vector<std::int32_t>;

core::TransferRequest sum_of(const Tensor& input, Tensor& output) {
  core::TransferRequest request;
  request.layout = {core::WireFormat::i32, core::DataType::i32};
  request.elements = input.size();
  request.codec = numeric::codec(core::DataType::i32, core::WireFormat::i32, Reduction::sum,
                                 core::Collective::all_reduce);
  request.input = reinterpret_cast<const std::byte*>(input.data());
  request.output = reinterpret_cast<std::byte*>(output.data());
  return request;
}

std::int32_t wrapped_sum(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

// Does what the network does with a transfer that all ranks make.
void make(std::vector<core::TransferRequest>& requests, std::uint64_t elements) {
  constexpr std::uint32_t kChunk = 96;
  const bool joins = requests[0].reduction == Reduction::bit_or;
  for (std::uint64_t first = 0; first < elements; first += kChunk) {
    const core::ChunkRange range = {
        first, static_cast<std::uint32_t>(std::min<std::uint64_t>(kChunk, elements - first))};
    Tensor all(range.elements);
    for (const core::TransferRequest& request : requests) {
      Tensor own(range.elements);
      request.codec->encode(request.context, request.input, range, nullptr, nullptr,
                            reinterpret_cast<std::byte*>(own.data()));
      for (std::size_t i = 0; i < own.size(); ++i) {
        all[i] = joins ? all[i] | own[i] : wrapped_sum(all[i], own[i]);
      }
    }
    for (const core::TransferRequest& request : requests) {
      core::TensorCodec::Received received;
      received.elements = reinterpret_cast<const std::byte*>(all.data());
      request.codec->decode(request.context, request.output, range, received);
    }
  }
}

struct Traffic {
  std::uint64_t join_elements = 0;
  std::uint64_t sum_elements = 0;
};

Traffic sum(std::vector<BlockSum>& sums, const std::vector<Tensor>& inputs,
            std::vector<Tensor>& outputs, bool stages) {
  std::vector<std::vector<core::TransferRequest>> steps;
  for (std::size_t rank = 0; rank < kWorld; ++rank) {
    sums[rank].begin({.dense = sum_of(inputs[rank], outputs[rank]),
                      .stages = stages,
                      .rank = static_cast<std::uint32_t>(rank),
                      .world = kWorld});
    steps.resize(sums[rank].steps());
    for (std::uint32_t i = 0; i < steps.size(); ++i) {
      steps[i].push_back(sums[rank].step(i));
      EXPECT_EQ(steps[i].back().sized_later, i > 0);
    }
  }
  Traffic traffic;
  std::vector<Tensor> staged(kWorld);
  std::uint64_t elements = steps[0][0].elements;
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    const bool is_last = i + 1 == steps.size();
    make(steps[i], elements);
    (is_last ? traffic.sum_elements : traffic.join_elements) += elements;
    for (std::size_t rank = 0; rank < kWorld && !is_last; ++rank) {
      elements = sums[rank].size_after(i);
      if (i + 2 < steps.size() || !stages) continue;
      staged[rank].resize(elements);
      EXPECT_EQ(sums[rank].staged_bytes(), elements * sizeof(std::int32_t));
      sums[rank].stage(reinterpret_cast<std::byte*>(staged[rank].data()));
    }
  }
  for (BlockSum& each : sums) each.finish();
  return traffic;
}

// Each rank has nonzero elements in some blocks. At low density, no rank has most of the blocks.
std::vector<Tensor> draw(std::size_t elements, double density, base::Prng& prng) {
  std::vector<Tensor> tensors(kWorld, Tensor(elements));
  for (Tensor& tensor : tensors) {
    for (std::size_t block = 0; block * 32 < elements; ++block) {
      if (!prng.chance(density)) continue;
      const std::size_t most = std::min<std::size_t>(32, elements - block * 32);
      tensor[block * 32 + prng.below(most)] = static_cast<std::int32_t>(prng.next());
    }
  }
  return tensors;
}

Tensor dense_sum(const std::vector<Tensor>& inputs) {
  Tensor all(inputs[0].size());
  for (const Tensor& input : inputs) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = wrapped_sum(all[i], input[i]);
    }
  }
  return all;
}

std::uint64_t elements_in_union(const std::vector<Tensor>& inputs) {
  std::uint64_t count = 0;
  const std::size_t elements = inputs[0].size();
  for (std::size_t first = 0; first < elements; first += 32) {
    const std::size_t end = std::min(first + 32, elements);
    bool has = false;
    for (const Tensor& input : inputs) {
      for (std::size_t i = first; i < end; ++i) has = has || input[i] != 0;
    }
    if (has) count += end - first;
  }
  return count;
}

TEST(BlockSum, IsTheDenseSumAndCarriesTheBlocksThatSomeRankHas) {
  base::Prng prng(11);
  std::vector<BlockSum> sums(kWorld);  // used for one tensor after another
  for (const std::size_t elements : {1UL, 32UL, 33UL, 5000UL, 3'000'001UL, 640UL}) {
    for (const double density : {0.0, 0.01, 0.3, 1.0}) {
      const std::vector<Tensor> inputs = draw(elements, density, prng);
      for (const bool in_place : {false, true}) {
        for (const bool stages : {false, true}) {
          std::vector<Tensor> outputs =
              in_place ? inputs : std::vector(kWorld, Tensor(elements, 9));
          const Traffic traffic = sum(sums, in_place ? outputs : inputs, outputs, stages);
          const Tensor wanted = dense_sum(inputs);
          for (const Tensor& output : outputs) {
            ASSERT_TRUE(output == wanted) << elements << " elements, density " << density;
          }
          EXPECT_EQ(traffic.sum_elements, elements_in_union(inputs));
        }
      }
    }
  }
}

TEST(BlockSum, ALongTensorSaysFirstWhereItHasAnything) {
  std::vector<BlockSum> sums(kWorld);
  const std::size_t elements = 32 * 32 * 32 * 100;  // 3200 words of bits
  std::vector<Tensor> inputs(kWorld, Tensor(elements));
  inputs[0][32 * 32 * 5] = 1;
  inputs[1][32 * 32 * 5 + 40] = 2;
  inputs[2][elements - 1] = 3;
  std::vector<Tensor> outputs(kWorld, Tensor(elements));
  const Traffic traffic = sum(sums, inputs, outputs, false);
  EXPECT_EQ(traffic.join_elements, 100U + kWorld + 2U);
  EXPECT_EQ(traffic.sum_elements, 3 * 32U);
  EXPECT_EQ(sums[0].union_blocks(), 3U);
  EXPECT_EQ(sums[0].blocks(), elements / 32);
}

TEST(BlockSum, NegativeZerosBecomeZeroAsInADenseSum) {
  std::vector<float> tensor(200, 0.0F);
  tensor[3] = tensor[150] = -0.0F;
  tensor[70] = 1;
  core::TransferRequest dense;
  dense.layout = {core::WireFormat::bfp32, core::DataType::f32};
  dense.elements = tensor.size();
  dense.codec = numeric::codec(core::DataType::f32, core::WireFormat::bfp32, Reduction::sum,
                               core::Collective::all_reduce);
  dense.input = reinterpret_cast<const std::byte*>(tensor.data());
  dense.output = reinterpret_cast<std::byte*>(tensor.data());
  BlockSum sum;
  sum.begin({dense});
  EXPECT_EQ(sum.step(0).elements, 2U);
  sum.step(1);
  EXPECT_EQ(sum.size_after(0), 32U);
  sum.finish();
  EXPECT_FALSE(std::signbit(tensor[3]));
  EXPECT_FALSE(std::signbit(tensor[150]));
  EXPECT_EQ(tensor[70], 1);
}

}  // namespace
}  // namespace infold::sparse
