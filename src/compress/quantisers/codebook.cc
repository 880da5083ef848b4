// SPDX-License-Identifier: Apache-2.0
#include "compress/quantisers/codebook.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compress/magnitudes.h"
#include "compress/quantisers/code_packing.h"

namespace infold::compress {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

CodebookCompressor::CodebookCompressor(const Options& options) : options_(options) {
  if (options_.bucket == 0) options_.bucket = std::max<std::size_t>(1, options_.elements);
}

std::size_t CodebookCompressor::buckets() const {
  return (options_.elements + options_.bucket - 1) / options_.bucket;
}

std::size_t CodebookCompressor::size_of(std::size_t bucket) const {
  return std::min(options_.bucket, options_.elements - bucket * options_.bucket);
}

void CodebookCompressor::encode(std::span<const float> tensor, const Turn& turn,
                                std::vector<std::byte>& code) {
  const CounterRandom random = CounterRandom::own(turn, 0);
  std::vector<float> heads(buckets() * options_.head_floats);
  codes_.assign(options_.elements, 0);
  for (std::size_t i = 0; i < buckets(); ++i) {
    const std::size_t first = i * options_.bucket;
    const std::span<const float> values = tensor.subspan(first, size_of(i));
    const auto head = std::span(heads).subspan(i * options_.head_floats, options_.head_floats);
    if (std::isfinite(largest_magnitude(values))) {
      encode_bucket({values, first, random}, head, std::span(codes_).subspan(first, size_of(i)));
    } else {
      std::fill(head.begin(), head.end(), kNan);
    }
  }
  const std::span<const std::byte> bytes = std::as_bytes(std::span(heads));
  code.assign(bytes.begin(), bytes.end());
  pack_codes(codes_, options_.alphabet, code);
}

std::size_t CodebookCompressor::code_bytes_max() const {
  return buckets() * options_.head_floats * sizeof(float) +
         packed_codes_bytes(options_.elements, options_.alphabet);
}

bool CodebookCompressor::add(std::span<const std::byte> code, std::span<double> sums) const {
  const std::size_t head_bytes = options_.head_floats * sizeof(float);
  const std::size_t heads = buckets() * head_bytes;
  if (code.size() != code_bytes_max()) return false;
  std::vector<std::uint8_t> codes(options_.elements);
  if (!unpack_codes(code.subspan(heads), options_.alphabet, codes)) return false;
  std::vector<float> head(options_.head_floats);
  std::vector<double> codebook(options_.alphabet);
  for (std::size_t i = 0; i < buckets(); ++i) {
    std::memcpy(head.data(), code.data() + i * head_bytes, head_bytes);
    if (!make_codebook(head, codebook)) return false;
    const std::size_t first = i * options_.bucket;
    const std::size_t end = first + size_of(i);
    for (std::size_t k = first; k < end; ++k) sums[k] += codebook[codes[k]];
  }
  return true;
}

bool CodebookCompressor::make_codebook(std::span<const float> head,
                                       std::span<double> codebook) const {
  if (std::any_of(head.begin(), head.end(), [](float each) { return std::isinf(each); })) {
    return false;
  }
  if (std::any_of(head.begin(), head.end(), [](float each) { return std::isnan(each); })) {
    std::fill(codebook.begin(), codebook.end(), std::numeric_limits<double>::quiet_NaN());
    return true;
  }
  return read_head(head, codebook);
}

double codebook_bits(const CodebookCompressor::Options& options) {
  const auto elements = static_cast<double>(options.elements);
  const double buckets =
      options.bucket == 0 ? 1 : std::ceil(elements / static_cast<double>(options.bucket));
  return elements * packed_bits_of_code(options.alphabet) +
         32 * static_cast<double>(options.head_floats) * buckets;
}

Setting bucket_setting(double usual) {
  return {.name = "bucket",
          .usual = usual,
          .least = 32,
          .most = 1 << 24,
          .is_whole = true,
          .meaning = "elements that share a scale"};
}

double bucket_of(const Shape& shape, const Settings& settings) {
  return std::min(settings["bucket"], static_cast<double>(shape.elements));
}

}  // namespace infold::compress
