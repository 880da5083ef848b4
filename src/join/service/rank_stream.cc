// SPDX-License-Identifier: Apache-2.0
#include "join/service/rank_stream.h"

#include <utility>

#include "io/address/socket_address.h"
#include "join/service/parse_request.h"
#include "join/service/replies.h"

namespace infold::join {
namespace {

// gRPC says "ipv4:10.0.0.1:700", "ipv6:%5Bfd00::1%5D:700" and "ipv6:%5Bfe80::1%25eth0%5D:700".
io::SocketAddress address_of_uri(std::string uri) {
  for (const auto& [code, character] :
       {std::pair{"%5B", "["}, std::pair{"%5D", "]"}, std::pair{"%25", "%"}}) {
    const std::size_t place = uri.find(code);
    if (place != std::string::npos) uri.replace(place, 3, character);
  }
  const std::size_t colon = uri.find(':');
  return io::SocketAddress::parse_number(uri.substr(colon + 1), "a rank")
      .value_or(io::SocketAddress());
}

tl::unexpected<Refusal> out_of_turn() {
  return tl::unexpected<Refusal>(
      Refusal{RefusalReason::invalid, "the message does not follow the order of joining", -1});
}

}  // namespace

RankStream* RankStream::open(grpc::CallbackServerContext& context, StreamHost& host) {
  const std::shared_ptr<RankStream> stream(new RankStream(context, host));
  stream->start(stream);
  return stream.get();
}

RankStream::RankStream(grpc::CallbackServerContext& context, StreamHost& host)
    : from_(address_of_uri(context.peer())),
      address_(from_.is_set() ? limited_address(from_) : context.peer()),
      host_(host),
      context_(&context) {}

void RankStream::start(const std::shared_ptr<RankStream>& self) {
  {
    const base::MutexLock lock(mutex_);
    self_ = self;
  }
  StartSendInitialMetadata();
  const Answer<void> opened = host_.gate.open(address_);
  if (!opened) {
    if (!host_.gate.may_connect(address_)) host_.acceptor.close(from_);
    send(reply_of(opened.error()), true);
    return;
  }
  const base::MutexLock lock(mutex_);
  is_counted_ = true;
  set_alarm(hello_alarm_, host_.times.hello_max, &RankStream::give_up_on_hello);
  StartRead(&request_);
}

void RankStream::OnReadDone(bool ok) {
  if (!ok) {  // the last message has come; OnCancel() says whether the rank has gone
    part(broken_off());
    return;
  }
  if (const Answer<void> handled = handle(request_); !handled) {
    // The gate itself has reported its limits.
    if (handled.error().reason == RefusalReason::invalid) {
      host_.on_event(event_of_address(JoinEvent::refused, address_, handled.error().message));
    }
    send(reply_of(handled.error()), true);
    part(Parting::lost);
    return;
  }
  const base::MutexLock lock(mutex_);
  if (wants_finish_) return;
  request_.Clear();
  StartRead(&request_);
}

Answer<void> RankStream::handle(const v1::JoinRequest& request) {
  if (request.has_hello()) return handle_hello(request.hello());
  base::MutexLock lock(mutex_);
  const std::optional<Registrar::Entry> entry = entry_;
  lock.unlock();
  if (!entry) return out_of_turn();
  if (request.has_ready()) {
    const Answer<ReadyReport> report = parse_ready(request.ready());
    if (!report) return tl::unexpected(report.error());
    host_.registrar.ready(*entry, *report);
  } else if (request.has_leave()) {
    const Answer<Parting> parting = parse_leave(request.leave());
    if (!parting) return tl::unexpected(parting.error());
    part(*parting);
  } else if (request.has_lost()) {
    part(Parting::lost);
  } else if (request.has_transfer()) {
    const Answer<TransferNote> note = parse_transfer(request.transfer());
    if (!note) return tl::unexpected(note.error());
    if (!host_.registrar.note_call(*entry, *note)) return out_of_turn();
  } else if (request.has_transfer_size()) {
    const v1::TransferSize& size = request.transfer_size();
    const SizeNote note{size.transfer(), size.elements()};
    if (!host_.registrar.note_call(*entry, note)) return out_of_turn();
  } else {
    return out_of_turn();
  }
  return {};
}

// The rank may be gone before it has an entry.
Answer<void> RankStream::handle_hello(const v1::Hello& hello) {
  {
    const base::MutexLock lock(mutex_);
    if (std::exchange(said_hello_, true)) return out_of_turn();
  }
  if (const Answer<void> may = host_.gate.hello(address_); !may) return may;
  const Answer<Hello> parsed = parse_hello(hello, address_, from_);
  if (!parsed) return tl::unexpected(parsed.error());
  {
    const base::MutexLock lock(mutex_);
    hello_alarm_.cancel();
    through_rack_ = parsed->rack.has_value();
  }
  const Registrar::Entry entry = host_.registrar.enter(*parsed, shared_from_this());
  base::MutexLock lock(mutex_);
  entry_ = entry;
  if (!parting_) return {};
  const Parting parting = *parting_;
  lock.unlock();
  host_.registrar.leave(entry, parting);
  return {};
}

// Returns how a stream parts that ends without Leave or Lost. A rack's switch that still runs would
// have sent one of these.
Parting RankStream::broken_off() {
  const base::MutexLock lock(mutex_);
  return through_rack_ ? Parting::with_switch : Parting::lost;
}

// Only the first call counts.
void RankStream::part(const Parting& parting) {
  base::MutexLock lock(mutex_);
  if (parting_) return;
  parting_ = parting;
  if (!said_hello_) finish_soon();
  const std::optional<Registrar::Entry> entry = entry_;
  lock.unlock();
  if (entry) host_.registrar.leave(*entry, parting);
}

void RankStream::OnCancel() {
  part(broken_off());
  base::MutexLock lock(mutex_);
  replies_.clear();
  finish_soon();
  const std::optional<Registrar::Entry> entry = entry_;
  lock.unlock();
  if (entry) host_.registrar.leave(*entry, Parting::lost);  // it left, but was still needed
}

void RankStream::OnDone() {
  std::shared_ptr<RankStream> self;
  const base::MutexLock lock(mutex_);
  if (is_counted_) host_.gate.close(address_);
  context_ = nullptr;
  hello_alarm_.cancel();
  write_alarm_.cancel();
  goodbye_alarm_.cancel();
  self.swap(self_);
}

void RankStream::all_here(const JobTerms& terms) { send(reply_of(terms), false); }
void RankStream::all_ready(const std::vector<HostGroup>& groups) { send(reply_of(groups), false); }
void RankStream::refused(const Refusal& refusal) { send(reply_of(refusal), true); }
void RankStream::ended(const JobEnd& end) { send(reply_of(end), false); }

void RankStream::dismissed() {
  const base::MutexLock lock(mutex_);
  finish_soon();
}

void RankStream::send(v1::JoinReply reply, bool is_last) {
  const base::MutexLock lock(mutex_);
  if (wants_finish_ || context_ == nullptr) return;
  replies_.push_back(std::move(reply));
  is_last ? finish_soon() : pump();
}

void RankStream::finish_soon() {
  if (context_ == nullptr || std::exchange(wants_finish_, true)) return;
  set_alarm(goodbye_alarm_, host_.times.goodbye_max, &RankStream::cut);
  pump();
}

void RankStream::pump() {
  if (writes_ || finishes_) return;
  if (!replies_.empty()) {
    writes_ = true;
    reply_ = std::move(replies_.front());
    replies_.pop_front();
    set_alarm(write_alarm_, host_.times.write_max, &RankStream::cut);
    StartWrite(&reply_);
  } else if (wants_finish_) {
    finishes_ = true;
    Finish(grpc::Status::OK);
  }
}

void RankStream::OnWriteDone(bool ok) {
  const base::MutexLock lock(mutex_);
  writes_ = false;
  write_alarm_.cancel();
  if (!ok) replies_.clear();
  pump();
}

void RankStream::set_alarm(Alarm& alarm, base::Duration in, void (RankStream::*ring)()) {
  alarm.set(std::chrono::nanoseconds(in.ns),
            [self = shared_from_this(), ring] { ((*self).*ring)(); });
}

void RankStream::give_up_on_hello() {
  send(reply_of(Refusal{RefusalReason::too_late, "the stream was opened without a Hello", -1}),
       true);
}

void RankStream::cut() {
  const base::MutexLock lock(mutex_);
  if (context_ != nullptr) context_->TryCancel();
}

}  // namespace infold::join
