// SPDX-License-Identifier: Apache-2.0
//
// From a request to transfers, and from events to results.
#include "runtime/member.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "io/clock.h"
#include "numeric/codec.h"
#include "runtime/agreement.h"

namespace infold::runtime {
namespace {

constexpr const char* kMakeNew = "; the job is over on all ranks, make new communicators";

// Beyond any program's patience, and small enough that adding it to a clock cannot overflow.
constexpr std::chrono::nanoseconds kDeadlineMax = std::chrono::hours(24 * 365);

bool overlap(const void* a, const void* b, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(a);
  const auto second = reinterpret_cast<std::uintptr_t>(b);
  return first < second + bytes && second < first + bytes;
}

base::Duration duration_of(std::chrono::nanoseconds time) { return {time.count()}; }

}  // namespace

Member::Member(MemberOptions options, std::unique_ptr<io::DatagramPort> port)
    : options_(std::move(options)) {
  active_.reserve(options_.worker.transfers_max);
  finished_.reserve(options_.worker.transfers_max);
  driver_.emplace(options_.worker, std::move(port), *this);
}

Member::~Member() { leave(); }

void Member::leave() {
  driver_->stop();
  options_.network.reset();
}

void Member::lose_rank(std::uint32_t rank) {
  driver_->with_worker([rank](core::Worker& worker, base::Instant now) {
    worker.lose_rank(now, static_cast<std::uint16_t>(rank));
  });
}

void Member::lose_site(std::uint8_t site) {
  driver_->with_worker(
      [site](core::Worker& worker, base::Instant now) { worker.lose_site(now, site); });
}

Handle Member::start(const CallRequest& request) {
  const std::lock_guard turn(calls_mutex_);
  Call& call = acquire_call();
  call.description.name = {request.collective, ++calls_, request.in_parts};
  call.description.started = io::monotonic_now();
  std::optional<Error> error = check_request(request, rank(), world());
  try {
    if (!error) error = launch(call, request);
  } catch (const std::bad_alloc&) {
    error = Error{Code::resource_exhausted, "no memory to stage the result", -1, ""};
  }
  if (error) refuse(call, std::move(*error));
  return Handle(std::shared_ptr<Call>(shared_from_this(), &call));
}

Call& Member::acquire_call() {
  const std::lock_guard lock(pool_mutex_);
  if (free_calls_.empty()) return all_calls_.emplace_back(*this);
  Call& call = *free_calls_.back();
  free_calls_.pop_back();
  call.reset();
  return call;
}

std::optional<Error> Member::launch(Call& call, const CallRequest& request) {
  const Result<FormatChoice> choice =
      request.collective == core::Collective::barrier
          ? FormatChoice{}
          : choose_format({request.collective, request.input.type, request.options.reduction,
                           request.options.wire, options_.wire,
                           static_cast<std::uint32_t>(world())});
  if (!choice) return choice.error();

  return request.in_parts ? launch_parts(call, request, *choice)
                          : launch_whole(call, request, *choice);
}

std::optional<Error> Member::launch_whole(Call& call, const CallRequest& request,
                                          const FormatChoice& choice) {
  core::TransferRequest data = transfer_of(call, request, choice);
  if (choice.agreed && data.elements > 0) {
    call.description.agreed = true;
    const auto agreement = submit_agreement(call, data);
    if (!agreement) return Error{public_code(agreement.error().code), agreement.error().detail};
    data.after = *agreement;
    data.codes = call.agreed_codes.data();
  }
  const base::Result<core::TransferId> id = submit(data, &call);
  if (!id) return Error{public_code(id.error().code), id.error().detail};
  return std::nullopt;
}

// One transfer with each rank as root. Should one be refused, those before it are in flight: then
// the job ends, and their events finish the call.
std::optional<Error> Member::launch_parts(Call& call, const CallRequest& request,
                                          const FormatChoice& choice) {
  if (choice.agreed) {
    return Error{Code::unsupported, "fixed32 cannot be scattered; choose another wire format"};
  }
  const bool gathers = request.collective == core::Collective::broadcast;
  if (gathers && request.input.elements > 0) {
    const CallRequest own = part_of(request, rank(), rank());
    const std::size_t bytes = request.input.elements * element_bytes(request.input.type);
    std::byte* const place =
        static_cast<std::byte*>(request.output.data) + static_cast<std::size_t>(rank()) * bytes;
    if (place != own.input.data) std::memcpy(place, own.input.data, bytes);
  }
  // While parts are still being submitted, one more is left than there are.
  driver_->with_worker([&](core::Worker&, base::Instant) {
    active_.push_back(&call);
    call.transfers_left = 1;
  });
  std::optional<Error> refused;
  for (int root = 0; root < world() && !refused; ++root) {
    core::TransferRequest part = transfer_of(call, part_of(request, root, rank()), choice);
    const base::Result<core::TransferId> id = submit(part, &call);
    if (!id) refused = Error{public_code(id.error().code), id.error().detail};
  }
  const bool is_over = driver_->with_worker([&](core::Worker& worker, base::Instant now) {
    if (refused && call.first_transfer != core::TransferId::none) worker.cancel(now);
    if (--call.transfers_left > 0) return false;
    active_.erase(std::find(active_.begin(), active_.end(), &call));
    return true;
  });
  if (call.first_transfer == core::TransferId::none) return refused;
  if (is_over) conclude(call, io::monotonic_now());
  return std::nullopt;
}

core::TransferRequest Member::transfer_of(Call& call, const CallRequest& request,
                                          const FormatChoice& choice) {
  const bool rooted = request.collective == core::Collective::reduce ||
                      request.collective == core::Collective::broadcast;
  const bool is_root = request.root == rank();
  const bool broadcasts = request.collective == core::Collective::broadcast;
  const bool wants_result = broadcasts ? !is_root : !rooted || is_root;
  const bool contributes = !broadcasts || is_root;

  Call::Description& description = call.description;
  description.elements = request.input.elements;
  core::TransferRequest transfer;
  if (wants_result && description.elements > 0) {
    description.output = request.output.data;
    description.output_bytes = description.elements * element_bytes(request.input.type);
    const bool overlaps =
        contributes && overlap(request.input.data, request.output.data, description.output_bytes);
    // Over the same elements, each is encoded before its result comes; over others, it may not be.
    const bool same = request.input.data == request.output.data;
    if (overlaps && (request.options.keep_input || !same)) {
      const std::lock_guard lock(pool_mutex_);
      call.staging = scratch_.take(description.output_bytes);
    }
    transfer.output =
        call.staging.bytes ? call.staging.bytes.get() : static_cast<std::byte*>(description.output);
  }

  transfer.collective = request.collective;
  transfer.reduction = choice.reduction;
  transfer.layout = choice.layout;
  transfer.elements = request.input.elements;
  transfer.root = static_cast<std::uint16_t>(rooted ? request.root : 0);
  transfer.codec = choice.codec;
  if (contributes) transfer.input = static_cast<const std::byte*>(request.input.data);
  const std::chrono::nanoseconds deadline =
      request.options.deadline.count() > 0 ? request.options.deadline : options_.deadline;
  transfer.deadline = description.started + duration_of(std::min(deadline, kDeadlineMax));
  return transfer;
}

// A call that finds the worker's tables full waits until some transfer has ended; those in flight
// have deadlines, so that is bounded.
base::Result<core::TransferId> Member::submit(core::TransferRequest& request, Call* call) {
  for (;;) {
    std::unique_lock pool(pool_mutex_);
    const std::uint64_t ended = transfers_ended_;
    pool.unlock();
    const auto id = driver_->with_worker([&](core::Worker& worker, base::Instant now) {
      const base::Result<core::TransferId> submitted = worker.submit(now, request);
      if (submitted && call != nullptr) {
        if (call->transfers_left++ == 0) active_.push_back(call);
        if (call->first_transfer == core::TransferId::none) call->first_transfer = *submitted;
        call->last_transfer = *submitted;
      }
      return submitted;
    });
    if (id || id.error().code != base::Code::resource_exhausted) return id;
    pool.lock();
    transfer_ended_.wait(pool, [&] { return transfers_ended_ != ended; });
  }
}

base::Result<core::TransferId> Member::submit_agreement(Call& call,
                                                        const core::TransferRequest& data) {
  const core::DataType dtype = data.layout.dtype;
  const std::uint64_t block = data.layout.block_elements();
  const std::uint64_t blocks = (data.elements + block - 1) / block;
  call.own_codes.resize(blocks);
  call.agreed_codes.assign(blocks, 0);
  constexpr std::uint32_t kBlocksAtATime = 1U << 16;
  for (std::uint64_t first = 0; first < blocks; first += kBlocksAtATime) {
    const std::uint64_t left = data.elements - first * block;
    const auto elements =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(left, kBlocksAtATime * block));
    numeric::block_codes(dtype, data.input, {first * block, elements}, &call.own_codes[first]);
  }

