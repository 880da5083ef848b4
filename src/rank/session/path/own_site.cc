// SPDX-License-Identifier: Apache-2.0
#include "rank/session/path/own_site.h"

#include <utility>

#include "base/check.h"
#include "join/job_plan.h"
#include "rank/session/path/summing_endpoint.h"
#include "site/neighbours.h"

namespace infold::rank {
namespace {

// The same size as a switch's. Results go to all ranks at once, and a full buffer would drop some.
constexpr int kSendBufferBytes = 16 << 20;

}  // namespace

base::Result<std::unique_ptr<OwnSite>> OwnSite::open(io::UdpOptions udp) {
  udp.send_buffer_bytes = kSendBufferBytes;
  udp.keeps_blocked = false;  // an aggregator drops the result, and the rank asks again
  auto socket = io::UdpSocket::open(udp);
  if (!socket) return tl::unexpected(socket.error());
  return std::unique_ptr<OwnSite>(new OwnSite(std::move(*socket)));
}

OwnSite::OwnSite(io::UdpSocket socket)
    : shard_(std::make_unique<site::SwitchShard>(std::move(socket))) {}

join::SiteAddress OwnSite::site_address(std::uint32_t weight) const {
  return {address().text_elsewhere(), weight, true};
}

// All ranks reach a site at a rank directly: it has neither host groups nor racks below it.
void OwnSite::serve(const join::JobTerms& terms) {
  if (std::exchange(is_served_, true)) return;
  join::JobTerms flat = terms;
  flat.groups.clear();
  flat.racks.clear();
  const core::AggregatorOptions options = join::aggregator_options(flat);
  CHECK(shard_->add_job(options, flat.small_slots,
                        {{}, site::worker_sources(flat, options)}));  // its only job
}

std::unique_ptr<io::Endpoint> OwnSite::take_endpoint(const plan::Plan& plan, std::uint8_t own,
                                                     std::uint16_t rank,
                                                     std::unique_ptr<io::UdpEndpoint> network) {
  CHECK(is_served_);
  const plan::Tree& tree = plan.trees[own];
  std::unique_ptr<site::AggregationSite> aggregators = shard_->take_site();
  aggregators->adopt(tree.job, plan::position_of(tree, rank).worker);
  return std::make_unique<SummingEndpoint>(std::move(network), std::move(aggregators),
                                           io::Neighbour{own});
}

}  // namespace infold::rank
