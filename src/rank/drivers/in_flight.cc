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
  drivers_->start();  // not earlier, because its threads call settle(), which uses drivers_
}

// A driver's thread may still use the other drivers.
InFlight::~InFlight() { drivers_->stop(); }

void InFlight::restart(const core::WorkerOptions& options, std::vector<DrivenSites> shares,
                       TellCalls tell) {
  {
    const std::lock_guard lock(mutex_);
    if (drivers_->size() > 1) joint_.emplace(drivers_->size(), transfers_max_);
    tell_ = std::move(tell);
  }
  drivers_->restart(options, std::move(shares));
}

std::optional<Error> InFlight::submit(Call& call) {
  const base::Result<void> submitted =
      call.outline.one_by_one
          ? submit_one_by_one(call)
          : when_there_is_room([&] { return submit_some(call, 0, call.outline.transfers); });
  // Should a transfer be refused that is not the first, the job ends, and the events of those
  // before it conclude the call.
  if (submitted || call.transfers.any()) return std::nullopt;
  return Error{submitted.error().code, submitted.error().detail};
}

template <typename Submit>
base::Result<void> InFlight::when_there_is_room(Submit&& submit) {
  for (;;) {
    const std::uint64_t ended = this->ended();
    base::Result<void> result;
    {
      const std::lock_guard lock(mutex_);
      result = submit();
    }
    if (result || result.error().code != Code::resource_exhausted) return result;
    wait_for_end_after(ended);
  }
}

// All in one moment, so that none is done before the next has its place. By mutex_.
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

// All workers have room for all of them, or none gets a transfer. So ids are equal at all workers.
// Room does not become less meanwhile. A lone worker checks for a lone transfer itself.
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
  return (*drivers_)[driver].with_worker(
      [&](core::Worker& worker, base::Instant now) -> base::Result<void> {
        for (std::uint32_t i = 0; i < count; ++i) {
          if (driver == 0) {
            const core::TransferId before = i > 0 ? submissions_.back().id : call.transfers.last;
            submissions_.push_back({call.launch->transfer(first + i, before)});
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
          if (worker.takes_part() && submission.takers++ == 0) call.transfers.driver = driver;
        }
        return {};
      });
}

void InFlight::tell_of(const Submission& submission) const {
  const core::TransferRequest& request = submission.request;
  tell_(control::TransferNote{.collective = request.collective,
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

// What no worker takes part in has failed, because the job is over at those that would.
void InFlight::note_submitted(Call& call) {
  for (const Submission& submission : submissions_) {
    if (submission.takers == 0) continue;
    if (call.transfers.left == 0) active_.push_back(&call);
    call.transfers.add(submission.id);
    if (joint_) joint_->add(submission.id, submission.request.after, submission.takers);
  }
}

base::Result<void> InFlight::submit_one_by_one(Call& call) {
  {
    // While transfers are still being submitted, one more is left than there are.
    const std::lock_guard lock(mutex_);
    active_.push_back(&call);
    call.transfers.left = 1;
  }
  base::Result<void> submitted;
  for (std::uint32_t number = 0; number < call.outline.transfers && submitted; ++number) {
    submitted = when_there_is_room([&] { return submit_some(call, number, 1); });
  }
  bool is_over = false;
  {
    const std::lock_guard lock(mutex_);
    if (!submitted && call.transfers.any()) cancel_all();
    is_over = --call.transfers.left == 0;
    if (is_over) drop(call);
  }
  if (is_over && call.transfers.any()) conclude_(call, io::monotonic_now());
  return submitted;
}

void InFlight::cancel_all() {
  drivers_->with_each([](core::Worker& worker, base::Instant now) { worker.cancel(now); });
}

void InFlight::drop(const Call& call) {
  active_.erase(std::find(active_.begin(), active_.end(), &call));
}

// On the driver's thread.
void InFlight::settle(Events& events) {
  if (events.end_) spread_end(events);
  events.end_.reset();
  {
    const std::lock_guard lock(mutex_);
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
  const std::lock_guard lock(ended_mutex_);
  ended_ += events.finished_.size();
  events.finished_.clear();
  some_ended_.notify_all();
}

// Before a call is concluded for it.
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
  const auto place = std::find_if(active_.begin(), active_.end(),
                                  [&](const Call* call) { return call->transfers.has(event.id); });
  Call* call = place == active_.end() ? nullptr : *place;
  if (call != nullptr) {
    call->transfers.end_one(event);
    const std::uint32_t number = call->transfers.number_of(event.id);
    if (number < call->outline.sizing && !call->transfers.failure) {
      events.sizes_due_.push_back({call, number, call->transfers.id_of(number + 1)});
    }
    if (call->transfers.left > 0) {
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
    size = due.call->launch->size_after(due.after, io::monotonic_now());
  } catch (const std::bad_alloc&) {
    size.reset();
  }
  if (size) {
    const std::lock_guard lock(mutex_);
    if (tell_) {
      tell_(control::SizeNote{static_cast<std::uint64_t>(due.transfer), size->elements});
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
  const std::lock_guard lock(mutex_);
  return State{is_over, active_.empty()};
}

void InFlight::cancel(const Call& call, bool in_any_case) {
  const std::lock_guard lock(mutex_);
  const bool is_in_flight = std::find(active_.begin(), active_.end(), &call) != active_.end();
  if (is_in_flight || in_any_case) cancel_all();
}

void InFlight::drive_until(const Call& call, base::Instant deadline) {
  std::size_t driver = 0;
  if (drivers_->size() > 1) {
    const std::lock_guard lock(mutex_);
    driver = call.transfers.driver;
  }
  (*drivers_)[driver].drive_until([&call] { return call.done(); }, deadline);
}

core::RankRanges InFlight::waiting_for(const Call& call) {
  core::TransferId last = core::TransferId::none;
  {
    const std::lock_guard lock(mutex_);
    last = call.transfers.last;
  }
  return drivers_->waiting_for(last);
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
