// SPDX-License-Identifier: Apache-2.0
//
// Bytes become what a stranger sends on one connection, in pieces, with time between them and
// answers of a registrar in any order. Invariants: what the server holds is bounded, every deadline
// moves or ends the connection, the registrar hears of each entry's end, and nothing stays counted
// once the connection is closed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "join/registry/fuzzing.h"
#include "join/service/door/first_contact.h"
#include "join/service/parse_request.h"
#include "join/service/rank_conversation.h"

namespace infold::join::fuzzing {
namespace {

const std::string kAddress = "10.0.0.1";
constexpr std::size_t kOutputMax = 1 << 10;  // of a door, to one connection

// Lets the rank enter, and checks that its calls follow one another.
class OneRank final : public Registrar {
 public:
  Entry enter(const Hello&, std::shared_ptr<RankListener> heard) override {
    CHECK(!listener);
    listener = std::move(heard);
    return Entry{1};
  }
  void ready(Entry entry, const ReadyReport&) override { CHECK(entry == Entry{1}); }
  void leave(Entry entry, const Parting&) override {
    CHECK(listener && entry == Entry{1});
    has_left = true;
  }
  bool note_call(Entry, const CallNote&) override { return takes_notes; }
  void stop() override {}
  std::vector<JobMetrics> status() const override { return {}; }

  std::shared_ptr<RankListener> listener;
  bool has_left = false;
  bool takes_notes = false;
};

class Run {
 public:
  explicit Run(Choices choices) : choices_(choices) {}

  void all() {
    CHECK(host_.gate.open(kAddress).has_value());
    meet();
    if (conversation_) {
      while (choices_.are_left() && wish() != Conversation::Wish::close) step();
      conversation_->closed();
      CHECK(!registrar_.listener || registrar_.has_left);
      answer();  // a registrar may be late
    } else {
      host_.gate.close(kAddress);
    }
    CHECK(host_.gate.open(kAddress).has_value());
    CHECK(host_.gate.hold_reply(kAddress, kReplyBytesMax).has_value());
  }

 private:
  static constexpr std::uint32_t kReplyBytesMax = 1 << 20;

  // The door listens until the Hello.
  void meet() {
    FirstContact contact;
    while (choices_.are_left()) {
      const auto bytes = choices_.some();
      const FirstContact::Step step =
          contact.receive({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      CHECK(contact.take_output().size() <= kOutputMax);
      if (step == FirstContact::Step::is_refused) {
        CHECK(!contact.reason().empty());
        return;
      }
      if (step == FirstContact::Step::listens) continue;
      Arrival arrival;
      arrival.from = *io::SocketAddress::parse_number(kAddress + ":5000", "fuzz");
      arrival.address = kAddress;
      arrival.hello = std::move(contact.hello());
      arrival.rest = contact.take_rest();
      conversation_ = std::make_shared<RankConversation>(arrival, host_);
      conversation_->begin([] {}, now_);
      return;
    }
  }

  Conversation::Wish wish() { return conversation_->wish(); }

  void step() {
    switch (choices_.below(6)) {
      case 0:
      case 1: receive(); return;
      case 2: answer(); return;
      case 3: send(); return;
      case 4: pass(); return;
      default: conversation_->hear_end(choices_.below(2) == 0 ? "" : "reset");
    }
  }

  void receive() {
    const auto bytes = choices_.some();
    const std::size_t room = conversation_->room(now_);
    CHECK(room <= kRequestBytesMax + kLengthBytes);
    const std::size_t count = std::min(room, bytes.size());
    if (count == 0) return;
    conversation_->receive({reinterpret_cast<const char*>(bytes.data()), count}, now_);
  }

  void answer() {
    if (!registrar_.listener) return;
    JobTerms terms;
    terms.world = 2;
    switch (choices_.below(5)) {
      case 0: registrar_.listener->all_here(terms); return;
      case 1: registrar_.listener->all_ready({}); return;
      case 2: registrar_.listener->refused({RefusalReason::full, "no room", -1}); return;
      case 3: registrar_.listener->ended({}); return;
      default: registrar_.listener->dismissed();
    }
    registrar_.takes_notes = choices_.below(2) == 0;
  }

  void send() {
    const std::string_view output = conversation_->output(now_);
    CHECK(output.size() <= kReplyBytesMax);
    if (output.empty()) return;
    const std::size_t wanted = 1 + choices_.byte();
    conversation_->sent(std::min(output.size(), wanted), now_);
  }

  void pass() {
    now_ = now_ + base::milliseconds(choices_.of<5>({1, 10, 1'000, 4'000, 11'000}));
    if (conversation_->deadline() > now_) return;
    conversation_->pass(now_);
    CHECK(wish() == Conversation::Wish::close || conversation_->deadline() > now_);
  }

  Choices choices_;
  base::Instant now_{1};
  OneRank registrar_;
  ConversationHost host_{registrar_,
                         ConnectionGate({.connections_max = 1,
                                         .connections_of_address_max = 1,
                                         .reply_bytes_max = kReplyBytesMax,
                                         .reply_bytes_of_address_max = kReplyBytesMax},
                                        [](const JoinEvent&) {}),
                         ConversationTimes{}, [](const JoinEvent&) {}};
  std::shared_ptr<RankConversation> conversation_;
};

}  // namespace
}  // namespace infold::join::fuzzing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace infold::join::fuzzing;
  Run(Choices({data, size})).all();
  return 0;
}
