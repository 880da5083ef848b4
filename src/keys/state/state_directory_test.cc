// SPDX-License-Identifier: Apache-2.0
//
// The directory of a switch's keys: what is refused, and what stays after a crash.
#include "keys/state/state_directory.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temp_folder_testing.h"

namespace infold::keys {
namespace {

using ::testing::HasSubstr;

mode_t mode_of(const std::string& path) {
  struct stat found = {};
  EXPECT_EQ(lstat(path.c_str(), &found), 0) << path;
  return found.st_mode & 07777;
}

std::string text_in(const Stated<StateDirectory>& state, const char* name) {
  const auto read = state->read(name);
  return read ? read->value_or("(no file)") : read.error();
}

TEST(StateDirectory, IsMadeForItsOwnerAlone) {
  const base::TempFolder folder;
  const std::string path = folder.file("state/infold");
  const auto state = StateDirectory::open(path);
  ASSERT_TRUE(state.has_value()) << state.error();
  EXPECT_EQ(mode_of(path), 0700U);
  ASSERT_TRUE(state->write("secrets", "text").has_value());
  EXPECT_EQ(mode_of(path + "/secrets"), 0600U);
  EXPECT_EQ(text_in(state, "secrets"), "text");
  EXPECT_TRUE(StateDirectory::open(path).has_value()) << "it exists by now";
}

TEST(StateDirectory, AFileThatIsNotThereIsEmpty) {
  const base::TempFolder folder;
  const auto state = StateDirectory::open(folder.file("state"));
  EXPECT_EQ(text_in(state, "secrets"), "(no file)");
}

TEST(StateDirectory, AccessOfOthersIsRefused) {
  const base::TempFolder folder;
  const std::string path = folder.file("state");
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  for (const mode_t mode : {0750, 0705, 0770, 0701, 0702}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    const auto state = StateDirectory::open(path);
    ASSERT_FALSE(state.has_value()) << mode;
    EXPECT_THAT(state.error(), HasSubstr("chmod 700 " + path));
  }
}

TEST(StateDirectory, FilesThatOthersMayReadAreRefused) {
  const base::TempFolder folder;
  const std::string path = folder.file("state");
  const auto state = StateDirectory::open(path);
  ASSERT_TRUE(state->write("secrets", "text").has_value());
  for (const mode_t mode : {0640, 0604, 0660, 0602}) {
    ASSERT_EQ(chmod((path + "/secrets").c_str(), mode), 0);
    const auto text = state->read("secrets");
    ASSERT_FALSE(text.has_value()) << mode;
    EXPECT_THAT(text.error(), HasSubstr("secrets, so they may know"));
  }
}

TEST(StateDirectory, LinksAndOtherThingsAreRefused) {
  const base::TempFolder folder;
  const std::string path = folder.file("state");
  const auto state = StateDirectory::open(path);
  ASSERT_TRUE(state->write("secrets", "text").has_value());
  ASSERT_EQ(symlink((path + "/secrets").c_str(), (path + "/link").c_str()), 0);
  EXPECT_THAT(state->read("link").error(), HasSubstr("link is a link"));
  ASSERT_EQ(mkdir((path + "/folder").c_str(), 0700), 0);
  EXPECT_THAT(state->read("folder").error(), HasSubstr("not a regular file"));
  ASSERT_EQ(mkfifo((path + "/pipe").c_str(), 0600), 0);
  EXPECT_THAT(state->read("pipe").error(), HasSubstr("not a regular file"));
  ASSERT_EQ(link((path + "/secrets").c_str(), folder.file("second").c_str()), 0);
  EXPECT_THAT(state->read("secrets").error(), HasSubstr("a second name"));
}

TEST(StateDirectory, AFileThatIsTooLongIsRefused) {
  const base::TempFolder folder;
  const auto state = StateDirectory::open(folder.file("state"));
  ASSERT_TRUE(state->write("tokens", std::string(StateDirectory::kFileBytesMax, 't')));
  EXPECT_EQ(text_in(state, "tokens").size(), StateDirectory::kFileBytesMax);
  ASSERT_TRUE(state->write("tokens", std::string(StateDirectory::kFileBytesMax + 1, 't')));
  EXPECT_THAT(state->read("tokens").error(), HasSubstr("longer than any file of infold"));
}

// Another process may hold the old file open, or the machine may lose power.
TEST(StateDirectory, WritingReplacesTheWholeFile) {
  const base::TempFolder folder;
  const std::string path = folder.file("state");
  const auto state = StateDirectory::open(path);
  ASSERT_TRUE(state->write("secrets", "the first text").has_value());
  std::ifstream old(path + "/secrets");
  ASSERT_TRUE(state->write("secrets", "other").has_value());
  std::string text;
  std::getline(old, text);
  EXPECT_EQ(text, "the first text");
  EXPECT_EQ(text_in(state, "secrets"), "other");
}

TEST(StateDirectory, WhatAKilledProcessLeftDoesNotMatter) {
  const base::TempFolder folder;
  const std::string path = folder.file("state");
  const std::string elsewhere = folder.file("elsewhere");
  std::ofstream(elsewhere) << "mine";
  const auto state = StateDirectory::open(path);
  ASSERT_EQ(symlink(elsewhere.c_str(), (path + "/secrets.new").c_str()), 0);
  ASSERT_TRUE(state->write("secrets", "text").has_value());
  EXPECT_EQ(text_in(state, "secrets"), "text");
  std::string text;
  std::ifstream(elsewhere) >> text;
  EXPECT_EQ(text, "mine") << "a link is never followed";
  EXPECT_FALSE(std::filesystem::exists(path + "/secrets.new"));
}

TEST(StateDirectory, TheLockIsForOneAtATime) {
  const base::TempFolder folder;
  const std::string path = folder.file("state");
  const auto state = StateDirectory::open(path);
  const io::FileDescriptor other(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  {
    const auto lock = state->lock();
    ASSERT_TRUE(lock.has_value());
    EXPECT_NE(flock(other.get(), LOCK_EX | LOCK_NB), 0);
    EXPECT_EQ(errno, EWOULDBLOCK);
  }
  EXPECT_EQ(flock(other.get(), LOCK_EX | LOCK_NB), 0) << "the lock has ended";
}

TEST(StateDirectory, IsFoundInTheEnvironment) {
  const auto with = [](const char* name, const char* value) {
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  };
  with("STATE_DIRECTORY", "/var/lib/one:/var/lib/two");
  EXPECT_EQ(StateDirectory::default_path(), "/var/lib/one");
  with("STATE_DIRECTORY", nullptr);
  with("XDG_STATE_HOME", "/some/state");
  EXPECT_EQ(StateDirectory::default_path(),
            geteuid() == 0 ? "/var/lib/infold" : "/some/state/infold");
  with("XDG_STATE_HOME", nullptr);
}

}  // namespace
}  // namespace infold::keys
