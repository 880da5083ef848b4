// SPDX-License-Identifier: Apache-2.0
//
// One lock for a stream's state, never held while its listener is called. The loop keeps the state
// until the connection is closed, even if its owner has gone.
#include "join/client/job_stream.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/mutex.h"
#include "io/host/clock.h"
#include "join/client/answer_reader.h"
#include "join/client/requests.h"
#include "join/client/secured.h"
#include "join/connection/frames.h"
#include "join/refusals.h"

namespace infold::join {
namespace {

// Longer than the other side lingers for ranks that still need us.
constexpr auto kGoodbye = base::milliseconds(2500);
// While joining no other rank needs us.
constexpr auto kEarlyGoodbye = base::milliseconds(400);
// A keepalive goes out so often, whatever else is said and heard. So each end hears the other one
// twice within the time after which it counts as gone.
constexpr auto kAskEvery = base::seconds(5);
constexpr auto kSilenceMax = base::seconds(10);
constexpr std::size_t kRoom = 16 << 10;

}  // namespace

base::Instant instant_of(std::chrono::steady_clock::time_point at) {
  if (at == std::chrono::steady_clock::time_point::max()) return base::Instant::never();
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count()};
}

Refusal no_answer(const std::string& host, const std::string& question, double seconds) {
  return refusal(sentences::kNoAnswer, host, seconds, question);
}

class JobStream::State final : public Conversation {
 public:
  State(const Options& options, std::shared_ptr<RankListener> listener)
      : options_(options),
        opened_(io::monotonic_now()),
        listener_(std::move(listener)),
        frames_(kAnswerBytesMax),
        reader_(options.hello, options.host),
        connects_by_(instant_of(options.connects_by)),
        joins_by_(instant_of(options.joins_by)) {
    say(hello_request(options_.hello));
    said_.push_back(keepalive());  // the answer shows that the host lives
  }

  // From the owner.
  void ready(const ReadyReport& report) {
    const base::MutexLock lock(mutex_);
    reader_.note_ready(report.shares_memory);
    if (!is_leaving_) say(ready_request(report));
  }

  void leave(const Parting& parting) {
    const base::MutexLock lock(mutex_);
    if (std::exchange(is_leaving_, true)) return;
    if (has_ended_) {
      wants_close_ = true;
    } else {
      say(leave_request(parting));
      says_no_more_ = true;
      const bool is_needed = reader_.is_running() || reader_.is_over();
      goodbye_by_ = io::monotonic_now() + (is_needed ? kGoodbye : kEarlyGoodbye);
    }
    wake();
  }

  void tell(const CallNote& note) {
    const base::MutexLock lock(mutex_);
    if (!is_leaving_ && reader_.is_running()) say(note_request(note));
  }

  void cut() {
    const base::MutexLock lock(mutex_);
    is_leaving_ = wants_close_ = true;
    wake();
  }

  // The host cannot be joined, for this reason.
  void refuse(const Refusal& refusal) {
    const base::MutexLock lock(mutex_);
    take(refusal);
  }

  // From the loop.
  void begin(Waker waker, base::Instant now) override {
    const base::MutexLock lock(mutex_);
    waker_ = std::move(waker);
    heard_at_ = asked_at_ = now;
  }

  std::size_t room(base::Instant) override { return kRoom; }

  void receive(std::string_view bytes, base::Instant now) override {
    for (bool goes_on = true; goes_on;) {
      std::optional<Heard> heard;
      {
        const base::MutexLock lock(mutex_);
        is_answered_ = true;
        heard_at_ = now;
        goes_on = read(bytes, heard);
      }
      if (heard) tell(*heard);
    }
  }

  void hear_end(const std::string& why) override {
    std::optional<Heard> heard;
    {
      const base::MutexLock lock(mutex_);
      heard = end(why);
    }
    if (heard) tell(*heard);
  }

  std::string_view output(base::Instant) override {
    const base::MutexLock lock(mutex_);
    return said_.empty() ? std::string_view() : std::string_view(said_.front()).substr(sent_);
  }

  void sent(std::size_t bytes, base::Instant) override {
    const base::MutexLock lock(mutex_);
    sent_ += bytes;
    if (sent_ < said_.front().size()) return;
    said_.pop_front();
    sent_ = 0;
  }

  base::Instant deadline() override {
    const base::MutexLock lock(mutex_);
    base::Instant next = goodbye_by_;
    if (!is_answered_) next = std::min(next, connects_by_);
    if (!has_started()) next = std::min(next, joins_by_);
    if (is_answered_ && !has_ended_) next = std::min({next, asks_at(), heard_at_ + kSilenceMax});
    return next;
  }

  void pass(base::Instant now) override {
    std::optional<Heard> heard;
    {
      const base::MutexLock lock(mutex_);
      if (goodbye_by_ <= now) wants_close_ = true;
      if ((!is_answered_ && connects_by_ <= now) || (!has_started() && joins_by_ <= now)) {
        be_late(now);
      }
      if (!is_answered_ || has_ended_) return;
      if (heard_at_ + kSilenceMax <= now) {
        heard = end(clause(sentences::kIsSilent, kSilenceMax.ns / base::seconds(1).ns));
      } else if (asks_at() <= now) {
        asked_at_ = now;
        if (said_.empty()) said_.push_back(keepalive());
      }
    }
    if (heard) tell(*heard);
  }

  Wish wish() override {
    const base::MutexLock lock(mutex_);
    if (wants_close_) return Wish::close;
    return says_no_more_ ? Wish::finish : Wish::talk;
  }

  void closed() override {
    std::optional<Refusal> refusal;
    {
      const base::MutexLock lock(mutex_);
      waker_ = nullptr;
      if (!is_leaving_) refusal = refusal_;
    }
    const std::shared_ptr<RankListener> listener = std::exchange(listener_, nullptr);
    refusal ? listener->refused(*refusal) : listener->dismissed();
  }

