// SPDX-License-Identifier: Apache-2.0
#include "planes/xdp/program/native_rows.h"

#include <algorithm>
#include <span>

#include <bpf/bpf.h>

namespace infold::xdp {
namespace {

std::uint32_t row_words(std::uint32_t elements) {
  return (elements + INFOLD_XDP_ROW_GROUP - 1) / INFOLD_XDP_ROW_GROUP * INFOLD_XDP_ROW_GROUP;
}

struct FloatType {
  std::uint32_t fraction_bits;
  std::uint32_t exponents;  // values of the exponent field
  std::uint32_t row_bits;   // bits that one row covers; more than all exponents: one row
  std::uint32_t row_bytes;
  std::uint32_t last_row;
};

// Fills one sign's entries, in the order of the exponent field. Field 0 stands for subnormal
// numbers, which have the unit of field 1 and no leading 1. The last field stands for infinities
// and NaN.
void fill(const FloatType& type, bool negative, std::span<infold_xdp_scale> scales) {
  for (std::uint32_t field = 0; field + 1 < type.exponents; ++field) {
    const std::uint32_t place = std::max(field, 1U) - 1;
    const std::int64_t unit = std::int64_t{1} << (place % type.row_bits);
    infold_xdp_scale& scale = scales[field];
    scale.factor = negative ? -unit : unit;
    scale.addend = field == 0 ? 0 : scale.factor * (std::int64_t{1} << type.fraction_bits);
    scale.at = place / type.row_bits * type.row_bytes;
  }
  infold_xdp_scale& special = scales[type.exponents - 1];
  special.factor = std::int64_t{1} << INFOLD_XDP_FRACTIONS_AT;
  special.addend = negative ? std::int64_t{1} << INFOLD_XDP_MINUS_AT : 1;
  special.at = type.last_row * type.row_bytes;
}

void fill_both(const FloatType& type, std::span<infold_xdp_scale> scales) {
  fill(type, false, scales.first(type.exponents));
  fill(type, true, scales.last(type.exponents));
}

}  // namespace

RowLayout RowLayout::of(std::uint32_t datagram_bytes_max, std::uint32_t elements_max) {
  const std::uint32_t body = datagram_bytes_max - INFOLD_HEADER_BYTES;
  return {
      {row_words(std::min(body / 4, elements_max)), row_words(std::min(body / 2, elements_max))}};
}

std::uint32_t RowLayout::copy_bytes() const {
  const std::uint32_t rows_of_halves =
      std::max<std::uint32_t>(INFOLD_XDP_ROWS_F16, INFOLD_XDP_ROWS_BF16);
  return 8 * std::max(INFOLD_XDP_ROWS_F32 * words[0], rows_of_halves * words[1]);
}

infold_xdp_scales make_scales(const RowLayout& layout) {
  infold_xdp_scales scales{};
  const std::uint32_t bytes4 = 8 * layout.words[0];
  const std::uint32_t bytes2 = 8 * layout.words[1];
  fill_both({23, 256, INFOLD_XDP_ROW_BITS_F32, bytes4, INFOLD_XDP_ROWS_F32 - 1}, scales.f32);
  fill_both({7, 256, INFOLD_XDP_ROW_BITS_BF16, bytes2, INFOLD_XDP_ROWS_BF16 - 1}, scales.bf16);
  fill_both({10, 32, 64, bytes2, INFOLD_XDP_ROWS_F16 - 1}, scales.f16);
  return scales;
}

int make_rows(const RowLayout& layout, std::uint32_t copies) {
  bpf_map_create_opts options{};
  options.sz = sizeof(options);
  options.map_flags = BPF_F_INNER_MAP;
  return bpf_map_create(BPF_MAP_TYPE_ARRAY, "infold_rows", sizeof(std::uint32_t),
                        layout.copy_bytes(), copies, &options);
}

}  // namespace infold::xdp
