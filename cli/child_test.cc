// SPDX-License-Identifier: Apache-2.0

#include "cli/child.h"

#include <cstdlib>
#include <fstream>
#include <signal.h>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace infold::cli {
namespace {

class ChildTest : public ::testing::Test {
 protected:
  ChildTest() {
    std::string name = ::testing::TempDir() + "infold-child-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~ChildTest() override { std::filesystem::remove_all(folder_); }

  Finished shell(const std::string& script) {
    return run_to_end({"sh", "-c", script}, folder_, std::chrono::seconds(30));
  }

  std::filesystem::path folder_;
};

TEST_F(ChildTest, TellsStatusAndOutput) {
  const Finished finished = shell("echo said; echo complained >&2; exit 3");
  EXPECT_EQ(finished.status, 3);
  EXPECT_EQ(finished.text, "said\ncomplained\n");
  EXPECT_EQ(shell("kill -9 $$").status, 128 + SIGKILL);
}

TEST_F(ChildTest, SaysWhichProgramDoesNotExist) {
  const Finished finished = run_to_end({"infold-no-such"}, folder_, std::chrono::seconds(30));
  EXPECT_EQ(finished.status, 127);
  EXPECT_EQ(finished.text, "infold-no-such: cannot be started\n");
}

TEST_F(ChildTest, StopsTheChildrenOfAChildToo) {
  const std::filesystem::path file = folder_ / "grandchild";
  {
    Child child({"sh", "-c", "sleep 1000 & echo $! > " + file.string() + "; wait"}, folder_ / "out",
                folder_ / "log");
    while (read_file(file).empty()) EXPECT_FALSE(child.poll().has_value());
  }
  const int grandchild = std::stoi(read_file(file));
  // Nobody waits for it, so it may be a zombie, but it is no longer in a group that we can see.
  const std::string state = read_file("/proc/" + std::to_string(grandchild) + "/stat");
  EXPECT_THAT(state, ::testing::AnyOf("", ::testing::HasSubstr(") Z ")));
}

TEST_F(ChildTest, ForcesWhatDoesNotListen) {
  Child child({"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"},
              folder_ / "out", folder_ / "log");
  while (read_file(folder_ / "out").empty()) EXPECT_FALSE(child.poll().has_value());
  child.stop();
  EXPECT_EQ(child.poll(), 128 + SIGKILL);
}

TEST_F(ChildTest, GivesUpAtTheLimit) {
  const Finished finished = run_to_end({"sleep", "1000"}, folder_, std::chrono::seconds(0));
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.text, ::testing::HasSubstr("not done after 0 s"));
}

}  // namespace
}  // namespace infold::cli
