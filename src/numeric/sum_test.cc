// SPDX-License-Identifier: Apache-2.0
//
// Tests the way from tensors to their sum and back, with the steps of workers and an aggregator:
// encode, align and add, encode again, decode. The oracle adds in long double. Like gradients, the
// data is heavy-tailed: Student's t with 3 degrees of freedom, times a scale per block of 2^-12 to
// 1. Each rank has its own noise, plus a gradient that all ranks share with three tenths of the
// noise's strength.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "numeric/block_float.h"
#include "numeric/codec.h"

namespace infold::numeric {
namespace {

using core::BlockStep;

constexpr std::uint32_t kBlock = INFOLD_BLOCK_ELEMENTS;
constexpr core::LaneWidth kLanes = core::LaneWidth::bits64;

double normal(base::Prng& prng) {
  const double radius = std::sqrt(-2 * std::log(1 - prng.uniform()));
  return radius * std::cos(2 * 3.14159265358979323846 * prng.uniform());
}

double student3(base::Prng& prng) {
  const double a = normal(prng);
  const double b = normal(prng);
  const double c = normal(prng);
  return normal(prng) / std::sqrt((a * a + b * b + c * c) / 3);
}

using Tensor = std::vector<float>;

std::vector<Tensor> heavy_tailed(std::uint32_t world, std::uint32_t elements, std::uint64_t seed,
                                 double shared = 0.3) {
  base::Prng prng(seed);
  std::vector<double> scales((elements + kBlock - 1) / kBlock);
  for (double& scale : scales) scale = std::exp2(-12 * prng.uniform());
  std::vector<double> gradient(elements);
  for (double& element : gradient) element = shared * student3(prng);
  std::vector<Tensor> tensors(world, Tensor(elements));
  for (Tensor& tensor : tensors) {
    for (std::uint32_t i = 0; i < elements; ++i) {
      tensor[i] = static_cast<float>((gradient[i] + student3(prng)) * scales[i / kBlock]);
    }
  }
  return tensors;
}

// One chunk at an aggregator. Its lanes count in the unit of the finest exponent so far.
class ChunkSum {
 public:
  ChunkSum(const KernelSet& set, core::WireFormat format, std::uint32_t elements)
      : set_(set),
        layout_{format, core::DataType::f32},
        elements_(elements),
        lanes_(elements * core::lane_bytes(kLanes)),
        codes_(layout_.block_count(elements) + core::kBlocksTogether),
        high_codes_(codes_.size()),
        exponents_(layout_.exponent_bytes(elements)),
        mantissas_(elements * layout_.element_bytes()) {}

  // Returns false if exponents are too far apart, which does not happen with the test's data.
  bool add(const Tensor& tensor, std::uint64_t first) {
    codec().encode(nullptr, reinterpret_cast<const std::byte*>(tensor.data()), {first, elements_},
                   nullptr, exponents_.data(), mantissas_.data());
    const std::size_t blocks = layout_.block_count(elements_);
    std::vector<BlockStep> steps(codes_.size());
    std::vector<std::uint16_t> codes(codes_.size());
    for (std::size_t block = 0; block < blocks; ++block) {
      codes[block] = std::to_integer<std::uint16_t>(exponents_[block]);
    }
    const std::uint32_t reach =
        set_.arithmetic->plan({codes.data(), codes.data(), codes_.data(), high_codes_.data()},
                              static_cast<std::uint32_t>(blocks), steps.data());
    if (reach > 63) return false;
    const auto& accumulate = set_.arithmetic->accumulate[core::lane_index(kLanes)];
    accumulate[core::mantissa_index(layout_.format)](lanes_.data(), mantissas_.data(), elements_,
                                                     kBlock, steps.data());
    return true;
  }

