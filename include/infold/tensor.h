// SPDX-License-Identifier: Apache-2.0
//
// A view of a tensor is an address, a count and an element type. Views own nothing and copy
// nothing; a view made from a vector, array or span borrows it. To infold a tensor is its elements
// in order, contiguous in memory, at any address. The caller keeps track of shapes and strides.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <type_traits>

#include <infold/vocabulary.h>

namespace infold {

// 16-bit floats, held as their bits because C++20 has no types for them. infold does the
// arithmetic.
struct f16 {
  std::uint16_t bits = 0;
  friend bool operator==(f16, f16) = default;
};
struct bf16 {
  std::uint16_t bits = 0;
  friend bool operator==(bf16, bf16) = default;
};

template <typename T>
concept Element =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, f16> ||
    std::same_as<T, bf16> || std::same_as<T, std::int8_t> || std::same_as<T, std::uint8_t> ||
    std::same_as<T, std::int32_t> || (std::signed_integral<T> && sizeof(T) == 8);

template <Element T>
constexpr DataType data_type_of() {
  if constexpr (std::same_as<T, float>)
    return DataType::f32;
  else if constexpr (std::same_as<T, double>)
    return DataType::f64;
  else if constexpr (std::same_as<T, f16>)
    return DataType::f16;
  else if constexpr (std::same_as<T, bf16>)
    return DataType::bf16;
  else if constexpr (std::same_as<T, std::int8_t>)
    return DataType::i8;
  else if constexpr (std::same_as<T, std::uint8_t>)
    return DataType::u8;
  else if constexpr (std::same_as<T, std::int32_t>)
    return DataType::i32;
  else
    return DataType::i64;
}

// Contiguous memory whose elements infold can sum: vector, array, span, C array.
template <typename R>
concept ElementRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                       Element<std::remove_cv_t<std::ranges::range_value_t<R>>>;

// Elements to read.
struct TensorView {
  const void* data = nullptr;
  std::size_t elements = 0;
  DataType type = DataType::f32;

  constexpr TensorView() = default;
  constexpr TensorView(const void* at, std::size_t count, DataType of)
      : data(at), elements(count), type(of) {}
  template <ElementRange R>
  constexpr TensorView(const R& range)
      : data(std::ranges::data(range)),
        elements(std::ranges::size(range)),
        type(data_type_of<std::ranges::range_value_t<R>>()) {}
};

// Elements to write, or to read and write in place.
struct MutableTensorView {
  void* data = nullptr;
  std::size_t elements = 0;
  DataType type = DataType::f32;

  constexpr MutableTensorView() = default;
  constexpr MutableTensorView(void* at, std::size_t count, DataType of)
      : data(at), elements(count), type(of) {}
  // Refuses a temporary vector, because its memory would be gone before the call ends.
  template <ElementRange R>
    requires(std::is_lvalue_reference_v<R &&> || std::ranges::borrowed_range<R>) &&
                (!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>)
  constexpr MutableTensorView(R&& range)
      : data(std::ranges::data(range)),
        elements(std::ranges::size(range)),
        type(data_type_of<std::ranges::range_value_t<R>>()) {}

  constexpr operator TensorView() const { return {data, elements, type}; }
};

}  // namespace infold
