// SPDX-License-Identifier: Apache-2.0
#include "status/log_line.h"

#include <array>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace infold::status {
namespace {

constexpr LogEvent kEvent = {1'795'383'000'007, LogLevel::info, "rank_joined"};

std::string format(LogFields fields, LogFormat format = LogFormat::text) {
  std::array<char, kLogLineBytesMax> room{};
  return {room.data(), format_log_line(kEvent, fields, format, room)};
}

std::string value_of(std::string_view value, LogFormat as = LogFormat::text) {
  const std::string line = format({{"job", value}}, as);
  const std::string before = as == LogFormat::text ? " job=" : "\"job\":";
  const std::size_t begin = line.find(before) + before.size();
  return line.substr(begin, line.size() - begin - (as == LogFormat::text ? 1 : 2));
}

TEST(LogLine, NamesTimeLevelKindAndFields) {
  EXPECT_EQ(format({{"job", "train"},
                    {"rank", 3},
                    {"packets", std::uint64_t{18446744073709551615U}},
                    {"took_s", 0.25},
                    {"ok", true}}),
            "2026-11-22T21:30:00.007Z info rank_joined job=train rank=3 "
            "packets=18446744073709551615 took_s=0.25 ok=true\n");
  EXPECT_EQ(format({{"job", "train"}, {"rank", -1}, {"ok", false}}, LogFormat::json),
            "{\"time\":\"2026-11-22T21:30:00.007Z\",\"level\":\"info\",\"event\":\"rank_joined\","
            "\"job\":\"train\",\"rank\":-1,\"ok\":false}\n");
  EXPECT_TRUE(format({}, LogFormat::json).ends_with("\"event\":\"rank_joined\"}\n"));
}

// A rank chooses the job's name, which must not be able to forge lines, fields or terminal
// commands.
TEST(LogLine, NoValueCanForgeALineOrAField) {
  EXPECT_EQ(value_of("a\n2026 info x"), R"("a\x0a2026 info x")");
  EXPECT_EQ(value_of("\x1b[2J"), R"("\x1b[2J")");
  EXPECT_EQ(value_of("\xc2\x9b"
                     "2J"),
            R"("\xc2\x9b2J")");
  EXPECT_EQ(value_of(R"(a" b="\)"), R"("a\" b=\"\\")");
  EXPECT_EQ(value_of("a rank=9"), "\"a rank=9\"");
  EXPECT_EQ(value_of("a=b"), "\"a=b\"");
  EXPECT_EQ(value_of(""), "\"\"");
  EXPECT_EQ(value_of("10.0.0.1:7700"), "10.0.0.1:7700");
  EXPECT_EQ(value_of("[fe80::1%eth0]:7700"), "[fe80::1%eth0]:7700");
}

TEST(LogLine, JsonIsAsciiWhateverAValueHolds) {
  const auto json = [](std::string_view value) { return value_of(value, LogFormat::json); };
  EXPECT_EQ(json("a\"\\\n\x1b\x7f"), R"("a\"\\\u000a\u001b\u007f")");
  EXPECT_EQ(json("\xc3\xa9"), R"("\u00e9")");
  EXPECT_EQ(json("\xe2\x80\xae"), R"("\u202e")");
  EXPECT_EQ(json("\xf0\x9f\x98\x80"), R"("\ud83d\ude00")");
  // Overlong encodings, a surrogate, a code point beyond the last, and a sequence that is cut off.
  EXPECT_EQ(json("\xc0\xaf"), R"("\ufffd\ufffd")");
  EXPECT_EQ(json("\xe0\x80\xaf"), R"("\ufffd\ufffd\ufffd")");
  EXPECT_EQ(json("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");
  EXPECT_EQ(json("\xf4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");
  EXPECT_EQ(json("\xe2\x82"), R"("\ufffd\ufffd")");
  EXPECT_EQ(json("\xffz"), R"("\ufffdz")");
}

TEST(LogLine, NumbersThatJsonLacksAreNull) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_NE(format({{"s", infinity}}, LogFormat::json).find("\"s\":null}"), std::string::npos);
  EXPECT_NE(format({{"s", infinity}}).find(" s=inf\n"), std::string::npos);
}

TEST(LogLine, CutsLongValues) {
  EXPECT_EQ(value_of(std::string(513, 'a')), "\"" + std::string(512, 'a') + "...\"");
  EXPECT_EQ(value_of(std::string(512, 'a')), std::string(512, 'a'));
}

// Escaping turns each of these bytes into as many as six.
TEST(LogLine, LeavesOutFieldsThatDoNotFitAndSaysSo) {
  const std::string wild(512, '\x01');
  const LogFields fields = {{"a", wild}, {"b", wild}, {"c", 7}, {"d", wild}};
  for (const LogFormat as : {LogFormat::text, LogFormat::json}) {
    const std::string line = format(fields, as);
    EXPECT_LE(line.size(), kLogLineBytesMax);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
  }
  const std::string json = format(fields, LogFormat::json);
  EXPECT_TRUE(json.ends_with("\\u0001\",\"c\":7,\"left_out\":2}\n")) << json;
}

TEST(LogOptions, AreWordsInAnyOrder) {
  const auto both = parse_log_options("json,debug");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->level, LogLevel::debug);
  EXPECT_EQ(both->format, LogFormat::json);
  const auto one = parse_log_options("error", {LogLevel::info, LogFormat::json});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->level, LogLevel::error);
  EXPECT_EQ(one->format, LogFormat::json);
  EXPECT_EQ(parse_log_options("")->level, LogLevel::warn);
  EXPECT_EQ(parse_log_options("off")->level, LogLevel::off);
  EXPECT_FALSE(parse_log_options("verbose"));
  EXPECT_FALSE(parse_log_options("info,,json"));
}

}  // namespace
}  // namespace infold::status
