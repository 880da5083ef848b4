// SPDX-License-Identifier: Apache-2.0
//
// Writes and reads codes of 1 to 32 bits, packed without gaps. The first code is in the lowest bits
// of the first byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace infold::compress {

constexpr std::size_t packed_bytes(std::size_t codes, std::uint32_t bits) {
  return (codes * bits + 7) / 8;
}

class BitWriter {
 public:
  // Appends to `bytes`, which must outlive the writer.
  explicit BitWriter(std::vector<std::byte>& bytes) : bytes_(bytes) {}

  // Requires: bits <= 32, and code < 2^bits.
  void put(std::uint32_t code, std::uint32_t bits) {
    waiting_ |= static_cast<std::uint64_t>(code) << count_;
    count_ += bits;
    while (count_ >= 8) pass_byte();
  }
  // Fills up the last byte with zeros.
  void finish() {
    if (count_ > 0) pass_byte();
    count_ = 0;
  }

 private:
  void pass_byte() {
    bytes_.push_back(static_cast<std::byte>(waiting_));
    waiting_ >>= 8;
    count_ -= count_ < 8 ? count_ : 8;
  }

  std::vector<std::byte>& bytes_;
  std::uint64_t waiting_ = 0;
  std::uint32_t count_ = 0;  // how many bits waiting_ holds
};

class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // Returns zeros beyond the end, and makes is_sound() false.
  std::uint32_t take(std::uint32_t bits) {
    while (count_ < bits) {
      waiting_ |= static_cast<std::uint64_t>(pull()) << count_;
      count_ += 8;
    }
    const auto code = static_cast<std::uint32_t>(waiting_ & ((std::uint64_t{1} << bits) - 1));
    waiting_ >>= bits;
    count_ -= bits;
    return code;
  }
  bool is_sound() const { return sound_; }
  // Whether all bytes were taken.
  bool is_at_end() const { return at_ == bytes_.size(); }

 private:
  std::uint8_t pull() {
    if (at_ < bytes_.size()) return static_cast<std::uint8_t>(bytes_[at_++]);
    sound_ = false;
    return 0;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::uint64_t waiting_ = 0;
  std::uint32_t count_ = 0;
  bool sound_ = true;
};

}  // namespace infold::compress
