// SPDX-License-Identifier: Apache-2.0
#include "join/service/rank_conversation.h"

#include <algorithm>
#include <utility>

#include "join/refusals.h"
#include "join/service/door/first_contact.h"
#include "join/service/parse_request.h"
#include "join/service/replies.h"

namespace infold::join {
namespace {

// A keepalive of 4 bytes comes every 5 s, and a Ready has some dozens.
constexpr double kAllowance = 8 << 10;
constexpr double kAllowancePerSecond = 1 << 10;
constexpr std::size_t kRoom = kRequestBytesMax + kLengthBytes;

tl::unexpected<Refusal> out_of_turn() { return refused(sentences::kOutOfTurn); }

}  // namespace

RankConversation::RankConversation(Arrival& arrival, ConversationHost& host)
    : from_(arrival.from),
      address_(arrival.address),
      account_(address_),
      host_(host),
      hello_(std::move(arrival.hello)),
      rest_(std::move(arrival.rest)),
      reader_(kRequestBytesMax),
      allowance_(kAllowance) {}

void RankConversation::begin(Waker waker, base::Instant now) {
  {
    const base::MutexLock lock(mutex_);
    waker_ = std::move(waker);
  }
  heard_at_ = refilled_at_ = now;
  if (const Answer<void> entered = enter(hello_.hello()); !entered) {
    refuse(entered.error());
  } else {
    read(rest_);
  }
  hello_.Clear();
  std::string().swap(rest_);
}

// The rank may have left, but was still needed.
void RankConversation::closed() {
  part(broken_off());
  if (entry_) host_.registrar.leave(*entry_, Parting::lost);
  std::size_t bytes = held_bytes_;
  {
    const base::MutexLock lock(mutex_);
    waker_ = nullptr;
    for (const std::string& reply : replies_) bytes += reply.size();
    replies_.clear();
  }
  host_.gate.release_reply(account_, bytes);
  host_.gate.close(account_);
}

std::size_t RankConversation::room(base::Instant now) {
  refill(now);
  if (allowance_ >= 1) return std::min(kRoom, static_cast<std::size_t>(allowance_));
  return host_.gate.may_send(account_, now) ? kRoom : 0;
}

void RankConversation::refill(base::Instant now) {
  const double seconds = static_cast<double>((now - refilled_at_).ns) * 1e-9;
  allowance_ = std::min(allowance_ + seconds * kAllowancePerSecond, kAllowance);
  refilled_at_ = now;
}

void RankConversation::receive(std::string_view bytes, base::Instant now) {
  heard_at_ = now;
  note_overhead(bytes.size(), now);
  read(bytes);
}

void RankConversation::note_overhead(std::size_t bytes, base::Instant now) {
  const auto count = static_cast<double>(bytes);
  if (count <= allowance_) {
    allowance_ -= count;
  } else {
    host_.gate.note_sent(account_, bytes, now);
  }
}

void RankConversation::read(std::string_view bytes) {
  while (wish() == Wish::talk) {
    const FrameReader::Frame frame = reader_.next(bytes);
    if (!frame) return refuse(no_message(frame.error().length));
    if (!*frame) return;
    if ((*frame)->empty()) {
      owes_keepalive_ = true;
      continue;
    }
    v1::JoinRequest request;
    Answer<void> handled = out_of_turn();
    if (read_message(**frame, request)) handled = handle(request);
    if (!handled) return refuse(handled.error());
  }
}

Answer<void> RankConversation::handle(const v1::JoinRequest& request) {
  if (parting_) return {};  // nothing that it says matters any more
  if (request.has_ready()) {
    const Answer<ReadyReport> report = parse_ready(request.ready());
    if (!report) return tl::unexpected(report.error());
    host_.registrar.ready(*entry_, *report);
  } else if (request.has_leave()) {
    const Answer<Parting> parting = parse_leave(request.leave());
    if (!parting) return tl::unexpected(parting.error());
    part(*parting);
  } else if (request.has_lost()) {
    part(Parting::lost);
  } else if (request.has_transfer()) {
    const Answer<TransferNote> note = parse_transfer(request.transfer());
    if (!note) return tl::unexpected(note.error());
    if (!host_.registrar.note_call(*entry_, *note)) return out_of_turn();
  } else if (request.has_transfer_size()) {
    const v1::TransferSize& size = request.transfer_size();
    const SizeNote note{size.transfer(), size.elements()};
    if (!host_.registrar.note_call(*entry_, note)) return out_of_turn();
  } else {
    return out_of_turn();
  }
  return {};
}

Answer<void> RankConversation::enter(const v1::Hello& hello) {
  const Answer<std::optional<keys::Grant>> grant = host_.tokens.check(hello);
  if (!grant) return tl::unexpected(grant.error());
  if (*grant) {
    account_ = account_of(**grant);
    host_.gate.move(address_, account_);
  }
  if (const Answer<void> may = host_.gate.hello(account_); !may) return may;
  Answer<Hello> parsed = parse_hello(hello, address_, from_);
  if (!parsed) return tl::unexpected(parsed.error());
  parsed->grant = *grant;
  through_rack_ = parsed->rack.has_value();
  entry_ = host_.registrar.enter(*parsed, shared_from_this());
  return {};
}

// The gate tells of its limits itself.
void RankConversation::refuse(const Refusal& refusal) {
  if (refusal.reason == RefusalReason::invalid || refusal.reason == RefusalReason::not_permitted) {
    host_.on_event(event_of_address(JoinEvent::refused, address_, refusal.message));
  }
  send(reply_of(refusal), true);
  part(Parting::lost);
}

// A connection that ends without Leave or Lost. A rack's switch that lives would send one of them.
Parting RankConversation::broken_off() const {
  return through_rack_ ? Parting::with_switch : Parting::lost;
}

// The first call counts.
void RankConversation::part(const Parting& parting) {
  if (parting_) return;
  parting_ = parting;
  if (entry_) host_.registrar.leave(*entry_, parting);
}

void RankConversation::hear_end(const std::string& why) {
  part(broken_off());
  if (why.empty() && entry_) return;
  const base::MutexLock lock(mutex_);
  wants_close_ = true;
}

std::string_view RankConversation::output(base::Instant now) {
  if (finishes_since_ == base::Instant::never() && wish() == Wish::finish) finishes_since_ = now;
  if (sending_.empty()) {
    const base::MutexLock lock(mutex_);
    if (!replies_.empty()) {
      sending_ = std::move(replies_.front());
      held_bytes_ = sending_.size();
      replies_.pop_front();
    }
  }
  if (sending_.empty() && std::exchange(owes_keepalive_, false)) sending_ = keepalive();
  if (!sending_.empty() && writes_since_ == base::Instant::never()) writes_since_ = now;
  return std::string_view(sending_).substr(sent_);
}

void RankConversation::sent(std::size_t bytes, base::Instant now) {
  sent_ += bytes;
  writes_since_ = now;
  if (sent_ < sending_.size()) return;
  host_.gate.release_reply(account_, std::exchange(held_bytes_, 0));
  std::string().swap(sending_);
  sent_ = 0;
  writes_since_ = base::Instant::never();
}

base::Instant RankConversation::deadline() {
  base::Instant next = heard_at_ + host_.times.silence_max;
  if (writes_since_ != base::Instant::never()) {
    next = std::min(next, writes_since_ + host_.times.write_max);
  }
  if (finishes_since_ != base::Instant::never()) {
    next = std::min(next, finishes_since_ + host_.times.goodbye_max);
  }
  return next;
}

void RankConversation::pass(base::Instant now) {
  if (deadline() > now) return;
  const base::MutexLock lock(mutex_);
  wants_close_ = true;
}

Conversation::Wish RankConversation::wish() {
  const base::MutexLock lock(mutex_);
  if (wants_close_) return Wish::close;
  return wants_finish_ ? Wish::finish : Wish::talk;
}

void RankConversation::all_here(const JobTerms& terms) { send(reply_of(terms), false); }
void RankConversation::all_ready(const std::vector<HostGroup>& groups) {
  send(reply_of(groups), false);
}
void RankConversation::refused(const Refusal& refusal) { send(reply_of(refusal), true); }
void RankConversation::ended(const JobEnd& end) { send(reply_of(end), false); }

void RankConversation::dismissed() { finish(); }

// Any thread.
void RankConversation::send(const v1::JoinReply& reply, bool is_last) {
  std::string frame = frame_of(reply);
  const base::MutexLock lock(mutex_);
  if (!waker_ || wants_finish_ || wants_close_) return;
  if (host_.gate.hold_reply(account_, frame.size())) {
    replies_.push_back(std::move(frame));
    wants_finish_ = is_last;
  } else {
    wants_close_ = true;
  }
  waker_();
}

void RankConversation::finish() {
  const base::MutexLock lock(mutex_);
  wants_finish_ = true;
  if (waker_) waker_();
}

}  // namespace infold::join
