// SPDX-License-Identifier: Apache-2.0
//
// What all methods share that send some elements of a tensor, and zeros for the rest. A method
// chooses the elements; this class carries them.
//
// Setting travel = 0: each rank gets all ranks' codes, and adds in the order of ranks. A code is
// the count (u32), the indices as in index_code.h, and the values. Setting travel = 1: indices and
// f32 go into an aggregated sparse sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <infold/compressor.h>

#include "codec/compress/method.h"
#include "codec/selection/sparse_sums.h"

namespace infold::codec {

class SelectingCompressor : public Compressor {
 public:
  // Gather or rows.
  explicit SelectingCompressor(Travel travel) : travel_(travel) {}

  Leg begin(std::span<const float> tensor, const Turn& turn) final;
  std::optional<Leg> next(const Answer& answer) final;
  bool is_sound() const final { return is_sound_; }
  void write_mean(std::span<float> mean) final;
  void write_sent(std::span<float> sent) const final;

 protected:
  // Appends the indices of the elements to send, ascending.
  virtual void choose(std::span<const float> tensor, const Turn& turn,
                      std::vector<std::uint32_t>& indices) = 0;
  // Fills in what each chosen element counts as. Usual: the element.
  virtual void set_values(std::span<const float> tensor, std::span<const std::uint32_t> indices,
                          std::span<float> values);

  // The values' part of a code. Usual: an f32 each. put_values() may use what set_values() found.
  virtual std::size_t value_bytes(std::size_t count) const;
  virtual void put_values(std::span<const float> values, std::span<std::byte> code) const;
  virtual void take_values(std::span<const std::byte> code, std::span<float> values) const;

 private:
  void encode();
  bool add(std::span<const std::byte> code);

  Travel travel_;
  std::size_t elements_ = 0;
  std::size_t world_ = 1;
  bool is_sound_ = true;
  // This rank's.
  std::vector<std::uint32_t> indices_;
  std::vector<float> values_;
  std::vector<std::byte> code_;
  // All ranks'.
  SparseSums sums_;
  std::span<const float> mean_;  // of rows
  // Of the code that is being added.
  std::vector<std::uint32_t> read_indices_;
  std::vector<float> read_values_;
};

// For methods that send one value for all chosen elements above zero, and one for those below. A
// code has both values, and a bit for each element.
class TwoSided : public SelectingCompressor {
 public:
  using SelectingCompressor::SelectingCompressor;

 protected:
  struct Sides {
    float above = 0;
    float below = 0;
  };
  virtual Sides find_sides(std::span<const float> tensor,
                           std::span<const std::uint32_t> indices) const = 0;

 private:
  void set_values(std::span<const float> tensor, std::span<const std::uint32_t> indices,
                  std::span<float> values) final;
  std::size_t value_bytes(std::size_t count) const final;
  void put_values(std::span<const float> values, std::span<std::byte> code) const final;
  void take_values(std::span<const std::byte> code, std::span<float> values) const final;

  Sides sides_;
  std::vector<std::byte> below_;  // a bit for each chosen element
};

// What records of such methods share.
Setting ratio_setting();
Setting travel_setting();
Travel travel_of(const Settings& settings);
// max(1, floor(ratio x elements)); none of no elements.
std::size_t kept_elements(double ratio, std::size_t elements);
// An index has 32 bits.
std::optional<Error> check_selection(const Shape& shape, const Settings& settings,
                                     std::uint32_t world);

}  // namespace infold::codec
