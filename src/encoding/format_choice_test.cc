// SPDX-License-Identifier: Apache-2.0
//
// States again, as the rules that callers know, how each call travels, and compares all
// combinations.
#include "encoding/format_choice.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/wire_formats.h"
#include "numeric/codec.h"

namespace infold::encoding {
namespace {

using core::Collective;
using ::testing::HasSubstr;

constexpr DataType kTypes[] = {DataType::f32, DataType::f16, DataType::bf16, DataType::f64,
                               DataType::i8,  DataType::u8,  DataType::i32,  DataType::i64};
constexpr Reduction kReductions[] = {Reduction::sum, Reduction::average, Reduction::min,
                                     Reduction::max, Reduction::bit_or};
constexpr WireFormat kWires[] = {WireFormat::automatic, WireFormat::bfp32,   WireFormat::bfp16,
                                 WireFormat::bfp8,      WireFormat::fixed32, WireFormat::native,
                                 WireFormat::digits};
constexpr Collective kCollectives[] = {Collective::all_reduce, Collective::reduce,
                                       Collective::broadcast};

// The format that elements must have in packets if the call names `wire`.
core::WireFormat expected_format(bool sums_floats, DataType type, WireFormat wire) {
  if (!sums_floats) return core::integer_format(type);
  switch (wire) {
    case WireFormat::bfp32: return core::WireFormat::bfp32;
    case WireFormat::bfp16: return core::WireFormat::bfp16;
    case WireFormat::bfp8: return core::WireFormat::bfp8;
    case WireFormat::fixed32:
    case WireFormat::digits: return core::WireFormat::i32;
    case WireFormat::native:
    case WireFormat::automatic: break;
  }
  return core::WireFormat::native;
}

Exchange expected_exchange(bool sums_floats, WireFormat wire) {
  if (sums_floats && wire == WireFormat::fixed32) return Exchange::exponents;
  if (sums_floats && wire == WireFormat::digits) return Exchange::digits;
  return Exchange::none;
}

bool is_sum(Reduction reduction) {
  return reduction == Reduction::sum || reduction == Reduction::average;
}

void expect_as_told(const FormatRequest& request) {
  SCOPED_TRACE(std::string(data_type_name(request.type)) + " " + reduction_name(request.reduction) +
               " " + wire_format_name(request.wire) + " of " +
               wire_format_name(request.wire_default));
  const bool reduces = request.collective != Collective::broadcast;
  const bool is_float = core::is_float(request.type);
  const bool sums_floats = reduces && is_float && is_sum(request.reduction);
  const Result<FormatChoice> choice = choose_format(request);
  if (!sums_floats && request.wire != WireFormat::automatic) {
    ASSERT_FALSE(choice.has_value());
    EXPECT_EQ(choice.error().code, Code::unsupported);
    EXPECT_THAT(choice.error().message, HasSubstr("is for sums and averages of floats"));
    return;
  }
  if (reduces && is_float && request.reduction == Reduction::bit_or) {
    ASSERT_FALSE(choice.has_value());
    EXPECT_THAT(choice.error().message, HasSubstr("no wire format carries the or of"));
    return;
  }
  ASSERT_TRUE(choice.has_value()) << choice.error().message;
  const WireFormat wire =
      request.wire != WireFormat::automatic ? request.wire : request.wire_default;
  EXPECT_EQ(choice->layout.format, expected_format(sums_floats, request.type, wire));
  EXPECT_EQ(choice->layout.dtype, request.type);
  EXPECT_EQ(choice->exchange, expected_exchange(sums_floats, wire));
  EXPECT_NE(choice->name, nullptr);
  EXPECT_EQ(choice->reduction, reduces ? request.reduction : Reduction::sum);
  EXPECT_NE(choice->codec, nullptr);
}

TEST(FormatChoice, IsAsToldForAllCombinations) {
  for (const Collective collective : kCollectives) {
    for (const DataType type : kTypes) {
      for (const Reduction reduction : kReductions) {
        for (const WireFormat wire : kWires) {
          for (const WireFormat usual : kWires) {
            expect_as_told({collective, type, reduction, wire, usual, 4});
          }
        }
      }
    }
  }
}

TEST(FormatChoice, SumsDigitsWhereASiteLacksNative) {
  for (const DataType type : kTypes) {
    for (const Reduction reduction : kReductions) {
      FormatRequest request = {.type = type, .reduction = reduction, .world = 4};
      const Result<FormatChoice> usual = choose_format(request);
      request.native = core::FloatTypes{DataType::f16};
      const Result<FormatChoice> choice = choose_format(request);
      ASSERT_EQ(choice.has_value(), usual.has_value());
      if (!choice) continue;
      const bool lacks = core::is_float(type) && is_sum(reduction) && type != DataType::f16;
      EXPECT_EQ(choice->exchange == Exchange::digits, lacks) << data_type_name(type);
      if (!lacks) {
        EXPECT_EQ(choice->layout.format, usual->layout.format);
      }
      // If the call names native, the choice stays native, and the worker refuses the call.
      request.wire = WireFormat::native;
      if (lacks) {
        EXPECT_EQ(choose_format(request)->layout.format, core::WireFormat::native);
      }
    }
  }
}

TEST(FormatChoice, RefusesNumbersThatAreNoValues) {
  const auto code_of = [](const FormatRequest& request) {
    const Result<FormatChoice> choice = choose_format(request);
    return choice ? Code::pending : choice.error().code;
  };
  EXPECT_EQ(code_of({.type = DataType{8}}), Code::invalid_argument);
  EXPECT_EQ(code_of({.reduction = Reduction{5}}), Code::invalid_argument);
  EXPECT_EQ(code_of({.wire = WireFormat{7}}), Code::invalid_argument);
  EXPECT_EQ(code_of({.type = DataType{255}, .wire = WireFormat{255}}), Code::invalid_argument);
}

TEST(FormatChoice, AgreesOnExponentsOfSoManyRanksOnly) {
  FormatRequest request = {.wire = WireFormat::fixed32, .world = numeric::kAgreedWorldMax};
  EXPECT_TRUE(choose_format(request).has_value());
  ++request.world;
  ASSERT_FALSE(choose_format(request).has_value());
  EXPECT_EQ(choose_format(request).error().message,
            "wire format fixed32 does not carry the sum of f32 over 512 ranks, but over 511 at "
            "most; choose native or bfp32");
}

TEST(FormatChoice, CountsSoManyRanksInDigitsOnly) {
  FormatRequest request = {.wire = WireFormat::digits, .world = numeric::kDigitWorldMax};
  EXPECT_TRUE(choose_format(request).has_value());
  ++request.world;
  ASSERT_FALSE(choose_format(request).has_value());
  EXPECT_EQ(choose_format(request).error().message,
            "wire format digits does not carry the sum of f32 over 512 ranks, but over 511 at "
            "most; choose native or bfp32");
}

TEST(Encodings, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Encoding& each : encodings()) EXPECT_TRUE(names.insert(each.name).second);
  EXPECT_EQ(names.size(), std::size(kWires)) << "those that a caller names, and one";
  EXPECT_STREQ(wire_format_name(WireFormat::automatic), "automatic");
  EXPECT_STREQ(wire_format_name(WireFormat::fixed32), "fixed32");
  EXPECT_STREQ(wire_format_name(WireFormat{7}), "unknown");
}

}  // namespace
}  // namespace infold::encoding
