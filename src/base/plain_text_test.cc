// SPDX-License-Identifier: Apache-2.0
#include "base/plain_text.h"

#include <gtest/gtest.h>

namespace infold::base {
namespace {

TEST(PlainText, KeepsWordsOfAllLanguages) {
  for (const char* const text : {"", "a job\nof two lines", "Größe", "日本語", "שלום", "𝜋 ≈ 3"}) {
    EXPECT_EQ(plain_text(text), text);
  }
}

TEST(PlainText, ReplacesWhatDoesNotShow) {
  EXPECT_EQ(plain_text("a\x1b[31m\tb\x7f"), "a?[31m?b?");
  EXPECT_EQ(plain_text("a\u0085b\u009b31mc\u009d"), "a?b?31mc?") << "C1, which terminals obey";
  EXPECT_EQ(plain_text("x\u202eabc\u202c \u2066y\u2069 \u200e\u200f\u061c"), "x?abc? ?y? ???");
  EXPECT_EQ(plain_text("one\u2028two\u2029"), "one?two?");
}

TEST(PlainText, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(plain_text("a\x9b"
                       "31m"),
            "a?31m")
      << "C1 in one byte";
  EXPECT_EQ(plain_text("\xc0\x80 \xed\xa0\x80 \xf5 \xe2\x82"), "?? ??? ? ??");
}

TEST(Printable, KeepsOnlyCharactersOfAsciiThatShow) {
  EXPECT_EQ(printable(" a~1"), " a~1");
  EXPECT_EQ(printable("a\nb\x1b[2J\x7f\xc3\xa9"), "a?b?[2J???");
  EXPECT_EQ(printable(""), "");
}

}  // namespace
}  // namespace infold::base
