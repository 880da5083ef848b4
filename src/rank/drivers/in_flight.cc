// SPDX-License-Identifier: Apache-2.0
#include "rank/drivers/in_flight.h"

#include <algorithm>
#include <new>
#include <utility>

#include "io/host/clock.h"

namespace infold::rank {

InFlight::Events::Events(InFlight& owner, std::size_t driver, std::uint32_t transfers_max)
    : owner_(owner), driver_(driver) {
  noted_.reserve(transfers_max);
  finished_.reserve(transfers_max);
  sizes_due_.reserve(transfers_max);
  released_.reserve(transfers_max);
}

void InFlight::Events::take(base::Instant now, const core::Event& event) {
  noted_.push_back({now, event});
}

void InFlight::Events::take_end(const core::Failure& failure, const core::Abort& said) {
  end_ = {failure, said};
}

void InFlight::Events::settle() {
  if (!noted_.empty() || end_) owner_.settle(*this);
}

InFlight::InFlight(const core::WorkerOptions& options, std::vector<DrivenSites> shares,
                   Conclude conclude, TellCalls tell)
    : conclude_(std::move(conclude)),
      tell_(std::move(tell)),
      transfers_max_(options.transfers_max) {
  active_.reserve(transfers_max_);
  if (shares.size() > 1) joint_.emplace(shares.size(), transfers_max_);
  std::vector<EventSink*> sinks;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    sinks.push_back(events_.emplace_back(std::make_unique<Events>(*this, i, transfers_max_)).get());
  }
  drivers_.emplace(options, std::move(shares), sinks);
  drivers_->start();  // only now, because its threads call settle(), which uses drivers_
}

// Stops the drivers first, because a driver's thread may still use the other drivers.
InFlight::~InFlight() { drivers_->stop(); }

void InFlight::restart(const core::WorkerOptions& options, std::vector<DrivenSites> shares,
                       TellCalls tell) {
  {
    const base::MutexLock lock(mutex_);
    if (drivers_->size() > 1) joint_.emplace(drivers_->size(), transfers_max_);
    tell_ = std::move(tell);
  }
  drivers_->restart(options, std::move(shares));
}

std::optional<Error> InFlight::submit(Call& call) {
  const base::Result<void> submitted =
      call.launch.outline().one_by_one
          ? submit_one_by_one(call)
          : when_there_is_room(call, 0, call.launch.outline().transfers);
  if (submitted) return std::nullopt;
  {
    // If a later transfer than the first is refused, the job ends. The events of the earlier
    // transfers then conclude the call.
    const base::MutexLock lock(mutex_);
    if (transfers_of(call).any()) return std::nullopt;
  }
  return Error{submitted.error().code, submitted.error().detail};
}

base::Result<void> InFlight::when_there_is_room(Call& call, std::uint32_t first,
                                                std::uint32_t count) {
  for (;;) {
    const std::uint64_t ended = this->ended();
    base::Result<void> result;
    {
      const base::MutexLock lock(mutex_);
      result = submit_some(call, first, count);
    }
    if (result || result.error().code != Code::resource_exhausted) return result;
    wait_for_end_after(ended);
  }
}

// Submits all transfers under one lock, so that none can end before the next is in place.
base::Result<void> InFlight::submit_some(Call& call, std::uint32_t first, std::uint32_t count) {
  if (const base::Result<void> room = check_room(count); !room) return room;
  submissions_.clear();
  base::Result<void> submitted;
  for (std::size_t driver = 0; driver < drivers_->size() && submitted; ++driver) {
    submitted = submit_at(driver, call, first, count);
  }
  note_submitted(call);
  return submitted;
}

// Unless all workers have room for all transfers, none gets one, so that ids stay equal at all
// workers. The room cannot shrink in the meantime. A single worker checks for a single transfer
// itself.
base::Result<void> InFlight::check_room(std::uint32_t transfers) {
  if (!joint_ && transfers == 1) return {};
  bool has_room = true;
  drivers_->with_each([&](core::Worker& worker, base::Instant) {
    has_room = has_room && (worker.failure() || worker.has_room_for(transfers));
  });
  if (has_room) return {};
  return base::fail(Code::resource_exhausted, "submit", "too many calls in flight; wait for one");
}

