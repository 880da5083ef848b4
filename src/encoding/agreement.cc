// SPDX-License-Identifier: Apache-2.0
//
// The agreement has two elements for each block of the tensor. Chunks begin at even elements,
// because every chunk except the last has a multiple of 16 elements.
#include "encoding/agreement.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "numeric/codec.h"

namespace infold::encoding {
namespace {

constexpr std::uint32_t kElementsPerBlock = 2;
constexpr std::uint16_t kCodeMask = static_cast<std::uint16_t>(~numeric::kAgreedSpecial);

struct Pair {
  std::int16_t code = 0;
  std::int16_t special = 0;
};

constexpr std::size_t kBlocksOfChunkMax = INFOLD_PAYLOAD_BYTES_MAX / sizeof(Pair);

}  // namespace

core::TransferRequest Agreement::begin(const core::TransferRequest& data) {
  CHECK_THAT(data.elements, >, 0U);
  CHECK(data.input != nullptr);
  layout_ = data.layout;
  tensor_ = data.input;
  elements_ = data.elements;
  const std::uint64_t block = layout_.block_elements();
  codes_.assign((elements_ + block - 1) / block, 0);

  static constexpr core::TensorCodec kCodec = {
      .element_bytes = 0, .encode = encode, .decode = decode};
  core::TransferRequest request = data;
  request.reduction = Reduction::max;
  request.collective = core::Collective::all_reduce;
  request.layout = {core::WireFormat::i16, layout_.dtype};
  request.elements = codes_.size() * kElementsPerBlock;
  request.codec = &kCodec;
  request.context = this;
  request.input = nullptr;
  request.output = nullptr;
  return request;
}

bool Agreement::encode(const void* context, const std::byte*, core::ChunkRange range,
                       const std::uint16_t*, std::byte*, std::byte* elements) {
  const auto& agreement = *static_cast<const Agreement*>(context);
  const std::uint32_t blocks = range.elements / kElementsPerBlock;
  const std::uint64_t first = (range.first / kElementsPerBlock) << agreement.layout_.block_shift();
  const std::uint64_t end = first + (std::uint64_t{blocks} << agreement.layout_.block_shift());
  const auto count = static_cast<std::uint32_t>(std::min(end, agreement.elements_) - first);
  std::array<std::uint16_t, kBlocksOfChunkMax> codes;
  CHECK_THAT(blocks, <=, codes.size());
  numeric::block_codes(agreement.layout_.dtype, agreement.tensor_, {first, count}, codes.data());
  for (std::uint32_t i = 0; i < blocks; ++i) {
    const bool special = (codes[i] & numeric::kAgreedSpecial) != 0;
    const Pair pair = {static_cast<std::int16_t>(codes[i] & kCodeMask),
                       special ? std::int16_t{1} : std::int16_t{0}};
    std::memcpy(elements + i * sizeof(pair), &pair, sizeof(pair));
  }
  return false;
}

void Agreement::decode(void* context, std::byte*, core::ChunkRange range,
                       const core::TensorCodec::Received& received) {
  auto& agreement = *static_cast<Agreement*>(context);
  const std::uint64_t first = range.first / kElementsPerBlock;
  for (std::uint32_t i = 0; i < range.elements / kElementsPerBlock; ++i) {
    Pair pair;
    std::memcpy(&pair, received.elements + i * sizeof(pair), sizeof(pair));
    const auto flag = pair.special != 0 ? numeric::kAgreedSpecial : std::uint16_t{0};
    agreement.codes_[first + i] = static_cast<std::uint16_t>((pair.code & kCodeMask) | flag);
  }
}

}  // namespace infold::encoding
