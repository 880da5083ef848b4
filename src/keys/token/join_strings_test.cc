// SPDX-License-Identifier: Apache-2.0
#include "keys/token/join_strings.h"

#include <fstream>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temp_folder_testing.h"
#include "keys/base64.h"
#include "keys/token/token.h"

namespace infold::keys {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class JoinStrings : public ::testing::Test {
 protected:
  std::string file(const std::string& text, mode_t mode = 0600) const {
    const std::string path = folder_.file("switches");
    std::ofstream(path) << text;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return "@" + path;
  }
  static std::vector<std::string> places(const std::vector<std::string>& list) {
    const auto strings = read_join_strings(list);
    if (!strings) return {"error: " + strings.error()};
    std::vector<std::string> all;
    for (const JoinString& each : *strings)
      all.push_back(each.place + (each.has_keys() ? "#" : ""));
    return all;
  }

  const base::TempFolder folder_;
  const std::string token_ = *make_token({.id = 1}, Secret());
  const std::string secret_ = "#" + base64_of(std::string(32, '\x5a')) + "." + token_;
};

TEST_F(JoinStrings, AreReadFromFilesAndFromTheListItself) {
  const std::string path =
      file("# the switches of this cluster\n  a:1" + secret_ + ",b:2\n\n c:3 \n");
  EXPECT_THAT(places({path, "d:4"}), ElementsAre("a:1#", "b:2", "c:3", "d:4"));
}

TEST_F(JoinStrings, AFileWithKeysIsNotForAllUsers) {
  EXPECT_THAT(places({file("a:1" + secret_, 0644)}).front(),
              HasSubstr("which holds keys: chmod o= "));
  EXPECT_THAT(places({file("a:1" + secret_, 0640)}), ElementsAre("a:1#"));
  EXPECT_THAT(places({file("a:1", 0644)}), ElementsAre("a:1"));
}

TEST_F(JoinStrings, ErrorsNameTheFaultAndNoKeys) {
  EXPECT_THAT(places({"@" + folder_.file("none")}).front(), HasSubstr("No such file"));
  EXPECT_THAT(places({"@" + folder_.file(".")}).front(), HasSubstr("is not a regular file"));
  EXPECT_THAT(places({file("# nothing\n")}).front(), HasSubstr("names no switch"));
  EXPECT_THAT(places({file(std::string(65 << 10, 'a'))}).front(), HasSubstr("longer than a list"));
  const std::string cut = places({"a:1" + secret_.substr(0, secret_.size() - 1)}).front();
  EXPECT_THAT(cut, HasSubstr("'a:1' has a token that is not complete"));
  EXPECT_THAT(cut, Not(HasSubstr(token_.substr(0, 10))));
}

// Nobody writes to this pipe, so a wait for its other end would not be over.
TEST_F(JoinStrings, APipeIsRefusedWithoutAWait) {
  const std::string path = folder_.file("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(places({"@" + path}).front(),
            "error: " + path + " is not a regular file, which could be read again later");
}

TEST(SplitJoinStrings, LeavesOutWhatIsEmpty) {
  EXPECT_THAT(split_join_strings(",a:1,,b:2,"), ElementsAre("a:1", "b:2"));
}

}  // namespace
}  // namespace infold::keys
