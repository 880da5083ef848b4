// SPDX-License-Identifier: Apache-2.0
#include "python/backend/compressed/tensor_list.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include <c10/core/ScalarType.h>

namespace infold::pytorch {
namespace {

// A type's number is its place in this array.
constexpr std::array kTypes = {at::kByte,   at::kChar,   at::kShort,    at::kInt,    at::kLong,
                               at::kHalf,   at::kFloat,  at::kBFloat16, at::kDouble, at::kBool,
                               at::kUInt16, at::kUInt32, at::kUInt64};
constexpr std::uint64_t kTensorsMax = 1024;
constexpr std::uint64_t kSidesMax = 16;

void append(std::vector<std::byte>& bytes, std::uint64_t number) {
  const auto* const first = reinterpret_cast<const std::byte*>(&number);
  bytes.insert(bytes.end(), first, first + sizeof(number));
}

std::optional<std::uint64_t> take_number(std::span<const std::byte>& bytes) {
  std::uint64_t number = 0;
  if (bytes.size() < sizeof(number)) return std::nullopt;
  std::memcpy(&number, bytes.data(), sizeof(number));
  bytes = bytes.subspan(sizeof(number));
  return number;
}

struct Head {
  at::ScalarType type = at::kByte;
  std::vector<std::int64_t> sides;
  std::uint64_t bytes = 0;
};

// A tensor cannot have more bytes than the whole message, so products of sides do not overflow.
std::optional<Head> take_head(std::span<const std::byte>& bytes, std::uint64_t bytes_max) {
  const auto type = take_number(bytes);
  const auto count = take_number(bytes);
  if (!type || !count || *type >= kTypes.size() || *count > kSidesMax) return std::nullopt;
  Head head{.type = kTypes[*type], .sides = {}, .bytes = c10::elementSize(kTypes[*type])};
  for (std::uint64_t i = 0; i < *count; ++i) {
    const auto side = take_number(bytes);
    if (!side || *side > bytes_max) return std::nullopt;
    head.sides.push_back(static_cast<std::int64_t>(*side));
    if (*side > 0 && head.bytes > bytes_max / *side) return std::nullopt;
    head.bytes *= *side;
  }
  return head;
}

}  // namespace

void append_tensors(const std::vector<at::Tensor>& tensors, std::vector<std::byte>& bytes) {
  TORCH_CHECK_VALUE(tensors.size() <= kTensorsMax, "infold: a code has ", tensors.size(),
                    " tensors, at most ", kTensorsMax);
  append(bytes, tensors.size());
  for (const at::Tensor& tensor : tensors) {
    const auto* const type = std::find(kTypes.begin(), kTypes.end(), tensor.scalar_type());
    TORCH_CHECK_VALUE(type != kTypes.end(), "infold: a code has a tensor of type ",
                      tensor.scalar_type(), "; bools, integers and real floats can travel");
    TORCH_CHECK_VALUE(tensor.dim() <= static_cast<std::int64_t>(kSidesMax),
                      "infold: a code has a tensor of ", tensor.dim(), " sides, at most ",
                      kSidesMax);
    append(bytes, static_cast<std::uint64_t>(type - kTypes.begin()));
    append(bytes, static_cast<std::uint64_t>(tensor.dim()));
    for (const std::int64_t side : tensor.sizes()) {
      append(bytes, static_cast<std::uint64_t>(side));
    }
  }
  for (const at::Tensor& tensor : tensors) {
    const auto* const first = static_cast<const std::byte*>(tensor.const_data_ptr());
    bytes.insert(bytes.end(), first, first + tensor.nbytes());
  }
}

std::optional<std::vector<at::Tensor>> read_tensors(std::span<const std::byte> bytes) {
  const std::uint64_t bytes_max = bytes.size();
  const auto count = take_number(bytes);
  if (!count || *count > kTensorsMax) return std::nullopt;
  std::vector<Head> heads;
  for (std::uint64_t i = 0; i < *count; ++i) {
    auto head = take_head(bytes, bytes_max);
    if (!head) return std::nullopt;
    heads.push_back(*std::move(head));
  }
  std::vector<at::Tensor> tensors;
  for (const Head& head : heads) {
    if (bytes.size() < head.bytes) return std::nullopt;
    at::Tensor tensor = at::empty(head.sides, head.type);
    if (head.bytes > 0) std::memcpy(tensor.mutable_data_ptr(), bytes.data(), head.bytes);
    bytes = bytes.subspan(head.bytes);
    tensors.push_back(std::move(tensor));
  }
  if (!bytes.empty()) return std::nullopt;
  return tensors;
}

}  // namespace infold::pytorch
