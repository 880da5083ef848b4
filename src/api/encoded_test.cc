// SPDX-License-Identifier: Apache-2.0
//
// Tests sums of tensors that programs have encoded. They have the bits of sums of decoded tensors,
// whatever the network does, even if only some ranks pass encoded tensors.
#include <cmath>
#include <cstring>
#include <vector>

#include "api/testing.h"
#include "base/prng.h"
#include "encoding/encoded_testing.h"

namespace infold {
namespace {

using testing::expect_done;
using ::testing::HasSubstr;
using testing::make_group;
using testing::on_every_rank;

using Memory = encoding::EncodedMemory;

// The ranks' exponents lie so far apart that some chunks have to be realigned.
std::vector<float> values_of(int rank, std::size_t elements) {
  base::Prng prng(static_cast<std::uint64_t>(rank) + 3);
  std::vector<float> tensor(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    const int scale = i % 4096 < 2048 ? -rank * 13 : 0;
    tensor[i] = std::ldexp(static_cast<float>(prng.uniform() - 0.5), scale);
  }
  return tensor;
}

void sums_are_those_of_decoded_tensors(const LocalGroupOptions& options, WireFormat wire) {
  constexpr std::size_t kElements = 20'011;
  LocalGroup group = make_group(options);
  on_every_rank(group, [&](Communicator& comm, int rank) {
    Memory input(wire, DataType::f32, kElements), output(wire, DataType::f32, kElements);
    ASSERT_TRUE(encode(values_of(rank, kElements), input.view).has_value());
    std::vector<float> decoded(kElements), wanted(kElements), found(kElements);
    ASSERT_TRUE(decode(input.view, decoded).has_value());
    expect_done(comm.all_reduce(decoded, wanted, {.wire = wire}).wait(), options.world);
    const std::vector<std::byte> mantissas = input.mantissas;
    expect_done(comm.all_reduce(input.view, output.view).wait(), options.world);
    EXPECT_EQ(input.mantissas, mantissas);
    ASSERT_TRUE(decode(output.view, found).has_value());
    EXPECT_EQ(std::memcmp(found.data(), wanted.data(), kElements * sizeof(float)), 0)
        << wire_format_name(wire);
    // Only rank 0 passes an encoded tensor.
    const Handle mixed = rank == 0 ? comm.all_reduce(input.view, output.view)
                                   : comm.all_reduce(decoded, found, {.wire = wire});
    expect_done(mixed.wait(), options.world);
    if (rank == 0) {
      ASSERT_TRUE(decode(output.view, found).has_value());
    }
    EXPECT_EQ(std::memcmp(found.data(), wanted.data(), kElements * sizeof(float)), 0)
        << wire_format_name(wire);
  });
}

TEST(EncodedTensors, HaveTheSumsOfDecodedOnes) {
  for (const WireFormat wire : {WireFormat::bfp32, WireFormat::bfp16, WireFormat::bfp8}) {
    sums_are_those_of_decoded_tensors({.world = 3}, wire);
    sums_are_those_of_decoded_tensors(
        {.world = 4,
         .rack_size = 2,
         .faults = {.loss = 0.03, .duplication = 0.05, .reordering = 0.1, .seed = 9}},
        wire);
    sums_are_those_of_decoded_tensors({.world = 3, .site_weights = {1, 2}, .mtu_bytes = 9000},
                                      wire);
  }
}

TEST(EncodedTensors, OfNoElementsWaitForAllRanks) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int) {
    Memory memory(WireFormat::bfp16, DataType::f64, 0);
    expect_done(comm.all_reduce(memory.view, memory.view).wait(), 2);
  });
}

// Rank 1 passes its tensor without encoding it.
TEST(EncodedTensors, AreComparedInVerifiedJobs) {
  LocalGroup group = make_group({.world = 2, .verify = true});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    constexpr WireFormat kWire = WireFormat::bfp8;
    Memory input(kWire, DataType::bf16, 100), output(kWire, DataType::bf16, 100);
    std::vector<bf16> tensor(100, bf16{0x3F80});
    ASSERT_TRUE(encode(tensor, input.view).has_value());
    const Handle sum = rank == 0 ? comm.all_reduce(input.view, output.view)
                                 : comm.all_reduce(tensor, {.wire = kWire});
    expect_done(sum.wait(), 2);
    if (rank == 0) {
      ASSERT_TRUE(decode(output.view, tensor).has_value());
    }
    EXPECT_EQ(tensor, std::vector<bf16>(100, bf16{0x4000}));
  });
}

TEST(EncodedTensors, WrongCallsAreRefused) {
  const auto text_of = [](const auto& call) {
    LocalGroup group = make_group({.world = 1});
    const Result<Completion> done = call(group[0]).wait();
    return done ? std::string("no error") : done.error().message;
  };
  Memory input(WireFormat::bfp16, DataType::f32, 64), output(WireFormat::bfp16, DataType::f32, 64);
  const auto with = [&](const CallOptions& options) {
    return text_of(
        [&](Communicator& comm) { return comm.all_reduce(input.view, output.view, options); });
  };
  EXPECT_EQ(with({}), "no error");
  EXPECT_EQ(with({.wire = WireFormat::bfp16}), "no error");
  EXPECT_EQ(with({.layout = Layout::automatic}), with({.layout = Layout::blocks}));
  EXPECT_THAT(with({.reduction = Reduction::average}), HasSubstr("divide the decoded sum"));
  EXPECT_THAT(with({.wire = WireFormat::bfp8}), HasSubstr("the tensor is encoded as bfp16"));
  EXPECT_THAT(text_of([&](Communicator& comm) { return comm.all_reduce(input.view, input.view); }),
              HasSubstr("overlap"));
  MutableEncodedView other = output.view;
  other.elements = 32;
  EXPECT_THAT(text_of([&](Communicator& comm) { return comm.all_reduce(input.view, other); }),
              HasSubstr("another format, type or size"));
  other = output.view;
  other.exponents = nullptr;
  EXPECT_THAT(text_of([&](Communicator& comm) { return comm.all_reduce(input.view, other); }),
              HasSubstr("null address"));
}

}  // namespace
}  // namespace infold
