// SPDX-License-Identifier: Apache-2.0
//
// Gives packets to the worker, sends its packets and collects its events, as a driver does. It also
// models pauses and full queues of the host.
#include "study/sim/nodes/worker_node.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace infold::sim {

WorkerNode::WorkerNode(WorkerNodeOptions options)
    : options_(std::move(options)),
      worker_(options_.worker, options_.shares),
      records_(options_.calls.size()) {
  ending_done_ = options_.ending.kind == Ending::Kind::none;
  note_timeout();
}

void WorkerNode::connect(std::vector<PathId> to_sites, const Link* uplink, const Network* network) {
  to_sites_ = std::move(to_sites);
  uplink_ = uplink;
  network_ = network;
}

void WorkerNode::add_call(Call call) {
  options_.calls.push_back(std::move(call));
  records_.emplace_back();
}

void WorkerNode::set_size(core::TransferId id, std::uint64_t elements) {
  const bool is_made = std::any_of(records_.begin(), records_.end(),
                                   [id](const CallRecord& record) { return record.id == id; });
  if (is_made) {
    worker_.set_size(id, elements, nullptr);
    note_timeout();
    send_again_at_ = base::Instant{};  // the call has packets, but no timer of the worker says so
  } else {
    sizes_[id] = elements;
  }
}

void WorkerNode::forget_finished() {
  while (!records_.empty() && records_.front().finished_at < base::Instant::never()) {
    records_.pop_front();
    options_.calls.pop_front();
    --next_call_;
    --finished_calls_;
  }
}

base::Instant WorkerNode::paused_until(base::Instant now) const {
  for (const Pause& pause : options_.pauses) {
    if (pause.from <= now && now < pause.until) return pause.until;
  }
  return now;
}

void WorkerNode::handle_packet(base::Instant now, Parcel parcel, Outlet& outlet) {
  if (options_.pauses.empty()) {
    take(now, parcel, outlet);
    drain(now, outlet);
    return;
  }
  const base::Instant resume_at = paused_until(now);
  if (resume_at == now) {
    take(now, parcel, outlet);
    drain(now, outlet);
    return;
  }
  paused_until_ = resume_at;
  if (received_while_paused_.size() >= options_.receive_queue_packets) {
    outlet.drop(parcel, DropCause::receive_queue);
    return;
  }
  received_while_paused_.push_back(parcel);
}

void WorkerNode::handle_timeout(base::Instant now, Outlet& outlet) {
  const base::Instant resume_at = paused_until(now);
  if (resume_at > now) {
    paused_until_ = resume_at;
    return;
  }
  while (!received_while_paused_.empty()) {
    const Parcel parcel = received_while_paused_.front();
    received_while_paused_.pop_front();
    take(now, parcel, outlet);
  }
  if (act(now)) note_timeout();
  if (timeout_at_ <= now) worker_.handle_timeout(now);
  drain(now, outlet);
}

base::Instant WorkerNode::next_timeout() const {
  base::Instant next = timeout_at_;
  // A timer that wants to send a packet stays due while the host's queue is full. The node asks
  // again when the queue has room.
  if (send_again_at_ < base::Instant::never() && next <= drained_at_) next = send_again_at_;
  next = std::min(next, send_again_at_);
  if (next_call_ < options_.calls.size() && !call_waits_for_room_) {
    next = std::min(next, options_.calls[next_call_].at);
  }
  if (!ending_done_) next = std::min(next, options_.ending.at);
  if (!received_while_paused_.empty()) next = std::min(next, paused_until_);
  return std::max(next, paused_until_);
}

void WorkerNode::take(base::Instant now, Parcel parcel, Outlet& outlet) {
  PacketPool& packets = outlet.packets();
  const std::uint8_t site = network_->path(parcel.path).site;
  const core::Packet* const parsed =
      options_.last_read == nullptr ? nullptr : options_.last_read->parse(packets, parcel.packet);
  if (parsed != nullptr) {
    worker_.handle(now, site, *parsed);
  } else {  // the worker counts malformed packets
    worker_.handle_datagram(now, site, packets.bytes(parcel.packet));
  }
  packets.release(parcel.packet);
}