  // Returns the result on the wire, as numbers, and decodes it into `tensor`.
  std::vector<long double> finish(std::uint64_t first, Tensor& tensor) {
    std::vector<std::uint16_t> codes(codes_.size());
    const auto& encode = set_.arithmetic->encode[core::lane_index(kLanes)];
    encode[core::mantissa_index(layout_.format)](lanes_.data(), elements_, layout_, codes_.data(),
                                                 codes.data(), mantissas_.data());
    std::vector<long double> wire(elements_);
    for (std::uint32_t i = 0; i < elements_; ++i) {
      std::int64_t mantissa = 0;
      const std::uint32_t width = layout_.element_bytes();
      std::memcpy(&mantissa, mantissas_.data() + i * width, width);
      mantissa = mantissa << (64 - 8 * width) >> (64 - 8 * width);
      wire[i] =
          std::ldexp(static_cast<long double>(mantissa), layout_.unit_exponent(codes[i / kBlock]));
    }
    for (std::size_t block = 0; block < layout_.block_count(elements_); ++block) {
      exponents_[block] = static_cast<std::byte>(codes[block]);
    }
    codec().decode(nullptr, reinterpret_cast<std::byte*>(tensor.data()), {first, elements_},
                   {.exponents = exponents_.data(), .elements = mantissas_.data()});
    return wire;
  }

 private:
  const core::TensorCodec& codec() const {
    return *set_.codec(core::DataType::f32, layout_.format, core::Reduction::sum,
                       core::Collective::all_reduce);
  }

