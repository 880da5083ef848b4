// SPDX-License-Identifier: Apache-2.0
//
// Votes of ranks on the sign of each element, in lanes that aggregators add. A vote of 1 is for
// plus, and zero counts as plus, as does a NaN.
//
// With an even number of ranks there are ties, and a count to that number often needs one more bit.
// So with `abstains`, one rank of an even world abstains from each element. Which one depends on
// the element's index and the step alone. The votes are then an odd number: 8 ranks need lanes of 3
// bits instead of 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <infold/compressor.h>

#include "codec/compress/lanes.h"
#include "codec/compress/method.h"

namespace infold::codec {

class SignVotes {
 public:
  // A number for each bucket of so many elements.
  struct Units {
    std::size_t bucket;
    std::span<const float> numbers;
    double divisor = 1;
  };

  explicit SignVotes(bool abstains) : abstains_(abstains) {}

  // This rank's votes on the elements of a tensor.
  void cast(std::span<const float> tensor, const Turn& turn);
  std::span<const std::uint32_t> lanes() const { return codes_; }
  // Of each element: votes for plus, less votes for minus, of all ranks, times the unit of its
  // bucket. Requires: as many sums as lanes() has.
  void write_balances(std::span<const std::uint32_t> sums, const Units& units,
                      std::span<float> balances) const;
  // Plus or minus its unit, or 0 where this rank abstains.
  void write_own(const Units& units, std::span<float> signs) const;

  static std::uint32_t voters(std::uint32_t world, bool abstains);

 private:
  bool is_thinned() const { return voters(world_, abstains_) < world_; }
  void write(std::span<const std::uint32_t> integers, std::uint32_t votes, const Units& units,
             std::span<float> out) const;

  bool abstains_;
  std::uint32_t world_ = 1;
  std::size_t first_abstained_ = 0;  // then each world_-th element
  Lanes lanes_;
  std::vector<std::uint32_t> codes_;
};

// The setting `abstain`.
Setting abstain_setting();
// Bits of the lanes of a tensor.
double vote_bits(const Shape& shape, const Settings& settings, std::uint32_t world);

}  // namespace infold::codec
