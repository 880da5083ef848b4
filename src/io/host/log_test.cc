// SPDX-License-Identifier: Apache-2.0
#include "io/host/log.h"

#include <array>
#include <fcntl.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "io/host/clock.h"

namespace infold::io {
namespace {

using status::LogFormat;
using status::LogLevel;

class PipedLog : public testing::Test {
 protected:
  PipedLog() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    reader_ = ends[0];
    writer_ = ends[1];
    EXPECT_EQ(fcntl(reader_, F_SETFL, O_NONBLOCK), 0);
  }
  ~PipedLog() override {
    if (reader_ >= 0) close(reader_);
    close(writer_);
  }

  // Returns the text that was written since the last call.
  std::string read_all() const {
    std::string all;
    std::array<char, 4096> piece{};
    for (ssize_t bytes = 0; (bytes = read(reader_, piece.data(), piece.size())) > 0;) {
      all.append(piece.data(), static_cast<std::size_t>(bytes));
    }
    return all;
  }

  void hang_up() {
    close(reader_);
    reader_ = -1;
  }

  int writer_ = -1;

 private:
  int reader_ = -1;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

TEST_F(PipedLog, WritesWhatItsLevelTakes) {
  Log log(writer_);
  log.write(LogLevel::info, "rank_joined", {{"rank", 1}});
  EXPECT_EQ(read_all(), "");
  log.write(LogLevel::warn, "join_refused", {{"rank", 2}});
  EXPECT_TRUE(read_all().ends_with("Z warn join_refused rank=2\n"));
  log.set({LogLevel::debug, LogFormat::json});
  EXPECT_TRUE(log.takes(LogLevel::debug));
  log.write(LogLevel::debug, "rank_joined", {{"rank", 3}});
  EXPECT_TRUE(read_all().ends_with("\"event\":\"rank_joined\",\"rank\":3}\n"));
  log.set({LogLevel::off, LogFormat::text});
  log.write(LogLevel::error, "join_refused", {});
  EXPECT_EQ(read_all(), "");
}

TEST_F(PipedLog, SaysHowManyOfAKindItLeftOut) {
  Log log(writer_);
  for (std::uint32_t i = 0; i < status::kLogLinesPerWindow + 5; ++i) {
    log.write(LogLevel::warn, "join_refused", {});
  }
  EXPECT_EQ(lines_of(read_all()).size(), status::kLogLinesPerWindow);
  log.tell_left_out(true);
  EXPECT_NE(read_all().find("more_of_these kind=join_refused count=5 seconds="), std::string::npos);
}

// A reader that has stopped costs only one wait in all. When it reads on, it learns how many lines
// were lost.
TEST_F(PipedLog, AReaderThatStopsHoldsNobodyAndHearsWhatWasLost) {
  Log log(writer_);
  ASSERT_GT(fcntl(writer_, F_SETPIPE_SZ, 16384), 0);
  const std::string long_value(400, 'a');
  const base::Instant start = monotonic_now();
  for (int i = 0; i < 200; ++i) log.write(LogLevel::error, "job_ended", {{"why", long_value}});
  // If each of 160 lost lines waited, this would take 3.2 s.
  EXPECT_LT(monotonic_now() - start, base::milliseconds(1'600));
  const std::size_t written = lines_of(read_all()).size();
  EXPECT_GT(written, 0U);
  EXPECT_LT(written, 40U);
  log.write(LogLevel::error, "job_ended", {{"why", "last"}});
  const std::vector<std::string> lines = lines_of(read_all());
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[0].ends_with("warn log_lines_lost count=" + std::to_string(200 - written)))
      << lines[0];
  EXPECT_TRUE(lines[1].ends_with("error job_ended why=last")) << lines[1];
}

// The process neither waits nor ends, because it gets no signal.
TEST_F(PipedLog, AReaderThatIsGoneIsNoMatter) {
  Log log(writer_);
  hang_up();
  for (int i = 0; i < 100; ++i) log.write(LogLevel::error, "job_ended", {});
}

TEST_F(PipedLog, LinesOfManyThreadsStayWhole) {
  Log log(writer_);
  log.set({LogLevel::info, LogFormat::text});
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&log, thread] {
      for (int i = 0; i < 50; ++i) log.write(LogLevel::info, "rank_joined", {{"rank", thread}});
    });
  }
  threads.clear();
  const std::vector<std::string> lines = lines_of(read_all());
  EXPECT_EQ(lines.size(), 200U);
  for (const std::string& line : lines) {
    EXPECT_EQ(line.substr(24, 23), " info rank_joined rank=") << line;
    EXPECT_EQ(line.size(), 48U) << line;
  }
}

}  // namespace
}  // namespace infold::io
