// SPDX-License-Identifier: Apache-2.0
#include "compress/selection/selection.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compress/bits.h"
#include "compress/selection/index_code.h"

namespace infold::compress {

Leg SelectingCompressor::begin(std::span<const float> tensor, const Turn& turn) {
  elements_ = tensor.size();
  indices_.clear();
  choose(tensor, turn, indices_);
  values_.resize(indices_.size());
  set_values(tensor, indices_, values_);
  if (travel_ == Travel::rows) {
    return {Travel::rows, std::as_bytes(std::span(values_)), indices_, elements_};
  }
  encode();
  return {.travel = Travel::gather, .sent = code_, .bytes_max = code_bytes_max()};
}

// A code of all elements has the most values. No count of indices takes more than
// indices_bytes_max.
std::size_t SelectingCompressor::code_bytes_max() const {
  return sizeof(std::uint32_t) + indices_bytes_max(elements_) + value_bytes(elements_);
}

void SelectingCompressor::encode() {
  const auto count = static_cast<std::uint32_t>(indices_.size());
  code_.resize(sizeof(count));
  std::memcpy(code_.data(), &count, sizeof(count));
  append_indices(indices_, elements_, code_);
  const std::size_t head = code_.size();
  code_.resize(head + value_bytes(count));
  put_values(values_, std::span(code_).subspan(head));
}

std::optional<Leg> SelectingCompressor::next(const Answer& answer) {
  if (travel_ == Travel::rows) {
    mean_ = answer.floats();
    return std::nullopt;
  }
  sums_.reset(elements_);
  world_ = answer.gathered.size();
  is_sound_ = std::all_of(answer.gathered.begin(), answer.gathered.end(),
                          [this](auto code) { return add(code); });
  return std::nullopt;
}

bool SelectingCompressor::add(std::span<const std::byte> code) {
  std::uint32_t count = 0;
  if (code.size() < sizeof(count)) return false;
  std::memcpy(&count, code.data(), sizeof(count));
  code = code.subspan(sizeof(count));
  if (count > elements_ || value_bytes(count) > code.size()) return false;
  const std::size_t head = code.size() - value_bytes(count);
  read_indices_.resize(count);
  if (!read_indices(code.first(head), elements_, read_indices_)) return false;
  read_values_.resize(count);
  take_values(code.subspan(head), read_values_);
  for (std::uint32_t i = 0; i < count; ++i) sums_.add(read_indices_[i], read_values_[i]);
  return true;
}

void SelectingCompressor::write_mean(std::span<float> mean) {
  if (travel_ == Travel::rows) {
    std::copy(mean_.begin(), mean_.end(), mean.begin());
  } else {
    sums_.write_mean(static_cast<double>(world_), mean);
  }
}

void SelectingCompressor::write_sent(std::span<float> sent) const {
  std::fill(sent.begin(), sent.end(), 0.0F);
  for (std::size_t i = 0; i < indices_.size(); ++i) sent[indices_[i]] = values_[i];
}

void SelectingCompressor::set_values(std::span<const float> tensor,
                                     std::span<const std::uint32_t> indices,
                                     std::span<float> values) {
  std::transform(indices.begin(), indices.end(), values.begin(),
                 [tensor](std::uint32_t index) { return tensor[index]; });
}

std::size_t SelectingCompressor::value_bytes(std::size_t count) const {
  return count * sizeof(float);
}

void SelectingCompressor::put_values(std::span<const float> values,
                                     std::span<std::byte> code) const {
  const auto bytes = std::as_bytes(values);
  std::copy(bytes.begin(), bytes.end(), code.begin());
}

void SelectingCompressor::take_values(std::span<const std::byte> code,
                                      std::span<float> values) const {
  std::copy(code.begin(), code.end(), std::as_writable_bytes(values).begin());
}

void TwoSided::set_values(std::span<const float> tensor, std::span<const std::uint32_t> indices,
                          std::span<float> values) {
  sides_ = find_sides(tensor, indices);
  below_.clear();
  BitWriter bits(below_);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const bool is_below = std::signbit(tensor[indices[i]]);
    values[i] = is_below ? sides_.below : sides_.above;
    bits.put(is_below ? 1 : 0, 1);
  }
  bits.finish();
}

std::size_t TwoSided::value_bytes(std::size_t count) const {
  return sizeof(Sides) + packed_bytes(count, 1);
}

void TwoSided::put_values(std::span<const float>, std::span<std::byte> code) const {
  std::memcpy(code.data(), &sides_, sizeof(Sides));
  std::copy(below_.begin(), below_.end(), code.begin() + sizeof(Sides));
}

void TwoSided::take_values(std::span<const std::byte> code, std::span<float> values) const {
  Sides sides;
  std::memcpy(&sides, code.data(), sizeof(Sides));
  BitReader bits(code.subspan(sizeof(Sides)));
  for (float& value : values) value = bits.take(1) == 1 ? sides.below : sides.above;
}

Setting ratio_setting() {
  return {.name = "ratio",
          .usual = 0.01,
          .least = 1e-7,
          .most = 1,
          .meaning = "the part of the elements that is sent; at least one is"};
}

Setting travel_setting() {
  return {.name = "travel",
          .usual = 0,
          .least = 0,
          .most = 1,
          .is_whole = true,
          .meaning = "0: each rank gets all ranks' codes; 1: an aggregated sparse sum"};
}

Travel travel_of(const Settings& settings) {
  return settings["travel"] == 1 ? Travel::rows : Travel::gather;
}

std::size_t kept_elements(double ratio, std::size_t elements) {
  const auto kept = static_cast<std::size_t>(ratio * static_cast<double>(elements));
  return std::clamp(kept, std::min<std::size_t>(elements, 1), elements);
}

std::optional<Error> check_selection(const Shape& shape, const Settings&, std::uint32_t) {
  if (shape.elements <= std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return Error{Code::unsupported, "a parameter of 2^32 elements has no 32-bit indices", -1, ""};
}

}  // namespace infold::compress
