// SPDX-License-Identifier: Apache-2.0
#include "codec/selection/largest.h"

#include <cmath>
#include <functional>

namespace infold::codec {
namespace {

// A bin of the histogram is 1/16 of a power of two. 4096 bins fit the cache next to the core.
constexpr std::uint32_t kBinShift = 19;
constexpr std::size_t kBins = 4096;
static_assert((kNanKey >> kBinShift) < kBins);

// Elements that are looked at together. Few of many blocks have a kept element.
constexpr std::size_t kBlock = 64;

// Keys of one side.
class Keys {
 public:
  explicit Keys(Side side)
      : of_rest_(side == Side::below ? 0 : ~0U), of_negative_(side == Side::above ? 0 : ~0U) {}

  std::uint32_t operator()(float value) const {
    const bool is_negative = (std::bit_cast<std::uint32_t>(value) >> 31) != 0;
    return key_of(value) & (is_negative ? of_negative_ : of_rest_);
  }

 private:
  std::uint32_t of_rest_;
  std::uint32_t of_negative_;
};

std::vector<std::uint32_t> keys_of_bin(std::span<const float> tensor, const Keys& keys,
                                       std::size_t bin, std::size_t count) {
  std::vector<std::uint32_t> found;
  found.reserve(count);
  for (const float value : tensor) {
    const std::uint32_t key = keys(value);
    if (key >> kBinShift == bin) found.push_back(key);
  }
  return found;
}

}  // namespace

float float_below(double value) {
  const auto near = static_cast<float>(value);
  return static_cast<double>(near) <= value ? near : std::nextafter(near, 0.0F);
}

Cut find_cut(std::span<const float> tensor, std::size_t kept, Side side) {
  if (kept == 0) return {};
  const Keys keys(side);
  std::vector<std::uint32_t> bins(kBins);
  for (const float value : tensor) ++bins[keys(value) >> kBinShift];
  std::size_t bin = kBins - 1;
  std::size_t rest = kept;  // of this bin and those below
  while (bins[bin] < rest) rest -= bins[bin--];

  std::vector<std::uint32_t> found = keys_of_bin(tensor, keys, bin, bins[bin]);
  const auto last = found.begin() + static_cast<std::ptrdiff_t>(rest - 1);
  std::nth_element(found.begin(), last, found.end(), std::greater<>());
  const std::uint32_t key = *last;
  const auto larger = std::count_if(found.begin(), last, [key](auto each) { return each > key; });
  return {key, rest - static_cast<std::size_t>(larger)};
}

Cut find_cut_above_zero(std::span<const float> tensor, std::size_t kept, Side side) {
  const Cut cut = find_cut(tensor, kept, side);
  return cut.key == 0 ? Cut{0, 0} : cut;
}

void append_kept(std::span<const float> tensor, const Cut& cut, Side side,
                 std::vector<std::uint32_t>& indices) {
  const Keys keys(side);
  std::size_t ties = cut.ties;
  for (std::size_t first = 0; first < tensor.size(); first += kBlock) {
    const auto block = tensor.subspan(first, std::min(kBlock, tensor.size() - first));
    const std::uint32_t least = ties > 0 ? cut.key : cut.key + 1;
    std::uint32_t hits = 0;
    for (const float value : block) hits += keys(value) >= least ? 1 : 0;
    if (hits == 0) continue;
    for (std::size_t i = 0; i < block.size(); ++i) {
      const std::uint32_t key = keys(block[i]);
      if (key < cut.key || (key == cut.key && ties == 0)) continue;
      if (key == cut.key) --ties;
      indices.push_back(static_cast<std::uint32_t>(first + i));
    }
  }
}

std::size_t count_from(std::span<const float> tensor, std::uint32_t key, Side side) {
  const Keys keys(side);
  std::size_t count = 0;
  for (const float value : tensor) count += keys(value) >= key ? 1 : 0;
  return count;
}

std::uint32_t largest_key(std::span<const float> tensor) {
  std::uint32_t most = 0;
  for (const float value : tensor) most = std::max(most, key_of(value));
  return most;
}

}  // namespace infold::codec