// Makes the program's calls that are due, and its cancel or leave. Returns false if there were
// none.
bool WorkerNode::act(base::Instant now) {
  bool has_acted = false;
  while (next_call_ < options_.calls.size() && options_.calls[next_call_].at <= now) {
    has_acted = true;
    if (!submit_next(now)) break;
  }
  if (ending_done_ || options_.ending.at > now) return has_acted;
  ending_done_ = true;
  if (options_.ending.kind == Ending::Kind::cancel) {
    worker_.cancel(now);
  } else {
    worker_.leave(now);
  }
  return true;
}

// Returns false if the worker's table is full. The call is then made after another call has
// finished.
bool WorkerNode::submit_next(base::Instant now) {
  Call& call = options_.calls[next_call_];
  CallRecord& record = records_[next_call_];
  if (call.after_previous && next_call_ > 0) call.request.after = records_[next_call_ - 1].id;
  if (call.sized_by_previous) call.request.sized_later = next_call_ > 0;
  if (call.deadline.ns > 0) call.request.deadline = now + call.deadline;
  const auto id = worker_.submit(now, call.request);
  call_waits_for_room_ = !id && id.error().code == base::Code::resource_exhausted;
  if (call_waits_for_room_) return false;
  record.submitted_at = now;
  if (id) {
    record.id = *id;
  } else {
    record.refused = id.error();
    record.finished_at = now;
    ++finished_calls_;
  }
  if (const auto size = sizes_.find(record.id); size != sizes_.end()) {
    worker_.set_size(record.id, size->second, nullptr);
    sizes_.erase(size);
  }
  set_size_if_known(next_call_++);
  return true;
}

void WorkerNode::set_size_if_known(std::size_t call) {
  const Call& later = options_.calls[call];
  const core::TransferRequest& request = later.request;
  const bool waits = later.sized_by_previous && request.sized_later;
  if (!waits || records_[call].id == core::TransferId::none) return;
  const std::optional<core::Event>& before = records_[call - 1].event;
  if (!before || before->failure) return;
  worker_.set_size(records_[call].id, later.size ? later.size() : request.elements,
                   request.present);
}

// While the host's queue is full, the host takes no packet, as with a socket.
void WorkerNode::transmit(base::Instant now, Outlet& outlet) {
  send_again_at_ = base::Instant::never();
  PacketPool& packets = outlet.packets();
  const bool looks = uplink_ != nullptr && options_.host_queue_bytes > 0;
  const std::int64_t limit_ps = looks ? uplink_->sending_ps(options_.host_queue_bytes) : 0;
  std::int64_t queued_ps = looks ? uplink_->queued_ps(now) : 0;
  const PacketIndex none = ~PacketIndex{0};
  PacketIndex packet = none;
  while (true) {
    if (looks && queued_ps >= limit_ps) {
      send_again_at_ =
          std::max(uplink_->drained_to(options_.host_queue_bytes * 3 / 4), now + base::Duration{1});
      break;
    }
    if (packet == none) packet = packets.take();
    const auto sent = worker_.poll_transmit(now, packets.room(packet));
    if (!sent) break;
    packets.set_bytes(packet, sent->bytes);
    const auto bytes = static_cast<std::int64_t>(sent->bytes);
    if (looks) queued_ps += uplink_->datagram_ps(bytes);
    outlet.send(to_sites_[sent->site], packet);
    packet = none;
  }
  if (packet != none) packets.release(packet);
}

bool WorkerNode::collect_events(base::Instant now) {
  bool any = false;
  while (const auto event = worker_.poll_event()) {
    any = true;
    // Ids rise with the calls, so the search begins at the last record.
    for (std::size_t i = next_call_; i-- > 0;) {
      CallRecord& record = records_[i];
      if (record.id != event->id) continue;
      if (record.event_count++ == 0) {
        record.event = *event;
        record.finished_at = now;
        ++finished_calls_;
        if (!event->failure && options_.calls[i].done) options_.calls[i].done();
        if (i + 1 < next_call_) set_size_if_known(i + 1);
      }
      break;
    }
  }
  return any;
}

void WorkerNode::drain(base::Instant now, Outlet& outlet) {
  drained_at_ = now;
  transmit(now, outlet);
  // An event may make room for a call or give the size of a call.
  while (collect_events(now)) {
    if (std::exchange(call_waits_for_room_, false)) act(now);
    transmit(now, outlet);
  }
  if (options_.leave_when_done && !left_ && finished()) {
    left_ = true;
    worker_.leave(now);
    transmit(now, outlet);
  }
  note_timeout();
  in_flight_high_water_ = std::max(in_flight_high_water_, worker_.in_flight());
}

}  // namespace infold::sim
