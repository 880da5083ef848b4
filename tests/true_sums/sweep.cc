// SPDX-License-Identifier: Apache-2.0
#include "tests/true_sums/sweep.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/prng.h"
#include "core/aggregator/arithmetic.h"
#include "core/exact/exact_sums.h"
#include "core/exact/exact_testing.h"
#include "core/world.h"
#include "numeric/adders/digits.h"
#include "numeric/codec.h"
#include "tests/true_sums/nearest.h"

namespace infold::true_sums {
namespace {

using core::DataType;
using Tensor = std::vector<std::byte>;

constexpr DataType kTypes[] = {DataType::f32, DataType::f16, DataType::bf16, DataType::f64};
constexpr std::uint32_t kElementsMax = 352;
constexpr std::uint32_t kRanksMax = core::kWorldMax;

core::ExactSums make_sums() {
  return core::ExactSums({.sums = 1,
                          .wide_sums = 1,
                          .elements_max = kElementsMax,
                          .bin_words_max = core::bin_words_max(kElementsMax * 8),
                          .arithmetic = numeric::arithmetic().exact});
}

// One chunk of all ranks.
struct Chunk {
  DataType type = DataType::f32;
  core::ExactDraw draw = core::ExactDraw::any_bits;
  std::uint32_t divisor = 1;
  std::uint32_t elements = 0;
  std::vector<Tensor> ranks;

  std::size_t bytes() const { return elements * infold::element_bytes(type); }
};

// Draws few ranks in most chunks, and as many as there can be in some.
std::uint32_t draw_ranks(base::Prng& prng) {
  const std::uint64_t kind = prng.below(100);
  if (kind == 0) return static_cast<std::uint32_t>(2 + prng.below(kRanksMax - 1));
  return static_cast<std::uint32_t>(2 + prng.below(kind < 80 ? 3 : 7));
}

Chunk draw_chunk(base::Prng& prng) {
  Chunk chunk;
  chunk.type = kTypes[prng.below(std::size(kTypes))];
  chunk.draw = static_cast<core::ExactDraw>(prng.below(core::kExactDraws));
  chunk.elements =
      prng.chance(0.9) ? kElementsMax : static_cast<std::uint32_t>(1 + prng.below(kElementsMax));
  const std::uint32_t ranks = draw_ranks(prng);
  chunk.divisor = prng.chance(0.5) ? ranks : 1;
  chunk.ranks = core::draw_contributions(chunk.type, chunk.draw, ranks, chunk.elements, prng);
  return chunk;
}

class Ways {
 public:
  Ways() : flat_(make_sums()), leaf_(make_sums()), root_(make_sums()) {}

  const Tensor& at_one_aggregator(const Chunk& chunk) {
    for (const Tensor& rank : chunk.ranks) add(flat_, chunk, rank);
    return rounded(flat_, chunk, results_[0]);
  }

  // Sums with a few ranks below each of several leaves.
  const Tensor& in_a_tree(const Chunk& chunk, base::Prng& prng) {
    const std::size_t below = 1 + prng.below(chunk.ranks.size());
    for (std::size_t first = 0; first < chunk.ranks.size(); first += below) {
      const std::size_t end = std::min(first + below, chunk.ranks.size());
      for (std::size_t i = first; i < end; ++i) add(leaf_, chunk, chunk.ranks[i]);
      core::send_up(leaf_, root_, chunk.type, chunk.elements);
    }
    return rounded(root_, chunk, results_[1]);
  }

  const Tensor& by_digits(const Chunk& chunk) {
    results_[2].resize(chunk.bytes());
    const auto bytes = infold::element_bytes(chunk.type);
    for (std::uint32_t first = 0; first < chunk.elements; first += numeric::kDigitGroupElements) {
      const auto count = std::min<std::uint32_t>(
          static_cast<std::uint32_t>(numeric::kDigitGroupElements), chunk.elements - first);
      sum_group(chunk, first * bytes, count);
    }
    return results_[2];
  }

  const core::ExactSums& flat() const { return flat_; }

 private:
  static void add(core::ExactSums& sums, const Chunk& chunk, const Tensor& rank) {
    sums.add(0, chunk.type, rank.data(), chunk.elements);
  }

  static const Tensor& rounded(core::ExactSums& sums, const Chunk& chunk, Tensor& result) {
    result.resize(chunk.bytes());
    sums.round(0, chunk.type, chunk.elements, chunk.divisor, result.data());
    sums.end(0);
    return result;
  }

