// SPDX-License-Identifier: Apache-2.0

#include "cli/line/output.h"

#include <cstdio>
#include <string>

#include <gtest/gtest.h>

namespace infold::cli {
namespace {

// A temporary file whose contents can be read back.
class Capture {
 public:
  Capture() : file_(std::tmpfile()) {}
  ~Capture() { std::fclose(file_); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  std::FILE* file() { return file_; }
  std::string read() {
    std::string bytes(4096, '\0');
    std::rewind(file_);
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file_));
    return bytes;
  }

 private:
  std::FILE* file_;
};

TEST(Output, PrintsTextForPeopleAndNoObjects) {
  Capture out;
  Capture log;
  Output output(/*json=*/false, out.file(), log.file());
  output.text("{} of {}\n", 1, 2);
  output.object({{"a", 1}});
  EXPECT_EQ(out.read(), "1 of 2\n");
  EXPECT_EQ(log.read(), "");
}

TEST(Output, PrintsOneObjectALineAndNothingElseUnderJson) {
  Capture out;
  Capture log;
  Output output(/*json=*/true, out.file(), log.file());
  output.text("never seen\n");
  output.object({{"b", 1}, {"a", "line\nend"}});
  output.object({{"c", 2}});
  output.log("note\n");
  EXPECT_EQ(out.read(), "{\"b\":1,\"a\":\"line\\nend\"}\n{\"c\":2}\n");
  EXPECT_EQ(log.read(), "note\n");
}

TEST(Output, RemembersThatAWriteFailed) {
  std::FILE* full = std::fopen("/dev/full", "w");
  if (full == nullptr) GTEST_SKIP() << "no /dev/full on this system";
  Capture log;
  Output output(/*json=*/true, full, log.file());
  output.object({{"a", 1}});
  EXPECT_FALSE(output.ok());
  std::fclose(full);
}

}  // namespace
}  // namespace infold::cli
