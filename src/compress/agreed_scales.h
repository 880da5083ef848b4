// SPDX-License-Identifier: Apache-2.0
//
// The base of compressors for which the ranks first agree on scales; the lanes then count in steps
// of these scales. They have one leg of scales, then one leg of lanes. A derived class decides what
// a scale and a lane are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <infold/compressor.h>

namespace infold::compress {

class AgreedScalesCompressor : public Compressor {
 public:
  Leg begin(std::span<const float> tensor, const Turn& turn) final {
    tensor_ = tensor;
    turn_ = turn;
    has_scales_ = false;
    measure(scales_);
    return {travel_, std::as_bytes(std::span(scales_))};
  }
  std::optional<Leg> next(const Answer& answer) final {
    if (has_scales_) {
      sums_ = answer.integers();
      return std::nullopt;
    }
    const std::span<const float> agreed = answer.floats();
    scales_.assign(agreed.begin(), agreed.end());
    has_scales_ = true;
    return Leg{Travel::lanes, std::as_bytes(encode())};
  }

 protected:
  // `travel` says how the ranks' scales are combined: with Travel::maxima into their maxima, with
  // Travel::floats into their means.
  AgreedScalesCompressor(Travel travel, std::size_t scales) : travel_(travel), scales_(scales) {}

  // Writes this rank's scales of tensor().
  virtual void measure(std::span<float> scales) = 0;
  // Returns the lanes of tensor() under the agreed scales().
  virtual std::span<const std::uint32_t> encode() = 0;

  std::span<const float> tensor() const { return tensor_; }
  const Turn& turn() const { return turn_; }
  std::span<const float> scales() const { return scales_; }
  std::span<const std::uint32_t> sums() const { return sums_; }  // the sums of all ranks' lanes

 private:
  const Travel travel_;
  std::span<const float> tensor_;
  Turn turn_;
  std::vector<float> scales_;  // this rank's scales, later the agreed ones
  std::span<const std::uint32_t> sums_;
  bool has_scales_ = false;
};

}  // namespace infold::compress