base::Result<void> InFlight::submit_at(std::size_t driver, Call& call, std::uint32_t first,
                                       std::uint32_t count) {
  CallTransfers& transfers = transfers_of(call);
  return (*drivers_)[driver].with_worker(
      [&](core::Worker& worker, base::Instant now) REQUIRES(mutex_) -> base::Result<void> {
        for (std::uint32_t i = 0; i < count; ++i) {
          if (driver == 0) {
            const core::TransferId before = i > 0 ? submissions_.back().id : transfers.last_;
            submissions_.push_back({call.launch.transfer(first + i, before)});
            core::TransferId& after = submissions_.back().request.after;
            if (joint_ && (i == 0 || after != before)) after = joint_->still_awaited(after);
          }
          Submission& submission = submissions_[i];
          const auto id = worker.submit(now, submission.request);
          if (!id) {
            if (i > 0) worker.cancel(now);
            return tl::unexpected(id.error());
          }
          submission.id = *id;
          if (driver == 0 && tell_) tell_of(submission);
          if (worker.takes_part() && submission.takers++ == 0) transfers.driver_ = driver;
        }
        return {};
      });
}

void InFlight::tell_of(const Submission& submission) const {
  const core::TransferRequest& request = submission.request;
  tell_(join::TransferNote{.collective = request.collective,
                           .reduction = request.reduction,
                           .layout = request.layout,
                           .elements = request.elements,
                           .root = request.root,
                           .encoding = request.encoding,
                           .priority = request.priority,
                           .after = static_cast<std::uint64_t>(request.after),
                           .sized_later = request.sized_later,
                           .has_codes = request.codes != nullptr});
}

// A transfer that no worker takes has failed, because the job is over at all workers that would
// take it.
void InFlight::note_submitted(Call& call) {
  CallTransfers& transfers = transfers_of(call);
  for (const Submission& submission : submissions_) {
    if (submission.takers == 0) continue;
    if (transfers.left_ == 0) active_.push_back(&call);
    transfers.add(submission.id);
    if (joint_) joint_->add(submission.id, submission.request.after, submission.takers);
  }
}

base::Result<void> InFlight::submit_one_by_one(Call& call) {
  {
    // While transfers are still being submitted, one more is counted than exist, so that the call
    // cannot end.
    const base::MutexLock lock(mutex_);
    active_.push_back(&call);
    transfers_of(call).left_ = 1;
  }
  base::Result<void> submitted;
  for (std::uint32_t number = 0; number < call.launch.outline().transfers && submitted; ++number) {
    submitted = when_there_is_room(call, number, 1);
  }
  bool has_ended = false;
  {
    const base::MutexLock lock(mutex_);
    CallTransfers& transfers = transfers_of(call);
    if (!submitted && transfers.any()) cancel_all();
    if (--transfers.left_ == 0) {
      drop(call);
      has_ended = transfers.any();
    }
  }
  if (has_ended) conclude_(call, io::monotonic_now());
  return submitted;
}

void InFlight::cancel_all() {
  drivers_->with_each([](core::Worker& worker, base::Instant now) { worker.cancel(now); });
}

void InFlight::drop(const Call& call) {
  active_.erase(std::find(active_.begin(), active_.end(), &call));
}

// Runs on the driver's thread.
void InFlight::settle(Events& events) {
  if (events.end_) spread_end(events);
  events.end_.reset();
  {
    const base::MutexLock lock(mutex_);
    for (const Events::Noted& noted : events.noted_) take(events, noted);
  }
  events.noted_.clear();
  for (const core::TransferId id : events.released_) {
    drivers_->with_each([id](core::Worker& worker, base::Instant) { worker.release(id); });
  }
  events.released_.clear();
  for (const SizeDue& due : events.sizes_due_) give_size(due);
  events.sizes_due_.clear();
  if (events.finished_.empty()) return;
  bool is_concluded = false;
  for (const Finished& finished : events.finished_) {
    if (finished.call == nullptr) continue;
    conclude_(*finished.call, finished.at);
    is_concluded = true;
  }
  if (is_concluded && drivers_->size() > 1) drivers_->wake_callers(events.driver_);
  const base::MutexLock lock(ended_mutex_);
  ended_ += events.finished_.size();
  events.finished_.clear();
  some_ended_.notify_all();
}