  core::TransferRequest agreement = data;
  agreement.reduction = core::Reduction::max;
  agreement.collective = core::Collective::all_reduce;
  agreement.layout = agreement_layout(dtype);
  agreement.elements = blocks * kAgreementElementsPerBlock;
  agreement.codec = &agreement_codec();
  agreement.input = reinterpret_cast<const std::byte*>(call.own_codes.data());
  agreement.output = reinterpret_cast<std::byte*>(call.agreed_codes.data());
  return submit(agreement, nullptr);
}

void Member::take(base::Instant now, const core::Event& event) {
  const auto place = std::find_if(active_.begin(), active_.end(), [&](const Call* call) {
    return call->first_transfer <= event.id && event.id <= call->last_transfer;
  });
  // An agreement's event says nothing that its data's event does not say too.
  Call* call = place == active_.end() ? nullptr : *place;
  if (call != nullptr) {
    if (event.failure && !call->failure) call->failure = event.failure;
    call->ranks_summed = event.ranks_summed;
    if (--call->transfers_left == 0) {
      active_.erase(place);
    } else {
      call = nullptr;
    }
  }
  finished_.push_back({call, now});
}

void Member::settle() {
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
    Error error = describe(*call.failure, failed_call(call, now));
    const std::lock_guard lock(pool_mutex_);
    if (end_reason_.empty()) end_reason_ = error.message;
    error.message += kMakeNew;
    result = tl::unexpected(std::move(error));
  } else {
    copy_result(call);
    // Nothing was there to be summed, but all have called.
    const bool gathers = call.description.name.in_parts &&
                         call.description.name.collective == core::Collective::broadcast;
    if (call.description.elements == 0 || gathers) result->ranks_summed = world();
  }
  {
    const std::lock_guard lock(pool_mutex_);
    scratch_.give_back(std::exchange(call.staging, {}));
  }
  call.finish(std::move(result));
}

