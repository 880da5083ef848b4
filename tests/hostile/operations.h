// SPDX-License-Identifier: Apache-2.0
//
// Reads a fuzzer's bytes as a list of decisions. After the last byte every decision is 0, so any
// input is a complete run, and zeros after an input do not change what it means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace infold::hostile {

class Operations {
 public:
  Operations(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {}

  bool done() const { return at_ >= bytes_.size(); }
  std::uint8_t byte() { return done() ? std::uint8_t{0} : bytes_[at_++]; }
  // In [0, bound). Requires: 0 < bound <= 256.
  std::uint32_t below(std::uint32_t bound) { return byte() % bound; }
  std::span<const std::uint8_t> take(std::size_t count) {
    const std::size_t taken = count < bytes_.size() - at_ ? count : bytes_.size() - at_;
    at_ += taken;
    return bytes_.subspan(at_ - taken, taken);
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

}  // namespace infold::hostile
