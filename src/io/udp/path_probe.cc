// SPDX-License-Identifier: Apache-2.0
//
// A probe carries the instant at which it was sent. Its length says whether it is a small or a full
// probe.
#include "io/udp/path_probe.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "io/host/clock.h"
#include "wire/infold_wire.h"

namespace infold::io {
namespace {

constexpr std::size_t kSmallBytes = INFOLD_PROBE_BYTES_MIN;
// Longer than a round trip within one building, so that probes do not flood a slow path.
constexpr base::Duration kGap = base::milliseconds(20);

void write_probe(base::Instant sent_at, std::span<std::byte> datagram) {
  std::fill(datagram.begin(), datagram.end(), std::byte{0});
  datagram[0] = std::byte{INFOLD_PROBE_MAGIC};
  std::memcpy(&datagram[8], &sent_at.ns, sizeof(sent_at.ns));
}

// Records an echo in its site's report. Returns true if it is the first full echo from that site.
bool take_echo(const UdpSocket::Arrival& arrival, std::span<const SocketAddress> sites,
               std::span<PathReport> reports, std::size_t datagram_bytes) {
  const auto site = std::find(sites.begin(), sites.end(), *arrival.from);
  const bool is_echo = arrival.datagram.size() >= kSmallBytes && site != sites.end() &&
                       arrival.datagram[0] == std::byte{INFOLD_ECHO_MAGIC};
  if (!is_echo) return false;
  PathReport& report = reports[static_cast<std::size_t>(site - sites.begin())];
  std::int64_t sent_at = 0;
  std::memcpy(&sent_at, &arrival.datagram[8], sizeof(sent_at));
  const base::Duration took = monotonic_now() - base::Instant{sent_at};
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
  const base::Instant end = monotonic_now() + limit;
  for (base::Instant now = monotonic_now(); now < end && carrying < sites.size();
       now = monotonic_now()) {
    for (std::size_t i = 0; i < sites.size(); ++i) {
      if (reports[i].carries) continue;
      for (const std::size_t bytes : {kSmallBytes, datagram_bytes}) {
        write_probe(now, std::span(probe).first(bytes));
        socket.send(sites.subspan(i, 1), std::span<const std::byte>(probe).first(bytes));
        socket.flush();
      }
    }
    const base::Instant again = std::min(now + kGap, end);
    while (carrying < sites.size() && monotonic_now() < again) {
      socket.wait(again);
      for (const UdpSocket::Arrival& arrival : socket.receive()) {
        carrying += take_echo(arrival, sites, reports, datagram_bytes) ? 1 : 0;
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
