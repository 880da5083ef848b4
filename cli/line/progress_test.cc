// SPDX-License-Identifier: Apache-2.0
#include "cli/line/progress.h"

#include <cstdio>
#include <string>

#include <gtest/gtest.h>

namespace infold::cli {
namespace {

std::string shown(std::uint64_t steps, std::uint64_t parts, bool live) {
  std::FILE* const log = std::tmpfile();
  Output output(false, stdout, log);
  ProgressLine line(output, steps, parts, live);
  for (std::uint64_t step = 1; step <= steps; ++step) line.show(step, std::to_string(step));
  line.end();
  std::string text(static_cast<std::size_t>(std::ftell(log)), '\0');
  std::rewind(log);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), log), text.size());
  std::fclose(log);
  return text;
}

TEST(ProgressLine, IsOneLineForEachPartWhereThereIsNoTerminal) {
  EXPECT_EQ(shown(100, 4, false), "1\n25\n50\n75\n100\n");
  EXPECT_EQ(shown(3, 10, false), "1\n2\n3\n");
  EXPECT_EQ(shown(0, 10, false), "");
}

TEST(ProgressLine, ChangesInPlaceOnATerminal) {
  EXPECT_EQ(shown(2, 1, true), "\r\x1b[K1\r\x1b[K2\n");
}

}  // namespace
}  // namespace infold::cli