  void sum_group(const Chunk& chunk, std::size_t at, std::uint32_t count) {
    numeric::DigitGroup group;
    group.bits = numeric::digit_bits(static_cast<std::uint32_t>(chunk.ranks.size()));
    for (const Tensor& rank : chunk.ranks) {
      group.range = numeric::joined(
          group.range, numeric::digit_loops(chunk.type).find_range(rank.data() + at, count));
    }
    if (group.integers() == 0) {
      std::memset(results_[2].data() + at, 0, count * infold::element_bytes(chunk.type));
      return;
    }
    sums_.assign(std::size_t{group.integers()} * count, 0);
    slice_.resize(count);
    for (std::uint32_t slice = 0; slice < group.integers(); ++slice) {
      std::int32_t* const to = &sums_[std::size_t{slice} * count];
      for (const Tensor& rank : chunk.ranks) {
        numeric::write_slice(chunk.type, rank.data() + at, count, group, slice,
                             reinterpret_cast<std::byte*>(slice_.data()));
        for (std::uint32_t i = 0; i < count; ++i) to[i] += slice_[i];
      }
    }
    numeric::round_digits(chunk.type, group, reinterpret_cast<const std::byte*>(sums_.data()),
                          count, chunk.divisor, results_[2].data() + at);
  }

  core::ExactSums flat_, leaf_, root_;
  std::array<Tensor, 3> results_;
  std::vector<std::int32_t> sums_, slice_;
};

template <typename F>
bool is_true(const Chunk& chunk, const Tensor& result, std::uint32_t& element) {
  const auto bytes = infold::element_bytes(chunk.type);
  std::array<std::uint64_t, kRanksMax> values{};
  const auto bits_at = [&](const Tensor& tensor) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, tensor.data() + element * bytes, bytes);
    return bits;
  };
  for (element = 0; element < chunk.elements; ++element) {
    for (std::size_t rank = 0; rank < chunk.ranks.size(); ++rank) {
      values[rank] = bits_at(chunk.ranks[rank]);
    }
    const std::span<const std::uint64_t> all(values.data(), chunk.ranks.size());
    if (!is_nearest<F>(all, chunk.divisor, bits_at(result))) return false;
  }
  return true;
}

bool is_true(const Chunk& chunk, const Tensor& result, std::uint32_t& element) {
  switch (chunk.type) {
    case DataType::f32: return is_true<F32>(chunk, result, element);
    case DataType::f16: return is_true<F16>(chunk, result, element);
    case DataType::bf16: return is_true<Bf16>(chunk, result, element);
    default: return is_true<F64>(chunk, result, element);
  }
}

std::string problem_of(Ways& ways, const Chunk& chunk, base::Prng& prng) {
  const Tensor& flat = ways.at_one_aggregator(chunk);
  std::uint32_t element = 0;
  if (!is_true(chunk, flat, element)) {
    return "element " + std::to_string(element) + " is not rounded right";
  }
  if (ways.in_a_tree(chunk, prng) != flat) return "a tree has other bits";
  if (chunk.ranks.size() > numeric::kDigitWorldMax) return "";
  if (ways.by_digits(chunk) != flat) return "digits have other bits";
  return "";
}

}  // namespace

SweepReport sweep(const SweepOptions& options) {
  constexpr std::uint64_t kChunksBetweenProgress = 100'000;
  Ways ways;
  SweepReport report;
  while (report.elements < options.elements && report.wrong.empty()) {
    const std::uint64_t seed = options.seed + report.chunks;
    base::Prng prng(base::mix64(seed));
    const Chunk chunk = draw_chunk(prng);
    const std::string problem = problem_of(ways, chunk, prng);
    if (!problem.empty()) {
      report.wrong = problem + ": seed " + std::to_string(seed) + ", " +
                     data_type_name(chunk.type) + ", draw " +
                     std::to_string(static_cast<unsigned>(chunk.draw)) + ", " +
                     std::to_string(chunk.ranks.size()) + " ranks, divided by " +
                     std::to_string(chunk.divisor);
    }
    ++report.chunks;
    report.elements += chunk.elements;
    if (options.progress != nullptr && report.chunks % kChunksBetweenProgress == 0) {
      options.progress(report.elements);
    }
  }
  report.repaired = ways.flat().repaired();
  report.binned = ways.flat().binned();
  return report;
}

namespace {

// Draws a normal number by the polar method.
double normal(base::Prng& prng) {
  for (;;) {
    const double x = 2 * prng.uniform() - 1;
    const double y = 2 * prng.uniform() - 1;
    const double square = x * x + y * y;
    if (square > 0 && square < 1) return x * std::sqrt(-2 * std::log(square) / square);
  }
}

template <typename Draw>
Rates rates_of(std::uint64_t chunks, std::uint64_t seed, Draw&& draw) {
  constexpr int kRanks = 8;
  base::Prng prng(seed);
  core::ExactSums sums = make_sums();
  std::array<float, kElementsMax> tensor{};
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    for (int rank = 0; rank < kRanks; ++rank) {
      for (float& each : tensor) each = static_cast<float>(draw(prng));
      sums.add(0, DataType::f32, reinterpret_cast<const std::byte*>(tensor.data()), kElementsMax);
    }
    sums.end(0);
  }
  return {chunks, sums.repaired(), sums.binned()};
}

}  // namespace

Rates rates_of_normal(std::uint64_t chunks, std::uint64_t seed) {
  return rates_of(chunks, seed, normal);
}

Rates rates_of_heavy_tails(std::uint64_t chunks, std::uint64_t seed) {
  return rates_of(chunks, seed,
                  [](base::Prng& prng) { return normal(prng) * std::exp(2 * normal(prng)); });
}

}  // namespace infold::true_sums
