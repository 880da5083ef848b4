// SPDX-License-Identifier: Apache-2.0
//
// The server's end of the connection of a rank that has said Hello: passes the rank's messages to a
// registrar, and the answers to the rank. It never waits for a rank: a rank that does not take an
// answer in time is cut off.
//
// What a rank sends is read no faster than its address may send; but each connection may always
// send a little, so that the keepalives of a living job are answered at once, whatever its
// neighbours do.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/instant.h"
#include "base/mutex.h"
#include "join/connection/conversation.h"
#include "join/connection/frames.h"
#include "join/rank_listener.h"
#include "join/service/connection_gate.h"
#include "join/service/door/front_door.h"
#include "join/service/token_check.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join {

struct ConversationTimes {
  base::Duration silence_max = base::seconds(10);  // without even a keepalive
  base::Duration write_max = base::seconds(5);     // until the rank takes something
  base::Duration goodbye_max = base::seconds(5);   // for the rank to end its direction
};

// All conversations of a server share this. It outlives their connections.
struct ConversationHost {
  Registrar& registrar;
  ConnectionGate gate;
  ConversationTimes times;
  EventListener on_event;  // hears of refusals that no registrar makes
  TokenCheck tokens = TokenCheck();
};

class RankConversation final : public Conversation,
                               public RankListener,
                               public std::enable_shared_from_this<RankConversation> {
 public:
  RankConversation(Arrival& arrival, ConversationHost& host);

  void begin(Waker waker, base::Instant now) override;
  void closed() override;
  std::size_t room(base::Instant now) override;
  void receive(std::string_view bytes, base::Instant now) override;
  void note_overhead(std::size_t bytes, base::Instant now) override;
  void hear_end(const std::string& why) override;
  std::string_view output(base::Instant now) override;
  void sent(std::size_t bytes, base::Instant now) override;
  base::Instant deadline() override;
  void pass(base::Instant now) override;
  Wish wish() override;

  void all_here(const JobTerms& terms) override;
  void all_ready(const std::vector<HostGroup>& groups) override;
  void refused(const Refusal& refusal) override;
  void ended(const JobEnd& end) override;
  void dismissed() override;

 private:
  void read(std::string_view bytes);
  Answer<void> handle(const v1::JoinRequest& request);
  Answer<void> enter(const v1::Hello& hello);
  void refuse(const Refusal& refusal);
  void part(const Parting& parting);
  Parting broken_off() const;
  void send(const v1::JoinReply& reply, bool is_last);
  void finish();
  void refill(base::Instant now);

  const io::SocketAddress from_;
  const std::string address_;

  // Only the loop's thread uses these, except for the account, which does not change once a
  // registrar knows the rank.
  std::string account_;  // for which the gate counts: the address, or the token's
  ConversationHost& host_;
  v1::JoinRequest hello_;
  std::string rest_;  // what came with the Hello
  FrameReader reader_;
  std::optional<Registrar::Entry> entry_;
  std::optional<Parting> parting_;
  bool through_rack_ = false;
  bool owes_keepalive_ = false;
  std::string sending_;         // a frame
  std::size_t sent_ = 0;        // bytes of it
  std::size_t held_bytes_ = 0;  // that the gate counts for it
  double allowance_;            // bytes that it may send whatever its address does
  base::Instant refilled_at_;
  base::Instant heard_at_;
  base::Instant writes_since_ = base::Instant::never();
  base::Instant finishes_since_ = base::Instant::never();

  // The registrar's threads use these as well.
  base::Mutex mutex_;
  Waker waker_ GUARDED_BY(mutex_);  // empty once the connection is closed
  std::deque<std::string> replies_ GUARDED_BY(mutex_);
  bool wants_finish_ GUARDED_BY(mutex_) = false;
  bool wants_close_ GUARDED_BY(mutex_) = false;
};

}  // namespace infold::join
