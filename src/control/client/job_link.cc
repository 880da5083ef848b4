// SPDX-License-Identifier: Apache-2.0
//
// Waits for the answers that a JobStream hears.
#include "control/client/job_link.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include "control/client/job_stream.h"
#include "io/address/name_lookup.h"
#include "io/address/tcp_connection.h"

namespace infold::control {
namespace {

using Clock = std::chrono::steady_clock;

// The host knows why a job does not start, and this rank does not. So the rank waits for the host's
// refusal a little longer than it has asked the host to wait.
constexpr auto kSlack = std::chrono::milliseconds(400);

base::Instant instant(Clock::time_point at) {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count()};
}

}  // namespace

class JobLink::State final : public RankListener, public std::enable_shared_from_this<State> {
 public:
  State(const std::string& address, Limits limits)
      : address_(address), limits_(std::move(limits)), host_(limits_.host + address) {}

  Answer<void> join(const Hello& hello) {
    const auto begun = Clock::now();
    if (limits_.joins_by == Clock::time_point::max()) limits_.joins_by = begun + hello.patience;
    const auto connects_by = std::min(limits_.connects_by, limits_.joins_by);
    auto socket = connect(begun, connects_by);
    if (!socket) return tl::unexpected(socket.error());
    JobStream::Options options;
    options.hello = hello;
    is_rank_0_ = hello.rank == 0;
    // The host sees where the connection comes from, also behind a NAT, which this rank does not.
    io::SocketAddress& source = options.hello.source;
    if (source.is_same_host(io::local_address_of(socket->get()))) source = {};
    channel_ = channel_over(socket->release());
    options.host = host_;
    options.question = question();
    options.joins_by = limits_.joins_by + kSlack;
    options.connects_by = std::min(limits_.connects_by, options.joins_by);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(limits_.joins_by - Clock::now());
    options.hello.patience = std::max(left, std::chrono::milliseconds(1));
    stream_ = JobStream::open(channel_, options, shared_from_this());
    if (const Answer<void> told = wait_for(terms_); !told) return told;
    return {};
  }