  const KernelSet& set_;
  core::ElementLayout layout_;
  std::uint32_t elements_;
  std::vector<std::byte> lanes_;
  std::vector<std::uint16_t> codes_;  // padded for kernels that plan several blocks together
  std::vector<std::uint16_t> high_codes_;
  std::vector<std::byte> exponents_;
  std::vector<std::byte> mantissas_;
};

struct Sum {
  Tensor tensor;
  std::vector<long double> wire;
};

Sum all_reduce(const KernelSet& set, const std::vector<Tensor>& tensors, core::WireFormat format,
               std::uint32_t chunk_elements) {
  const auto elements = static_cast<std::uint32_t>(tensors[0].size());
  Sum sum = {Tensor(elements), {}};
  for (std::uint32_t first = 0; first < elements; first += chunk_elements) {
    ChunkSum chunk(set, format, std::min(chunk_elements, elements - first));
    for (const Tensor& tensor : tensors) EXPECT_TRUE(chunk.add(tensor, first));
    const auto wire = chunk.finish(first, sum.tensor);
    sum.wire.insert(sum.wire.end(), wire.begin(), wire.end());
  }
  return sum;
}

// Returns the squared error of the result on the wire, divided by the squared exact sum. Rounding
// to f32 is not included: its error of about 1e-15 is the same for every format, and would hide the
// wire's error in bfp32.
double normalised_error(const std::vector<Tensor>& tensors, core::WireFormat format) {
  const Sum sum = all_reduce(kernels(), tensors, format, 352);
  long double error = 0;
  long double power = 0;
  for (std::size_t i = 0; i < sum.wire.size(); ++i) {
    long double exact = 0;
    for (const Tensor& tensor : tensors) exact += tensor[i];
    error += (sum.wire[i] - exact) * (sum.wire[i] - exact);
    power += exact * exact;
  }
  return static_cast<double>(error / power);
}

struct Target {
  core::WireFormat format;
  double error_at_8;
};
constexpr Target kTargets[] = {{core::WireFormat::bfp8, 2.3e-4},
                               {core::WireFormat::bfp16, 3.4e-9},
                               {core::WireFormat::bfp32, 8e-19}};

TEST(Sum, ErrorOnHeavyTailedDataMeetsTheTargetsAndFallsWithMoreWorkers) {
  constexpr std::uint32_t kElements = 1 << 15;
  const auto at_8 = heavy_tailed(8, kElements, 1);
  const auto at_32 = heavy_tailed(32, kElements, 1);
  for (const Target& target : kTargets) {
    const double error = normalised_error(at_8, target.format);
    RecordProperty("format_" + std::to_string(static_cast<int>(target.format)),
                   std::to_string(error / target.error_at_8));
    EXPECT_LE(error, target.error_at_8);
    // f32 has fewer bits than a bfp32 mantissa, so only the result is rounded, and only a little.
    const double bound = target.format == core::WireFormat::bfp32 ? target.error_at_8 : error;
    EXPECT_LT(normalised_error(at_32, target.format), bound);
  }
}

TEST(Sum, NoBitDependsOnOrderChunksOrKernels) {
  constexpr std::uint32_t kElements = 3000;
  auto tensors = heavy_tailed(8, kElements, 3);
  for (const Target& target : kTargets) {
    const Tensor expected = all_reduce(scalar_kernels(), tensors, target.format, 352).tensor;
    base::Prng prng(4);
    for (const KernelSet& set : supported_kernels()) {
      for (const std::uint32_t chunk : {32U, 64U, 352U, 2048U, 8192U}) {
        for (std::size_t i = tensors.size(); i > 1; --i) {
          std::swap(tensors[i - 1], tensors[prng.below(i)]);
        }
        const Tensor got = all_reduce(set, tensors, target.format, chunk).tensor;
        ASSERT_EQ(std::memcmp(got.data(), expected.data(), kElements * sizeof(float)), 0)
            << set.name << " chunk " << chunk;
      }
    }
  }
}

TEST(Sum, ErrorStaysWithinTheBoundOfEachRanksUnitAndTheResults) {
  const auto tensors = heavy_tailed(5, 4096, 5);
  for (const Target& target : kTargets) {
    const core::ElementLayout layout = {target.format, core::DataType::f32};
    const Sum sum = all_reduce(kernels(), tensors, target.format, 352);
    for (std::size_t first = 0; first < sum.wire.size(); first += kBlock) {
      long double bound = 0;
      long double largest = 0;
      const auto half_unit = [&](long double magnitude) {  // the next code covers the carry
        return magnitude == 0 ? 0.0L
                              : std::ldexp(1.0L, std::ilogb(magnitude) - layout.mantissa_top_bit());
      };
      for (const Tensor& tensor : tensors) {
        float own = 0;
        for (std::size_t i = first; i < first + kBlock; ++i) {
          own = std::max(own, std::abs(tensor[i]));
        }
        bound += half_unit(own);
      }
      for (std::size_t i = first; i < first + kBlock; ++i) {
        largest = std::max(largest, std::abs(sum.wire[i]));
      }
      bound += half_unit(largest);
      for (std::size_t i = first; i < first + kBlock; ++i) {
        long double exact = 0;
        for (const Tensor& tensor : tensors) exact += tensor[i];
        ASSERT_LE(std::abs(sum.wire[i] - exact), bound) << i;
      }
    }
  }
}

// In every wire format the sum of the largest numbers exceeds f32 and must come back as infinity,
// as in IEEE addition. Numbers with opposite signs must come back as their difference.
TEST(Sum, TheLargestNumbersAddUpToInfinityOrCancel) {
  constexpr float kLargest = 0x1.fffffep127f;
  for (const Target& target : kTargets) {
    for (const std::uint32_t world : {2U, 3U, 64U, 256U}) {
      std::vector<Tensor> tensors(world, Tensor(64, kLargest));
      for (std::uint32_t rank = 0; rank < world; ++rank) {
        tensors[rank][1] = -kLargest;
        tensors[rank][2] = rank % 2 == 0 ? kLargest : -kLargest;
        tensors[rank][3] = 0;
        for (std::uint32_t i = 32; i < 64; ++i) {  // f32 holds the sum of these
          tensors[rank][i] = kLargest / 512;
        }
      }
      const Tensor sum = all_reduce(kernels(), tensors, target.format, 64).tensor;
      EXPECT_EQ(sum[0], INFINITY);
      EXPECT_EQ(sum[1], -INFINITY);
      EXPECT_EQ(sum[3], 0.0f);
      if (world % 2 == 0) {
        EXPECT_EQ(sum[2], 0.0f);
      }
      const double relative = std::abs(
          static_cast<double>(sum[32]) / (static_cast<double>(kLargest) * world / 512) - 1);
      EXPECT_LE(relative, target.format == core::WireFormat::bfp8 ? 0x1p-6 : 0x1p-13);
    }
  }
}

TEST(Sum, SubnormalsAddExactlyInBfp32) {
  base::Prng prng(6);
  std::vector<Tensor> tensors(8, Tensor(96));
  std::vector<std::int64_t> exact(96);
  for (Tensor& tensor : tensors) {
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      const std::int64_t units = prng.between(-(1 << 20), 1 << 20);
      tensor[i] = std::ldexp(static_cast<float>(units), -149);
      exact[i] += units;
    }
  }
  const Tensor sum = all_reduce(kernels(), tensors, core::WireFormat::bfp32, 96).tensor;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    EXPECT_EQ(sum[i], std::ldexp(static_cast<float>(exact[i]), -149));
  }
}

}  // namespace
}  // namespace infold::numeric
