// SPDX-License-Identifier: Apache-2.0
//
// Every rank refuses calls in formats that some site of the job does not sum.
#include <array>
#include <span>
#include <string_view>

#include <gtest/gtest.h>

#include "core/worker/worker.h"

namespace infold::core {
namespace {

bool encode_nothing(const void*, const std::byte*, ChunkRange, const std::uint16_t*, std::byte*,
                    std::byte*) {
  return true;
}
void decode_nothing(void*, std::byte*, ChunkRange, const TensorCodec::Received&) {}
constexpr TensorCodec kCodec = {
    .element_bytes = 4, .encode = encode_nothing, .decode = decode_nothing};

WorkerOptions options_with(FormatSet formats) {
  WorkerOptions options;
  options.limits = {.datagram_bytes_max = 1472};
  options.formats = formats;
  options.sites.resize(1);
  return options;
}

TransferRequest in_place(std::span<std::byte> tensor) {
  TransferRequest request;
  request.codec = &kCodec;
  request.input = tensor.data();
  request.output = tensor.data();
  request.elements = 64;
  return request;
}

TEST(WorkerFormats, ACallInAFormatThatASiteLacksIsRefused) {
  const WorkerOptions options =
      options_with(FormatSet::of(WireFormat::i32) | FormatSet::of(WireFormat::bfp8));
  Worker worker(options);
  std::array<std::byte, 256> tensor{};
  TransferRequest request = in_place(tensor);
  for (int format = INFOLD_FORMAT_I8; format < INFOLD_FORMAT_COUNT; ++format) {
    request.layout = {static_cast<WireFormat>(format), DataType::f32};
    const auto id = worker.submit({}, request);
    EXPECT_EQ(id.has_value(), options.sums(request.layout)) << format;
    if (!id) {
      EXPECT_EQ(id.error().code, base::Code::unsupported);
    }
  }
  // Narrow integers travel in i32.
  EXPECT_TRUE(options.sums({WireFormat::i8, DataType::i8}));
  EXPECT_TRUE(options.sums({WireFormat::i16, DataType::f16}));
  EXPECT_FALSE(options.sums({WireFormat::i64, DataType::i64}));
  EXPECT_FALSE(options.sums({WireFormat::bfp16, DataType::f32}));
}

TEST(WorkerFormats, AReductionThatASiteLacksIsRefused) {
  WorkerOptions options = options_with(FormatSet::all());
  options.sites.resize(2);
  options.sites.back().reductions = {Reduction::sum, Reduction::max};
  Worker worker(options);
  std::array<std::byte, 256> tensor{};
  TransferRequest request = in_place(tensor);
  request.layout = {WireFormat::i32, DataType::i32};
  EXPECT_TRUE(worker.submit({}, request).has_value());
  request.reduction = Reduction::min;
  EXPECT_FALSE(worker.submit({}, request).has_value());
}

// A site in the kernel sums native of some types, in jobs without trees.
TEST(WorkerFormats, NativeIsAlsoTakenByType) {
  WorkerOptions options = options_with(FormatSet::of(WireFormat::bfp8));
  options.native_types = FloatTypes::of(DataType::f32) | FloatTypes::of(DataType::bf16);
  Worker worker(options);
  std::array<std::byte, 512> tensor{};
  TransferRequest request = in_place(tensor);
  for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16, DataType::f64}) {
    request.layout = {WireFormat::native, type};
    const auto id = worker.submit({}, request);
    EXPECT_EQ(id.has_value(), options.native_types.has(type)) << data_type_name(type);
    if (id) continue;
    EXPECT_EQ(id.error().code, base::Code::unsupported);
    EXPECT_NE(std::string_view(id.error().detail).find("sum wire format native"),
              std::string_view::npos);
  }
}

TEST(WorkerFormats, AnEmptyTensorInNativeNeedsTheFormat) {
  const WorkerOptions options = options_with(FormatSet::all() - FormatSet::of(WireFormat::native));
  Worker worker(options);
  TransferRequest request;
  request.codec = &kCodec;
  request.layout = {WireFormat::native, DataType::f32};
  EXPECT_FALSE(worker.submit({}, request).has_value());
}

// A barrier sums nothing, whatever format its signature names.
TEST(WorkerFormats, ABarrierNeedsNoFormat) {
  const WorkerOptions options = options_with(FormatSet::of(WireFormat::bfp8));
  Worker worker(options);
  TransferRequest request;
  request.collective = Collective::barrier;
  EXPECT_TRUE(worker.submit({}, request).has_value());
}

}  // namespace
}  // namespace infold::core
