// SPDX-License-Identifier: Apache-2.0
//
// The compressor of methods that send each element whose magnitude is above a constant. NaNs are
// sent as well.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compress/selection/largest.h"
#include "compress/selection/selection.h"

namespace infold::compress {

class Above final : public SelectingCompressor {
 public:
  // Requires: the limit is not negative and is below infinity.
  Above(double limit, Travel travel)
      : SelectingCompressor(travel), cut_{.key = key_of(float_below(limit)), .ties = 0} {}

 private:
  void choose(std::span<const float> tensor, const Turn&,
              std::vector<std::uint32_t>& indices) override {
    append_kept(tensor, cut_, Side::both, indices);
  }

  Cut cut_;
};

}  // namespace infold::compress
