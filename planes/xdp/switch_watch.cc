// SPDX-License-Identifier: Apache-2.0
//
// Watches interfaces and counters while a switch works, and reports changes.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "io/host/clock.h"
#include "io/host/log.h"
#include "planes/xdp/kernel_switch.h"
#include "site/packet_counts.h"

namespace infold::xdp {

// Polls instead of waiting for notifications. That costs a few calls for each interface and does
// not miss any lasting change.
std::vector<std::string> KernelSwitch::watch(base::Duration duration) {
  std::vector<std::string> news;
  look_for_parents();
  socket_.wait(io::monotonic_now() + duration);
  count_strays(news);
  look_at_ports(news);
  look_at_counters(news);
  look_at_sources();
  return news;
}

status::SwitchMetrics KernelSwitch::metrics() {
  status::SwitchMetrics metrics;
  metrics.plane = "xdp";
  metrics.jobs = registrar_->status();
  metrics.slots = options_.slots;
  for (const status::JobMetrics& job : metrics.jobs) metrics.slots_used += job.slots;
  site::PacketCounts packets{};
  const Counters counters = program_.counters();
  std::copy(counters.begin(), counters.end(), packets.begin());
  packets[site::count_index(site::PlaneVerdict::dropped_stray)] = strays_;
  metrics.packets = site::named_counts(packets);
  const infold_xdp_traffic traffic = program_.traffic();
  metrics.received = {traffic.received_packets + strays_, traffic.received_bytes};
  metrics.sent = {traffic.sent_packets, traffic.sent_bytes};
  metrics.memory_bytes = program_.memory_bytes();
  const base::MutexLock lock(mutex_);
  for (const auto& [number, job] : jobs_) {
    const std::optional<Counters> own = program_.counters_of_job(number);
    if (!own) continue;
    core::VerdictCounters verdicts{};
    std::copy_n(own->begin(), verdicts.size(), verdicts.begin());
    site::set_job_packets(number, verdicts, metrics.jobs);
  }
  return metrics;
}

bool KernelSwitch::has_interfaces() const {
  return std::any_of(ports_.begin(), ports_.end(),
                     [](const Port& port) { return port.state != LinkState::gone; });
}

// A parent that has not answered gets a probe each time. A known parent gets one each second,
// because its next hop may have changed, and packets to the old one would be lost.
void KernelSwitch::look_for_parents() {
  constexpr base::Duration kAgain = base::seconds(1);
  const base::Instant now = io::monotonic_now();
  const base::MutexLock lock(mutex_);
  const bool asks_all = now - parents_asked_at_ >= kAgain;
  if (asks_all) parents_asked_at_ = now;
  for (const auto& [number, job] : jobs_) {
    if (!job.parent.is_set()) continue;
    if (asks_all || program_.interface_of_parent(number) == 0) probe_parent(number, job);
  }
}

// Probes that arrive here are not answered, because the packets after them would not be summed
// either.
void KernelSwitch::count_strays(std::vector<std::string>& news) {
  for (const io::UdpSocket::Arrival& arrival : socket_.receive()) {
    if (hears_parent(arrival.datagram)) continue;
    if (strays_++ == 0) {
      news.push_back("packets of " + arrival.from->host_text() +
                     " come past the program, by an interface that --dev does not name, in "
                     "fragments or with IP options; they are not summed");
    }
  }
}

// Whether the datagram is the echo of a probe that the program has seen as well.
bool KernelSwitch::hears_parent(std::span<const std::byte> datagram) {
  if (datagram.size() != INFOLD_HEADER_BYTES || datagram[0] != std::byte{INFOLD_ECHO_MAGIC}) {
    return false;
  }
  infold_header header;
  std::memcpy(&header, datagram.data(), sizeof(header));
  const base::MutexLock lock(mutex_);
  const std::uint16_t number = infold_from_be16(header.job);
  const auto job = jobs_.find(number);
  return job == jobs_.end() || program_.interface_of_parent(number) != 0;
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
        news.push_back(name + " is down; its workers retransmit until it is up");
        break;
      case LinkState::gone:
        news.push_back(name + " is gone; start the switch again if it comes back");
        lose_workers_behind(port.interface, news);
        break;
    }
  }
}

void KernelSwitch::lose_workers_behind(const Interface& interface, std::vector<std::string>& news) {
  const base::MutexLock lock(mutex_);
  for (const auto& [number, job] : jobs_) {
    if (program_.interface_of_parent(number) == interface.index) {
      news.push_back("the parent was behind " + interface.name + "; the job with number " +
                     std::to_string(number) + " has ended");
      tell(number, job, {core::AbortReason::stopped, 0, 0, {}, {}});
    }
    const std::vector<Place> places = program_.places(number);
    const auto lost = std::find_if(places.begin(), places.end(), [&](const Place& place) {
      return place.interface == interface.index;
    });
    if (lost == places.end()) continue;
    const std::uint16_t rank = lost->ranks.first;
    news.push_back("rank " + std::to_string(rank) + " was behind " + interface.name +
                   "; its job, number " + std::to_string(number) + ", has ended");
    tell(number, job, {core::AbortReason::lost, rank, rank, {}, {}});
  }
}

void KernelSwitch::look_at_counters(std::vector<std::string>& news) {
  const Counters now = program_.counters();
  if (now[INFOLD_XDP_DROPPED_UNSUMMED] != 0 && !told_of_unsummed_) {
    told_of_unsummed_ = true;
    news.push_back(
        "packets arrive without a checksum, because their senders leave it to a card that they "
        "lack; they are dropped: run ethtool -K INTERFACE tx off at the senders");
  }
  if (now[INFOLD_XDP_DROPPED_UNSENDABLE] != 0 && !told_of_unsendable_) {
    told_of_unsendable_ = true;
    news.push_back(
        "answers cannot be sent: the driver gives packet programs no room before a packet");
  }
}

// Logs once for each worker. Without the log, a rank whose packets leave from another address than
// its connection would time out for no visible reason.
void KernelSwitch::look_at_sources() {
  const std::uint64_t dropped = program_.counters()[INFOLD_XDP_DROPPED_WRONG_SOURCE];
  if (std::exchange(wrong_sources_, dropped) == dropped) return;
  const std::optional<WrongSource> last = program_.last_wrong_source();
  const base::MutexLock lock(mutex_);
  const auto found = last ? jobs_.find(last->job) : jobs_.end();
  if (found == jobs_.end()) return;
  Job& job = found->second;
  if (last->worker >= job.sources.size() || !job.told_of.insert(last->worker).second) return;
  const std::vector<Place> places = program_.places(last->job);
  if (last->worker >= places.size()) return;
  io::log(status::LogLevel::warn, "wrong_source",
          {{"number", last->job},
           {"rank", places[last->worker].ranks.first},
           {"address", last->address.host_text()},
           {"expected", job.sources[last->worker].host_text()},
           {"dropped", dropped}});
}

}  // namespace infold::xdp
