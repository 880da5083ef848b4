// SPDX-License-Identifier: Apache-2.0
//
// Inputs of kernels for differential.h: numbers made from bytes, and buffers that detect writes
// outside their range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/prng.h"

namespace infold::numeric {

// Reads the given bytes. After their end it returns random bytes, seeded by the given ones.
class InputBytes {
 public:
  explicit InputBytes(std::span<const std::uint8_t> bytes) : bytes_(bytes), prng_(seed(bytes)) {}

  // Returns an integer of any width, or a byte.
  template <typename T>
  T take() {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) bits = bits << 8 | next();
    return static_cast<T>(bits);
  }
  std::uint32_t below(std::uint32_t bound) { return take<std::uint32_t>() % bound; }

 private:
  static std::uint64_t seed(std::span<const std::uint8_t> bytes) {
    std::uint64_t hash = bytes.size();
    for (const std::uint8_t byte : bytes) hash = base::mix64(hash ^ byte);
    return hash;
  }
  std::uint8_t next() {
    if (at_ < bytes_.size()) return bytes_[at_++];
    return static_cast<std::uint8_t>(prng_.next());
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  base::Prng prng_;
};

// Bytes at an odd address, with a margin that no kernel may write.
class Buffer {
 public:
  Buffer(std::size_t size, std::uint32_t offset) : bytes_(size + 2 * kMargin, kFill) {
    begin_ = kMargin + offset % kOffsets;
  }
  std::byte* data() { return bytes_.data() + begin_; }
  const std::vector<std::byte>& all() const { return bytes_; }

 private:
  static constexpr std::byte kFill{0xA5};
  static constexpr std::size_t kOffsets = 8;
  static constexpr std::size_t kMargin = 72;
  std::vector<std::byte> bytes_;
  std::size_t begin_;
};

}  // namespace infold::numeric
