// SPDX-License-Identifier: Apache-2.0
//
// The time from the first Hello of a job to its Go at all ranks, over loopback, with and without
// TLS. All ranks are threads of this process, as is the server, so the time is that of all of their
// handshakes on the processors of one machine.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.h"
#include "join/client/job_link.h"
#include "join/registry/job_registry.h"
#include "join/registry/testing.h"
#include "join/service/join_server.h"

namespace infold::join {
namespace {

// A server that never limits how fast this process joins.
ServerOptions generous(const std::optional<keys::Identity>& identity) {
  constexpr std::uint32_t kAny = 1 << 30;
  ServerOptions options;
  options.identity = identity;
  options.on_event = [](const JoinEvent&) {};
  options.limits.openings_per_second = options.limits.openings_at_once = kAny;
  options.limits.hellos_per_second = options.limits.hellos_at_once = kAny;
  options.limits.handshakes_per_second = options.limits.handshakes_at_once = kAny;
  options.limits.handshakes_of_address_per_second = kAny;
  options.limits.handshakes_of_address_at_once = kAny;
  return options;
}

void join(benchmark::State& state) {
  const auto world = static_cast<std::uint32_t>(state.range(0));
  std::optional<keys::Identity> identity;
  if (state.range(1) != 0) identity = *keys::Identity::make();
  testing::FakePlane plane(1, 60'000);
  JobRegistry registry(&plane, {.on_event = [](const JoinEvent&) {}});
  const auto server = *JoinServer::start(*io::SocketAddress::parse("127.0.0.1:0", "bench"),
                                         registry, generous(identity));
  JobLink::Limits limits;
  if (identity) limits.fingerprint = identity->fingerprint();
  std::uint64_t number = 0;
  for (auto _ : state) {
    std::vector<std::unique_ptr<JobLink>> links(world);
    std::vector<std::thread> ranks;
    const std::string job = "job " + std::to_string(++number);
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      ranks.emplace_back([&, rank] {
        auto link =
            JobLink::join(server->address().text(), testing::hello_of(rank, world, job), limits);
        CHECK(link.has_value());
        CHECK((*link)->ready({}).has_value());
        links[rank] = std::move(*link);
      });
    }
    for (std::thread& rank : ranks) rank.join();
    state.PauseTiming();
    links.clear();
    state.ResumeTiming();
  }
}
BENCHMARK(join)
    ->ArgNames({"ranks", "tls"})
    ->ArgsProduct({{2, 64}, {0, 1}})
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace infold::join
