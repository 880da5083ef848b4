// SPDX-License-Identifier: Apache-2.0
//
// A sender changes a body between the check and the use, as it can in shared memory.
#include "core/packet/sparse_body.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace infold::core {
namespace {

constexpr ElementLayout kLayout = {WireFormat::bfp16, DataType::f32};
constexpr std::uint32_t kElements = 256;

// Three chunks, each with every second block. The memory is exactly as long as the datagram, so
// that a sanitizer notices reads beyond it.
std::vector<std::byte> datagram_of(infold_grain grain) {
  Header header;
  header.kind = Kind::add;
  header.flags = INFOLD_FLAG_SPARSE;
  header.signature.format = static_cast<std::uint8_t>(static_cast<unsigned>(kLayout.dtype) << 4 |
                                                      static_cast<unsigned>(kLayout.format));
  header.signature.elements = kElements;
  header.signature.shape = 3 * kElements;
  header.contributors = {1, 1, rank_digest(0)};
  BlockSet present;
  for (std::uint32_t block = 0; block < kElements / INFOLD_BLOCK_ELEMENTS; block += 2) {
    present.insert(block);
  }
  const std::vector<std::byte> held(kElements * kLayout.element_bytes(), std::byte{0x11});
  const std::vector<std::byte> codes(kElements / INFOLD_BLOCK_ELEMENTS, std::byte{0x70});
  const BlocksInMemory source = {present, codes.data(), held.data()};
  std::vector<std::byte> datagram(8192);
  const std::span<std::byte> body = std::span(datagram).subspan(INFOLD_HEADER_BYTES);
  QuartersWriter quarters(body);
  SparseWriter blocks(body.data(), kLayout, kElements, 3);
  for (int chunk = 0; chunk < 3; ++chunk) {
    if (grain == INFOLD_GRAIN_QUARTERS) {
      EXPECT_TRUE(quarters.add(Quarters(kLayout, kElements, source), source));
    } else {
      const SparseWriter::Part part = blocks.next(present);
      std::fill_n(part.exponents, present.exponent_bytes(kLayout), std::byte{0x70});
    }
  }
  const bool in_quarters = grain == INFOLD_GRAIN_QUARTERS;
  write_header(header, datagram);
  datagram.resize(INFOLD_HEADER_BYTES + (in_quarters ? quarters.bytes() : blocks.bytes()));
  return {datagram.begin(), datagram.end()};
}

// Reads all bytes of the part, which lie in the packet or in the reader, so that a sanitizer can
// check them.
std::uint64_t sum_of(const Packet& part) {
  std::uint64_t sum = 0;
  const ChunkSignature& signature = part.header.signature;
  const std::uint32_t codes = part.present->exponent_bytes(signature.layout());
  const std::uint32_t payload = part.present->payload_bytes(signature.layout(), signature.elements);
  for (std::uint32_t i = 0; i < codes; ++i) sum += static_cast<std::uint64_t>(part.exponents[i]);
  for (std::uint32_t i = 0; i < payload - codes; ++i) {
    sum += static_cast<std::uint64_t>(part.elements[i]);
  }
  EXPECT_FALSE(part.present->reaches_beyond(signature.layout().block_count(signature.elements)));
  return sum;
}

class ChangedBody : public testing::TestWithParam<infold_grain> {};

TEST_P(ChangedBody, IsNotReadBeyondItsEnd) {
  base::Prng prng(7);
  std::uint64_t sum = 0;
  for (int run = 0; run < 3000; ++run) {
    std::vector<std::byte> datagram = datagram_of(GetParam());
    Packet packet;
    ASSERT_EQ(parse(datagram, packet), Malformed::none);
    // Changes the whole body now and then, and otherwise a few bytes, mostly near its start.
    const std::span<std::byte> body = std::span(datagram).subspan(INFOLD_HEADER_BYTES);
    const std::uint64_t changes = run % 10 == 0 ? body.size() : 1 + prng.below(4);
    for (std::uint64_t i = 0; i < changes; ++i) {
      const std::uint64_t most =
          prng.chance(0.7) ? std::min<std::size_t>(body.size(), 20) : body.size();
      body[prng.below(most)] = static_cast<std::byte>(prng.below(256));
    }
    SparseReader reader(packet);
    ASSERT_GE(reader.chunks(), 1U);
    ASSERT_LE(reader.chunks(), std::uint32_t{INFOLD_SPARSE_CHUNKS_MAX});
    for (std::uint32_t chunk = 0; chunk < reader.chunks(); ++chunk) sum += sum_of(reader.next());
    std::vector<std::byte> exponents(kLayout.exponent_bytes(kElements));
    std::vector<std::byte> elements(kElements * kLayout.element_bytes());
    spread_result(packet, exponents.data(), elements.data());
  }
  EXPECT_GT(sum, 0U);
}

INSTANTIATE_TEST_SUITE_P(Grains, ChangedBody,
                         testing::Values(INFOLD_GRAIN_BLOCKS, INFOLD_GRAIN_QUARTERS));

}  // namespace
}  // namespace infold::core
