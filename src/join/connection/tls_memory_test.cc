// SPDX-License-Identifier: Apache-2.0
//
// The memory of a switch's session stays within the constants that the switch states, in the worst
// state that we know for each of its phases.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <malloc.h>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/crypto.h>

#include "join/connection/tls_testing.h"

namespace infold::join::testing {
namespace {

constexpr std::size_t kHeadBytes = sizeof(void*);  // of a block, which the allocator adds

struct Counted {
  std::size_t now = 0, most = 0;
  void add(void* block) {
    if (block == nullptr) return;
    now += malloc_usable_size(block) + kHeadBytes;
    most = std::max(most, now);
  }
  void take(void* block) {
    if (block != nullptr) now -= malloc_usable_size(block) + kHeadBytes;
  }
} counted;

void* counted_malloc(std::size_t bytes, const char*, int) {
  void* const block = std::malloc(bytes);
  counted.add(block);
  return block;
}
void* counted_realloc(void* block, std::size_t bytes, const char*, int) {
  counted.take(block);
  void* const moved = std::realloc(block, bytes);
  counted.add(moved == nullptr ? block : moved);
  return moved;
}
void counted_free(void* block, const char*, int) {
  counted.take(block);
  std::free(block);
}

// OpenSSL takes these functions only before it has allocated anything.
const bool kCounts =
    CRYPTO_set_mem_functions(&counted_malloc, &counted_realloc, &counted_free) == 1;

// Returns the bytes that a session holds beside OpenSSL's share.
std::size_t own_bytes(const TlsSession& session) {
  return sizeof(TlsSession) + session.output().size() + session.waiting_bytes();
}

const std::string kRecordThatHasBegun = [] {
  constexpr std::size_t kLength = TlsSession::kRankRecordBytesMax;
  std::string record = {23, 3, 3, static_cast<char>(kLength >> 8),
                        static_cast<char>(kLength & 255)};
  record.resize(TlsRecords::kHeadBytes + kLength - 1, 'x');
  return record;
}();

class TlsMemory : public ::testing::Test {
 protected:
  TlsMemory() {
    EXPECT_TRUE(kCounts);
    RawEnd first;  // what OpenSSL keeps for all sessions
    const auto session = TlsSession::of_switch(**context_);
    EXPECT_TRUE(first.meet(*session));
    received(*session, first.change_keys(true));
  }
  const base::Result<std::shared_ptr<const TlsContext>> context_ =
      TlsContext::of_switch(own_identity());
};

TEST_F(TlsMemory, OfAnOpenSessionIsWithinWhatIsStated) {
  RawEnd own;
  std::string bytes_of_rank = own.answer();
  const std::size_t before = counted.now;
  const auto session = TlsSession::of_switch(**context_);
  std::size_t of_rank = 0;  // what the rank's end takes meanwhile
  while (!bytes_of_rank.empty()) {
    received(*session, bytes_of_rank);
    const std::string answer = taken_output(*session);
    const std::size_t then = counted.now;
    bytes_of_rank = own.answer(answer);
    of_rank += counted.now - then;
  }
  ASSERT_TRUE(session->is_open());
  for (int i = 0; i < TlsSession::kLaterMessagesMax; ++i) {
    const std::size_t then = counted.now;
    const std::string update = own.change_keys(true);
    of_rank += counted.now - then;
    received(*session, update);
  }
  session->send(std::string(TlsSession::kSendBytesMax, 'x'));
  received(*session, kRecordThatHasBegun);
  ASSERT_EQ(session->fault(), TlsFault::none);
  const std::size_t bytes = counted.now - before - of_rank + own_bytes(*session);
  RecordProperty("bytes", std::to_string(bytes));
  EXPECT_LE(bytes, TlsSession::kOpenMemory);
  EXPECT_GT(bytes, TlsSession::kOpenMemory / 2) << "the constant is far too large";
}

// The rank has sent its ClientHello as slowly and as large as it may, and does not answer.
TEST_F(TlsMemory, OfAHandshakeIsWithinWhatIsStated) {
  RawEnd rank;
  std::string hello = rank.answer();
  const std::size_t before = counted.now;
  const auto session = TlsSession::of_switch(**context_);
  counted.most = counted.now;
  received(*session, hello);
  EXPECT_GT(session->output().size(), 500U);
  received(*session, kRecordThatHasBegun);
  ASSERT_EQ(session->fault(), TlsFault::none);
  const std::size_t bytes = counted.now - before + own_bytes(*session);
  const std::size_t most = counted.most - before + own_bytes(*session);
  RecordProperty("bytes", std::to_string(bytes));
  RecordProperty("most", std::to_string(most));
  EXPECT_LE(bytes, TlsSession::kHandshakeMemory);
  EXPECT_LE(most, 2 * TlsSession::kHandshakeMemory) << "only one session at a time";
}

TEST_F(TlsMemory, OfAHelloInFragmentsIsWithinWhatIsStated) {
  const std::size_t before = counted.now;
  const auto session = TlsSession::of_switch(**context_);
  // A ClientHello of the greatest length that is allowed.
  std::string record = {22, 3, 1, 16, 0, 1, 0, TlsSession::kHelloBytesMax >> 8, 0};
  record.resize(TlsRecords::kHeadBytes + 4096, 'x');
  std::size_t most = 0;
  for (int i = 0; i < 2; ++i) {
    received(*session, record);
    std::fill(record.begin() + TlsRecords::kHeadBytes, record.end(), 'x');
    most = std::max(most, counted.now - before + own_bytes(*session));
  }
  ASSERT_EQ(session->fault(), TlsFault::none);
  RecordProperty("bytes", std::to_string(most));
  EXPECT_LE(most, TlsSession::kHandshakeMemory);
}

TEST_F(TlsMemory, IsGivenBack) {
  RawEnd rank;
  const std::string hello = rank.answer();
  const std::size_t before = counted.now;
  for (int i = 0; i < 10; ++i) {
    const auto session = TlsSession::of_switch(**context_);
    received(*session, hello);
  }
  EXPECT_EQ(counted.now, before);
}

}  // namespace
}  // namespace infold::join::testing
