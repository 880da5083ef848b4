// SPDX-License-Identifier: Apache-2.0
//
// An exact sum of floats over aggregators that can only add integers, in two transfers. The
// first transfer finds which bits each group of elements has over all ranks. The second transfer
// sums these bits as digits. If one packet holds all digits that the type can have, the second
// transfer is enough.
//
//   begin() -> range_transfer() done -> plan() -> digit_transfer() done
//
// If the tensor's size is only known later, both transfers wait for their sizes:
//
//   begin_later() -> set_tensor() -> range_transfer() done -> plan() -> digit_transfer() done
//
// Each group becomes floats as soon as all its sums have arrived. No chunk that is still in flight
// then holds a digit of that group, so the output may be the input. Several drivers may take sums
// of one tensor at once. A Digits must not move while transfers are in flight, and keeps its memory
// for the next sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/tensor_codec.h"
#include "core/worker/worker.h"
#include "numeric/adders/digits.h"

namespace infold::encoding {

class Digits {
 public:
  struct Work {
    // Has at least one element. Its output is the place of this rank's first wanted element, or
    // null if the rank wants none.
    core::TransferRequest tensor;
    std::uint64_t first_wanted = 0;
    std::uint64_t wanted = 0;
    std::uint32_t world = 1;
    std::uint32_t packet_integers = 0;  // how many integers of 32 bits fit in a packet of the job
  };

  // Returns the codec of the digit transfer, or null if there are too many ranks.
  static const core::TensorCodec* codec(std::uint32_t world);

  void begin(const Work& work);
  // Begins with a tensor whose input, output and size are not known yet, and whose elements are all
  // wanted. Here, work.tensor.elements is the size of the whole that the tensor is taken from
  //
  void begin_later(const Work& work);
  // Sets the tensor, which may be empty. Returns the number of elements of its range transfer.
  std::uint64_t set_tensor(const std::byte* input, std::byte* output, std::uint64_t elements);
  bool has_range_transfer() const { return has_range_transfer_; }
  core::TransferRequest range_transfer();
  // If there is a range transfer, this transfer is sized later.
  core::TransferRequest digit_transfer();

  // Call it once the ranges are known. Returns how many integers the digits need. Writes the
  // results of groups that hold only zeros.
  std::uint64_t plan();
  // How much memory the second transfer needs on this rank. set_sums() passes that memory.
  std::size_t sums_bytes() const;
  void set_sums(std::byte* sums) { sums_ = sums; }

 private:
  // A range of elements, counted from the first element of the group. It is empty if end <= first.
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
  std::uint32_t bits_ = 0;  // the width of a digit
  bool has_range_transfer_ = false;
  bool is_sized_later_ = false;
  std::vector<std::int16_t> ranges_;    // three integers for each group, as on the wire
  std::vector<std::uint64_t> offsets_;  // where each group's integers begin, and the end
  std::vector<std::uint32_t> arrived_;  // how many of each group's sums are in sums_
  std::byte* sums_ = nullptr;           // sums of incomplete groups, from the first wanted one
};

}  // namespace infold::encoding
