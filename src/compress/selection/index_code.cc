// SPDX-License-Identifier: Apache-2.0
#include "compress/selection/index_code.h"

#include <bit>
#include <cmath>

#include "compress/bits.h"

namespace infold::compress {
namespace {

// Like BitReader, but it finds the end of a run of zeros without looking at each bit.
class RunReader {
 public:
  explicit RunReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // Returns the number of zeros before the next one bit, and takes that bit as well.
  std::uint64_t take_run() {
    std::uint64_t zeros = 0;
    fill();
    while (waiting_ == 0 && count_ > 0) {
      zeros += count_;
      count_ = 0;
      fill();
    }
    if (waiting_ == 0) {
      is_sound_ = false;
      return zeros;
    }
    const auto run = static_cast<std::uint32_t>(std::countr_zero(waiting_));
    drop(run);
    drop(1);
    return zeros + run;
  }
  // Requires: bits < 32.
  std::uint64_t take(std::uint32_t bits) {
    fill();
    if (count_ < bits) {
      is_sound_ = false;
      return 0;
    }
    const std::uint64_t code = waiting_ & ((std::uint64_t{1} << bits) - 1);
    drop(bits);
    return code;
  }
  bool is_sound() const { return is_sound_; }
  // Whether nothing is left except the zeros that fill the last byte.
  bool is_at_end() const { return at_ == bytes_.size() && count_ < 8 && waiting_ == 0; }

 private:
  void fill() {
    while (count_ <= 56 && at_ < bytes_.size()) {
      waiting_ |= std::to_integer<std::uint64_t>(bytes_[at_++]) << count_;
      count_ += 8;
    }
  }
  void drop(std::uint32_t bits) {
    waiting_ >>= bits;
    count_ -= bits;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::uint64_t waiting_ = 0;
  std::uint32_t count_ = 0;  // how many bits waiting_ holds
  bool is_sound_ = true;
};

// Appends the code of at most half of the elements.
void append_gaps(std::span<const std::uint32_t> indices, std::size_t elements,
                 std::vector<std::byte>& code) {
  const std::uint32_t low = rice_bits(indices.size(), elements);
  BitWriter bits(code);
  std::uint64_t next = 0;  // the lowest index that may follow
  for (const std::uint32_t index : indices) {
    const auto gap = static_cast<std::uint32_t>(index - next);
    std::uint32_t run = gap >> low;
    for (; run >= 31; run -= 31) bits.put(0, 31);
    bits.put(std::uint32_t{1} << run, run + 1);
    bits.put(gap & ((std::uint32_t{1} << low) - 1), low);
    next = std::uint64_t{index} + 1;
  }
  bits.finish();
}

bool read_gaps(std::span<const std::byte> code, std::size_t elements,
               std::span<std::uint32_t> indices) {
  const std::uint32_t low = rice_bits(indices.size(), elements);
  RunReader bits(code);
  std::uint64_t next = 0;
  for (std::uint32_t& index : indices) {
    const std::uint64_t run = bits.take_run();
    if (run > elements) return false;  // so that the shift cannot overflow
    next += (run << low) + bits.take(low);
    if (!bits.is_sound() || next >= elements) return false;
    index = static_cast<std::uint32_t>(next++);
  }
  return bits.is_at_end();
}

// Fills `others` with the elements that are not in `indices`. Requires: it has room for exactly
// these.
void complement(std::span<const std::uint32_t> indices, std::span<std::uint32_t> others) {
  std::uint32_t next = 0;
  std::size_t at = 0;
  for (std::uint32_t& other : others) {
    for (; at < indices.size() && indices[at] == next; ++at) ++next;
    other = next++;
  }
}

bool is_dense(std::size_t count, std::size_t elements) { return count > elements / 2; }

}  // namespace

std::uint32_t rice_bits(std::size_t count, std::size_t elements) {
  if (count == 0) return 0;
  const std::uint64_t size = 77 * (2 * std::uint64_t{elements} - count) / (160 * count);
  return size == 0 ? 0 : static_cast<std::uint32_t>(std::bit_width(size)) - 1;
}

void append_indices(std::span<const std::uint32_t> indices, std::size_t elements,
                    std::vector<std::byte>& code) {
  if (!is_dense(indices.size(), elements)) return append_gaps(indices, elements, code);
  std::vector<std::uint32_t> others(elements - indices.size());
  complement(indices, others);
  append_gaps(others, elements, code);
}

bool read_indices(std::span<const std::byte> code, std::size_t elements,
                  std::span<std::uint32_t> indices) {
  if (!is_dense(indices.size(), elements)) return read_gaps(code, elements, indices);
  std::vector<std::uint32_t> others(elements - indices.size());
  if (!read_gaps(code, elements, others)) return false;
  complement(others, indices);
  return true;
}

double entropy_of_indices(double kept, double elements) {
  const double rest = elements - kept;
  const double of_kept = kept > 0 ? kept * std::log2(elements / kept) : 0;
  return of_kept + (rest > 0 ? rest * std::log2(elements / rest) : 0);
}

}  // namespace infold::compress
