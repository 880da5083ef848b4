// SPDX-License-Identifier: Apache-2.0
#include "p4/registers.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace infold::p4 {
namespace {

// In flight at a time: fewer than the queues of any device hold.
constexpr std::uint32_t kWindow = 32;
constexpr std::chrono::milliseconds kAgain{250};
constexpr int kTries = 40;  // without any answer

}  // namespace

RegisterTask clearing_task(std::uint32_t copy) {
  return {.copy = copy,
          .writes_slot = true,
          .open = 1,
          .writes_round = true,
          .round = (copy & 1) == 0 ? 0 : ~0U};
}

base::Attempt<std::vector<RegisterView>> Registers::run(Device& device,
                                                        const std::vector<RegisterTask>& tasks) {
  const std::lock_guard turn(running_);
  std::vector<RegisterView> views;
  for (std::size_t first = 0; first < tasks.size(); first += kWindow) {
    const std::size_t count = std::min<std::size_t>(kWindow, tasks.size() - first);
    const base::Attempt<void> done = run_window(device, std::span(tasks).subspan(first, count));
    if (!done) return base::cannot(done.error());
    const std::lock_guard lock(mutex_);
    for (const auto& [ticket, view] : heard_) views.push_back(view);
  }
  return views;
}

base::Attempt<void> Registers::run_window(Device& device, std::span<const RegisterTask> tasks) {
  std::unique_lock lock(mutex_);
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
    changed_.wait_for(lock, kAgain, [&] { return heard_.size() == tasks.size(); });
    if (heard_.size() > before) tries = 0;
  }
  return {};
}

std::vector<v1::PacketOut> Registers::unanswered(std::span<const RegisterTask> tasks) const {
  std::vector<v1::PacketOut> packets;
  std::uint32_t ticket = first_ticket_;
  for (const RegisterTask& task : tasks) {
    if (!heard_.contains(ticket)) packets.push_back(program_.packet(ticket, task));
    ++ticket;
  }
  return packets;
}

// Of several answers the first one counts: its packet was there before the repeats.
void Registers::hear(const v1::PacketIn& packet) {
  const std::optional<RegisterView> view = program_.read_packet(packet);
  if (!view) return;
  const std::lock_guard lock(mutex_);
  if (view->ticket - first_ticket_ >= tickets_) return;
  if (heard_.emplace(view->ticket, *view).second) changed_.notify_all();
}

}  // namespace infold::p4
