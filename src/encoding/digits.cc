// SPDX-License-Identifier: Apache-2.0
//
// Chunks may begin and end within a group or a slice, because their length follows from the
// packet's size.
#include "encoding/digits.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "base/check.h"
#include "numeric/codec.h"

namespace infold::encoding {
namespace {

constexpr std::uint64_t kGroup = numeric::kDigitGroupElements;

// A range travels as three integers: its top, how far its low is below 4096, and 1 if there is a
// special. The second is 0 if all elements are zeros. The maximum over all ranks is then the range
// that includes every rank's range.
constexpr std::size_t kIntegersOfRange = 3;
using WireRange = std::array<std::int16_t, kIntegersOfRange>;
constexpr std::int32_t kLowest = 4096;

WireRange on_wire(const numeric::DigitRange& range) {
  const std::int32_t above_low =
      range.top == 0 ? 0 : kLowest - static_cast<std::int32_t>(range.low);
  return {static_cast<std::int16_t>(range.top), static_cast<std::int16_t>(above_low),
          range.special ? std::int16_t{1} : std::int16_t{0}};
}

constexpr std::uint64_t range_integers(std::uint64_t elements) {
  return (elements + kGroup - 1) / kGroup * kIntegersOfRange;
}

constexpr std::size_t bytes_of_integers(std::uint64_t integers) {
  return integers * sizeof(std::int32_t);
}

}  // namespace

const core::TensorCodec* Digits::codec(std::uint32_t world) {
  static constexpr core::TensorCodec kCodec = {
      .element_bytes = 0, .encode = encode_digits, .decode = decode_digits};
  return world <= numeric::kDigitWorldMax ? &kCodec : nullptr;
}

void Digits::start(const Work& work) {
  work_ = work;
  element_bytes_ = element_bytes(work.tensor.layout.dtype);
  bits_ = numeric::digit_bits(work.world);
  sums_ = nullptr;
}

void Digits::begin_later(const Work& work) {
  start(work);
  has_range_transfer_ = is_sized_later_ = true;
}

std::uint64_t Digits::set_tensor(const std::byte* input, std::byte* output,
                                 std::uint64_t elements) {
  CHECK(is_sized_later_);
  work_.tensor.input = input;
  work_.tensor.output = output;
  work_.tensor.elements = work_.wanted = elements;
  ranges_.assign(range_integers(elements), 0);
  return ranges_.size();
}

void Digits::begin(const Work& work) {
  const core::TransferRequest& tensor = work.tensor;
  CHECK_THAT(tensor.elements, >, 0U);
  CHECK_THAT(work.first_wanted + work.wanted, <=, tensor.elements);
  CHECK(tensor.input != nullptr);
  start(work);
  is_sized_later_ = false;
  if (tensor.output == nullptr) work_.wanted = 0;
  const numeric::DigitRange whole = numeric::digit_range_of(tensor.layout.dtype);
  const numeric::DigitGroup all_digits = {whole, bits_};
  has_range_transfer_ = tensor.elements > work.packet_integers / all_digits.integers();
  ranges_.assign(range_integers(tensor.elements), 0);
  if (has_range_transfer_) return;
  const WireRange range = on_wire(whole);
  for (std::size_t i = 0; i < ranges_.size(); i += kIntegersOfRange) {
    std::copy(range.begin(), range.end(), &ranges_[i]);
  }
  plan();
}

core::TransferRequest Digits::range_transfer() {
  static constexpr core::TensorCodec kCodec = {
      .element_bytes = 0, .encode = encode_range, .decode = decode_range};
  core::TransferRequest request = work_.tensor;
  request.reduction = core::Reduction::max;
  request.collective = core::Collective::all_reduce;
  request.root = 0;
  request.layout.format = core::WireFormat::i16;
  request.sized_later = is_sized_later_;
  if (!is_sized_later_) request.elements = ranges_.size();
  request.codec = &kCodec;
  request.context = this;
  request.input = nullptr;
  request.output = nullptr;
  return request;
}

core::TransferRequest Digits::digit_transfer() {
  core::TransferRequest request = work_.tensor;
  request.layout.format = core::WireFormat::i32;
  request.sized_later = has_range_transfer_;
  if (!has_range_transfer_) request.elements = offsets_.back();
  request.context = this;
  request.input = nullptr;
  request.output = nullptr;
  return request;
}

const std::byte* Digits::input_of(std::uint64_t group) const {
  return work_.tensor.input + group * kGroup * element_bytes_;
}

// Requires: `wanted` is not empty.
std::byte* Digits::output_of(std::uint64_t group, Stretch wanted) {
  const std::uint64_t place = group * kGroup + wanted.first - work_.first_wanted;
  return work_.tensor.output + place * element_bytes_;
}

std::uint32_t Digits::elements_of(std::uint64_t group) const {
  return static_cast<std::uint32_t>(std::min(kGroup, work_.tensor.elements - group * kGroup));
}

Digits::Stretch Digits::wanted_of(std::uint64_t group) const {
  const std::uint64_t begin = group * kGroup;
  const std::uint64_t end = begin + elements_of(group);
  const std::uint64_t first = std::clamp(work_.first_wanted, begin, end);
  const std::uint64_t last = std::clamp(work_.first_wanted + work_.wanted, begin, end);
  return {static_cast<std::uint32_t>(first - begin), static_cast<std::uint32_t>(last - begin)};
}

numeric::DigitRange Digits::own_range(std::uint64_t group) const {
  return numeric::digit_loops(work_.tensor.layout.dtype)
      .find_range(input_of(group), elements_of(group));
}

// An aggregator may send anything, so the range is clamped to the type's range.
numeric::DigitGroup Digits::group_at(std::uint64_t group) const {
  const std::int16_t* const range = &ranges_[group * kIntegersOfRange];
  const auto most = static_cast<int>(numeric::digit_range_of(work_.tensor.layout.dtype).top);
  const int top = std::clamp<int>(range[0], 0, most);
  const int low = std::clamp(kLowest - range[1], 0, top);
  return {{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(top), range[2] != 0}, bits_};
}

bool Digits::encode_range(const void* context, const std::byte*, core::ChunkRange range,
                          const std::uint16_t*, std::byte*, std::byte* elements) {
  const auto& digits = *static_cast<const Digits*>(context);
  std::uint64_t group = range.first / kIntegersOfRange;
  std::size_t skipped = range.first % kIntegersOfRange * sizeof(std::int16_t);
  const std::byte* const end = elements + range.elements * sizeof(std::int16_t);
  while (elements < end) {
    const WireRange own = on_wire(digits.own_range(group++));
    const std::size_t bytes =
        std::min(sizeof(own) - skipped, static_cast<std::size_t>(end - elements));
    std::memcpy(elements, reinterpret_cast<const std::byte*>(own.data()) + skipped, bytes);
    elements += bytes;
    skipped = 0;
  }
  return false;
}

void Digits::decode_range(void* context, std::byte*, core::ChunkRange range,
                          const core::TensorCodec::Received& received) {
  auto& digits = *static_cast<Digits*>(context);
  std::memcpy(&digits.ranges_[range.first], received.elements,
              range.elements * sizeof(std::int16_t));
}

std::uint64_t Digits::plan() {
  const std::size_t groups = ranges_.size() / kIntegersOfRange;
  offsets_.resize(groups + 1);
  offsets_[0] = 0;
  arrived_.assign(groups, 0);
  for (std::uint64_t group = 0; group < groups; ++group) {
    const std::uint32_t integers = group_at(group).integers();
    offsets_[group + 1] = offsets_[group] + std::uint64_t{elements_of(group)} * integers;
    const Stretch wanted = wanted_of(group);
    if (integers > 0 || wanted.is_empty()) continue;
    std::memset(output_of(group, wanted), 0,
                std::size_t{wanted.end - wanted.first} * element_bytes_);
  }
  return offsets_.back();
}

std::uint64_t Digits::first_kept() const { return offsets_[work_.first_wanted / kGroup]; }

std::size_t Digits::sums_bytes() const {
  if (work_.wanted == 0) return 0;
  const std::uint64_t last = (work_.first_wanted + work_.wanted - 1) / kGroup;
  return bytes_of_integers(offsets_[last + 1] - first_kept());
}

// Calls use(group, first, end) for each group with the stretch of its integers that is in `range`.
template <typename Use>
void Digits::for_each_group(core::ChunkRange range, Use&& use) const {
  const std::uint64_t end = range.first + range.elements;
  CHECK_THAT(end, <=, offsets_.back());
  const auto next = std::upper_bound(offsets_.begin(), offsets_.end(), range.first);
  auto group = static_cast<std::uint64_t>(next - offsets_.begin()) - 1;
  for (std::uint64_t first = range.first; first < end; ++group) {
    const std::uint64_t stop = std::min(end, offsets_[group + 1]);
    if (stop > first) use(group, first - offsets_[group], stop - offsets_[group]);
    first = stop;
  }
}

bool Digits::encode_digits(const void* context, const std::byte*, core::ChunkRange range,
                           const std::uint16_t*, std::byte*, std::byte* elements) {
  const auto& digits = *static_cast<const Digits*>(context);
  digits.for_each_group(range, [&](std::uint64_t group, std::uint64_t first, std::uint64_t end) {
    const numeric::DigitGroup all = digits.group_at(group);
    const std::uint32_t count = digits.elements_of(group);
    while (first < end) {
      const auto slice = static_cast<std::uint32_t>(first / count);
      const auto element = static_cast<std::uint32_t>(first % count);
      const auto written =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(count - element, end - first));
      const std::byte* const x =
          digits.input_of(group) + std::size_t{element} * digits.element_bytes_;
      numeric::write_slice(digits.work_.tensor.layout.dtype, x, written, all, slice, elements);
      elements += bytes_of_integers(written);
      first += written;
    }
  });
  return false;
}

