// SPDX-License-Identifier: Apache-2.0
//
// A site's record on its way: the bytes that spec/joining.md shows (J-014), and what is no record.
#include "join/messages/record_message.h"

#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace infold::join::testing {
namespace {

using ::testing::HasSubstr;

std::string hex_of(const v1::SiteRecord& message) {
  std::string hex;
  for (const char byte : message.SerializeAsString()) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += kDigits[static_cast<unsigned char>(byte) >> 4];
    hex += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return hex;
}

// Sums 64 elements of i32 for 32 workers.
core::SiteRecord pipeline() {
  core::SiteRecord record;
  record.formats = core::FormatSet::of(core::WireFormat::i32);
  record.elements_max = 64;
  record.workers_max = 32;
  record.takes_sparse = false;
  record.sends_ranges = false;
  record.sends_bits = true;
  return record;
}

TEST(SiteRecord, HasTheBytesThatThePageShows) {
  EXPECT_EQ(hex_of(message_of({})),
            "08ff0110804018800220012801"
            "3003");
  EXPECT_EQ(hex_of(message_of(pipeline())), "08041040182028013002");
  core::SiteRecord kernel;
  kernel.formats = core::FormatSet::all() - core::FormatSet::of(core::WireFormat::native);
  kernel.native_types = core::FloatTypes::of(DataType::f32) | core::FloatTypes::of(DataType::f16) |
                        core::FloatTypes::of(DataType::bf16);
  kernel.elements_max = 1472;
  kernel.takes_sparse = false;
  kernel.sends_bits = false;
  EXPECT_EQ(hex_of(message_of(kernel)), "087f10c00b188002280130013807");
}

TEST(SiteRecord, OlderVersionsFindNoFormatOfASiteWithTheOtherByteOrder) {
  core::SiteRecord chip = pipeline();
  chip.is_big_endian = true;
  chip.reductions = {Reduction::sum, Reduction::average, Reduction::max};
  EXPECT_EQ(hex_of(message_of(chip)), "104018202801300240044814");
  const v1::SiteRecord message = message_of(chip);
  EXPECT_EQ(record_of(&message), chip);
}

// Blocks and floats have one byte order.
TEST(SiteRecord, OfTheOtherByteOrderThereAreIntegersWithAllZeros) {
  v1::SiteRecord message = message_of({});
  message.set_formats_big_endian(~0U);
  message.set_native_types(~0U);
  message.clear_formats();
  const auto record = record_of(&message);
  ASSERT_TRUE(record.has_value()) << record.error();
  EXPECT_EQ(record->formats.bits(), 0xFU);
  EXPECT_TRUE(record->native().is_empty());
  EXPECT_FALSE(record->takes_sparse);
  message.set_formats_big_endian(0x10);
  EXPECT_FALSE(record_of(&message).has_value());
}

TEST(SiteRecord, ComesBackAsItWent) {
  core::SiteRecord record;
  for (int flag = 0; flag < 8; ++flag) {
    record.takes_sparse = (flag & 1) != 0;
    record.verifies_checksums = (flag & 2) != 0;
    record.sends_bits = (flag & 4) != 0;
    record.sends_ranges = !record.sends_bits;
    record.formats = core::FormatSet(1U << flag | 4U);
    record.native_types = core::FloatTypes(static_cast<unsigned>(flag));
    record.reductions = core::ReductionSet(static_cast<unsigned>(flag + 1));
    const v1::SiteRecord message = message_of(record);
    EXPECT_EQ(record_of(&message), record);
  }
}

TEST(SiteRecord, WhatThisVersionDoesNotKnowIsPassedOver) {
  v1::SiteRecord message = message_of({});
  message.set_formats(~0U);
  message.set_elements_max(~0U);
  message.set_workers_max(~0U);
  message.set_pending_forms(~0U);
  message.set_native_types(~0U);
  message.set_reductions_lacking(~0U << 5);
  core::SiteRecord all;
  all.native_types = core::FloatTypes::all();
  EXPECT_EQ(record_of(&message), all);
  std::string bytes = message.SerializeAsString();
  bytes += "\xA0\x06\x01";  // field 100
  ASSERT_TRUE(message.ParseFromString(bytes));
  EXPECT_EQ(record_of(&message), all);
}

TEST(SiteRecord, FlagsThatAreLeftOutAreWhatTheSiteCannot) {
  v1::SiteRecord message = message_of({});
  message.clear_takes_sparse();
  message.clear_verifies_checksums();
  const auto record = record_of(&message);
  ASSERT_TRUE(record.has_value()) << record.error();
  EXPECT_FALSE(record->takes_sparse);
  EXPECT_FALSE(record->verifies_checksums);
}

struct NoRecord {
  std::function<void(v1::SiteRecord&)> spoil;
  std::string says;
};

TEST(SiteRecord, WhatNoJobCouldUseIsRefused) {
  EXPECT_EQ(record_of(nullptr).error(), "no record of what it can, as older versions have none");
  const NoRecord all[] = {
      {[](auto& record) { record.Clear(); }, "formats of 0x0, none of which this version knows"},
      {[](auto& record) { record.set_formats(0x100); }, "formats of 0x100, none of which"},
      {[](auto& record) { record.set_formats_big_endian(4); }, "formats of both byte orders"},
      {[](auto& record) { record.set_elements_max(31); }, "elements_max of 31; a block has 32"},
      {[](auto& record) { record.clear_elements_max(); }, "elements_max of 0; a block has 32"},
      {[](auto& record) { record.clear_workers_max(); }, "workers_max of 0"},
      {[](auto& record) { record.set_pending_forms(4); }, "pending_forms of 0x4, none of which"},
  };
  for (const NoRecord& each : all) {
    v1::SiteRecord message = message_of({});
    each.spoil(message);
    const auto record = record_of(&message);
    ASSERT_FALSE(record.has_value()) << each.says;
    EXPECT_THAT(record.error(), HasSubstr(each.says));
  }
}

}  // namespace
}  // namespace infold::join::testing
