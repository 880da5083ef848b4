// SPDX-License-Identifier: Apache-2.0
//
// Each field of a rank's message that would reach a CHECK, or cost too much, is refused by name.
#include "join/service/parse_request.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join/messages/end_message.h"
#include "join/messages/record_message.h"

namespace infold::join::testing {
namespace {

using ::testing::HasSubstr;

v1::Hello usual() {
  v1::Hello hello;
  hello.set_protocol_version(kProtocolVersion);
  hello.set_job("job");
  hello.set_rank(1);
  hello.set_world(2);
  hello.set_datagram_bytes_max(1472);
  hello.set_small_slots(64);
  hello.set_bulk_slots(448);
  hello.set_patience_ms(20'000);
  return hello;
}

TEST(ParseHello, TakesWhatRanksOfOursSay) {
  v1::Hello hello = usual();
  hello.set_site_address("[fd00::1]:700");
  hello.set_site_weight(64);
  hello.set_host_identity("a");
  hello.set_host_meeting("b");
  hello.mutable_rack()->set_identity("life");
  hello.mutable_rack()->set_address("tor-1.example:7700");
  hello.mutable_rack()->set_sites(64);
  core::SiteRecord record;
  *hello.mutable_site_record() = message_of(record);
  record.elements_max = 32;
  *hello.mutable_rack()->mutable_record() = message_of(record);
  const Answer<Hello> parsed = parse_hello(hello, "10.0.0.1");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(parsed->site->address, "[fd00::1]:700");
  EXPECT_EQ(parsed->site->record, core::SiteRecord());
  EXPECT_EQ(parsed->rack->sites, 64U);
  EXPECT_EQ(parsed->rack->record, record);
  EXPECT_EQ(parsed->address, "10.0.0.1");
}

struct Wrong {
  std::function<void(v1::Hello&)> make;
  std::string says;
};

TEST(ParseHello, RefusesWhatNoMachineCanDo) {
  const auto site = [](const std::string& address, std::uint32_t weight) {
    return [=](v1::Hello& hello) {
      hello.set_site_address(address);
      hello.set_site_weight(weight);
    };
  };
  const auto rack = [](std::uint32_t sites, std::uint32_t elements) {
    return [=](v1::Hello& hello) {
      hello.mutable_rack()->set_identity("a");
      hello.mutable_rack()->set_sites(sites);
      core::SiteRecord record;
      record.elements_max = elements;
      *hello.mutable_rack()->mutable_record() = message_of(record);
    };
  };
  const std::vector<Wrong> all = {
      {[](v1::Hello& hello) { hello.set_protocol_version(2); }, "another version"},
      {[](v1::Hello& hello) { hello.set_job(""); }, "1 to 128 characters"},
      {[](v1::Hello& hello) { hello.set_job(std::string(129, 'x')); }, "1 to 128 characters"},
      {[](v1::Hello& hello) { hello.set_job("a\nb"); }, "control character"},
      {[](v1::Hello& hello) { hello.set_job("a\u009b31mb"); }, "control character"},
      {[](v1::Hello& hello) { hello.set_job("a\u202eb"); }, "control character"},
      {[](v1::Hello& hello) { hello.set_world(0); }, "rank 1 of 0 is out of range"},
      {[](v1::Hello& hello) { hello.set_world(1025); }, "worlds 1 to 1024"},
      {[](v1::Hello& hello) { hello.set_rank(2); }, "rank 2 of 2 is out of range"},
      {[](v1::Hello& hello) { hello.set_datagram_bytes_max(511); }, "allowed: 512 or more"},
      {[](v1::Hello& hello) { hello.set_datagram_bytes_max(65'508); }, "allowed: 65507 or less"},
      {[](v1::Hello& hello) {
         hello.set_small_slots(0);
         hello.set_bulk_slots(0);
       },
       "without slots"},
      {[](v1::Hello& hello) { hello.set_bulk_slots(32'767); }, "too many; allowed: 32767 together"},
      {[](v1::Hello& hello) { hello.set_small_slots(0xFFFFFFFF); }, "too many; allowed: 32767"},
      {[](v1::Hello& hello) { hello.set_element_bytes(9); }, "no element has 9 bytes"},
      {[](v1::Hello& hello) {
         hello.set_host_identity("a");
         hello.set_host_meeting(std::string(129, 'x'));
       },
       "at most 128 characters"},
      {site("10.0.0.1:700", 65), "weight 65; allowed: 0 to 64"},
      {site("somewhere.example:700", 1), "no host's address"},
      {site("10.0.0.1", 1), "no host's address"},
      {site("10.0.0.1:0", 1), "no host's address"},
      {site("0.0.0.0:700", 1), "no host's address"},
      {site("224.0.0.1:700", 1), "no host's address"},
      {site("[ff02::1]:700", 1), "no host's address"},
      {site("255.255.255.255:700", 1), "no host's address"},
      {rack(0, 64), "has 0 sites; allowed: 1 to 64"},
      {rack(65, 64), "has 65 sites; allowed: 1 to 64"},
      {rack(1, 31), "the rack's switch at  has elements_max of 31; a block has 32"},
      {[=](v1::Hello& hello) {
         rack(1, 64)(hello);
         hello.mutable_rack()->clear_record();
       },
       "the rack's switch at  has no record of what it can, as older versions have none"},
      {site("10.0.0.1:700", 1), "rank 1's site has no record of what it can"},
  };
  for (const Wrong& wrong : all) {
    v1::Hello hello = usual();
    wrong.make(hello);
    const Answer<Hello> parsed = parse_hello(hello, "");
    ASSERT_FALSE(parsed.has_value()) << wrong.says;
    EXPECT_EQ(parsed.error().reason, RefusalReason::invalid);
    EXPECT_THAT(parsed.error().message, HasSubstr(wrong.says));
  }
}

TEST(ParseReady, ShortensWhatOthersWillHear) {
  v1::Ready ready;
  ready.mutable_obstacle()->set_rank(1'000'000);
  std::string text(1023, 'x');
  text += "\xC3\xA4 and\nmore";  // a character of two bytes, the second of which is too much
  ready.mutable_obstacle()->set_message(text);
  const Answer<ReadyReport> report = parse_ready(ready);
  ASSERT_TRUE(report && report->obstacle);
  EXPECT_EQ(report->obstacle->rank, -1);
  EXPECT_EQ(report->obstacle->message, std::string(1023, 'x'));
  ready.mutable_obstacle()->set_message("one\ntwo");
  EXPECT_EQ(parse_ready(ready)->obstacle->message, "one two");
}

TEST(ParseTransfer, RefusesNumbersThatStandForNothing) {
  v1::Transfer usual;
  usual.set_collective(INFOLD_COLLECTIVE_BROADCAST);
  usual.set_reduction(static_cast<std::uint32_t>(core::Reduction::max));
  usual.set_format(INFOLD_FORMAT_I32);
  usual.set_type(static_cast<std::uint32_t>(core::DataType::bf16));
  usual.set_elements(1'000'000);
  usual.set_root(1023);
  usual.set_encoding(0xFFFF);
  usual.set_priority(static_cast<std::uint32_t>(core::Priority::urgent));
  usual.set_after(7);
  usual.set_sized_later(true);
  usual.set_has_codes(true);
  const Answer<TransferNote> note = parse_transfer(usual);
  ASSERT_TRUE(note.has_value()) << note.error().message;
  EXPECT_EQ(note->collective, core::Collective::broadcast);
  EXPECT_EQ(note->reduction, core::Reduction::max);
  EXPECT_EQ(note->layout.format, core::WireFormat::i32);
  EXPECT_EQ(note->layout.dtype, core::DataType::bf16);
  EXPECT_EQ(note->elements, 1'000'000U);
  EXPECT_EQ(note->root, 1023);
  EXPECT_EQ(note->encoding, 0xFFFF);
  EXPECT_EQ(note->priority, core::Priority::urgent);
  EXPECT_EQ(note->after, 7U);
  EXPECT_TRUE(note->sized_later && note->has_codes);

  const std::vector<void (*)(v1::Transfer&)> wrongs = {
      [](v1::Transfer& t) { t.set_collective(4); }, [](v1::Transfer& t) { t.set_reduction(5); },
      [](v1::Transfer& t) { t.set_format(8); },     [](v1::Transfer& t) { t.set_type(8); },
      [](v1::Transfer& t) { t.set_root(1024); },    [](v1::Transfer& t) { t.set_encoding(65'536); },
      [](v1::Transfer& t) { t.set_priority(3); }};
  for (std::size_t i = 0; i < wrongs.size(); ++i) {
    v1::Transfer transfer = usual;
    wrongs[i](transfer);
    EXPECT_FALSE(parse_transfer(transfer).has_value()) << i;
  }
}

TEST(ParseLeave, AnUnknownReasonIsNone) {
  v1::Leave leave;
  leave.set_abort("nonsense");
  EXPECT_FALSE(parse_leave(leave).has_value());
  leave = leave_of(core::Abort{core::AbortReason::mismatch, 0, 1, {}, {}});
  ASSERT_TRUE(parse_leave(leave) && parse_leave(leave)->abort);
  leave.mutable_why()->set_message("why");
  EXPECT_EQ(parse_leave(leave)->why->message, "why");
}

}  // namespace
}  // namespace infold::join::testing
