// SPDX-License-Identifier: Apache-2.0
#include "rank/in_flight.h"

#include <algorithm>
#include <new>
#include <utility>

#include "io/host/clock.h"

namespace infold::rank {
namespace {

template <typename T>
std::vector<T> with_capacity(std::size_t capacity) {
  std::vector<T> empty;
  empty.reserve(capacity);
  return empty;
}

}  // namespace

InFlight::InFlight(const core::WorkerOptions& options, std::unique_ptr<io::Endpoint> endpoint,
                   Conclude conclude)
    : conclude_(std::move(conclude)),
      active_(with_capacity<Call*>(options.transfers_max)),
      finished_(with_capacity<Finished>(options.transfers_max)),
      sizes_due_(with_capacity<SizeDue>(options.transfers_max)),
      driver_(options, std::move(endpoint), *this) {}

std::optional<Error> InFlight::submit(Call& call) {
  const base::Result<void> submitted =
      call.outline.one_by_one ? submit_one_by_one(call) : submit_together(call);
  // Should a transfer be refused that is not the first, the job ends, and the events of those
  // before it conclude the call.
  if (submitted || call.transfers.any()) return std::nullopt;
  return Error{submitted.error().code, submitted.error().detail};
}

template <typename Submit>
base::Result<void> InFlight::when_there_is_room(Submit&& submit) {
  for (;;) {
    const std::uint64_t ended = this->ended();
    base::Result<void> result = driver_.with_worker(submit);
    if (result || result.error().code != Code::resource_exhausted) return result;
    wait_for_end_after(ended);
  }
}

// By the driver's lock.
base::Result<void> InFlight::submit_one(core::Worker& worker, base::Instant now, Call& call,
                                        std::uint32_t number) {
  const auto id = worker.submit(now, call.launch->transfer(number, call.transfers.last));
  if (!id) return tl::unexpected(id.error());
  if (call.transfers.left == 0) active_.push_back(&call);
  call.transfers.add(*id);
  return {};
}

// All in one moment, so that none is done before the next has its place.
base::Result<void> InFlight::submit_together(Call& call) {
  const std::uint32_t transfers = call.outline.transfers;
  return when_there_is_room([&](core::Worker& worker, base::Instant now) -> base::Result<void> {
    if (transfers > 1 && !worker.failure() && !worker.has_room_for(transfers)) {
      return base::fail(Code::resource_exhausted, "submit",
                        "too many calls in flight; wait for one");
    }
    for (std::uint32_t number = 0; number < transfers; ++number) {
      const base::Result<void> submitted = submit_one(worker, now, call, number);
      if (submitted) continue;
      if (number > 0) worker.cancel(now);
      return submitted;
    }
    return {};
  });
}

base::Result<void> InFlight::submit_one_by_one(Call& call) {
  // While transfers are still being submitted, one more is left than there are.
  driver_.with_worker([&](core::Worker&, base::Instant) {
    active_.push_back(&call);
    call.transfers.left = 1;
  });
  base::Result<void> submitted;
  for (std::uint32_t number = 0; number < call.outline.transfers && submitted; ++number) {
    submitted = when_there_is_room([&](core::Worker& worker, base::Instant now) {
      return submit_one(worker, now, call, number);
    });
  }
  const bool is_over = driver_.with_worker([&](core::Worker& worker, base::Instant now) {
    if (!submitted && call.transfers.any()) worker.cancel(now);
    if (--call.transfers.left > 0) return false;
    drop(call);
    return true;
  });
  if (is_over && call.transfers.any()) conclude_(call, io::monotonic_now());
  return submitted;
}

void InFlight::drop(const Call& call) {
  active_.erase(std::find(active_.begin(), active_.end(), &call));
}

void InFlight::take(base::Instant now, const core::Event& event) {
  const auto place = std::find_if(active_.begin(), active_.end(),
                                  [&](const Call* call) { return call->transfers.has(event.id); });
  Call* call = place == active_.end() ? nullptr : *place;
  if (call != nullptr) {
    call->transfers.end_one(event);
    const std::uint32_t number = call->transfers.number_of(event.id);
    if (number < call->outline.sizing && !call->transfers.failure) {
      sizes_due_.push_back({call, number});
    }
    if (call->transfers.left > 0) {
      call = nullptr;
    } else {
      active_.erase(place);
    }
  }
  finished_.push_back({call, now});
}

void InFlight::settle() {
  for (const SizeDue& due : sizes_due_) give_size(due);
  sizes_due_.clear();
  if (finished_.empty()) return;
  for (const Finished& finished : finished_) {
    if (finished.call != nullptr) conclude_(*finished.call, finished.at);
  }
  const std::lock_guard lock(ended_mutex_);
  ended_ += finished_.size();
  finished_.clear();
  some_ended_.notify_all();
}

void InFlight::give_size(const SizeDue& due) {
  std::optional<Launch::Size> size;
  try {
    size = due.call->launch->size_after(due.after, io::monotonic_now());
  } catch (const std::bad_alloc&) {
    size.reset();
  }
  const core::TransferId next = due.call->transfers.id_of(due.after + 1);
  driver_.with_worker([&](core::Worker& worker, base::Instant now) {
    if (size) {
      worker.set_size(next, size->elements, size->present);
    } else {
      worker.cancel(now);
    }
  });
}

InFlight::State InFlight::state() {
  return driver_.with_worker([this](core::Worker& worker, base::Instant) {
    return State{worker.failure().has_value(), active_.empty()};
  });
}

void InFlight::cancel(const Call& call, bool in_any_case) {
  driver_.with_worker([&](core::Worker& worker, base::Instant now) {
    const bool is_in_flight = std::find(active_.begin(), active_.end(), &call) != active_.end();
    if (is_in_flight || in_any_case) worker.cancel(now);
  });
}

std::uint64_t InFlight::ended() {
  const std::lock_guard lock(ended_mutex_);
  return ended_;
}

void InFlight::wait_for_end_after(std::uint64_t ended) {
  std::unique_lock lock(ended_mutex_);
  some_ended_.wait(lock, [&] { return ended_ > ended; });
}

}  // namespace infold::rank
