// SPDX-License-Identifier: Apache-2.0
//
// Lists the records of all encodings.
#include "encoding/wire_formats.h"

#include <algorithm>

namespace infold::encoding {
namespace {

constexpr base::EnumSet<DataType> kFloats = {DataType::f32, DataType::f16, DataType::bf16,
                                             DataType::f64};
constexpr base::EnumSet<DataType> kAllTypes = {DataType::f32, DataType::f16, DataType::bf16,
                                               DataType::f64, DataType::i8,  DataType::u8,
                                               DataType::i32, DataType::i64};
constexpr base::EnumSet<Reduction> kSums = {Reduction::sum, Reduction::average};
constexpr base::EnumSet<Reduction> kAllReductions = {
    Reduction::sum, Reduction::average, Reduction::min, Reduction::max, Reduction::bit_or};

constexpr Encoding kEncodings[] = {
    {.name = "native",
     .wire = WireFormat::native,
     .types = kFloats,
     .reductions = kSums,
     .copies = false,
     .default_of = kFloats,
     .format = core::WireFormat::native,
     .exchange = Exchange::none},
    {.name = "digits",
     .wire = WireFormat::digits,
     .types = kFloats,
     .reductions = kSums,
     .copies = false,
     .default_of = kFloats,
     .format = core::WireFormat::i32,
     .exchange = Exchange::digits},
    {.name = "bfp32",
     .wire = WireFormat::bfp32,
     .types = kFloats,
     .reductions = kSums,
     .copies = false,
     .default_of = {},
     .format = core::WireFormat::bfp32,
     .exchange = Exchange::none},
    {.name = "bfp16",
     .wire = WireFormat::bfp16,
     .types = kFloats,
     .reductions = kSums,
     .copies = false,
     .default_of = {},
     .format = core::WireFormat::bfp16,
     .exchange = Exchange::none},
    {.name = "bfp8",
     .wire = WireFormat::bfp8,
     .types = kFloats,
     .reductions = kSums,
     .copies = false,
     .default_of = {},
     .format = core::WireFormat::bfp8,
     .exchange = Exchange::none},
    {.name = "fixed32",
     .wire = WireFormat::fixed32,
     .types = kFloats,
     .reductions = kSums,
     .copies = false,
     .default_of = {},
     .format = core::WireFormat::i32,
     .exchange = Exchange::exponents},
    {.name = "plain",  // elements as they are; floats under min and max as keys with their order
     .wire = WireFormat::automatic,
     .types = kAllTypes,
     .reductions = kAllReductions,
     .copies = true,
     .default_of = kAllTypes,
     .format = std::nullopt,
     .exchange = Exchange::none},
};

}  // namespace

std::span<const Encoding> encodings() { return kEncodings; }

const Encoding* find_encoding(WireFormat wire) {
  if (wire == WireFormat::automatic) return nullptr;
  const auto* const found =
      std::find_if(std::begin(kEncodings), std::end(kEncodings),
                   [wire](const Encoding& each) { return each.wire == wire; });
  return found == std::end(kEncodings) ? nullptr : found;
}

}  // namespace infold::encoding

namespace infold {

const char* wire_format_name(WireFormat wire) {
  if (wire == WireFormat::automatic) return "automatic";
  const encoding::Encoding* const encoding = encoding::find_encoding(wire);
  return encoding != nullptr ? encoding->name : "unknown";
}

}  // namespace infold