// Tells the other drivers of the job's end before any call is concluded because of it.
void InFlight::spread_end(const Events& events) {
  for (std::size_t driver = 0; driver < drivers_->size(); ++driver) {
    if (driver == events.driver_) continue;
    (*drivers_)[driver].with_worker([&](core::Worker& worker, base::Instant now) {
      worker.end_alike(now, events.end_->failure, events.end_->said);
    });
  }
}

void InFlight::take(Events& events, const Events::Noted& noted) {
  core::Event event = noted.event;
  if (joint_) {
    const auto joint = joint_->take(event);
    if (!joint) return;
    event = joint->event;
    if (joint->is_awaited) events.released_.push_back(event.id);
  }
  const auto place = std::find_if(
      active_.begin(), active_.end(),
      [&](const Call* each) REQUIRES(mutex_) { return transfers_of(*each).has(event.id); });
  Call* call = place == active_.end() ? nullptr : *place;
  if (call != nullptr) {
    CallTransfers& transfers = transfers_of(*call);
    transfers.end_one(event);
    const std::uint32_t number = transfers.number_of(event.id);
    if (number < call->launch.outline().sizing && !transfers.failure_) {
      events.sizes_due_.push_back({call, number, transfers.id_of(number + 1)});
    }
    if (transfers.left_ > 0) {
      call = nullptr;
    } else {
      active_.erase(place);
    }
  }
  events.finished_.push_back({call, noted.at});
}

void InFlight::give_size(const SizeDue& due) {
  std::optional<Launch::Size> size;
  try {
    size = due.call->launch.size_after(due.after, io::monotonic_now());
  } catch (const std::bad_alloc&) {
    size.reset();
  }
  if (size) {
    const base::MutexLock lock(mutex_);
    if (tell_) {
      tell_(join::SizeNote{static_cast<std::uint64_t>(due.transfer), size->elements});
    }
  }
  drivers_->with_each([&](core::Worker& worker, base::Instant now) {
    if (size) {
      worker.set_size(due.transfer, size->elements, size->present);
    } else {
      worker.cancel(now);
    }
  });
}

InFlight::State InFlight::state() {
  const bool is_over = drivers_->failure().has_value();
  const base::MutexLock lock(mutex_);
  return State{is_over, active_.empty()};
}

void InFlight::cancel(const Call& call, bool in_any_case) {
  const base::MutexLock lock(mutex_);
  const bool is_in_flight = std::find(active_.begin(), active_.end(), &call) != active_.end();
  if (is_in_flight || in_any_case) cancel_all();
}

void InFlight::drive_until(const Call& call, base::Instant deadline) {
  std::size_t driver = 0;
  if (drivers_->size() > 1) {
    const base::MutexLock lock(mutex_);
    driver = transfers_of(call).driver_;
  }
  (*drivers_)[driver].drive_until([&call] { return call.done(); }, deadline);
}

core::RankRanges InFlight::waiting_for(const Call& call) {
  core::TransferId last = core::TransferId::none;
  {
    const base::MutexLock lock(mutex_);
    last = transfers_of(call).last_;
  }
  return drivers_->waiting_for(last);
}

std::uint64_t InFlight::ended() {
  const base::MutexLock lock(ended_mutex_);
  return ended_;
}

void InFlight::wait_for_end_after(std::uint64_t ended) {
  base::MutexLock lock(ended_mutex_);
  while (ended_ <= ended) some_ended_.wait(lock);
}

}  // namespace infold::rank
