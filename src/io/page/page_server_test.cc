// SPDX-License-Identifier: Apache-2.0
//
// Clients over loopback: well-behaved ones, wrong ones, slow ones, too many at once, and some that
// stay connected until the server ends.
#include "io/page/page_server.h"

#include <array>
#include <atomic>
#include <sys/socket.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/host/clock.h"
#include "io/host/file_descriptor.h"

namespace infold::io {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kAsk = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";

class PageServerTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    PageOptions options;
    options.listen = *SocketAddress::parse(GetParam(), "test");
    options.path = "/metrics";
    options.content_type = "text/plain";
    options.write = [this] { return "page " + std::to_string(++written_) + "\n" + more_; };
    auto started = PageServer::start(options);
    ASSERT_TRUE(started.has_value()) << started.error().detail;
    server_ = std::move(*started);
  }

  FileDescriptor connection() const {
    const SocketAddress to = server_->address();
    FileDescriptor file(socket(to.data()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(file.get(), to.data(), to.bytes()), 0);
    return file;
  }
  static void say(const FileDescriptor& client, std::string_view text) {
    send(client.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  // Reads until the other end closes.
  static std::string hear(const FileDescriptor& client) {
    std::string heard;
    std::array<char, 4096> room;
    for (;;) {
      const ssize_t bytes = recv(client.get(), room.data(), room.size(), 0);
      if (bytes <= 0) return heard;
      heard.append(room.data(), static_cast<std::size_t>(bytes));
    }
  }
  std::string ask(std::string_view text) const {
    const FileDescriptor client = connection();
    say(client, text);
    return hear(client);
  }

  std::atomic<int> written_{0};
  std::string more_;
  std::unique_ptr<PageServer> server_;
};

TEST_P(PageServerTest, HandsThePageToWhoeverAsks) {
  EXPECT_THAT(ask(kAsk), HasSubstr("\r\n\r\npage 1\n"));
  EXPECT_THAT(ask("POST /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(ask("GET /else HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404"));
  EXPECT_EQ(written_, 1);
}

TEST_P(PageServerTest, WritesAPageOnceForAllWhoAskAtATime) {
  const base::Instant begun = monotonic_now();
  int answers = 0;
  for (; monotonic_now() - begun < base::milliseconds(300); ++answers) {
    EXPECT_THAT(ask(kAsk), StartsWith("HTTP/1.1 200"));
  }
  EXPECT_GT(answers, 10);
  EXPECT_GE(written_, 2);
  EXPECT_LE(written_, 2 + (monotonic_now() - begun).ns / 100'000'000);
}

TEST_P(PageServerTest, TakesARequestInPieces) {
  const FileDescriptor client = connection();
  for (const char each : kAsk) say(client, {&each, 1});
  EXPECT_THAT(hear(client), HasSubstr("page 1\n"));
}

TEST_P(PageServerTest, SendsAPageThatFitsNoBuffer) {
  more_ = std::string(8 << 20, 'x');
  const FileDescriptor slow = connection();
  say(slow, kAsk);
  // Meanwhile the server serves other clients.
  EXPECT_THAT(ask("GET /else HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404"));
  const std::string heard = hear(slow);
  EXPECT_EQ(heard.size() - heard.find("\r\n\r\n"), 4 + 7 + more_.size());
}

// A client gets its answer even though it goes on sending.
TEST_P(PageServerTest, EndsARequestThatIsTooLong) {
  EXPECT_THAT(ask(std::string(20'000, 'a')), StartsWith("HTTP/1.1 431"));
}

TEST_P(PageServerTest, CutsOffWhoIsSlow) {
  const FileDescriptor slow = connection();
  say(slow, "GET /metr");
  const base::Instant begun = monotonic_now();
  EXPECT_EQ(hear(slow), "");
  EXPECT_GE(monotonic_now() - begun, base::seconds(4));
}

TEST_P(PageServerTest, ServesWhoAsksWhileOthersHoldAllItsConnections) {
  std::vector<FileDescriptor> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(connection());
  EXPECT_THAT(ask(kAsk), HasSubstr("page 1\n"));
}

TEST_P(PageServerTest, EndsWithClientsStillThere) {
  const FileDescriptor silent = connection();
  const SocketAddress address = server_->address();
  server_.reset();
  EXPECT_EQ(hear(silent), "");
  // The address can be bound again at once.
  PageOptions options;
  options.listen = address;
  EXPECT_TRUE(PageServer::start(options).has_value());
}

TEST_P(PageServerTest, ATakenAddressIsRefused) {
  PageOptions options;
  options.listen = server_->address();
  const auto second = PageServer::start(options);
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().detail, HasSubstr("in use"));
}

INSTANTIATE_TEST_SUITE_P(Families, PageServerTest, testing::Values("127.0.0.1:0", "[::1]:0"),
                         [](const auto& each) {
                           return std::string(each.param[0] == '[' ? "V6" : "V4");
                         });

}  // namespace
}  // namespace infold::io
