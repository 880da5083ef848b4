// SPDX-License-Identifier: Apache-2.0
#include "compress/selection/largest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "numeric/codec.h"

namespace infold::compress {
namespace {

using numeric::SideKeys;

// A bin of the histogram is 1/16 of a power of two wide. 4096 bins fit in the first-level cache.
constexpr std::uint32_t kBinShift = 19;
constexpr std::size_t kBins = 4096;
static_assert((kNanKey >> kBinShift) < kBins);

// How many elements are searched at a time.
constexpr std::size_t kBlock = 2048;

std::vector<std::uint32_t> keys_of_bin(std::span<const float> tensor, const SideKeys& keys,
                                       std::size_t bin, std::size_t count) {
  std::vector<std::uint32_t> found;
  found.reserve(count);
  for (const float value : tensor) {
    const std::uint32_t key = keys(value);
    if (key >> kBinShift == bin) found.push_back(key);
  }
  return found;
}

// Keeps only the first `ties` of the elements whose key is the cut's key. Returns how many elements
// are left.
std::size_t drop_ties(std::span<const float> tensor, const SideKeys& keys, std::uint32_t key,
                      std::span<std::uint32_t> found, std::size_t& ties) {
  std::size_t count = 0;
  for (const std::uint32_t index : found) {
    const bool is_tie = keys(tensor[index]) == key;
    if (is_tie && ties == 0) continue;
    if (is_tie) --ties;
    found[count++] = index;
  }
  return count;
}

}  // namespace

float float_below(double value) {
  const auto near = static_cast<float>(value);
  return static_cast<double>(near) <= value ? near : std::nextafter(near, 0.0F);
}

Cut find_cut(std::span<const float> tensor, std::size_t kept, Side side) {
  if (kept == 0) return {};
  const SideKeys keys(side);
  std::vector<std::uint32_t> bins(kBins);
  for (const float value : tensor) ++bins[keys(value) >> kBinShift];
  std::size_t bin = kBins - 1;
  std::size_t rest = kept;  // still to come from this bin and lower ones
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
  std::array<std::uint32_t, kBlock + numeric::kGroupIntegers> found;
  std::size_t ties = cut.ties;
  for (std::size_t first = 0; first < tensor.size(); first += kBlock) {
    const std::uint32_t least = ties > 0 ? cut.key : cut.key + 1;
    std::size_t count = numeric::code_loops().find_from(
        tensor.data() + first, std::min(kBlock, tensor.size() - first), least, side,
        static_cast<std::uint32_t>(first), found.data());
    if (ties > 0) {
      count = drop_ties(tensor, SideKeys(side), cut.key, std::span(found).first(count), ties);
    }
    indices.insert(indices.end(), found.begin(), found.begin() + count);
  }
}

std::size_t count_from(std::span<const float> tensor, std::uint32_t key, Side side) {
  return numeric::code_loops().count_from(tensor.data(), tensor.size(), key, side);
}

}  // namespace infold::compress
