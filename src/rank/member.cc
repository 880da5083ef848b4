// SPDX-License-Identifier: Apache-2.0
#include "rank/member.h"

#include <algorithm>
#include <new>
#include <utility>

#include "encoding/format_choice.h"
#include "io/host/clock.h"
#include "rank/calls/site_obstacle.h"

namespace infold::rank {
namespace {

// Longer than any program waits, and small enough that adding it to a clock's time cannot overflow.
constexpr std::chrono::nanoseconds kDeadlineMax = std::chrono::hours(24 * 365);

// A job may be unable to sum integers of 64 bits. Elements that are only copied then travel as two
// halves.
bool needs_halves(const CallRequest& request, const core::WorkerOptions& options) {
  return request.collective == core::Collective::broadcast &&
         element_bytes(request.input.type) == 8 && !options.formats.has(core::WireFormat::i64);
}

CallRequest in_halves(CallRequest request) {
  request.input = {request.input.data, request.input.elements * 2, DataType::i32};
  request.output = {request.output.data, request.output.elements * 2, DataType::i32};
  return request;
}

}  // namespace

Member::Member(MemberOptions options, std::vector<DrivenSites> shares)
    : options_(std::move(options)),
      sparse_obstacle_(find_sparse_obstacle(options_.worker, options_.site_names)),
      end_reason_(options_.worker.rank, options_.site_names),
      calls_(*this),
      in_flight_(
          options_.worker, std::move(shares),
          [this](Call& call, base::Instant now) { conclude(call, now); },
          std::move(options_.tell)) {
  if (options_.rejoin.attempt)
    rejoiner_.emplace(static_cast<Rejoiner::Owner&>(*this), std::move(options_.rejoin),
                      options_.deadline);
  if (options_.verify) {
    checked_.emplace(rank(), world(), [this](const CallRequest& request, CallName name) {
      return begin(request, name);
    });
  }
}

Member::~Member() { leave(); }

void Member::leave() {
  if (!process_.is_current()) return;
  if (checked_) checked_->close();
  if (rejoiner_) rejoiner_->close();
  const std::optional<core::Abort> end = drivers().end_said();
  drivers().leave();
  if (checked_) checked_->stop();
  if (end && options_.membership) options_.membership->note_end(*end);
  options_.membership.reset();
  drivers().stop();
}

void Member::lose_rank(std::uint32_t rank) {
  drivers().with_each([rank](core::Worker& worker, base::Instant now) {
    worker.lose_rank(now, static_cast<std::uint16_t>(rank));
  });
}

void Member::lose_site(std::uint8_t site, const std::string& lost_switch) {
  end_reason_.set_lost_switch(lost_switch);
  drivers().with_each(
      [site](core::Worker& worker, base::Instant now) { worker.lose_site(now, site); });
  if (rejoiner_ && has_lost_site()) rejoiner_->note_lost_switch();
}

void Member::hear_end(const core::Abort& abort) {
  drivers().with_each(
      [&abort](core::Worker& worker, base::Instant now) { worker.hear_end(now, abort); });
}

bool Member::has_lost_site() {
  const std::optional<core::Failure> failure = drivers().failure();
  return failure && is_site_lost(*failure);
}

void Member::end_membership() {
  const std::optional<core::Failure> failure = drivers().failure();
  if (failure && is_site_lost(*failure)) options_.membership->note_site_lost(failure->site);
  options_.membership.reset();
}

// Calls that begin meanwhile follow the calls that are made again.
void Member::resume(Reentry entry) {
  const base::MutexLock turn(calls_mutex_);
  sparse_obstacle_ = find_sparse_obstacle(entry.worker, options_.site_names);
  options_.worker.limits = entry.worker.limits;
  options_.worker.formats = entry.worker.formats;
  options_.worker.native_types = entry.worker.native_types;
  options_.worker.sites = entry.worker.sites;
  in_flight_.restart(entry.worker, std::move(entry.shares), std::move(entry.tell));
  options_.membership = std::move(entry.membership);
  end_reason_.set_lost_switch({});
  for (Call* const call : rejoiner_->come_back()) {
    call->start_over();
    launch_or_refuse(*call, call->rejoin.request());
  }
  entry.watch(*this);
}

void Member::fail_kept(Call& call, const std::string& why) {
  finish(call, tl::unexpected(end_reason_.of_failed(call, drivers().failure(), io::monotonic_now(),
                                                    "; " + why)));
  drivers().wake_callers();  // although no event will come for them
}

Handle Member::handle_of(Call& call) {
  return Handle(std::shared_ptr<Call>(shared_from_this(), &call));
}

std::optional<Error> Member::refuse_child() const {
  if (process_.is_current()) return std::nullopt;
  return Error{Code::invalid_argument,
               "this process was forked from process " + std::to_string(process_.number()) +
                   ", which joined the job and alone can use the communicator; make the calls "
                   "there, or start this process without fork (\"spawn\") and join another job",
               -1, ""};
}

Handle Member::start(const CallRequest& request) {
  if (!process_.is_current()) return handle_of(of_child_);
  const base::MutexLock turn(calls_mutex_);
  const CallName name = {request.collective, ++calls_made_, request.in_parts};
  if (!checked_) return begin_in_turn(request, name);
  Call& call = calls_.acquire();
  call.begin_checked(name);
  checked_->add(call, request);
  return handle_of(call);
}

Handle Member::begin(const CallRequest& request, CallName name) {
  const base::MutexLock turn(calls_mutex_);
  return begin_in_turn(request, name);
}

Handle Member::begin_in_turn(const CallRequest& request, CallName name) {
  Call& call = calls_.acquire();
  const base::Instant now = io::monotonic_now();
  const std::chrono::nanoseconds deadline =
      request.options.deadline.count() > 0 ? request.options.deadline : options_.deadline;
  call.begin(name, {.started = now,
                    .deadline = now + base::Duration{std::min(deadline, kDeadlineMax).count()}});
  Handle handle = handle_of(call);
  if (std::optional<Error> error = check_request(request, rank(), world())) {
    refuse(call, std::move(*error));
    return handle;
  }
  if (rejoiner_ && rejoiner_->add(call, request)) return handle;
  launch_or_refuse(call, request);
  return handle;
}

void Member::launch_or_refuse(Call& call, const CallRequest& request) {
  std::optional<Error> error;
  try {
    error = needs_halves(request, options_.worker) ? launch(call, in_halves(request))
                                                   : launch(call, request);
  } catch (const std::bad_alloc&) {
    error = Error{Code::resource_exhausted, "no memory to stage the result", -1, ""};
  }
  if (!error) return;
  const bool is_over = error->code == Code::aborted;
  if (is_over && rejoiner_ && has_lost_site() && rejoiner_->keep(call)) return;
  refuse(call, std::move(*error));
}

std::optional<Error> Member::launch(Call& call, const CallRequest& request) {
  Result<FormatChoice> format =
      request.collective == core::Collective::barrier
          ? FormatChoice{}
          : encoding::choose_format({request.collective, request.input.type,
                                     request.options.reduction, request.options.wire, options_.wire,
                                     static_cast<std::uint32_t>(world()),
                                     options_.worker.native()});
  if (!format) return format.error();
  const bool is_empty = request.input.elements == 0 && !request.is_list && !request.encoded;
  if (is_empty && !options_.worker.sums(format->layout))
    format->layout.format = core::WireFormat::i32;

  if (!is_empty && request.collective != core::Collective::barrier) {
    if (auto error = refuse_reduction(format->reduction, options_.worker, options_.site_names)) {
      return error;
    }
  }
  bool is_sparse = request.rows || request.options.layout == Layout::blocks;
  if (is_sparse) {
    if (auto error = refuse_sparse(request, *format, sparse_obstacle_)) return error;
  }
  LaunchTerms terms = {*format, rank(), world(), call.deadline(), options_.worker.limits};
  if (AutomaticLayout::decides(request, *format)) {
    if (auto error = automatic_layout_.choose(call, request, *format, in_flight_)) return error;
    const sparse::LayoutChoice::Choice& choice = *call.layout.choice();
    // The choice is made even if there is an obstacle: when the job comes back at other sites, all
    // ranks must have counted the same choices.
    is_sparse = choice.is_sparse && sparse_obstacle_.empty();
    terms.started = call.layout.launched();
    if (choice.asks) terms.opinion = choice.opinion;
  }
  if (auto error = call.launch.begin(request, terms, is_sparse)) return error;
  return in_flight_.submit(call);
}

void Member::conclude(Call& call, base::Instant now) {
  const std::optional<core::Failure>& failure = call.transfers.failure();
  if (failure && rejoiner_ && is_site_lost(*failure) && rejoiner_->keep(call)) return;
  if (failure) {
    finish(call, tl::unexpected(end_reason_.of_failed(call, failure, now)));
    return;
  }
  Result<Completion> result;
  try {
    result = deliver(call);
  } catch (const std::bad_alloc&) {
    refuse(call, {Code::resource_exhausted, "no memory for the result", -1, ""});
    return;
  }
  if (call.layout.choice()) automatic_layout_.learn(call, calls_made_ == call.name().number);
  finish(call, std::move(result));
}

// Throws std::bad_alloc.
Result<Completion> Member::deliver(Call& call) {
  if (std::optional<Error> error = call.launch.deliver()) {
    error->message = call_text(call.name()) + ": " + error->message;
    return tl::unexpected(std::move(*error));
  }
  if (call.launch.outline().leaves_out_zeros) ++calls_sparse_;
  // Nothing was summed in these cases, but all ranks have called.
  const bool gathers =
      call.name().in_parts && call.name().collective == core::Collective::broadcast;
  const bool is_of_all = call.launch.outline().elements == 0 || gathers;
  return Completion{is_of_all ? world() : call.transfers.ranks_summed(), call.launch.format()};
}

void Member::finish(Call& call, Result<Completion> result) {
  if (rejoiner_) rejoiner_->remove(call);
  call.launch.clear();
  call.finish(std::move(result));
}

// The other ranks wait for this rank in the call, so a call that cannot be made ends the job.
void Member::refuse(Call& call, Error error) {
  if (error.code == Code::aborted) {
    error = end_reason_.of_late(call, drivers().failure());
  } else {
    error = end_reason_.of_refused(call, std::move(error));
    drivers().with_each([](core::Worker& worker, base::Instant now) { worker.cancel(now); });
  }
  finish(call, tl::unexpected(std::move(error)));
}

io::EndpointCounters Member::endpoint_counters() {
  return process_.is_current() ? drivers().endpoint_counters() : io::EndpointCounters{};
}

std::optional<Error> Member::failure() {
  if (std::optional<Error> error = refuse_child()) return error;
  const std::optional<core::Failure> failure = drivers().failure();
  if (!failure || (rejoiner_ && is_site_lost(*failure))) return std::nullopt;
  return end_reason_.of_job(*failure);
}

void Member::cancel(const Call& call) {
  if (rejoiner_ && rejoiner_->keeps(call)) rejoiner_->give_up("this rank gave a call up");
  in_flight_.cancel(call, call.is_checked() && !call.done());
}

void Member::drive_until(const Call& call, base::Instant deadline) {
  if (call.is_checked()) return;  // another thread makes and drives it
  in_flight_.drive_until(call, deadline);
}

Error Member::pending_error(const Call& call, std::chrono::nanoseconds waited) {
  const core::RankRanges missing = in_flight_.waiting_for(call);
  return describe_pending(call.name(), base::Duration{waited.count()}, missing);
}

Statistics Member::statistics() {
  Statistics statistics;
  if (!process_.is_current()) return statistics;
  core::WorkerCounters counters;
  drivers().with_each([&](core::Worker& worker, base::Instant) {
    counters += worker.counters();
    statistics.packets_in_flight += worker.in_flight();
    statistics.window += worker.window();
  });
  statistics.packets_resent = counters.resent;
  statistics.packets_asked = counters.sent_query;
  statistics.packets_received =
      counters.received_result + counters.received_realign + counters.received_pending;
  statistics.packets_ignored = counters.dropped_malformed + counters.dropped_foreign +
                               counters.dropped_repeat + counters.dropped_unexpected;
  const io::EndpointCounters endpoint = drivers().endpoint_counters();
  statistics.packets_sent = endpoint.sent;
  statistics.messages_sent = endpoint.messages_sent;
  statistics.messages_received = endpoint.messages_received;
  statistics.calls = calls_made_;
  statistics.calls_sparse = calls_sparse_;
  statistics.ranks_in_memory = options_.paths.ranks_in_memory;
  statistics.contributions_on_network = options_.paths.parties_on_network;
  return statistics;
}

}  // namespace infold::rank
