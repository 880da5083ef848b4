// SPDX-License-Identifier: Apache-2.0
//
// A JobLink waits for the answers that its JobStream hears.
#include "join/client/job_link.h"

#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "io/address/name_lookup.h"
#include "io/address/tcp_connection.h"
#include "join/client/job_stream.h"
#include "join/refusals.h"

namespace infold::join {
namespace {

using Clock = std::chrono::steady_clock;

// The host knows why a job does not start, but this rank does not. The rank therefore waits for the
// host's refusal a little longer than it has asked the host to wait.
constexpr auto kSlack = std::chrono::milliseconds(400);

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
    // The host sees where the connection comes from. Behind a NAT, this rank does not know that.
    io::SocketAddress& source = options.hello.source;
    if (source.is_same_host(io::local_address_of(socket->get()))) source = {};
    options.host = host_;
    options.question = question();
    options.fingerprint = limits_.fingerprint;
    options.joins_by = limits_.joins_by + kSlack;
    options.connects_by = std::min(limits_.connects_by, options.joins_by);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(limits_.joins_by - Clock::now());
    options.hello.patience = std::max(left, std::chrono::milliseconds(1));
    loop_ = shared_loop();
    stream_ = JobStream::open(*loop_, std::move(*socket), options, shared_from_this());
    Answer<JobTerms> told = wait_for(&State::terms_);
    if (!told) return tl::unexpected(told.error());
    agreed_ = std::move(*told);
    return {};
  }

  Answer<void> stay(const std::stop_token& others) {
    base::MutexLock lock(mutex_);
    changed_.wait(lock, others, [this]() REQUIRES(mutex_) { return is_over_; });
    if (refusal_) return tl::unexpected(*refusal_);
    return {};
  }

  Answer<void> ready(const ReadyReport& report) {
    stream_->ready(report);
    Answer<std::vector<HostGroup>> told = wait_for(&State::groups_);
    if (!told) return tl::unexpected(told.error());
    agreed_.groups = std::move(*told);
    return {};
  }

  void watch(EndListener on_end) {
    const base::MutexLock lock(mutex_);
    on_end_ = std::move(on_end);
    tell_end();
  }

  // The stream's last call comes after the end listener's last call has returned. This thread frees
  // the loop, whose own thread must not be the last to do so.
  void part(const Parting& parting) {
    if (!stream_) return;
    base::MutexLock lock(mutex_);
    is_leaving_ = true;
    const bool is_known = terms_.has_value();  // whether other ranks know of this rank
    lock.unlock();
    is_known ? stream_->leave(parting) : stream_->cut();
    lock.lock();
    while (!is_over_ || is_telling_) changed_.wait(lock);
    lock.unlock();
    stream_.reset();
    loop_.reset();
  }

  void cut() {
    if (stream_) stream_->cut();
  }

  void tell(const CallNote& note) {
    const base::MutexLock lock(mutex_);
    if (!is_leaving_ && stream_) stream_->tell(note);
  }
  bool is_to_tell() const { return is_rank_0_ && agreed_.wants_transfers; }

  const JobTerms& terms() const { return agreed_; }
  const io::SocketAddress& host() const { return limits_.at; }

  void all_here(const JobTerms& terms) override {
    const base::MutexLock lock(mutex_);
    terms_ = terms;
    changed_.notify_all();
  }
  void all_ready(const std::vector<HostGroup>& groups) override {
    const base::MutexLock lock(mutex_);
    groups_ = groups;
    changed_.notify_all();
  }
  void refused(const Refusal& refusal) override {
    const base::MutexLock lock(mutex_);
    refusal_ = refusal;
    is_over_ = true;
    changed_.notify_all();
  }
  void ended(const JobEnd& end) override {
    const base::MutexLock lock(mutex_);
    end_ = end;
    tell_end();
  }
  void dismissed() override {
    const base::MutexLock lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }

 private:
  Answer<io::FileDescriptor> connect(Clock::time_point begun, Clock::time_point connects_by) {
    if (!limits_.at.is_set()) {
      const auto found = io::look_up(address_, "the host", instant_of(connects_by), limits_.stop);
      if (!found && found.error().code == base::Code::cancelled) return given_up();
      if (!found) return join::refused(sentences::kNotFound, host_, found.error().detail);
      limits_.at = *found;
    }
    auto socket = io::connect_tcp(limits_.at, instant_of(connects_by), limits_.stop);
    if (socket) return std::move(*socket);
    if (socket.error().code == base::Code::cancelled) return given_up();
    if (socket.error().code != base::Code::deadline_exceeded) {
      return join::refused(sentences::kNotReached, host_, socket.error().detail);
    }
    const std::chrono::duration<double> waited = Clock::now() - begun;
    return tl::unexpected(no_answer(host_, question(), waited.count()));
  }

  const char* question() const {
    return limits_.is_at_rank ? "has rank 0 started"
                              : "is `infold switch` or `infold emulate` running there";
  }

  // Waits for terms_ or groups_.
  template <typename Heard>
  Answer<Heard> wait_for(std::optional<Heard> State::* heard) {
    base::MutexLock lock(mutex_);
    changed_.wait(lock, limits_.stop, [&]() REQUIRES(mutex_) { return this->*heard || is_over_; });
    if (this->*heard) return *(this->*heard);
    if (refusal_) return tl::unexpected(*refusal_);
    return given_up();
  }

  // Calls the listener, without the lock, once there are both an end and a listener.
  void tell_end() REQUIRES(mutex_) {
    if (!end_ || !on_end_ || is_leaving_) return;
    const EndListener listener = std::exchange(on_end_, nullptr);
    const JobEnd end = *end_;
    is_telling_ = true;
    mutex_.unlock();
    listener(end);
    mutex_.lock();
    is_telling_ = false;
    changed_.notify_all();
  }

  tl::unexpected<Refusal> given_up() const { return join::refused(sentences::kGivenUp, host_); }

  const std::string address_;
  Limits limits_;
  const std::string host_;
  std::shared_ptr<ConnectionLoop> loop_;
  std::unique_ptr<JobStream> stream_;
  JobTerms agreed_;  // what this rank has heard of, for the thread that uses the link
  bool is_rank_0_ = false;
  base::Mutex mutex_;
  base::StopConditionVariable changed_;
  std::optional<JobTerms> terms_ GUARDED_BY(mutex_);
  std::optional<std::vector<HostGroup>> groups_ GUARDED_BY(mutex_);
  std::optional<Refusal> refusal_ GUARDED_BY(mutex_);
  std::optional<JobEnd> end_ GUARDED_BY(mutex_);
  EndListener on_end_ GUARDED_BY(mutex_);
  bool is_leaving_ GUARDED_BY(mutex_) = false;
  bool is_telling_ GUARDED_BY(mutex_) = false;
  bool is_over_ GUARDED_BY(mutex_) = false;  // the stream has made its last call
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

}  // namespace infold::join