void Member::copy_result(const Call& call) const {
  const Call::Description& description = call.description;
  if (!call.staging.bytes) return;
  std::memcpy(description.output, call.staging.bytes.get(), description.output_bytes);
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
  error.message += kMakeNew;
  {
    const std::lock_guard lock(pool_mutex_);
    scratch_.give_back(std::exchange(call.staging, {}));
  }
  call.finish(tl::unexpected(std::move(error)));
}

// Tells the reason itself to the first call that meets it, and where it was told to later ones.
Error Member::job_over_error(const Call& call) {
  const std::optional<core::Failure> failure =
      driver_->with_worker([](core::Worker& worker, base::Instant) { return worker.failure(); });
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

FailedCall Member::failed_call(const Call& call, base::Instant now) const {
  return {call.description.name, call.description.elements,      call.description.agreed,
          options_.worker.rank,  now - call.description.started, options_.site_names};
}

void Member::cancel(const Call& call) {
  driver_->with_worker([&](core::Worker& worker, base::Instant now) {
    const bool in_flight = std::find(active_.begin(), active_.end(), &call) != active_.end();
    if (in_flight) worker.cancel(now);
  });
}

void Member::drive_until(const Call& call, base::Instant deadline) {
  driver_->drive_until([&call] { return call.done(); }, deadline);
}

void Member::recycle(Call& call) {
  const std::lock_guard lock(pool_mutex_);
  free_calls_.push_back(&call);
}

Error Member::pending_error(const Call& call, std::chrono::nanoseconds waited) {
  const core::RankRanges missing = driver_->with_worker(
      [&](core::Worker& worker, base::Instant) { return worker.waiting_for(call.last_transfer); });
  return describe_pending(call.description.name, duration_of(waited), missing);
}

Statistics Member::statistics() {
  Statistics statistics;
  std::uint64_t first_sends = 0;
  driver_->with_worker([&](core::Worker& worker, base::Instant) {
    const core::WorkerCounters& counters = worker.counters();
    first_sends = counters.sent_data + counters.sent_skip;
    statistics.packets_asked = counters.sent_query;
    statistics.packets_received =
        counters.received_result + counters.received_realign + counters.received_pending;
    statistics.packets_ignored = counters.dropped_malformed + counters.dropped_foreign +
                                 counters.dropped_repeat + counters.dropped_unexpected;
    statistics.packets_in_flight = worker.in_flight();
    statistics.window = worker.window();
  });
  statistics.packets_sent = driver_->port_counters().sent;
  statistics.packets_resent = statistics.packets_sent - first_sends - statistics.packets_asked;
  statistics.calls = calls_;
  return statistics;
}

}  // namespace infold::runtime