void Digits::decode_digits(void* context, std::byte*, core::ChunkRange range,
                           const core::TensorCodec::Received& received) {
  auto& digits = *static_cast<Digits*>(context);
  if (digits.work_.wanted == 0) return;
  const std::byte* sums = received.elements;
  digits.for_each_group(range, [&](std::uint64_t group, std::uint64_t first, std::uint64_t end) {
    digits.take_sums(group, first, end, received.divisor, sums);
    sums += bytes_of_integers(end - first);
  });
}

// If a group does not lie in one chunk, its sums are kept until the last of them has arrived.
void Digits::take_sums(std::uint64_t group, std::uint64_t first, std::uint64_t end,
                       std::uint32_t divisor, const std::byte* sums) {
  if (wanted_of(group).is_empty()) return;
  const std::uint64_t all = offsets_[group + 1] - offsets_[group];
  if (end - first == all) return write_group(group, sums, divisor);
  std::byte* const kept = sums_ + bytes_of_integers(offsets_[group] - first_kept());
  std::memcpy(kept + bytes_of_integers(first), sums, bytes_of_integers(end - first));
  // Other drivers may take other sums of the same group. The last one reads the sums that all of
  // them have kept.
  const auto count = static_cast<std::uint32_t>(end - first);
  std::atomic_ref<std::uint32_t> arrived(arrived_[group]);
  if (arrived.fetch_add(count, std::memory_order_acq_rel) + count == all) {
    write_group(group, kept, divisor);
  }
}

void Digits::write_group(std::uint64_t group, const std::byte* sums, std::uint32_t divisor) {
  const core::DataType dtype = work_.tensor.layout.dtype;
  const std::uint32_t count = elements_of(group);
  const Stretch wanted = wanted_of(group);
  std::byte* const output = output_of(group, wanted);
  if (wanted.end - wanted.first == count) {
    return numeric::round_digits(dtype, group_at(group), sums, count, divisor, output);
  }
  std::array<std::byte, kGroup * sizeof(double)> all;
  numeric::round_digits(dtype, group_at(group), sums, count, divisor, all.data());
  std::memcpy(output, all.data() + std::size_t{wanted.first} * element_bytes_,
              std::size_t{wanted.end - wanted.first} * element_bytes_);
}

}  // namespace infold::encoding
