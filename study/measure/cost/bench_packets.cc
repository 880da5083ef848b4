// SPDX-License-Identifier: Apache-2.0
//
// Encodes tensors in the same way as the communicator.
#include "study/measure/cost/bench_packets.h"

#include <bit>
#include <cmath>

#include "base/check.h"
#include "base/prng.h"
#include "core/exact/float_bits.h"
#include "numeric/codec.h"

namespace infold::measure {
namespace {

using core::DataType;
using core::ElementLayout;
using core::WireFormat;

constexpr BenchWire kWires[] = {
    {"i32", {WireFormat::i32, DataType::i32}},      {"bfp32", {WireFormat::bfp32, DataType::f32}},
    {"bfp16", {WireFormat::bfp16, DataType::f32}},  {"bfp8", {WireFormat::bfp8, DataType::f32}},
    {"f32", {WireFormat::native, DataType::f32}},   {"f16", {WireFormat::native, DataType::f16}},
    {"bf16", {WireFormat::native, DataType::bf16}},
};

void store_element(ElementLayout layout, std::byte* tensor, std::size_t index, float real,
                   std::int32_t whole) {
  const auto bits = std::bit_cast<std::uint32_t>(real);
  if (!layout.is_block_float() && !layout.is_native()) return core::store(tensor, index, whole);
  switch (layout.dtype) {
    case DataType::f16: {
      const core::ExactFloat exact = core::unpack<core::F32>(bits);
      return core::store(tensor, index, core::pack<core::F16>(exact));
    }
    case DataType::bf16: return core::store(tensor, index, static_cast<std::uint16_t>(bits >> 16));
    default: return core::store(tensor, index, bits);
  }
}

}  // namespace

std::span<const BenchWire> bench_wires() { return kWires; }

plan::Plan bench_plan(std::uint16_t world, std::uint16_t slots) {
  plan::Plan plan;
  plan.world = world;
  plan.datagram_bytes_max = kBenchDatagramBytes;
  plan.small_slots = slots;
  plan.bulk_slots = 0;
  plan.trees = {plan::flat_tree(world)};
  plan.trees.front().epoch = kBenchEpoch;
  return plan;
}

const core::TensorCodec& bench_codec(ElementLayout layout) {
  const core::TensorCodec* codec = numeric::codec(layout.dtype, layout.format, core::Reduction::sum,
                                                  core::Collective::all_reduce);
  CHECK(codec != nullptr);
  return *codec;
}

std::vector<std::byte> make_bench_tensor(ElementLayout layout, std::size_t elements,
                                         std::uint64_t seed, BenchValues values) {
  base::Prng prng(seed);
  std::vector<std::byte> tensor(elements * infold::element_bytes(layout.dtype));
  for (std::size_t i = 0; i < elements; ++i) {
    double value = (prng.uniform() - 0.5) * std::exp2(static_cast<double>(prng.below(6)));
    if (values == BenchValues::hostile) {
      value = std::ldexp(value, 90 * (static_cast<int>((seed + i) % 3) - 1));
    }
    const auto whole = static_cast<std::int32_t>(prng.next());
    store_element(layout, tensor.data(), i, static_cast<float>(value), whole);
  }
  return tensor;
}

std::vector<std::byte> make_bench_contribution(ElementLayout layout, std::uint16_t rank,
                                               BenchValues values) {
  const std::uint32_t elements =
      core::chunk_elements(layout, {.datagram_bytes_max = kBenchDatagramBytes});
  const std::vector<std::byte> tensor = make_bench_tensor(layout, elements, rank, values);
  std::vector<std::byte> datagram(core::datagram_bytes(core::Kind::add, layout, elements, false));
  core::Header header;
  header.epoch = kBenchEpoch;
  header.signature.elements = static_cast<std::uint16_t>(elements);
  header.signature.set_layout(layout);
  header.signature.shape = elements;
  header.worker = static_cast<std::uint8_t>(rank);
  header.contributors = {1, 1, core::rank_digest(rank)};
  std::byte* const exponents = datagram.data() + INFOLD_HEADER_BYTES;
  bench_codec(layout).encode(nullptr, tensor.data(), {0, elements}, nullptr, exponents,
                             exponents + layout.exponent_bytes(elements));
  core::write_header(header, datagram);
  return datagram;
}

}  // namespace infold::measure
