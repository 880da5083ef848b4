// SPDX-License-Identifier: Apache-2.0
//
// One lock guards a stream's state, and is never held while the stream's listener is called. The
// stream's object lives until gRPC has called OnDone(), even if its owner has gone.
#include "join/client/job_stream.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>

#include <fmt/format.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include "base/mutex.h"
#include "join/alarm.h"
#include "join/client/answer_reader.h"
#include "join/messages/end_message.h"
#include "join/messages/record_message.h"
#include "join/messages/refusal_message.h"
#include "proto/infold/v1/control.grpc.pb.h"

namespace infold::join {
namespace {

using Clock = std::chrono::steady_clock;

// Longer than the other side lingers for ranks that still need this one.
constexpr auto kGoodbye = std::chrono::milliseconds(2500);
// While joining, no other rank needs this one.
constexpr auto kEarlyGoodbye = std::chrono::milliseconds(400);

grpc::ChannelArguments arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // Despite its name, this limits an attempt and its handshake, which take long on a busy host.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 5'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(kAnswerBytesMax);
  return arguments;
}

v1::JoinRequest hello_request(const Hello& hello) {
  v1::JoinRequest request;
  v1::Hello& message = *request.mutable_hello();
  message.set_protocol_version(kProtocolVersion);
  message.set_job(hello.job);
  message.set_rank(hello.rank);
  message.set_world(hello.world);
  message.set_datagram_bytes_max(hello.datagram_bytes_max);
  message.set_small_slots(hello.small_slots);
  message.set_bulk_slots(hello.bulk_slots);
  if (hello.site) {
    message.set_site_address(hello.site->address);
    message.set_site_weight(hello.site->weight);
    *message.mutable_site_record() = message_of(hello.site->record);
  }
  if (hello.host) {
    message.set_host_identity(hello.host->identity);
    message.set_host_meeting(hello.host->meeting);
  }
  message.set_element_bytes(hello.element_bytes);
  message.set_always_shares(hello.always_shares);
  message.set_wants_native(hello.wants_native);
  message.set_takes_brief(hello.takes_brief);
  message.set_patience_ms(static_cast<std::uint32_t>(hello.patience.count()));
  if (hello.rack) {
    v1::RackSwitch& rack = *message.mutable_rack();
    rack.set_identity(hello.rack->identity);
    rack.set_address(hello.rack->address);
    rack.set_sites(hello.rack->sites);
    *rack.mutable_record() = message_of(hello.rack->record);
    if (hello.rack->source.is_set()) rack.set_source(hello.rack->source.host_text_elsewhere());
  }
  if (hello.source.is_set()) message.set_source(hello.source.host_text_elsewhere());
  return request;
}

v1::JoinRequest ready_request(const ReadyReport& report) {
  v1::JoinRequest request;
  v1::Ready& ready = *request.mutable_ready();
  ready.set_shares_memory(report.shares_memory);
  ready.set_site_order(report.site_order);
  if (report.verifies) ready.set_verifies(*report.verifies);
  ready.set_calls_finished(report.calls_finished);
  ready.set_calls_beyond(report.calls_beyond);
  if (report.obstacle) *ready.mutable_obstacle() = refused_of(*report.obstacle);
  return request;
}

v1::JoinRequest leave_request(const Parting& parting) {
  v1::JoinRequest request;
  if (parting.way == Parting::lost) {
    request.mutable_lost();
    return request;
  }
  *request.mutable_leave() = leave_of(parting.abort);
  if (parting.why) *request.mutable_leave()->mutable_why() = refused_of(*parting.why);
  return request;
}

v1::JoinRequest note_request(const CallNote& note) {
  v1::JoinRequest request;
  if (const auto* const size = std::get_if<SizeNote>(&note)) {
    request.mutable_transfer_size()->set_transfer(size->transfer);
    request.mutable_transfer_size()->set_elements(size->elements);
    return request;
  }
  const auto& begun = std::get<TransferNote>(note);
  v1::Transfer& transfer = *request.mutable_transfer();
  transfer.set_collective(static_cast<std::uint32_t>(begun.collective));
  transfer.set_reduction(static_cast<std::uint32_t>(begun.reduction));
  transfer.set_format(static_cast<std::uint32_t>(begun.layout.format));
  transfer.set_type(static_cast<std::uint32_t>(begun.layout.dtype));
  transfer.set_elements(begun.elements);
  transfer.set_root(begun.root);
  transfer.set_encoding(begun.encoding);
  transfer.set_priority(static_cast<std::uint32_t>(begun.priority));
  transfer.set_after(begun.after);
  transfer.set_sized_later(begun.sized_later);
  transfer.set_has_codes(begun.has_codes);
  return request;
}

}  // namespace

Refusal no_answer(const std::string& host, const std::string& question, double seconds) {
  return {RefusalReason::too_late,
          fmt::format("no answer from {} for {:.1f} s: {}, and does a firewall let TCP through?",
                      host, seconds, question),
          -1};
}

