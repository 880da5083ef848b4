// SPDX-License-Identifier: Apache-2.0
//
// The base of methods that send some elements of a tensor, and zeros for the rest. A derived class
// chooses the elements; this class transfers them.
//
// With the setting travel = 0, each rank gets all ranks' codes and adds them in the order of ranks.
// A code has the count (u32), the indices as in index_code.h, and the values. With travel = 1, the
// network makes a sparse sum of the indices and their f32 values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <infold/compressor.h>

#include "compress/method.h"
#include "compress/selection/sparse_sums.h"

namespace infold::compress {

class SelectingCompressor : public Compressor {
 public:
  // Requires: `travel` is gather or rows.
  explicit SelectingCompressor(Travel travel) : travel_(travel) {}

  Leg begin(std::span<const float> tensor, const Turn& turn) final;
  std::optional<Leg> next(const Answer& answer) final;
  bool is_sound() const final { return is_sound_; }
  void write_mean(std::span<float> mean) final;
  void write_sent(std::span<float> sent) const final;

 protected:
  // Appends the indices of the elements to send, in ascending order.
  virtual void choose(std::span<const float> tensor, const Turn& turn,
                      std::vector<std::uint32_t>& indices) = 0;
  // Fills in the value that is sent for each chosen element, which by default is the element
  // itself.
  virtual void set_values(std::span<const float> tensor, std::span<const std::uint32_t> indices,
                          std::span<float> values);

  // Write and read the values' part of a code, which by default has an f32 for each value.
  // put_values() may use what set_values() found.
  virtual std::size_t value_bytes(std::size_t count) const;
  virtual void put_values(std::span<const float> values, std::span<std::byte> code) const;
  virtual void take_values(std::span<const std::byte> code, std::span<float> values) const;

 private:
  void encode();
  bool add(std::span<const std::byte> code);
  std::size_t code_bytes_max() const;

  Travel travel_;
  std::size_t elements_ = 0;
  std::size_t world_ = 1;
  bool is_sound_ = true;
  // What this rank sends.
  std::vector<std::uint32_t> indices_;
  std::vector<float> values_;
  std::vector<std::byte> code_;
  // The result over all ranks.
  SparseSums sums_;
  std::span<const float> mean_;  // with travel = rows
  // The content of the code that is being added.
  std::vector<std::uint32_t> read_indices_;
  std::vector<float> read_values_;
};

// The base of methods that send one value for all chosen elements above zero, and one for all
// below. A code has both values, and a bit for each chosen element.
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

// The settings that all these methods have, and functions that they share.
Setting ratio_setting();
Setting travel_setting();
Travel travel_of(const Settings& settings);
// Returns max(1, floor(ratio x elements)), but 0 for an empty tensor.
std::size_t kept_elements(double ratio, std::size_t elements);
// Refuses tensors whose indices would not fit in 32 bits.
std::optional<Error> check_selection(const Shape& shape, const Settings& settings,
                                     std::uint32_t world);

}  // namespace infold::compress