  Answer<void> stay(const std::stop_token& others) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, others, [this] { return is_over_; });
    if (refusal_) return tl::unexpected(*refusal_);
    return {};
  }

  Answer<void> ready(const ReadyReport& report) {
    stream_->ready(report);
    if (const Answer<void> told = wait_for(groups_); !told) return told;
    terms_->groups = *groups_;
    return {};
  }

  void watch(EndListener on_end) {
    std::unique_lock lock(mutex_);
    on_end_ = std::move(on_end);
    tell_end(lock);
  }

  // The stream's last call comes after the end listener's last call has returned. This thread frees
  // the channel, as the channel requires.
  void part(const Parting& parting) {
    if (!stream_) return;
    std::unique_lock lock(mutex_);
    is_leaving_ = true;
    const bool is_known = terms_.has_value();  // to other ranks
    lock.unlock();
    is_known ? stream_->leave(parting) : stream_->cut();
    lock.lock();
    changed_.wait(lock, [this] { return is_over_ && !is_telling_; });
    lock.unlock();
    stream_.reset();
    channel_.reset();
  }

  void cut() {
    if (stream_) stream_->cut();
  }

  void tell(const CallNote& note) {
    const std::lock_guard lock(mutex_);
    if (!is_leaving_ && stream_) stream_->tell(note);
  }
  bool is_to_tell() const { return is_rank_0_ && terms_->wants_transfers; }

  const JobTerms& terms() const { return *terms_; }
  const io::SocketAddress& host() const { return limits_.at; }

  void all_here(const JobTerms& terms) override {
    const std::lock_guard lock(mutex_);
    terms_ = terms;
    changed_.notify_all();
  }
  void all_ready(const std::vector<HostGroup>& groups) override {
    const std::lock_guard lock(mutex_);
    groups_ = groups;
    changed_.notify_all();
  }
  void refused(const Refusal& refusal) override {
    const std::lock_guard lock(mutex_);
    refusal_ = refusal;
    is_over_ = true;
    changed_.notify_all();
  }
  void ended(const JobEnd& end) override {
    std::unique_lock lock(mutex_);
    end_ = end;
    tell_end(lock);
  }
  void dismissed() override {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }

 private:
  Answer<io::FileDescriptor> connect(Clock::time_point begun, Clock::time_point connects_by) {
    if (!limits_.at.is_set()) {
      const auto found = io::look_up(address_, "the host", instant(connects_by), limits_.stop);
      if (!found && found.error().code == base::Code::cancelled) return given_up();
      if (!found) {
        return tl::unexpected(Refusal{RefusalReason::too_late,
                                      fmt::format("{} {}", host_, found.error().detail), -1});
      }
      limits_.at = *found;
    }
    auto socket = io::connect_tcp(limits_.at, instant(connects_by), limits_.stop);
    if (socket) return std::move(*socket);
    if (socket.error().code == base::Code::cancelled) return given_up();
    if (socket.error().code != base::Code::deadline_exceeded) {
      return tl::unexpected(
          Refusal{RefusalReason::full, fmt::format("{}: {}", host_, socket.error().detail), -1});
    }
    const std::chrono::duration<double> waited = Clock::now() - begun;
    return tl::unexpected(no_answer(host_, question(), waited.count()));
  }

  const char* question() const {
    return limits_.is_at_rank ? "has rank 0 started"
                              : "is `infold switch` or `infold emulate` running there";
  }

  template <typename Heard>
  Answer<void> wait_for(const std::optional<Heard>& heard) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, limits_.stop, [&] { return heard || is_over_; });
    if (heard) return {};
    if (refusal_) return tl::unexpected(*refusal_);
    return given_up();
  }

  // Once there are both, an end and a listener.
  void tell_end(std::unique_lock<std::mutex>& lock) {
    if (!end_ || !on_end_ || is_leaving_) return;
    const EndListener listener = std::exchange(on_end_, nullptr);
    is_telling_ = true;
    lock.unlock();
    listener(*end_);
    lock.lock();
    is_telling_ = false;
    changed_.notify_all();
  }

  tl::unexpected<Refusal> given_up() const {
    return tl::unexpected(
        Refusal{RefusalReason::given_up, "joining at " + host_ + " was given up", -1});
  }

  const std::string address_;
  Limits limits_;
  const std::string host_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<JobStream> stream_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<JobTerms> terms_;
  std::optional<std::vector<HostGroup>> groups_;
  std::optional<Refusal> refusal_;
  std::optional<JobEnd> end_;
  EndListener on_end_;
  bool is_rank_0_ = false;
  bool is_leaving_ = false;
  bool is_telling_ = false;
  bool is_over_ = false;  // the stream's last call was made
};

JobLink::JobLink(std::shared_ptr<State> state) : state_(std::move(state)) {}
JobLink::~JobLink() { leave(); }

Answer<std::unique_ptr<JobLink>> JobLink::join(const std::string& address, const Hello& hello,
                                               const Limits& limits) {
  std::unique_ptr<JobLink> link(new JobLink(std::make_shared<State>(address, limits)));
  const Answer<void> joined = link->state_->join(hello);
  if (!joined) return tl::unexpected(joined.error());
  return link;
}

const JobTerms& JobLink::terms() const { return state_->terms(); }
const io::SocketAddress& JobLink::host() const { return state_->host(); }
Answer<void> JobLink::stay(const std::stop_token& others) { return state_->stay(others); }
Answer<void> JobLink::ready(const ReadyReport& report) { return state_->ready(report); }
void JobLink::watch(EndListener on_end) { state_->watch(std::move(on_end)); }
std::function<void(const CallNote&)> JobLink::teller() const {
  if (!state_->is_to_tell()) return nullptr;
  return [state = state_](const CallNote& note) { state->tell(note); };
}
void JobLink::leave(const std::optional<core::Abort>& abort) {
  state_->part({Parting::in_order, abort});
}
void JobLink::give_up(const Refusal& why) {
  Parting parting = Parting::in_order;
  parting.why = why;
  state_->part(parting);
}
void JobLink::cut() { state_->cut(); }

}  // namespace infold::control
