// SPDX-License-Identifier: Apache-2.0
//
// Builds the cases: buffers, their contents, and a pass over them.
#include "study/measure/cost/kernel_case.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "base/aligned.h"
#include "base/check.h"
#include "base/prng.h"
#include "numeric/adders/digits.h"
#include "numeric/floats.h"
#include "sparse/gathered.h"

namespace infold::measure {
namespace {

using core::Collective;
using core::DataType;
using core::ElementLayout;
using core::LaneWidth;
using core::Reduction;
using core::TensorCodec;
using core::WireFormat;
using Bytes = base::CacheLineVector<std::byte>;

constexpr std::uint32_t kDatagramBytes = 1472;

// Fills the tensor with numbers of both signs within a few octaves.
template <typename Format>
void fill_floats(Bytes& tensor) {
  base::Prng prng(1);
  for (std::size_t i = 0; i < tensor.size() / sizeof(typename Format::Bits); ++i) {
    const double value = (prng.uniform() - 0.5) * std::exp2(static_cast<double>(prng.below(6)));
    const auto bits = numeric::unpack<numeric::F64>(std::bit_cast<std::uint64_t>(value));
    numeric::store(tensor.data(), i, numeric::pack<Format>(bits));
  }
}

void fill(Bytes& tensor, DataType dtype) {
  switch (dtype) {
    case DataType::f32: return fill_floats<numeric::F32>(tensor);
    case DataType::f16: return fill_floats<numeric::F16>(tensor);
    case DataType::bf16: return fill_floats<numeric::Bf16>(tensor);
    case DataType::f64: return fill_floats<numeric::F64>(tensor);
    default: {
      base::Prng prng(2);
      for (std::byte& byte : tensor) byte = static_cast<std::byte>(prng.next());
    }
  }
}

// A tensor, and the datagrams that carry it.
class Streams {
 public:
  Streams(ElementLayout layout, std::uint32_t element_bytes, std::size_t bytes)
      : layout_(layout),
        elements_(core::chunk_elements(layout, {.datagram_bytes_max = kDatagramBytes})),
        datagram_bytes_((INFOLD_HEADER_BYTES + layout.payload_bytes(elements_) + 63) & ~63U),
        chunks_(std::max<std::size_t>(1, bytes / (elements_ * element_bytes + datagram_bytes_))),
        tensor_(chunks_ * elements_ * element_bytes),
        datagrams_(chunks_ * datagram_bytes_) {
    fill(tensor_, layout.dtype);
  }

  std::size_t chunks() const { return chunks_; }
  std::uint32_t elements() const { return elements_; }
  std::size_t tensor_bytes() const { return tensor_.size(); }
  std::byte* tensor() { return tensor_.data(); }
  core::ChunkRange range(std::size_t chunk) const { return {chunk * elements_, elements_}; }
  std::byte* exponents(std::size_t chunk) {
    return datagrams_.data() + chunk * datagram_bytes_ + INFOLD_HEADER_BYTES;
  }
  std::byte* wire_elements(std::size_t chunk) {
    return exponents(chunk) + layout_.exponent_bytes(elements_);
  }

