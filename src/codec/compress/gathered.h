// SPDX-License-Identifier: Apache-2.0
//
// What all compressors share whose codes no aggregator can add: each rank gets all ranks' codes,
// and adds what they stand for, in the order of ranks. Sums are made in f64, so that their error is
// below that of any code.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "codec/compress/compressor.h"

namespace infold::codec {

class GatheredCompressor : public Compressor {
 public:
  Leg begin(std::span<const float> tensor, const Turn& turn) final {
    elements_ = tensor.size();
    code_.clear();
    encode(tensor, turn, code_);
    return {Travel::gather, code_};
  }
  std::optional<Leg> next(const Answer& answer) final {
    sums_.assign(elements_, 0.0);
    world_ = answer.gathered.size();
    is_sound_ = std::all_of(answer.gathered.begin(), answer.gathered.end(),
                            [this](auto code) { return add(code, sums_); });
    return std::nullopt;
  }
  bool is_sound() const final { return is_sound_; }
  void write_mean(std::span<float> mean) override {
    const auto divisor = static_cast<double>(world_);
    std::transform(sums_.begin(), sums_.end(), mean.begin(),
                   [divisor](double sum) { return static_cast<float>(sum / divisor); });
  }
  void write_sent(std::span<float> sent) const final {
    std::vector<double> values(elements_);
    add(code_, values);
    std::transform(values.begin(), values.end(), sent.begin(),
                   [](double value) { return static_cast<float>(value); });
  }

 protected:
  // Appends the code of the tensor.
  virtual void encode(std::span<const float> tensor, const Turn& turn,
                      std::vector<std::byte>& code) = 0;
  // Adds what a code stands for, of any rank. False: the bytes are no code of a tensor of this
  // size, and the sums mean nothing.
  virtual bool add(std::span<const std::byte> code, std::span<double> sums) const = 0;

  std::span<const double> sums() const { return sums_; }
  std::size_t world() const { return world_; }

 private:
  std::size_t elements_ = 0;
  std::size_t world_ = 1;
  std::vector<std::byte> code_;  // this rank's
  std::vector<double> sums_;
  bool is_sound_ = true;
};

}  // namespace infold::codec