// A target is a part of a URI, in which the % before a link's name would begin an escape.
std::shared_ptr<grpc::Channel> channel_to(const std::string& address) {
  std::string target = address;
  if (const std::size_t at = target.find('%'); at != std::string::npos) {
    target.replace(at, 1, "%25");
  }
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments());
}

std::shared_ptr<grpc::Channel> channel_over(int connected_socket) {
  return grpc::CreateCustomInsecureChannelFromFd("rank", connected_socket, arguments());
}

// The stream as gRPC sees it. Destroys itself when gRPC is done with it.
class JobStream::Call final : public grpc::ClientBidiReactor<v1::JoinRequest, v1::JoinReply> {
 public:
  Call(const std::shared_ptr<grpc::Channel>& channel, State* state)
      : stub_(v1::Control::NewStub(channel)) {
    state_.store(state);
    context_.set_wait_for_ready(true);
    stub_->async()->Join(&context_, this);
    AddHold();  // for messages that are sent from outside of gRPC's calls
  }
  void cancel() { context_.TryCancel(); }

  void OnReadInitialMetadataDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  // Atomic because ThreadSanitizer does not see gRPC's own synchronisation.
  std::atomic<State*> state_ = nullptr;
  std::unique_ptr<v1::Control::Stub> stub_;
  grpc::ClientContext context_;
};

class JobStream::State : public std::enable_shared_from_this<State> {
 public:
  State(const Options& options, std::shared_ptr<RankListener> listener)
      : options_(options),
        opened_(Clock::now()),
        listener_(std::move(listener)),
        reader_(options.hello, options.host) {}

  void open(const std::shared_ptr<grpc::Channel>& channel) {
    const base::MutexLock lock(mutex_);
    keeps_ = shared_from_this();
    call_ = new Call(channel, this);
    say(hello_request(options_.hello));
    call_->StartRead(&reply_);
    set_alarm(connect_alarm_, options_.connects_by, &State::miss_host);
    set_alarm(join_alarm_, options_.joins_by, &State::miss_start);
    call_->StartCall();
  }

  void ready(const ReadyReport& report) {
    const base::MutexLock lock(mutex_);
    reader_.note_ready(report.shares_memory);
    if (!is_leaving_) say(ready_request(report));
  }

  void leave(const Parting& parting) {
    const base::MutexLock lock(mutex_);
    if (std::exchange(is_leaving_, true)) return;
    if (is_done_) {
      set_alarm(goodbye_alarm_, Clock::now(), &State::dismiss);
    } else if (call_ != nullptr) {
      say(leave_request(parting));
      const auto patience = reader_.is_running() || reader_.is_over() ? kGoodbye : kEarlyGoodbye;
      set_alarm(goodbye_alarm_, Clock::now() + patience, &State::cut);
    }
  }

  void tell(const CallNote& note) {
    const base::MutexLock lock(mutex_);
    if (!is_leaving_ && reader_.is_running()) say(note_request(note));
  }

  void cut() {
    const base::MutexLock lock(mutex_);
    const bool is_first = !std::exchange(is_leaving_, true);
    if (call_ != nullptr) call_->cancel();
    if (is_first && is_done_) set_alarm(goodbye_alarm_, Clock::now(), &State::dismiss);
  }

  // gRPC calls these functions.
  void note_answer() {
    const base::MutexLock lock(mutex_);
    is_answered_ = true;
  }
  void take_answer(bool ok) {
    std::optional<Heard> heard;
    {
      const base::MutexLock lock(mutex_);
      if (!ok) return close();
      is_answered_ = true;
      if (reader_.is_over()) call_->cancel();  // nothing follows an end
      heard = reader_.read(reply_);
      if (heard && std::holds_alternative<Refusal>(*heard)) {
        refusal_ = std::get<Refusal>(std::move(*heard));
        call_->cancel();
      }
      if (is_leaving_) heard.reset();
    }
    if (heard) tell(*heard);
    const base::MutexLock lock(mutex_);
    reply_.Clear();
    call_->StartRead(&reply_);
  }
  void note_said(bool ok) {
    const base::MutexLock lock(mutex_);
    said_.pop_front();
    if (!ok) return close();
    if (!said_.empty()) write_next();
  }
  // Destroys the call before the listener's last call, which ends the call's use of the channel.
  void note_done(Call* call, const grpc::Status& status) {
    std::optional<Heard> last;
    std::optional<Refusal> refusal;
    std::shared_ptr<State> self;
    {
      const base::MutexLock lock(mutex_);
      self = std::move(keeps_);
      call_ = nullptr;
      connect_alarm_.cancel();
      join_alarm_.cancel();
      goodbye_alarm_.cancel();
      last = reader_.end(status.ok() ? "" : status.error_message());
      if (last && std::holds_alternative<Refusal>(*last) && !refusal_) {
        refusal_ = std::get<Refusal>(std::move(*last));
      }
      if (is_leaving_) {
        last.reset();
        refusal_.reset();
      }
      refusal = refusal_;
    }
    delete call;
    if (refusal) {
      listener_->refused(*refusal);
      listener_.reset();
      return;
    }
    if (last) tell(*last);
    {
      const base::MutexLock lock(mutex_);
      is_done_ = true;
      if (!is_leaving_) return;
    }
    dismiss();
  }