 private:
  ElementLayout layout_;
  std::uint32_t elements_;
  std::uint32_t datagram_bytes_;
  std::size_t chunks_;
  Bytes tensor_;
  Bytes datagrams_;
};

void encode_all(const TensorCodec& codec, Streams& streams) {
  for (std::size_t chunk = 0; chunk < streams.chunks(); ++chunk) {
    codec.encode(nullptr, streams.tensor(), streams.range(chunk), nullptr, streams.exponents(chunk),
                 streams.wire_elements(chunk));
  }
}

void decode_all(const TensorCodec& codec, std::uint32_t divisor, Streams& streams) {
  for (std::size_t chunk = 0; chunk < streams.chunks(); ++chunk) {
    codec.decode(nullptr, streams.tensor(), streams.range(chunk),
                 {.exponents = streams.exponents(chunk),
                  .elements = streams.wire_elements(chunk),
                  .divisor = divisor});
  }
}

KernelBench codec_bench(std::string name, ElementLayout layout, Reduction reduction, bool encodes,
                        std::uint32_t divisor) {
  const auto make = [=](const numeric::KernelSet& set, std::size_t bytes) -> KernelCase {
    const TensorCodec* codec =
        set.codec(layout.dtype, layout.format, reduction, Collective::all_reduce);
    CHECK(codec != nullptr);
    auto streams = std::make_shared<Streams>(layout, codec->element_bytes, bytes);
    encode_all(*codec, *streams);
    if (encodes) {
      return {streams->tensor_bytes(), [codec, streams] { encode_all(*codec, *streams); }};
    }
    return {streams->tensor_bytes(),
            [codec, streams, divisor] { decode_all(*codec, divisor, *streams); }};
  };
  return {std::move(name), make};
}

// Measures adding contributions from datagrams to the elements of a slot.
KernelBench add_bench(DataType dtype, WireFormat format) {
  const auto make = [=](const numeric::KernelSet& set, std::size_t bytes) -> KernelCase {
    const ElementLayout layout = {format, dtype};
    auto streams = std::make_shared<Streams>(layout, layout.element_bytes(), bytes);
    const auto add = set.arithmetic->sum[core::integer_index(format)];
    return {streams->tensor_bytes(), [=] {
              const std::size_t chunk_bytes = streams->tensor_bytes() / streams->chunks();
              for (std::size_t chunk = 0; chunk < streams->chunks(); ++chunk) {
                add(streams->tensor() + chunk * chunk_bytes, streams->wire_elements(chunk),
                    streams->elements());
              }
            }};
  };
  return {std::string("add ") + core::format_name(format), make};
}

std::string in_lanes(const char* work, WireFormat format, LaneWidth width) {
  const std::string bits = std::to_string(8 * core::lane_bytes(width));
  return std::string(work) + " " + core::format_name(format) + " in " + bits;
}

// Measures an aggregator's work on block floats. There are the lanes of one chunk, and many
// datagrams.
KernelBench accumulate_bench(WireFormat format, LaneWidth width) {
  const auto make = [=](const numeric::KernelSet& set, std::size_t bytes) -> KernelCase {
    const ElementLayout layout = {format, DataType::f32};
    auto streams = std::make_shared<Streams>(layout, layout.element_bytes(), bytes);
    auto lanes = std::make_shared<Bytes>(streams->elements() * core::lane_bytes(width));
    // Every second block has a coarser exponent than its lanes.
    std::vector<core::BlockStep> steps(layout.block_count(streams->elements()) +
                                       core::kBlocksTogether);
    for (std::size_t block = 0; block < steps.size(); ++block) {
      steps[block] = {core::BlockStep::Action::add, 0, static_cast<std::uint32_t>(block % 2)};
    }
    const auto accumulate =
        set.arithmetic->accumulate[core::lane_index(width)][core::mantissa_index(format)];
    return {streams->tensor_bytes(), [=] {
              for (std::size_t chunk = 0; chunk < streams->chunks(); ++chunk) {
                accumulate(lanes->data(), streams->wire_elements(chunk), streams->elements(),
                           INFOLD_BLOCK_ELEMENTS, steps.data());
              }
            }};
  };
  return {in_lanes("accumulate", format, width), make};
}

KernelBench reencode_bench(WireFormat format, LaneWidth width) {
  const auto make = [=](const numeric::KernelSet& set, std::size_t bytes) -> KernelCase {
    const ElementLayout layout = {format, DataType::f32};
    auto streams = std::make_shared<Streams>(layout, layout.element_bytes(), bytes);
    Bytes lanes(streams->elements() * core::lane_bytes(width));
    base::Prng prng(3);
    // The lanes look like sums over eight ranks whose exponents differ a little.
    for (std::size_t at = 0; at < lanes.size(); at += core::lane_bytes(width)) {
      const auto lane = static_cast<std::int64_t>(prng.next()) >> (57 - layout.mantissa_top_bit());
      std::memcpy(&lanes[at], &lane, core::lane_bytes(width));
    }
    const std::vector<std::uint16_t> lane_codes(layout.block_count(streams->elements()), 100);
    auto codes = std::make_shared<std::vector<std::uint16_t>>(lane_codes.size());
    const auto encode =
        set.arithmetic->encode[core::lane_index(width)][core::mantissa_index(format)];
    return {streams->tensor_bytes(), [=] {
              for (std::size_t chunk = 0; chunk < streams->chunks(); ++chunk) {
                encode(lanes.data(), streams->elements(), layout, lane_codes.data(), codes->data(),
                       streams->wire_elements(chunk));
              }
            }};
  };
  return {in_lanes("re-encode", format, width), make};
}

// A tensor in which one of `kRowsPerRow` rows of 256 elements is not zero, as in an embedding's
// gradient. The kernel looks at all elements, and encodes the rows that are not zero, one after the
// other, into datagrams.
constexpr std::size_t kRowElements = 256;
constexpr std::size_t kRowsPerRow = 16;

class SparseRows {
 public:
  SparseRows(const numeric::KernelSet& set, ElementLayout layout, std::size_t bytes)
      : find_(set.find_presence),
        layout_(layout),
        chunk_elements_(core::chunk_elements(layout, {.datagram_bytes_max = kDatagramBytes})),
        rows_(std::max<std::size_t>(1, bytes / kRowElements / element_bytes(layout.dtype))),
        tensor_(rows_ * kRowElements * element_bytes(layout.dtype)),
        words_((elements() / layout.block_elements() + 31) / 32),
        datagram_(kDatagramBytes) {
    gathered_ = {set.codec(layout.dtype, layout.format, Reduction::sum, Collective::all_reduce),
                 layout, tensor_.data(), nullptr};
    CHECK(gathered_.codec != nullptr);
    Bytes row(kRowElements * element_bytes(layout.dtype));
    fill(row, layout.dtype);
    base::Prng prng(5);
    for (std::size_t i = 0; i < rows_; ++i) {
      if (prng.below(kRowsPerRow) == 0) std::copy(row.begin(), row.end(), at_row(i));
    }
  }

