// SPDX-License-Identifier: Apache-2.0
//
// How the ranks of a group find each other, and how a group ends.
#include "python/backend/backend.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include <infold/communicator.h>

#include "base/mutex.h"
#include "base/plain_text.h"
#include "io/host/entropy.h"
#include "python/backend/forked.h"
#include "python/backend/living.h"
#include "python/backend/recipes.h"

namespace infold::pytorch {
namespace {

// The store's key under which rank 0 writes the job's name and, without switches, its address.
constexpr const char* kMeetingKey = "meeting";
// The first character of rank 0's text if it could not join. No job's name begins with this
// character.
constexpr char kFailed = '!';
// Enough for a job's name and an address, or for a reason. Other writers to the store could write
// more.
constexpr std::size_t kSaidBytesMost = 4096;
// Rank 0 takes some milliseconds to listen, or seconds if it still trains another group. All ranks
// together ask the store at most 10,000 times a second.
constexpr auto kLookFirst = std::chrono::milliseconds(1);
constexpr auto kLookFirstOfRank = std::chrono::microseconds(100);
constexpr auto kLookOftenFor = std::chrono::milliseconds(100);
constexpr auto kLookMost = std::chrono::milliseconds(50);
// Switches run before their jobs do, so a wrong name or port should fail sooner than the group's
// timeout.
constexpr auto kConnectMax = std::chrono::seconds(10);

std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

Error failed_meeting(Code code, std::string message) {
  return {code, "join: " + std::move(message), 0, ""};
}

Error failed_at_rank_0(const std::string& said) {
  return failed_meeting(Code::unavailable, "rank 0 says: " + said.substr(1));
}

// Makes a secret of 256 bits.
std::string draw_token() {
  std::string token;
  for (int word = 0; word < 4; ++word) token += std::to_string(io::fresh_number()) + "-";
  return token;
}

// Rank 0 tells the others the job's name, and its own address if there are no switches. The
// address has a secret behind a '#', with which the ranks prove to each other who they are. The
// secret is as safe as the store. With $INFOLD_TOKEN, all ranks have a secret already, and the
// store gets none.
struct Meeting {
  std::string job;
  std::string rendezvous;

