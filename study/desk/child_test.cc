// SPDX-License-Identifier: Apache-2.0

#include "study/desk/child.h"

#include <cstdlib>
#include <fstream>
#include <signal.h>
#include <string>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace infold::desk {
namespace {

class ChildTest : public ::testing::Test {
 protected:
  Finished shell(const std::string& script) {
    return run_to_end({"sh", "-c", script}, folder_, std::chrono::seconds(30));
  }

  ScratchFolder scratch_{"infold-child"};
  const std::filesystem::path folder_ = scratch_.path();
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
  // The signal takes effect when the grandchild next gets a processor. There may be no process left
  // that waits for the grandchild, so a zombie counts as gone.
  const std::string stat = "/proc/" + trimmed(read_file(file)) + "/stat";
  const auto is_gone = [&] {
    const std::string state = read_file(stat);
    return state.empty() || state.find(") Z ") != std::string::npos ||
           state.find(") X ") != std::string::npos;
  };
  while (!is_gone()) std::this_thread::yield();
}

TEST_F(ChildTest, KillsAChildThatIgnoresSigterm) {
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

TEST_F(ChildTest, GivesUpOnRequest) {
  const Finished finished =
      run_to_end({"sleep", "1000"}, folder_, std::chrono::seconds(1000), [] { return true; });
  EXPECT_EQ(finished.status, 1);
  EXPECT_EQ(finished.text, "stopped on request");
}

}  // namespace
}  // namespace infold::desk