  std::size_t tensor_bytes() const { return tensor_.size(); }

  void find() { find_(layout_.dtype, tensor_.data(), elements(), words_.data(), nullptr); }
  void find_and_pack() {
    find();
    blocks_.clear();
    for (std::size_t word = 0; word < words_.size(); ++word) {
      for (std::uint32_t left = words_[word]; left != 0; left &= left - 1) {
        blocks_.push_back(static_cast<std::uint32_t>(word * 32) +
                          static_cast<std::uint32_t>(std::countr_zero(left)));
      }
    }
    own_.assign((blocks_.size() + 31) / 32, ~0U);
    gathered_.blocks = blocks_.data();
    gathered_.block_count = blocks_.size();
    gathered_.own = own_.data();
    gathered_.asked_until = 0;
    const std::uint64_t present = blocks_.size() * layout_.block_elements();
    for (std::uint64_t first = 0; first < present; first += chunk_elements_) {
      const auto count =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk_elements_, present - first));
      std::byte* const exponents = datagram_.data() + INFOLD_HEADER_BYTES;
      gathered_.encode({first, count}, nullptr, exponents,
                       exponents + layout_.exponent_bytes(count));
    }
  }

 private:
  std::uint64_t elements() const { return rows_ * kRowElements; }
  Bytes::iterator at_row(std::size_t row) {
    return tensor_.begin() +
           static_cast<std::ptrdiff_t>(row * kRowElements * element_bytes(layout_.dtype));
  }

  numeric::FindPresence find_;
  ElementLayout layout_;
  std::uint32_t chunk_elements_;
  std::size_t rows_;
  Bytes tensor_;
  std::vector<std::uint32_t> words_;
  std::vector<std::uint32_t> blocks_;
  std::vector<std::uint32_t> own_;
  Bytes datagram_;
  sparse::Gathered gathered_;
};

KernelBench sparse_bench(std::string name, ElementLayout layout, void (SparseRows::*work)()) {
  const auto make = [=](const numeric::KernelSet& set, std::size_t bytes) -> KernelCase {
    auto rows = std::make_shared<SparseRows>(set, layout, bytes);
    return {rows->tensor_bytes(), [rows, work] { ((*rows).*work)(); }, true};
  };
  return {std::move(name), make};
}

// Repeats a group of floats within a few octaves, with its digits over eight ranks. The way back
// uses the fastest instruction set.
class DigitGroups {
 public:
  DigitGroups(const numeric::KernelSet& set, DataType dtype, std::size_t bytes)
      : dtype_(dtype),
        loops_(&set.digits[static_cast<std::size_t>(dtype)]),
        group_bytes_(kElements * element_bytes(dtype)) {
    Bytes first(group_bytes_);
    fill(first, dtype);
    group_ = {loops_->find_range(first.data(), kElements), numeric::digit_bits(8)};
    digit_bytes_ = group_.slices() * kSliceBytes;
    groups_ = std::max<std::size_t>(1, bytes / (group_bytes_ + digit_bytes_));
    for (std::size_t i = 0; i < groups_; ++i) {
      tensor_.insert(tensor_.end(), first.begin(), first.end());
    }
    digits_.resize(groups_ * digit_bytes_);
    encode();
  }

  std::size_t tensor_bytes() const { return tensor_.size(); }