  std::string text() const { return job + "\n" + rendezvous; }
  static Meeting parse(const std::string& text) {
    const std::size_t end = text.find('\n');
    return {text.substr(0, end), end == std::string::npos ? "" : text.substr(end + 1)};
  }
};

}  // namespace

Backend::Backend(c10::intrusive_ptr<::c10d::Store> store, int rank, int size,
                 BackendOptions options, c10::intrusive_ptr<::c10d::Backend> delegate)
    : ::c10d::Backend(rank, size),
      store_(std::move(store)),
      options_(std::move(options)),
      shown_options_(c10::make_intrusive<Options>("infold", options_.timeout)),
      delegate_(std::move(delegate)),
      timeout_ms_(options_.timeout.count()),
      job_(std::make_shared<GroupJob>(
          [this](std::stop_token stop) { return join(std::move(stop)); })),
      watch_(std::make_shared<Watch>(job_, delegate_)),
      messages_(delegate_, watch_, rank) {
  options_.join.rank = rank;
  options_.join.world = size;
  Living::all().add(this);
}

Backend::~Backend() {
  if (!process_.is_current()) {
    // The members' own destructors then find another owner, and destroy nothing.
    keep_for_ever(store_);
    keep_for_ever(delegate_);
    keep_for_ever(completions_);
    keep_for_ever(job_);
    keep_for_ever(watch_);
    keep_for_ever(delegation_);
    keep_for_ever(messages_);
    keep_for_ever(std::move(delegated_));
    return;
  }
  Living::all().remove(this);
  released_ = release_interpreter();
  job_->close("the process group is gone");
  delegation_->end();
  watch_->end();
  completions_->end();
}

// Rank 0 chooses a new job name and tells it to the other ranks, so that two groups, or two runs of
// one group, never meet.
Result<Communicator> Backend::join(std::stop_token stop) const {
  JoinOptions options = options_.join;
  options.stop = stop;
  options.deadline = std::chrono::milliseconds(timeout_ms_.load());
  options.connect_deadline = std::min<std::chrono::nanoseconds>(options.deadline, kConnectMax);
  try {
    if (rank_ == 0) return host_meeting(std::move(options));
    if (std::optional<Error> error = wait_for_rank_0(stop, options.deadline)) {
      return tl::unexpected(*std::move(error));
    }
    const std::string text = said_by_rank_0();
    if (text.front() == kFailed) return tl::unexpected(failed_at_rank_0(text));
    Meeting meeting = Meeting::parse(text);
    options.job = std::move(meeting.job);
    options.rendezvous = std::move(meeting.rendezvous);
    if (!options_.token.empty() && options.sites == Sites::workers) {
      options.rendezvous += "#" + options_.token;
    }
    Result<Communicator> joined = join_unless_rank_0_fails(std::move(options));
    if (joined || joined.error().rank >= 0 || stop.stop_requested()) return joined;
    // The error does not name a rank. If rank 0 has given up, its text contains the reason.
    const std::string said_since = said_by_rank_0();
    if (said_since.front() != kFailed) return joined;
    return tl::unexpected(failed_at_rank_0(said_since));
  } catch (const std::exception& error) {
    return tl::unexpected(failed_meeting(
        Code::unavailable, std::string("the process group's store failed: ") + error.what()));
  }
}

std::optional<Error> Backend::wait_for_rank_0(const std::stop_token& stop,
                                              std::chrono::nanoseconds patience) const {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begun = Clock::now();
  std::chrono::microseconds pause =
      std::max<std::chrono::microseconds>(kLookFirst, kLookFirstOfRank * size_);
  while (!store_->check({kMeetingKey})) {
    if (stop.stop_requested()) return failed_meeting(Code::cancelled, "given up");
    const auto waited = Clock::now() - begun;
    if (waited > patience) {
      return failed_meeting(Code::deadline_exceeded,
                            "rank 0 of the group has not come to its first collective");
    }
    if (waited > kLookOftenFor) pause = std::min<std::chrono::microseconds>(2 * pause, kLookMost);
    std::this_thread::sleep_for(pause);
  }
  return std::nullopt;
}

// Rank 0 may give up after this rank has read its text. A switch then keeps this rank waiting,
// because a lost rank may come again until the job has begun. A thread therefore checks the text
// regularly.
Result<Communicator> Backend::join_unless_rank_0_fails(JoinOptions options) const {
  std::stop_source failed;
  const std::stop_callback forward(options.stop, [&failed] { failed.request_stop(); });
  options.stop = failed.get_token();
  const auto watch = [this, &failed](const std::stop_token& done) {
    base::Mutex mutex;  // guards nothing, but a wait needs one
    base::MutexLock lock(mutex);
    base::StopConditionVariable joined;
    const auto pause = std::max<std::chrono::microseconds>(kLookMost, kLookFirstOfRank * size_);
    const auto is_done = [&done] { return done.stop_requested(); };
    try {
      while (!joined.wait_for(lock, done, pause, is_done)) {
        if (said_by_rank_0().front() == kFailed) failed.request_stop();
      }
    } catch (const std::exception&) {
      // Without the store, joining ends by its own deadline.
    }
  };
  std::jthread watcher;
  try {
    watcher = std::jthread(watch);
  } catch (const std::system_error&) {
    // The rank then joins without watching the text.
  }
  return Communicator::join(options);
}

std::string Backend::said_by_rank_0() const {
  const std::vector<std::uint8_t> said = store_->get(kMeetingKey);
  if (said.empty() || said.size() > kSaidBytesMost) {
    return kFailed + std::to_string(said.size()) +
           " bytes, which name no job; look what else writes to the store";
  }
  std::string text(said.begin(), said.end());
  return text.front() == kFailed ? base::printable(text) : text;
}

Result<Communicator> Backend::host_meeting(JoinOptions options) const {
  Meeting meeting = {options.job + "/" + std::to_string(io::fresh_number()), {}};
  options.job = meeting.job;
  const auto tell = [&](const std::string& text) { store_->set(kMeetingKey, bytes_of(text)); };
  if (options.sites == Sites::workers) {
    const std::string drawn = options_.token.empty() ? draw_token() : "";
    options.rendezvous += "#" + options_.token + drawn;
    options.on_rendezvous = [&meeting, &tell, drawn](const std::string& address) {
      meeting.rendezvous = drawn.empty() ? address : address + "#" + drawn;
      tell(meeting.text());
    };
  } else {
    tell(meeting.text());
  }
  Result<Communicator> joined = Communicator::join(options);
  if (joined) return joined;
  try {
    // Ranks that come later also read this text.
    tell((kFailed + joined.error().message).substr(0, kSaidBytesMost));
  } catch (const std::exception&) {
    // The store may have ended with the program. This rank's own error says more.
  }
  return joined;
}

Backend::Works Backend::submit(Recipe recipe, std::chrono::milliseconds timeout) {
  refuse_child(process_);
  const auto begin = std::chrono::steady_clock::now();
  recipe.timeout = timeout;
  Recorder& recorder = Recorder::of_process();
  recipe.recorded = recorder.note_call(recipe, getGroupUid(), begin);
  const std::optional<Recorder::Note> recorded = recipe.recorded;
  for (const Tensors* tensors : {&recipe.inputs, &recipe.outputs}) {
    for (const at::Tensor& tensor : *tensors) {
      // Sparse tensors do not have storage of their own; they are copied when the call is made.
      if (tensor.is_sparse()) continue;
      if (!tensor.device().is_cpu()) staging_of(recipe, tensor.device())->keep(tensor);
    }
  }
  take_delegated_that_ended();
  auto work = c10::make_intrusive<Work>(rank_, ++sequence_, std::move(recipe), job_, completions_);
  if (size_ == 1) {
    work->run_alone();
  } else {
    job_->submit(work);
  }
  if (recorded) recorder.note_returned(*recorded, work);
  return work;
}

CallOptions Backend::call_options(std::chrono::milliseconds timeout) const {
  CallOptions options;
  options.keep_input = options_.join.rejoin;
  options.deadline = timeout.count() > 0 ? timeout : std::chrono::milliseconds(timeout_ms_.load());
  return options;
}

void Backend::setTimeout(std::chrono::milliseconds timeout) {
  timeout_ms_.store(timeout.count());
  shown_options_->timeout = timeout;
  delegate_->setTimeout(timeout);
}

c10::intrusive_ptr<::c10d::Backend> Backend::split(const c10::intrusive_ptr<::c10d::Store>& store,
                                                   const std::vector<int>& ranks,
                                                   const c10::intrusive_ptr<Options>& options) {
  refuse_child(process_);
  const auto own = std::find(ranks.begin(), ranks.end(), rank_);
  if (own == ranks.end()) return {};
  const auto rank = static_cast<int>(own - ranks.begin());
  const auto size = static_cast<int>(ranks.size());
  BackendOptions of_group = options_;
  of_group.timeout = options->timeout;
  of_group.join.job += "/" + options->group_name;
  Beginning beginning = options_.begin(store, rank, size, of_group.timeout);
  return c10::make_intrusive<Backend>(std::move(beginning.store), rank, size, std::move(of_group),
                                      std::move(beginning.delegate));
}

std::optional<Statistics> Backend::statistics() const {
  return process_.is_current() ? job_->statistics() : std::nullopt;
}

std::string Backend::interface() const {
  return process_.is_current() ? job_->interface() : std::string();
}

::c10d::ErrorType Backend::getError() {
  const bool has_failed = !process_.is_current() || job_->has_failed();
  return has_failed ? ::c10d::ErrorType::COMM_ERROR : ::c10d::ErrorType::SUCCESS;
}

void Backend::abort() {
  if (!process_.is_current()) return;
  watch_->abort("it was aborted");
  delegation_->end();
}

// After drain(), all exchanges of fingerprints have ended, so end() does not wait for other ranks.
void Backend::leave() {
  if (!process_.is_current()) return;
  job_->drain();
  delegation_->end();
  completions_->drain();
}

void Backend::shutdown() {
  if (!process_.is_current()) return;
  leave();
  for (const Works& work : take_delegated()) wait_for_end(*work);
  delegate_->shutdown();
}

std::deque<Backend::Works> Backend::take_delegated() {
  const base::MutexLock lock(delegated_mutex_);
  return std::exchange(delegated_, {});
}

// Frees the tensors of calls soon after the calls have ended.
std::deque<Backend::Works> Backend::take_delegated_that_ended() {
  std::deque<Works> ended;
  const base::MutexLock lock(delegated_mutex_);
  while (!delegated_.empty() && delegated_.front()->isCompleted()) {
    ended.push_back(std::move(delegated_.front()));
    delegated_.pop_front();
  }
  return ended;
}

}  // namespace infold::pytorch
