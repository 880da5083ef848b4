// SPDX-License-Identifier: Apache-2.0
//
// The method `randomk`: it sends a part of the elements, drawn at random and without repeats in
// blocks of consecutive elements. In a step, all ranks draw the same blocks, so only values travel,
// and any aggregator of floats can add them. Values are not scaled up: C(x) is x or zero, and a
// memory keeps the rest.
#include <algorithm>
#include <bit>

#include "compress/counter_random.h"
#include "compress/methods/methods.h"
#include "compress/selection/selection.h"

namespace infold::compress {
namespace {

struct Blocks {
  std::size_t all = 0;
  std::size_t kept = 0;
};

Blocks count_blocks(std::size_t elements, double ratio, std::size_t block) {
  const std::size_t all = (elements + block - 1) / block;
  return {all, kept_elements(ratio, all)};
}

// Returns a number below `bound`, which is at most 2^32. The bias is below 2^-32.
std::uint64_t draw_below(std::uint64_t bound, const CounterRandom& random, std::uint64_t index) {
  const std::uint64_t high = random.bits(2 * index);
  const std::uint64_t low = random.bits(2 * index + 1);
  return (high * bound + ((low * bound) >> 32)) >> 32;
}

class RandomK final : public Compressor {
 public:
  RandomK(std::size_t elements, double ratio, std::size_t block)
      : blocks_(count_blocks(elements, ratio, block)),
        block_(block),
        is_kept_((blocks_.all + kBits - 1) / kBits) {}

  Leg begin(std::span<const float> tensor, const Turn& turn) override {
    draw(CounterRandom::shared(turn, 0));
    values_.clear();
    for (const std::size_t first : firsts_) {
      const auto block = tensor.subspan(first, std::min(block_, tensor.size() - first));
      values_.insert(values_.end(), block.begin(), block.end());
    }
    return {Travel::floats, std::as_bytes(std::span(values_))};
  }
  std::optional<Leg> next(const Answer& answer) override {
    mean_ = answer.floats();
    return std::nullopt;
  }
  void write_mean(std::span<float> mean) override { spread(mean_, mean); }
  void write_sent(std::span<float> sent) const override { spread(values_, sent); }

 private:
  static constexpr std::size_t kBits = 64;

  bool is_kept(std::size_t block) const {
    return ((is_kept_[block / kBits] >> (block % kBits)) & 1) != 0;
  }
  void keep(std::size_t block) { is_kept_[block / kBits] |= std::uint64_t{1} << (block % kBits); }

  // Uses Floyd's algorithm, in which each set of this many blocks is equally likely. It costs time
  // for each block that is kept, and for a bit of every block.
  void draw(const CounterRandom& random) {
    std::fill(is_kept_.begin(), is_kept_.end(), 0);
    for (std::size_t last = blocks_.all - blocks_.kept; last < blocks_.all; ++last) {
      const std::size_t drawn = draw_below(last + 1, random, last);
      keep(is_kept(drawn) ? last : drawn);
    }
    firsts_.clear();
    for (std::size_t word = 0; word < is_kept_.size(); ++word) {
      for (std::uint64_t bits = is_kept_[word]; bits != 0; bits &= bits - 1) {
        firsts_.push_back((word * kBits + static_cast<std::size_t>(std::countr_zero(bits))) *
                          block_);
      }
    }
  }

  void spread(std::span<const float> values, std::span<float> out) const {
    std::fill(out.begin(), out.end(), 0.0F);
    for (const std::size_t first : firsts_) {
      const std::size_t count = std::min(block_, out.size() - first);
      std::copy_n(values.begin(), count, out.begin() + static_cast<std::ptrdiff_t>(first));
      values = values.subspan(count);
    }
  }

  Blocks blocks_;
  std::size_t block_;
  std::vector<std::uint64_t> is_kept_;  // a bit for each block
  std::vector<std::size_t> firsts_;     // where kept blocks begin, ascending
  std::vector<float> values_;
  std::span<const float> mean_;
};

// Counts the last block as a whole one, although it may be shorter.
double formula_bits(const Shape& shape, const Settings& settings, std::uint32_t) {
  const auto block = static_cast<std::size_t>(settings["block"]);
  const Blocks blocks = count_blocks(shape.elements, settings["ratio"], block);
  return 32.0 * static_cast<double>(std::min(blocks.kept * block, shape.elements));
}

}  // namespace

Method randomk_method() {
  return {.name = "randomk",
          .summary = "random blocks of elements that are the same at all ranks",
          .bias = Bias::contractive,
          .settings = {ratio_setting(),
                       {.name = "block",
                        .usual = 1,
                        .least = 1,
                        .most = 1 << 24,
                        .is_whole = true,
                        .meaning = "consecutive elements that are drawn together"}},
          .formula_bits = formula_bits,
          .make = [](const Shape& shape, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<RandomK>(shape.elements, settings["ratio"],
                                             static_cast<std::size_t>(settings["block"]));
          },
          .check = check_selection};
}

}  // namespace infold::compress