  void find() {
    for (std::size_t i = 0; i < groups_; ++i) {
      found_ = joined(found_, loops_->find_range(tensor_.data() + i * group_bytes_, kElements));
    }
    CHECK(found_ == group_.range);
  }
  void encode() {
    for (std::size_t i = 0; i < groups_; ++i) {
      for (std::uint32_t slice = 0; slice < group_.slices(); ++slice) {
        loops_->write(tensor_.data() + i * group_bytes_, kElements,
                      group_.range.low + slice * group_.bits, group_.bits,
                      digits_.data() + i * digit_bytes_ + slice * kSliceBytes);
      }
    }
  }
  void decode() {
    for (std::size_t i = 0; i < groups_; ++i) {
      numeric::round_digits(dtype_, group_, digits_.data() + i * digit_bytes_, kElements, 1,
                            tensor_.data() + i * group_bytes_);
    }
  }

 private:
  static constexpr std::uint32_t kElements = numeric::kDigitGroupElements;
  static constexpr std::size_t kSliceBytes = kElements * sizeof(std::int32_t);

  DataType dtype_;
  const numeric::DigitLoops* loops_;
  std::size_t group_bytes_;
  std::size_t digit_bytes_ = 0;
  std::size_t groups_ = 1;
  numeric::DigitGroup group_;
  numeric::DigitRange found_;
  Bytes tensor_;
  Bytes digits_;
};

KernelBench digits_bench(const char* name, DataType dtype, void (DigitGroups::*work)(),
                         bool mostly_reads = false) {
  const auto make = [=](const numeric::KernelSet& set, std::size_t bytes) -> KernelCase {
    auto groups = std::make_shared<DigitGroups>(set, dtype, bytes);
    return {groups->tensor_bytes(), [groups, work] { ((*groups).*work)(); }, mostly_reads};
  };
  return {std::string(name) + data_type_name(dtype), make};
}

}  // namespace

std::vector<KernelBench> kernel_benches() {
  std::vector<KernelBench> benches;
  benches.push_back(add_bench(DataType::i8, WireFormat::i8));
  benches.push_back(add_bench(DataType::i32, WireFormat::i32));
  benches.push_back(add_bench(DataType::i64, WireFormat::i64));
  for (const WireFormat format : {WireFormat::bfp32, WireFormat::bfp16, WireFormat::bfp8}) {
    for (const LaneWidth width : {LaneWidth::bits64, LaneWidth::bits32, LaneWidth::bits16}) {
      const ElementLayout layout = {format, DataType::f32};
      if (core::lane_bytes(width) <= layout.element_bytes()) continue;
      benches.push_back(accumulate_bench(format, width));
      benches.push_back(reencode_bench(format, width));
    }
  }
  constexpr ElementLayout kLayouts[] = {
      {WireFormat::bfp32, DataType::f32}, {WireFormat::bfp16, DataType::f32},
      {WireFormat::bfp8, DataType::f32},  {WireFormat::bfp16, DataType::f16},
      {WireFormat::bfp8, DataType::f16},  {WireFormat::bfp16, DataType::bf16},
      {WireFormat::bfp8, DataType::bf16}, {WireFormat::bfp32, DataType::f64},
  };
  for (const ElementLayout layout : kLayouts) {
    const std::string dtype = data_type_name(layout.dtype);
    const std::string format = core::format_name(layout.format);
    benches.push_back(
        codec_bench("encode " + dtype + " to " + format, layout, Reduction::sum, true, 1));
    benches.push_back(
        codec_bench("decode " + format + " to " + dtype, layout, Reduction::sum, false, 1));
  }
  constexpr ElementLayout kF32 = {WireFormat::bfp32, DataType::f32};
  benches.push_back(codec_bench("decode bfp32 to f32 over 3", kF32, Reduction::average, false, 3));
  constexpr ElementLayout kKeys = {WireFormat::i32, DataType::f32};
  benches.push_back(codec_bench("encode f32 for max", kKeys, Reduction::max, true, 1));
  benches.push_back(codec_bench("decode f32 from max", kKeys, Reduction::max, false, 1));
  constexpr ElementLayout kBfp32 = {WireFormat::bfp32, DataType::f32};
  constexpr ElementLayout kI32 = {WireFormat::i32, DataType::i32};
  benches.push_back(sparse_bench("find f32", kBfp32, &SparseRows::find));
  benches.push_back(sparse_bench("find and pack f32 to bfp32", kBfp32, &SparseRows::find_and_pack));
  benches.push_back(sparse_bench("find and pack i32", kI32, &SparseRows::find_and_pack));
  for (const DataType dtype : {DataType::f32, DataType::f16, DataType::bf16, DataType::f64}) {
    benches.push_back(digits_bench("find bits of ", dtype, &DigitGroups::find, true));
    benches.push_back(digits_bench("encode to digits ", dtype, &DigitGroups::encode));
    benches.push_back(digits_bench("decode from digits ", dtype, &DigitGroups::decode));
  }
  return benches;
}

}  // namespace infold::measure
