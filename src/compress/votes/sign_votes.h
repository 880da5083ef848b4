// SPDX-License-Identifier: Apache-2.0
//
// Votes of ranks on the sign of each element, in lanes that aggregators add. A vote of 1 is for
// plus. Zeros and NaNs count as plus.
//
// With an even number of ranks, there are ties, and counting to that number often needs one more
// bit. With `abstains`, one rank of an even world therefore abstains from each element, so that the
// number of votes is odd; 8 ranks then need lanes of 3 bits instead of 4. Which rank abstains
// depends only on the element's index and the turn, not on the tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <infold/compressor.h>

#include "compress/lanes.h"
#include "compress/method.h"

namespace infold::compress {

class SignVotes {
 public:
  // A number for each bucket of `bucket` elements.
  struct Units {
    std::size_t bucket;
    std::span<const float> numbers;
    double divisor = 1;
  };

  explicit SignVotes(bool abstains) : abstains_(abstains) {}

  // Casts this rank's votes on the elements of a tensor.
  void cast(std::span<const float> tensor, const Turn& turn);
  std::span<const std::uint32_t> lanes() const { return codes_; }
  // Writes the result for each element: the votes for plus minus the votes for minus, multiplied by
  // the unit of the element's bucket. Requires: there are as many sums as lanes() has integers.
  void write_balances(std::span<const std::uint32_t> sums, const Units& units,
                      std::span<float> balances) const;
  // Writes plus or minus the unit for each element, or 0 where this rank abstains.
  void write_own(const Units& units, std::span<float> signs) const;

  static std::uint32_t voters(std::uint32_t world, bool abstains);

 private:
  bool is_thinned() const { return voters(world_, abstains_) < world_; }
  void write(std::span<const std::uint32_t> integers, std::uint32_t votes, const Units& units,
             std::span<float> out) const;

  bool abstains_;
  std::uint32_t world_ = 1;
  std::size_t first_abstained_ =
      0;  // this rank abstains here, and from here at every world_-th element
  Lanes lanes_;
  std::vector<std::uint32_t> codes_;
};

// The setting `abstain`.
Setting abstain_setting();
// How many bits the lanes of a tensor have.
double vote_bits(const Shape& shape, const Settings& settings, std::uint32_t world);

}  // namespace infold::compress
