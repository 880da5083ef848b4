// SPDX-License-Identifier: Apache-2.0
//
// An exact sum of floats over aggregators that only add integers, in two transfers. The
// first one finds which bits each group of elements has, over all ranks. The second one sums these
// bits as digits. Where one packet holds all digits that the type can have, the second one is
// enough.
//
//   begin() -> range_transfer() done -> plan() -> digit_transfer() done
//
// Of a tensor whose size is known later, both transfers wait for theirs:
//
//   begin_later() -> set_tensor() -> range_transfer() done -> plan() -> digit_transfer() done
//
// Each group becomes floats as soon as all its sums are here. No chunk that is still in flight
// holds a digit of it then. So the output may be the input. Several drivers may take sums of one
// tensor at once. Stays where it is while transfers are in flight, and keeps its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/tensor_codec.h"
#include "core/worker/worker.h"
#include "numeric/adders/digits.h"

namespace infold::codec {

class Digits {
 public:
  struct Work {
    // Of at least one element. The output is where the first element that this rank wants goes, or
    // null if it wants none.
    core::TransferRequest tensor;
    std::uint64_t first_wanted = 0;
    std::uint64_t wanted = 0;
    std::uint32_t world = 1;
    std::uint32_t packet_integers = 0;  // of 32 bits, in a packet of the job
  };

  // Of the digits' transfer. Null if there are too many ranks.
  static const core::TensorCodec* codec(std::uint32_t world);

  void begin(const Work& work);
  // The tensor has no input and output yet. Its elements are those of the whole that it is taken
  // from. All of it is wanted.
  void begin_later(const Work& work);
  // The tensor, and how many elements its range transfer has: none for a tensor of none.
  std::uint64_t set_tensor(const std::byte* input, std::byte* output, std::uint64_t elements);
  bool has_range_transfer() const { return has_range_transfer_; }
  core::TransferRequest range_transfer();
  // Sized later if there is a range transfer.
  core::TransferRequest digit_transfer();

  // When the ranges are known: how many integers the digits are. Groups of zeros are written.
  std::uint64_t plan();
  // Memory that the second transfer needs on this rank.
  std::size_t sums_bytes() const;
  void set_sums(std::byte* sums) { sums_ = sums; }

 private:
  // Elements, counted from the group's first. None: end is not above first.
  struct Stretch {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
    bool is_empty() const { return end <= first; }
  };

  void start(const Work& work);
  static bool encode_range(const void* context, const std::byte*, core::ChunkRange range,
                           const std::uint16_t*, std::byte*, std::byte* elements);
  static void decode_range(void* context, std::byte*, core::ChunkRange range,
                           const core::TensorCodec::Received& received);
  static bool encode_digits(const void* context, const std::byte*, core::ChunkRange range,
                            const std::uint16_t*, std::byte*, std::byte* elements);
  static void decode_digits(void* context, std::byte*, core::ChunkRange range,
                            const core::TensorCodec::Received& received);

  const std::byte* input_of(std::uint64_t group) const;
  std::byte* output_of(std::uint64_t group, Stretch wanted);
  std::uint32_t elements_of(std::uint64_t group) const;
  Stretch wanted_of(std::uint64_t group) const;
  numeric::DigitRange own_range(std::uint64_t group) const;
  numeric::DigitGroup group_at(std::uint64_t group) const;
  std::uint64_t first_kept() const;
  template <typename Use>
  void for_each_group(core::ChunkRange range, Use&& use) const;
  void take_sums(std::uint64_t group, std::uint64_t first, std::uint64_t end, std::uint32_t divisor,
                 const std::byte* sums);
  void write_group(std::uint64_t group, const std::byte* sums, std::uint32_t divisor);

  Work work_;
  std::uint32_t element_bytes_ = 0;
  std::uint32_t bits_ = 0;  // of a digit
  bool has_range_transfer_ = false;
  bool is_sized_later_ = false;
  std::vector<std::int16_t> ranges_;    // three of each group, as they are on the wire
  std::vector<std::uint64_t> offsets_;  // of each group's first integer, and the end
  std::vector<std::uint32_t> arrived_;  // sums of each group in sums_
  std::byte* sums_ = nullptr;           // of incomplete groups, from the first that is wanted
};

}  // namespace infold::codec
