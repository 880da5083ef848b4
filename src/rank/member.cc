// SPDX-License-Identifier: Apache-2.0
//
// From events to results.
#include "rank/member.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "io/host/clock.h"

namespace infold::rank {
namespace {

// Beyond any program's patience, and small enough that adding it to a clock cannot overflow.
constexpr std::chrono::nanoseconds kDeadlineMax = std::chrono::hours(24 * 365);

}  // namespace

Member::Member(MemberOptions options, std::unique_ptr<io::Endpoint> endpoint)
    : options_(std::move(options)),
      sparse_obstacle_(find_sparse_obstacle(options_.worker, options_.site_names)) {
  active_.reserve(options_.worker.transfers_max);
  finished_.reserve(options_.worker.transfers_max);
  steps_done_.reserve(options_.worker.transfers_max);
  driver_.emplace(options_.worker, std::move(endpoint), *this);
  if (options_.rejoin.attempt)
    rejoiner_.emplace(*this, std::move(options_.rejoin), options_.deadline);
  if (options_.verify) checked_.emplace(*this);
}

Member::~Member() { leave(); }

void Member::leave() {
  if (checked_) checked_->close();
  if (rejoiner_) rejoiner_->close();
  const std::optional<core::Abort> end =
      driver_->with_worker([](core::Worker& worker, base::Instant) { return worker.end_said(); });
  driver_->leave();
  if (checked_) checked_->stop();
  if (end && options_.membership) options_.membership->note_end(*end);
  options_.membership.reset();
  driver_->stop();
}

void Member::lose_rank(std::uint32_t rank) {
  driver_->with_worker([rank](core::Worker& worker, base::Instant now) {
    worker.lose_rank(now, static_cast<std::uint16_t>(rank));
  });
}

void Member::lose_site(std::uint8_t site, const std::string& lost_switch) {
  {
    const std::lock_guard lock(pool_mutex_);
    lost_switch_ = lost_switch;
  }
  driver_->with_worker(
      [site](core::Worker& worker, base::Instant now) { worker.lose_site(now, site); });
  if (rejoiner_ && has_lost_site()) rejoiner_->begin();
}

void Member::hear_end(const core::Abort& abort) {
  driver_->with_worker(
      [&abort](core::Worker& worker, base::Instant now) { worker.hear_end(now, abort); });
}

std::optional<core::Failure> Member::worker_failure() {
  return driver_->with_worker([](core::Worker& worker, base::Instant) { return worker.failure(); });
}

bool Member::has_lost_site() {
  const std::optional<core::Failure> failure = worker_failure();
  return failure && is_site_lost(*failure);
}

void Member::end_membership() {
  const std::optional<core::Failure> failure = worker_failure();
  if (failure && is_site_lost(*failure)) options_.membership->note_site_lost(failure->site);
  options_.membership.reset();
}

// Calls that are being made come behind those that are made again.
void Member::resume(Reentry entry) {
  const std::lock_guard turn(calls_mutex_);
  sparse_obstacle_ = find_sparse_obstacle(entry.worker, options_.site_names);
  driver_->restart(entry.worker, std::move(entry.endpoint));
  options_.membership = std::move(entry.membership);
  {
    const std::lock_guard lock(pool_mutex_);
    lost_switch_.clear();
  }
  for (Call* const call : rejoiner_->end()) {
    give_back_staging(*call);
    call->start_over();
    launch_or_refuse(*call, call->request);
  }
  entry.watch(*this);
}

void Member::fail_kept(Call& call, const std::string& why) {
  const std::optional<core::Failure> failure = worker_failure();
  Error error = {Code::unavailable, call_text(call.description.name), -1, ""};
  {
    const std::lock_guard lock(pool_mutex_);
    if (failure) error = describe(*failure, failed_call(call, io::monotonic_now()));
    error.message += "; " + why;
    if (end_reason_.empty()) end_reason_ = error.message;
  }
  error.message += kMakeNewCommunicators;
  finish(call, tl::unexpected(std::move(error)));
  driver_->wake();  // its caller may be driving, with nothing to come
}

Handle Member::start(const CallRequest& request) {
  const std::lock_guard turn(calls_mutex_);
  const CallName name = {request.collective, ++calls_, request.in_parts};
  if (!checked_) return begin_in_turn(request, name);
  Call& call = acquire_call();
  call.description.name = name;
  call.is_checked = true;
  checked_->add(call, request);
  return Handle(std::shared_ptr<Call>(shared_from_this(), &call));
}

Handle Member::begin(const CallRequest& request, CallName name) {
  const std::lock_guard turn(calls_mutex_);
  return begin_in_turn(request, name);
}

Handle Member::begin_in_turn(const CallRequest& request, CallName name) {
  Call& call = acquire_call();
  call.description.name = name;
  call.description.started = io::monotonic_now();
  Handle handle(std::shared_ptr<Call>(shared_from_this(), &call));
  if (std::optional<Error> error = check_request(request, rank(), world())) {
    refuse(call, std::move(*error));
    return handle;
  }
  const std::chrono::nanoseconds deadline =
      request.options.deadline.count() > 0 ? request.options.deadline : options_.deadline;
  call.description.deadline =
      call.description.started + base::Duration{std::min(deadline, kDeadlineMax).count()};
  if (rejoiner_) {
    call.request_list.assign(request.list.begin(), request.list.end());
    call.request = request;
    call.request.list = call.request_list;
    if (rejoiner_->add(call)) return handle;
  }
  launch_or_refuse(call, request);
  return handle;
}

void Member::launch_or_refuse(Call& call, const CallRequest& request) {
  std::optional<Error> error;
  try {
    error = launch(call, request);
  } catch (const std::bad_alloc&) {
    error = Error{Code::resource_exhausted, "no memory to stage the result", -1, ""};
  }
  if (!error) return;
  const bool is_over = error->code == Code::aborted;
  if (is_over && rejoiner_ && has_lost_site() && rejoiner_->keep(call)) return;
  refuse(call, std::move(*error));
}

Call& Member::acquire_call() {
  const std::lock_guard lock(pool_mutex_);
  if (free_calls_.empty()) return all_calls_.emplace_back(*this);
  Call& call = *free_calls_.back();
  free_calls_.pop_back();
  call.reset();
  return call;
}

void Member::take(base::Instant now, const core::Event& event) {
  const auto place = std::find_if(active_.begin(), active_.end(), [&](const Call* call) {
    return call->first_transfer <= event.id && event.id <= call->last_transfer;
  });
  // An agreement's event says nothing that its data's event does not say too.
  Call* call = place == active_.end() ? nullptr : *place;
  if (call != nullptr) {
    if (event.failure && !call->failure) call->failure = event.failure;
    call->ranks_summed = std::max(call->ranks_summed, event.ranks_summed);
    const auto step = static_cast<std::uint32_t>(static_cast<std::uint64_t>(event.id) -
                                                 static_cast<std::uint64_t>(call->first_transfer));
    if (step + 1 < call->block_steps && !call->failure) steps_done_.push_back({call, step});
    if (--call->transfers_left == 0) {
      active_.erase(place);
    } else {
      call = nullptr;
    }
  }
  finished_.push_back({call, now});
}

void Member::settle() {
  for (const StepDone& done : steps_done_) begin_next_step(*done.call, done.step);
  steps_done_.clear();
  if (finished_.empty()) return;
  for (const Finished& finished : finished_) {
    if (finished.call != nullptr) conclude(*finished.call, finished.at);
  }
  const std::lock_guard lock(pool_mutex_);
  transfers_ended_ += finished_.size();
  finished_.clear();
  transfer_ended_.notify_all();
}

void Member::conclude(Call& call, base::Instant now) {
  Result<Completion> result = Completion{call.ranks_summed};
  if (call.failure) {
    if (rejoiner_ && is_site_lost(*call.failure) && rejoiner_->keep(call)) return;
    const std::lock_guard lock(pool_mutex_);
    Error error = describe(*call.failure, failed_call(call, now));
    if (end_reason_.empty()) end_reason_ = error.message;
    error.message += kMakeNewCommunicators;
    result = tl::unexpected(std::move(error));
  } else if (call.block_steps > 0 && call.block_sum->row_lengths_differ()) {
    if (call.choice) note_outcome(call);
    result = tl::unexpected(
        describe_row_lengths(call.description.name, *call.block_sum->row_lengths_differ()));
  } else if (std::optional<Error> error = deliver(call)) {
    refuse(call, std::move(*error));
    return;
  } else {
    if (call.choice) note_outcome(call);
    if (call.block_steps > 0) ++calls_sparse_;
    // Nothing was there to be summed, but all have called.
    const bool gathers = call.description.name.in_parts &&
                         call.description.name.collective == core::Collective::broadcast;
    if (call.description.elements == 0 || gathers) result->ranks_summed = world();
  }
  finish(call, std::move(result));
}

void Member::finish(Call& call, Result<Completion> result) {
  if (rejoiner_) rejoiner_->remove(call);
  give_back_staging(call);
  call.finish(std::move(result));
}

void Member::give_back_staging(Call& call) { scratch_->give_back(std::exchange(call.staging, {})); }

std::optional<Error> Member::deliver(Call& call) {
  const Call::Description& description = call.description;
  try {
    if (call.block_steps > 0) call.block_sum->finish();
    if (description.output_rows != nullptr) deliver_rows(call);
  } catch (const std::bad_alloc&) {
    return Error{Code::resource_exhausted, "no memory for the result", -1, ""};
  }
  if (call.block_steps > 0 || !call.staging.bytes) return std::nullopt;
  if (description.output == nullptr) {
    call.fusion.scatter(call.staging.bytes.get());
    return std::nullopt;
  }
  std::memcpy(description.output, call.staging.bytes.get(), description.output_bytes);
  return std::nullopt;
}

// The ranks that make this call wait for this one, so a call that cannot be made ends the job.
void Member::refuse(Call& call, Error error) {
  if (error.code == Code::aborted) {
    error = job_over_error(call);
  } else {
    error.message = call_text(call.description.name) + ": " + error.message;
    {
      const std::lock_guard lock(pool_mutex_);
      if (end_reason_.empty()) end_reason_ = error.message;
    }
    driver_->with_worker([](core::Worker& worker, base::Instant now) { worker.cancel(now); });
  }
  error.message += kMakeNewCommunicators;
  finish(call, tl::unexpected(std::move(error)));
}

// Tells the reason itself to the first call that meets it, and where it was told to later ones.
Error Member::job_over_error(const Call& call) {
  const std::optional<core::Failure> failure = worker_failure();
  const std::lock_guard lock(pool_mutex_);
  if (end_reason_.empty() && failure) {
    Error error = describe(*failure, failed_call(call, io::monotonic_now()));
    end_reason_ = error.message;
    return error;
  }
  return {Code::aborted,
          call_text(call.description.name) + ": the job had ended before (" + end_reason_ + ")",
          failure ? failure->rank : -1, ""};
}

std::optional<Error> Member::failure() {
  const std::optional<core::Failure> failure = worker_failure();
  if (!failure || (rejoiner_ && is_site_lost(*failure))) return std::nullopt;
  const std::lock_guard lock(pool_mutex_);
  FailedCall none = {CallName{},          0,           false, options_.worker.rank, {},
                     options_.site_names, lost_switch_};
  Error error = describe(*failure, none);
  if (!end_reason_.empty()) error.message = end_reason_;
  error.message += kMakeNewCommunicators;
  return error;
}

FailedCall Member::failed_call(const Call& call, base::Instant now) const {
  return {call.description.name, call.description.elements,      call.description.composed,
          options_.worker.rank,  now - call.description.started, options_.site_names,
          lost_switch_};
}

void Member::cancel(const Call& call) {
  if (rejoiner_ && rejoiner_->keeps(call)) rejoiner_->give_up("this rank gave a call up");
  driver_->with_worker([&](core::Worker& worker, base::Instant now) {
    const bool in_flight = std::find(active_.begin(), active_.end(), &call) != active_.end();
    if (in_flight || (call.is_checked && !call.done())) worker.cancel(now);
  });
}

void Member::drive_until(const Call& call, base::Instant deadline) {
  if (call.is_checked) return;  // Another thread makes it, and drives.
  driver_->drive_until([&call] { return call.done(); }, deadline);
}

void Member::recycle(Call& call) {
  const std::lock_guard lock(pool_mutex_);
  free_calls_.push_back(&call);
}

Error Member::pending_error(const Call& call, std::chrono::nanoseconds waited) {
  const core::RankRanges missing = driver_->with_worker(
      [&](core::Worker& worker, base::Instant) { return worker.waiting_for(call.last_transfer); });
  return describe_pending(call.description.name, base::Duration{waited.count()}, missing);
}

Statistics Member::statistics() {
  Statistics statistics;
  driver_->with_worker([&](core::Worker& worker, base::Instant) {
    const core::WorkerCounters& counters = worker.counters();
    statistics.packets_resent = counters.resent;
    statistics.packets_asked = counters.sent_query;
    statistics.packets_received =
        counters.received_result + counters.received_realign + counters.received_pending;
    statistics.packets_ignored = counters.dropped_malformed + counters.dropped_foreign +
                                 counters.dropped_repeat + counters.dropped_unexpected;
    statistics.packets_in_flight = worker.in_flight();
    statistics.window = worker.window();
  });
  statistics.packets_sent = driver_->endpoint_counters().sent;
  statistics.calls = calls_;
  statistics.calls_sparse = calls_sparse_;
  statistics.ranks_in_memory = options_.paths.ranks_in_memory;
  statistics.contributions_on_network = options_.paths.parties_on_network;
  return statistics;
}

}  // namespace infold::rank
