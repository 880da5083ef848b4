// SPDX-License-Identifier: Apache-2.0
#include "planes/p4/targets/packet_registers.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace infold::p4 {
namespace {

// Packets in flight at a time: fewer than any device's queues hold.
constexpr std::uint32_t kWindow = 32;
constexpr std::chrono::milliseconds kAgain{250};
constexpr int kTries = 40;  // without any answer

}  // namespace

base::Attempt<void> PacketRegisters::clear(Device& device, SlotRange slots) {
  std::vector<RegisterTask> tasks;
  for (std::uint32_t copy = 0; copy < slots.count * 2; ++copy) {
    tasks.push_back({.copy = slots.first * 2 + copy,
                     .writes_slot = true,
                     .open = 1,
                     .seen = 0,
                     .clears_copy = true});
  }
  if (const auto cleared = run(device, tasks); !cleared) return base::cannot(cleared.error());
  // The answer to one more packet shows that no repeat of the others is still under way.
  const auto looked = run(device, {{.copy = slots.first * 2}});
  return looked ? base::Attempt<void>() : base::cannot(looked.error());
}

base::Attempt<std::vector<std::uint32_t>> PacketRegisters::contributors(Device& device,
                                                                        SlotRange slots) {
  std::vector<RegisterTask> tasks;
  for (std::uint32_t slot = 0; slot < slots.count; ++slot) {
    tasks.push_back({.copy = (slots.first + slot) * 2});
  }
  const auto views = run(device, tasks);
  if (!views) return base::cannot(views.error());
  std::vector<std::uint32_t> seen;
  for (const RegisterView& view : *views) seen.push_back(view.seen);
  return seen;
}

base::Attempt<ChunkView> PacketRegisters::look(Device& device, std::uint32_t copy) {
  const auto views = run(device, {{.copy = copy}});
  if (!views) return base::cannot(views.error());
  const RegisterView& view = views->front();
  return ChunkView{.open = view.open,
                   .seen = view.seen,
                   .round = round_of(copy, view.open),
                   .is_spoiled = view.is_spoiled,
                   .signature = signature_of(view.layout, view.shape),
                   .first_worker = view.first_worker};
}

base::Attempt<void> PacketRegisters::set_slot(Device& device, std::uint32_t slot,
                                              std::uint32_t open, std::uint32_t seen) {
  const auto done =
      run(device, {{.copy = slot * 2, .writes_slot = true, .open = open, .seen = seen}});
  return done ? base::Attempt<void>() : base::cannot(done.error());
}

base::Attempt<std::vector<RegisterView>> PacketRegisters::run(
    Device& device, const std::vector<RegisterTask>& tasks) {
  const base::MutexLock turn(running_);
  std::vector<RegisterView> views;
  for (std::size_t first = 0; first < tasks.size(); first += kWindow) {
    const std::size_t count = std::min<std::size_t>(kWindow, tasks.size() - first);
    const base::Attempt<void> done = run_window(device, std::span(tasks).subspan(first, count));
    if (!done) return base::cannot(done.error());
    const base::MutexLock lock(mutex_);
    for (const auto& [ticket, view] : heard_) views.push_back(view);
  }
  return views;
}

base::Attempt<void> PacketRegisters::run_window(Device& device,
                                                std::span<const RegisterTask> tasks) {
  base::MutexLock lock(mutex_);
  first_ticket_ += kWindow;
  tickets_ = tasks.size();
  heard_.clear();
  for (int tries = 0; heard_.size() < tasks.size();) {
    if (const std::string lost = device.why_lost(); !lost.empty()) return base::cannot(lost);
    if (tries++ == kTries) {
      return base::cannot(
          fmt::format("the P4 device at {} answers no packet to its registers", device.address()));
    }
    const std::vector<v1::PacketOut> packets = unanswered(tasks);
    lock.unlock();
    for (const v1::PacketOut& packet : packets) device.send(packet);
    lock.lock();
    const std::size_t before = heard_.size();
    changed_.wait_for(lock, kAgain,
                      [&]() REQUIRES(mutex_) { return heard_.size() == tasks.size(); });
    if (heard_.size() > before) tries = 0;
  }
  return {};
}

std::vector<v1::PacketOut> PacketRegisters::unanswered(std::span<const RegisterTask> tasks) const {
  std::vector<v1::PacketOut> packets;
  std::uint32_t ticket = first_ticket_;
  for (const RegisterTask& task : tasks) {
    if (!heard_.contains(ticket)) packets.push_back(program_.packet(ticket, task));
    ++ticket;
  }
  return packets;
}

// If several answers arrive, the first one counts, because its packet passed before the repeats.
void PacketRegisters::hear(const v1::PacketIn& packet) {
  const std::optional<RegisterView> view = program_.read_packet(packet);
  if (!view) return;
  const base::MutexLock lock(mutex_);
  if (view->ticket - first_ticket_ >= tickets_) return;
  if (heard_.emplace(view->ticket, *view).second) changed_.notify_all();
}

}  // namespace infold::p4