 private:
  // Whether there may be more to read.
  bool read(std::string_view& bytes, std::optional<Heard>& heard) REQUIRES(mutex_) {
    if (has_ended_ || wants_close_ || reader_.is_over()) return false;
    const FrameReader::Frame frame = frames_.next(bytes);
    if (!frame) {
      heard = end(clause(sentences::kLongAnswer, frame.error().length, kAnswerBytesMax));
      return false;
    }
    if (!*frame) return false;
    if ((*frame)->empty()) return true;
    v1::JoinReply reply;
    if (!read_message(**frame, reply)) {
      heard = end(clause(sentences::kNotAReply));
      return false;
    }
    heard = take(reader_.read(reply));
    return true;
  }

  // The host says nothing more that matters.
  std::optional<Heard> end(const std::string& why) REQUIRES(mutex_) {
    has_ended_ = true;
    if (is_leaving_) wants_close_ = true;
    return take(reader_.end(why));
  }

  // Returns what the listener must hear now. A refusal waits, because it is the last thing heard.
  std::optional<Heard> take(std::optional<Heard> heard) REQUIRES(mutex_) {
    if (heard && std::holds_alternative<Refusal>(*heard)) {
      if (!refusal_) refusal_ = std::get<Refusal>(std::move(*heard));
      wants_close_ = true;
      heard.reset();
    }
    if (is_leaving_) heard.reset();
    return heard;
  }

  void tell(const Heard& heard) {
    if (const auto* const terms = std::get_if<JobTerms>(&heard)) listener_->all_here(*terms);
    if (const auto* const go = std::get_if<Go>(&heard)) listener_->all_ready(go->groups);
    if (const auto* const end = std::get_if<JobEnd>(&heard)) listener_->ended(*end);
  }

  bool has_started() const REQUIRES(mutex_) { return reader_.is_running() || reader_.is_over(); }

  base::Instant asks_at() const REQUIRES(mutex_) {
    return says_no_more_ ? base::Instant::never() : asked_at_ + kAskEvery;
  }

  void be_late(base::Instant now) REQUIRES(mutex_) {
    wants_close_ = true;
    if (refusal_) return;
    const double waited = static_cast<double>((now - opened_).ns) * 1e-9;
    refusal_ = is_answered_ ? refusal(sentences::kNoGo, options_.host, waited)
                            : no_answer(options_.host, options_.question, waited);
  }

  void say(const v1::JoinRequest& request) REQUIRES(mutex_) {
    said_.push_back(frame_of(request));
    wake();
  }

  void wake() REQUIRES(mutex_) {
    if (waker_) waker_();
  }

  const Options options_;
  const base::Instant opened_;
  std::shared_ptr<RankListener> listener_;  // until its last call, which the loop makes
  base::Mutex mutex_;
  Waker waker_ GUARDED_BY(mutex_);  // while the loop has this
  FrameReader frames_ GUARDED_BY(mutex_);
  AnswerReader reader_ GUARDED_BY(mutex_);
  std::deque<std::string> said_ GUARDED_BY(mutex_);  // frames, not all sent
  std::size_t sent_ GUARDED_BY(mutex_) = 0;          // bytes of the first
  std::optional<Refusal> refusal_ GUARDED_BY(mutex_);
  base::Instant heard_at_ GUARDED_BY(mutex_);
  base::Instant asked_at_ GUARDED_BY(mutex_);
  const base::Instant connects_by_;
  const base::Instant joins_by_;
  base::Instant goodbye_by_ GUARDED_BY(mutex_) = base::Instant::never();
  bool is_answered_ GUARDED_BY(mutex_) = false;
  bool is_leaving_ GUARDED_BY(mutex_) = false;  // because this rank wants to
  bool says_no_more_ GUARDED_BY(mutex_) = false;
  bool has_ended_ GUARDED_BY(mutex_) = false;  // the host
  bool wants_close_ GUARDED_BY(mutex_) = false;
};

JobStream::JobStream(std::shared_ptr<State> state) : state_(std::move(state)) {}
JobStream::~JobStream() { state_->cut(); }

template <typename There>
std::unique_ptr<JobStream> JobStream::open_at(ConnectionLoop& loop, There&& there,
                                              const Options& options,
                                              std::shared_ptr<RankListener> listener) {
  auto state = std::make_shared<State>(options, std::move(listener));
  std::shared_ptr<Conversation> conversation = state;
  if (options.fingerprint) {
    conversation = secured(state, *options.fingerprint, options.host,
                           [&stream = *state](const Refusal& refusal) { stream.refuse(refusal); });
  }
  loop.add(std::forward<There>(there), std::move(conversation));
  return std::unique_ptr<JobStream>(new JobStream(std::move(state)));
}

std::unique_ptr<JobStream> JobStream::open(ConnectionLoop& loop, io::FileDescriptor connected,
                                           const Options& options,
                                           std::shared_ptr<RankListener> listener) {
  return open_at(loop, std::move(connected), options, std::move(listener));
}

std::unique_ptr<JobStream> JobStream::open(ConnectionLoop& loop, const io::SocketAddress& there,
                                           const Options& options,
                                           std::shared_ptr<RankListener> listener) {
  return open_at(loop, there, options, std::move(listener));
}

void JobStream::ready(const ReadyReport& report) { state_->ready(report); }

void JobStream::leave(const Parting& parting) {
  parting.way == Parting::with_switch ? state_->cut() : state_->leave(parting);
}

void JobStream::tell(const CallNote& note) { state_->tell(note); }

void JobStream::cut() { state_->cut(); }

}  // namespace infold::join
