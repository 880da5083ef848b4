// SPDX-License-Identifier: Apache-2.0
//
// What changes while a switch works, and what it says about that.
#include <algorithm>

#include "io/clock.h"
#include "xdp/kernel_switch.h"

namespace infold::xdp {

// Looks again and again rather than being told: a few calls for each interface, and nothing that
// lasts can be missed.
std::vector<std::string> KernelSwitch::watch(base::Duration duration) {
  std::vector<std::string> news;
  socket_.wait(io::monotonic_now() + duration);
  count_strays(news);
  look_at_ports(news);
  look_at_counters(news);
  return news;
}

runtime::SwitchStatus KernelSwitch::status() const {
  runtime::SwitchStatus status;
  status.plane = "xdp";
  status.jobs = registry_.status();
  status.slots = options_.slots;
  status.slots_used = options_.slots - registry_.slots_free();
  const Counters counters = program_.counters();
  std::copy(counters.begin(), counters.end(), status.packets.begin());
  status.packets[runtime::count_index(runtime::PlaneVerdict::dropped_stray)] = strays_;
  const infold_xdp_traffic traffic = program_.traffic();
  status.received = {traffic.received_packets + strays_, traffic.received_bytes};
  status.sent = {traffic.sent_packets, traffic.sent_bytes};
  status.memory_bytes = program_.memory_bytes();
  return status;
}

bool KernelSwitch::has_interfaces() const {
  return std::any_of(ports_.begin(), ports_.end(),
                     [](const Port& port) { return port.state != LinkState::gone; });
}

// Probes among them are not answered: the packets that follow would not be summed either.
void KernelSwitch::count_strays(std::vector<std::string>& news) {
  const std::span<const io::UdpSocket::Arrival> batch = socket_.receive();
  if (!batch.empty() && strays_ == 0) {
    news.push_back("packets of " + batch.front().from->host_text() +
                   " come past the program, by an interface that --dev does not name, in fragments "
                   "or with IP options; they are not summed");
  }
  strays_ += batch.size();
}

void KernelSwitch::look_at_ports(std::vector<std::string>& news) {
  for (Port& port : ports_) {
    const LinkState before = port.state;
    if (before == LinkState::gone) continue;
    port.state = state_of(port.interface);
    if (port.state == before) continue;
    const std::string& name = port.interface.name;
    switch (port.state) {
      case LinkState::up: news.push_back(name + " is up again"); break;
      case LinkState::down:
        news.push_back(name + " is down; its workers repeat themselves until it is up");
        break;
      case LinkState::gone:
        news.push_back(name + " is gone; start the switch again if it comes back");
        lose_workers_behind(port.interface, news);
        break;
    }
  }
}

void KernelSwitch::lose_workers_behind(const Interface& interface, std::vector<std::string>& news) {
  const std::lock_guard lock(mutex_);
  for (const auto& [job, epoch] : jobs_) {
    const std::vector<Place> places = program_.places(job);
    const auto lost = std::find_if(places.begin(), places.end(), [&](const Place& place) {
      return place.interface == interface.index;
    });
    if (lost == places.end()) continue;
    const std::uint16_t rank = lost->ranks.first;
    news.push_back("rank " + std::to_string(rank) + " was behind " + interface.name +
                   "; its job, number " + std::to_string(job) + ", has ended");
    tell(job, epoch, {core::AbortReason::lost, rank, rank, {}, {}});
  }
}

void KernelSwitch::look_at_counters(std::vector<std::string>& news) {
  const Counters now = program_.counters();
  if (now[INFOLD_XDP_DROPPED_UNSUMMED] != 0 && !told_of_unsummed_) {
    told_of_unsummed_ = true;
    news.push_back(
        "packets come whose senders have left the checksum to a card that is none; they are "
        "dropped: turn that off where they are sent, with ethtool -K INTERFACE tx off");
  }
  if (now[INFOLD_XDP_DROPPED_UNSENDABLE] != 0 && !told_of_unsendable_) {
    told_of_unsendable_ = true;
    news.push_back(
        "answers cannot leave: the driver gives packet programs no room before a packet");
  }
}

}  // namespace infold::xdp
