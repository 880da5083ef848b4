// SPDX-License-Identifier: Apache-2.0
#include "study/measure/host/driver_rates.h"

#include <memory>
#include <utility>

#include <infold/communicator.h>

#include "base/aligned.h"
#include "base/check.h"
#include "io/host/clock.h"
#include "plan/driver_shares.h"
#include "rank/member.h"
#include "study/measure/cost/bench_packets.h"
#include "study/measure/cost/processor_time.h"
#include "study/measure/cost/spread.h"
#include "study/measure/host/chunk_shape.h"
#include "study/measure/host/echo_endpoint.h"

namespace infold::measure {
namespace {

// The number of packets in flight at each site, which make two trains at MTU 1500.
constexpr std::uint16_t kWindow = 64;

WireFormat wire_of(core::WireFormat format) {
  switch (format) {
    case core::WireFormat::bfp32: return WireFormat::bfp32;
    case core::WireFormat::bfp16: return WireFormat::bfp16;
    case core::WireFormat::bfp8: return WireFormat::bfp8;
    default: return WireFormat::native;
  }
}

// A rank with a site for each driver.
class LoneRank {
 public:
  LoneRank(const DriverRatesOptions& options, unsigned drivers)
      : wire_(wire_of(options.layout.format)),
        input_(options.bytes / sizeof(float), 1.5F),
        output_(input_.size()) {
    const ChunkShape shape({.layout = options.layout, .bytes = options.bytes, .mtu = options.mtu});
    plan::Plan plan = bench_plan(1, 0);
    plan.datagram_bytes_max = shape.datagram_bytes_max;
    plan.bulk_slots = 448;
    plan.trees.resize(drivers, plan.trees.front());
    rank::MemberOptions member;
    member.worker = plan::worker_options(plan, 0);
    member.worker.window_max = kWindow;
    member.deadline = std::chrono::seconds(60);
    std::vector<rank::DrivenSites> shares;
    for (const core::SiteSet sites : plan::driver_shares(plan, drivers)) {
      shares.push_back(
          {sites, std::make_unique<EchoEndpoint>(shape.datagram_bytes_max, 2 * kWindow)});
    }
    communicator_.emplace(rank::Member::make(std::move(member), std::move(shares)));
  }

  void sum() {
    const auto done =
        communicator_
            ->all_reduce(std::span<const float>(input_), std::span<float>(output_), {.wire = wire_})
            .wait();
    CHECK(done.has_value());
    // If payloads are sent directly from the tensor, the endpoint returns other bytes.
    CHECK(wire_ == WireFormat::native || output_.back() == input_.back());
  }

 private:
  WireFormat wire_;
  base::CacheLineVector<float> input_;
  base::CacheLineVector<float> output_;
  std::optional<Communicator> communicator_;
};

}  // namespace

std::vector<DriverRate> measure_drivers(const DriverRatesOptions& options) {
  std::vector<std::unique_ptr<LoneRank>> ranks;
  for (unsigned drivers = 1; drivers <= options.drivers_max; ++drivers) {
    ranks.push_back(std::make_unique<LoneRank>(options, drivers));
    ranks.back()->sum();  // so that all memory has been touched
  }
  const double gigabytes = static_cast<double>(options.bytes) * options.iterations / 1e9;
  std::vector<std::vector<double>> gbps(ranks.size()), of_one(ranks.size()), cpu_s(ranks.size());
  for (unsigned round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const double cpu_before = process_s();
      const base::Instant begun = io::monotonic_now();
      for (unsigned sum = 0; sum < options.iterations; ++sum) ranks[i]->sum();
      const double took_s = static_cast<double>((io::monotonic_now() - begun).ns) / 1e9;
      gbps[i].push_back(gigabytes * 8 / took_s);
      of_one[i].push_back(gbps[i].back() / gbps[0].back());
      cpu_s[i].push_back((process_s() - cpu_before) / gigabytes);
    }
  }
  std::vector<DriverRate> rates;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    rates.push_back({static_cast<unsigned>(i + 1), spread_of(std::move(gbps[i])).median,
                     spread_of(std::move(of_one[i])).median,
                     spread_of(std::move(cpu_s[i])).median});
  }
  return rates;
}

}  // namespace infold::measure
