// SPDX-License-Identifier: Apache-2.0
//
// A probe carries a number that nobody can guess, so an echo proves that its sender has received
// the probe. When and where the probe was sent is remembered here and does not travel.
#include "io/udp/path_probe.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "base/check.h"
#include "io/host/clock.h"
#include "io/host/entropy.h"
#include "wire/infold_wire.h"

namespace infold::io {
namespace {

constexpr std::size_t kSmallBytes = INFOLD_PROBE_BYTES_MIN;
// Longer than a round trip within one building, so that probes do not flood a slow path.
constexpr base::Duration kGap = base::milliseconds(20);

struct Sent {
  std::size_t site;
  std::size_t bytes;
  base::Instant at;
};
// The probes of one call, by their numbers: at most two for each site in each gap.
using SentProbes = std::map<std::uint64_t, Sent>;

void write_probe(const Sent& sent, std::span<std::byte> datagram, SentProbes& probes) {
  const std::uint64_t number = fresh_number();
  probes.insert_or_assign(number, sent);
  std::fill(datagram.begin(), datagram.end(), std::byte{0});
  datagram[0] = std::byte{INFOLD_PROBE_MAGIC};
  std::memcpy(&datagram[8], &number, sizeof(number));
}

// Records an echo in its site's report. Returns true if it is the first full echo from that site.
bool take_echo(const UdpSocket::Arrival& arrival, std::span<const SocketAddress> sites,
               const SentProbes& probes, std::span<PathReport> reports,
               std::size_t datagram_bytes) {
  const bool is_echo =
      arrival.datagram.size() >= kSmallBytes && arrival.datagram[0] == std::byte{INFOLD_ECHO_MAGIC};
  if (!is_echo) return false;
  std::uint64_t number = 0;
  std::memcpy(&number, &arrival.datagram[8], sizeof(number));
  const auto found = probes.find(number);
  if (found == probes.end()) return false;
  const Sent& sent = found->second;
  if (sites[sent.site] != *arrival.from || sent.bytes != arrival.datagram.size()) return false;
  PathReport& report = reports[sent.site];
  const base::Duration took = monotonic_now() - sent.at;
  if (!report.answers && took.ns > 0) report.round_trip = took;
  report.answers = true;
  if (report.carries || arrival.datagram.size() != datagram_bytes) return false;
  report.carries = true;
  return true;
}

}  // namespace

bool is_probe(std::span<const std::byte> datagram) {
  return datagram.size() >= INFOLD_PROBE_BYTES_MIN && datagram[0] == std::byte{INFOLD_PROBE_MAGIC};
}

bool answer_probe(std::span<std::byte> probe) {
  if (!is_probe(probe)) return false;
  probe[0] = std::byte{INFOLD_ECHO_MAGIC};
  return true;
}

PathReport probe_path(UdpSocket& socket, const SocketAddress& site, std::size_t datagram_bytes,
                      base::Duration limit) {
  return probe_paths(socket, {&site, 1}, datagram_bytes, limit).front();
}

std::vector<PathReport> probe_paths(UdpSocket& socket, std::span<const SocketAddress> sites,
                                    std::size_t datagram_bytes, base::Duration limit) {
  CHECK_THAT(datagram_bytes, >, kSmallBytes);
  std::vector<PathReport> reports(sites.size());
  std::size_t carrying = 0;
  std::vector<std::byte> probe(datagram_bytes);
  SentProbes probes;
  const base::Instant end = monotonic_now() + limit;
  for (base::Instant now = monotonic_now(); now < end && carrying < sites.size();
       now = monotonic_now()) {
    for (std::size_t i = 0; i < sites.size(); ++i) {
      if (reports[i].carries) continue;
      for (const std::size_t bytes : {kSmallBytes, datagram_bytes}) {
        write_probe({i, bytes, now}, std::span(probe).first(bytes), probes);
        socket.send(sites.subspan(i, 1), std::span<const std::byte>(probe).first(bytes));
        socket.flush();
      }
    }
    const base::Instant again = std::min(now + kGap, end);
    while (carrying < sites.size() && monotonic_now() < again) {
      socket.wait(again);
      for (const UdpSocket::Arrival& arrival : socket.receive()) {
        carrying += take_echo(arrival, sites, probes, reports, datagram_bytes) ? 1 : 0;
      }
    }
  }
  return reports;
}

void ProbeEcho::send(UdpSocket& socket, const SocketAddress& to, std::span<const std::byte> probe) {
  answer_.assign(probe.begin(), probe.end());
  answer_probe(answer_);
  to_[0] = to;
  socket.send(to_, answer_);
  socket.flush();
}

}  // namespace infold::io
