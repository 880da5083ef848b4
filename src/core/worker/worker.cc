// SPDX-License-Identifier: Apache-2.0
//
// The public functions of a worker. Its State does the work.
#include "core/worker/worker.h"

#include <algorithm>

#include "core/worker/worker_state.h"

namespace infold::core {
namespace {

// With fewer chunks in flight, answers must be read one by one to keep the path full.
constexpr std::uint32_t kManyInFlight = 6;
// Too short for a person or a timeout to notice, and a hundred times as long as a wake-up.
constexpr base::Duration kPatienceMax = base::microseconds(500);

}  // namespace

WorkerCounters& WorkerCounters::operator+=(const WorkerCounters& other) {
  static constexpr std::uint64_t WorkerCounters::* kAll[] = {
      &WorkerCounters::sent_data,         &WorkerCounters::sent_skip,
      &WorkerCounters::sent_bundled,      &WorkerCounters::resent,
      &WorkerCounters::resent_timeout,    &WorkerCounters::resent_asked,
      &WorkerCounters::asked_overtaken,   &WorkerCounters::sent_query,
      &WorkerCounters::received_result,   &WorkerCounters::received_realign,
      &WorkerCounters::received_pending,  &WorkerCounters::dropped_malformed,
      &WorkerCounters::dropped_foreign,   &WorkerCounters::dropped_repeat,
      &WorkerCounters::dropped_unexpected};
  static_assert(sizeof(WorkerCounters) == std::size(kAll) * sizeof(std::uint64_t));
  for (const auto each : kAll) this->*each += other.*each;
  return *this;
}

Worker::Worker(const WorkerOptions& options) : state_(std::make_unique<State>(options)) {}
Worker::Worker(const Worker& other) : state_(std::make_unique<State>(*other.state_)) {}
Worker::Worker(Worker&&) noexcept = default;
Worker& Worker::operator=(Worker&&) noexcept = default;
Worker::~Worker() = default;

base::Result<TransferId> Worker::submit(base::Instant, const TransferRequest& request) {
  const State::Inputs inputs(*state_);
  return state_->submit(request);
}

bool Worker::has_room_for(std::uint32_t transfers) const { return state_->has_room_for(transfers); }

bool Worker::takes_part() const { return state_->takes_part_; }

void Worker::release(TransferId id) {
  const State::Inputs inputs(*state_);
  state_->release(id);
}

void Worker::set_size(TransferId id, std::uint64_t elements, const std::uint32_t* present) {
  const State::Inputs inputs(*state_);
  state_->set_size(id, elements, present);
}

void Worker::cancel(base::Instant now) {
  const State::Inputs inputs(*state_);
  const std::uint16_t rank = state_->options_.rank;
  Failure failure;
  failure.error = {base::Code::cancelled, "cancel", "this rank gave the call up; join again", 0};
  failure.rank = rank;
  state_->end_job(now, failure, {AbortReason::cancelled, rank, rank, {}, {}});
}

void Worker::leave(base::Instant now) {
  const State::Inputs inputs(*state_);
  const std::uint16_t rank = state_->options_.rank;
  Failure failure;
  failure.error = {base::Code::aborted, "leave", "this rank has left the job", 0};
  failure.rank = rank;
  state_->end_job(now, failure, {AbortReason::left, rank, rank, {}, {}});
}

void Worker::lose_rank(base::Instant now, std::uint16_t rank) {
  const State::Inputs inputs(*state_);
  const Abort abort = {AbortReason::lost, state_->options_.rank, rank, {}, {}};
  state_->end_job(now, failure_of(abort, nullptr, state_->options_.world), abort);
}

void Worker::lose_site(base::Instant now, std::uint8_t site) {
  const State::Inputs inputs(*state_);
  const Abort abort = {AbortReason::stopped, state_->options_.rank, site, {}, {}};
  state_->end_job(now, failure_of(abort, nullptr, state_->options_.world), abort);
}

// Other ranks hear that the call was cancelled, because their own paths have not changed.
void Worker::find_narrow_path(base::Instant now, std::uint8_t site, std::uint32_t mtu_bytes) {
  const State::Inputs inputs(*state_);
  const std::uint16_t rank = state_->options_.rank;
  Failure failure;
  failure.error = {base::Code::unsupported, "path",
                   "the path carries shorter datagrams than when the job began; join again",
                   mtu_bytes};
  failure.rank = rank;
  failure.site = site;
  state_->end_job(now, failure, {AbortReason::cancelled, rank, rank, {}, {}});
}

void Worker::hear_end(base::Instant now, const Abort& abort) {
  const State::Inputs inputs(*state_);
  state_->hear_end(now, abort);
}

void Worker::end_alike(base::Instant now, const Failure& failure, const Abort& said) {
  const State::Inputs inputs(*state_);
  state_->end_job(now, failure, said);
}

void Worker::handle_datagram(base::Instant now, std::uint8_t site,
                             std::span<const std::byte> datagram) {
  state_->handle_datagram(now, site, datagram);
  state_->count_input();
}

void Worker::handle(base::Instant now, std::uint8_t site, const Packet& packet) {
  state_->handle(now, site, packet);
  state_->count_input();
}

void Worker::expect(std::uint8_t site, std::span<const std::byte> datagram) const {
  state_->expect(site, datagram);
}

void Worker::handle_timeout(base::Instant now) {
  const State::Inputs inputs(*state_);
  state_->handle_timeout(now);
}

std::optional<Worker::Transmit> Worker::poll_transmit(base::Instant now, std::span<std::byte> out,
                                                      Payload payload) {
  CHECK_THAT(out.size(), >=, state_->options_.limits.datagram_bytes_max);
  return state_->poll_transmit(now, out, payload);
}

std::optional<base::Instant> Worker::poll_timeout() const { return state_->poll_timeout(); }
bool Worker::has_event() const { return state_->has_event(); }
std::optional<Event> Worker::poll_event() { return state_->poll_event(); }
const std::optional<Failure>& Worker::failure() const { return state_->failure_; }
std::optional<Abort> Worker::end_said() const {
  return state_->failure_ ? std::optional(state_->said_) : std::nullopt;
}
RankRanges Worker::waiting_for(TransferId id) const { return state_->waiting_for(id); }
const WorkerCounters& Worker::counters() const { return state_->counters_; }
std::size_t Worker::memory_bytes() const { return state_->memory_bytes(); }
std::uint64_t Worker::digest() const { return state_->digest(); }

std::uint32_t Worker::in_flight() const {
  std::uint32_t sum = 0;
  for (const State::Flow& flow : state_->flows_) sum += flow.in_flight;
  return sum;
}

std::uint32_t Worker::window() const {
  std::uint32_t sum = 0;
  for (const State::Flow& flow : state_->flows_) {
    if (state_->drives(flow.site)) sum += flow.window.size();
  }
  return sum;
}

// Returns half of the queue that the window aims at, which keeps the path full meanwhile, unless
// the window is at its limit. (We tried half of the present round trip, but that contains earlier
// waits, and doubles itself on busy hosts.)
base::Duration Worker::patience() const {
  base::Duration shortest = kPatienceMax;
  std::uint32_t in_flight = 0;
  for (const State::Flow& flow : state_->flows_) {
    if (flow.in_flight == 0) continue;
    const RoundTrip& path = state_->sites_[flow.site].path;
    if (!path.known() || !state_->has_more(flow) || flow.next_waits) return {};
    if (state_->options_.sites[flow.site].in_memory) continue;
    if (flow.window.is_full()) return {};
    in_flight += flow.in_flight;
    shortest = std::min(shortest, flow.window.aim(path) / 2);
  }
  return in_flight < kManyInFlight ? base::Duration{} : shortest;
}

}  // namespace infold::core