 private:
  using Ring = void (State::*)();

  void tell(const Heard& heard) {
    if (const auto* const terms = std::get_if<JobTerms>(&heard)) listener_->all_here(*terms);
    if (const auto* const go = std::get_if<Go>(&heard)) listener_->all_ready(go->groups);
    if (const auto* const end = std::get_if<JobEnd>(&heard)) listener_->ended(*end);
  }
  void dismiss() { std::exchange(listener_, nullptr)->dismissed(); }

  // An alarm may still ring after the event that it waits for.
  void set_alarm(Alarm& alarm, Clock::time_point at, Ring ring) REQUIRES(mutex_) {
    if (at == Clock::time_point::max()) return;
    alarm.set(at - Clock::now(), [self = shared_from_this(), ring] { (self.get()->*ring)(); });
  }

  void miss_host() {
    const base::MutexLock lock(mutex_);
    if (!is_answered_) be_late();
  }
  void miss_start() {
    const base::MutexLock lock(mutex_);
    if (!reader_.is_running() && !reader_.is_over()) be_late();
  }

  void be_late() REQUIRES(mutex_) {
    if (call_ == nullptr || refusal_) return;
    const auto waited = std::chrono::duration<double>(Clock::now() - opened_).count();
    refusal_ = is_answered_
                   ? Refusal{RefusalReason::too_late,
                             fmt::format("{} has not said for {:.1f} s that all ranks can start",
                                         options_.host, waited),
                             -1}
                   : no_answer(options_.host, options_.question, waited);
    call_->cancel();
  }

  void say(v1::JoinRequest request) REQUIRES(mutex_) {
    if (call_ == nullptr || is_closed_) return;
    said_.push_back(std::move(request));
    if (said_.size() == 1) write_next();
  }

  // A leave is the last message, so that gRPC gets no further calls from outside its own.
  void write_next() REQUIRES(mutex_) {
    const bool is_last = said_.front().has_leave() || said_.front().has_lost();
    if (!is_last) return call_->StartWrite(&said_.front());
    call_->StartWriteLast(&said_.front(), {});
    close();
  }

  // Sends no further messages.
  void close() REQUIRES(mutex_) {
    if (!std::exchange(is_closed_, true)) call_->RemoveHold();
  }

  const Options options_;
  const Clock::time_point opened_;
  std::shared_ptr<RankListener> listener_;  // null after its last call; gets one call at a time
  base::Mutex mutex_;
  AnswerReader reader_ GUARDED_BY(mutex_);
  Call* call_ GUARDED_BY(mutex_) = nullptr;              // null once gRPC is done
  std::shared_ptr<State> keeps_ GUARDED_BY(mutex_);      // keeps this object until gRPC is done
  std::deque<v1::JoinRequest> said_ GUARDED_BY(mutex_);  // messages; the first is on its way
  v1::JoinReply reply_ GUARDED_BY(mutex_);
  std::optional<Refusal> refusal_ GUARDED_BY(mutex_);
  bool is_answered_ GUARDED_BY(mutex_) = false;
  bool is_closed_ GUARDED_BY(mutex_) = false;   // no further messages go to the host
  bool is_leaving_ GUARDED_BY(mutex_) = false;  // this rank wants to leave
  bool is_done_ GUARDED_BY(mutex_) = false;     // done, and all is told but dismissed()
  Alarm connect_alarm_ GUARDED_BY(mutex_);
  Alarm join_alarm_ GUARDED_BY(mutex_);
  Alarm goodbye_alarm_ GUARDED_BY(mutex_);
};

void JobStream::Call::OnReadInitialMetadataDone(bool ok) {
  if (ok) state_.load()->note_answer();
}
void JobStream::Call::OnReadDone(bool ok) { state_.load()->take_answer(ok); }
void JobStream::Call::OnWriteDone(bool ok) { state_.load()->note_said(ok); }
void JobStream::Call::OnDone(const grpc::Status& status) {
  state_.load()->note_done(this, grpc::Status(status));
}

JobStream::JobStream(std::shared_ptr<State> state) : state_(std::move(state)) {}
JobStream::~JobStream() { state_->cut(); }

std::unique_ptr<JobStream> JobStream::open(const std::shared_ptr<grpc::Channel>& channel,
                                           const Options& options,
                                           std::shared_ptr<RankListener> listener) {
  auto state = std::make_shared<State>(options, std::move(listener));
  state->open(channel);
  return std::unique_ptr<JobStream>(new JobStream(std::move(state)));
}

void JobStream::ready(const ReadyReport& report) { state_->ready(report); }

void JobStream::leave(const Parting& parting) {
  parting.way == Parting::with_switch ? state_->cut() : state_->leave(parting);
}

void JobStream::tell(const CallNote& note) { state_->tell(note); }

void JobStream::cut() { state_->cut(); }

}  // namespace infold::join
