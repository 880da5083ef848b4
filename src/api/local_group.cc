// SPDX-License-Identifier: Apache-2.0
//
// LocalGroup: checks its options, then makes a network, and a member for each of its ranks.
#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <infold/local_group.h>

#include "core/world.h"
#include "io/host/own_process.h"
#include "rank/member.h"
#include "rank/session/local_network.h"
#include "wire/infold_wire.h"

namespace infold {
namespace {

constexpr int kWorldMax = int{core::kWorldMax};
constexpr int kChildrenMax = INFOLD_WORKERS_MAX;  // the most children of one aggregator
constexpr std::size_t kSitesMax = 64;
constexpr int kWeightMax = 64;
constexpr int kMtuMin = 1280;
constexpr int kMtuMax = 9216;
constexpr double kFaultMax = 0.9;

Error out_of_range(const char* option, const std::string& value, const std::string& allowed) {
  return {Code::out_of_range,
          std::string("LocalGroupOptions.") + option + " is " + value + "; allowed: " + allowed, -1,
          ""};
}

std::optional<Error> check_faults(const NetworkFaults& faults) {
  const struct {
    const char* name;
    double value;
  } all[] = {{"faults.loss", faults.loss},
             {"faults.duplication", faults.duplication},
             {"faults.reordering", faults.reordering}};
  for (const auto& [name, value] : all) {
    if (!(value >= 0 && value <= kFaultMax)) {
      return out_of_range(name, std::to_string(value), "0 to 0.9");
    }
  }
  return std::nullopt;
}

std::optional<Error> check(const LocalGroupOptions& options) {
  if (options.world < 1 || options.world > kWorldMax) {
    return out_of_range("world", std::to_string(options.world),
                        "1 to " + std::to_string(kWorldMax));
  }
  if (options.site_weights.empty() || options.site_weights.size() > kSitesMax) {
    return out_of_range("site_weights", std::to_string(options.site_weights.size()) + " long",
                        "1 to 64 entries");
  }
  for (const int weight : options.site_weights) {
    if (weight < 1 || weight > kWeightMax) {
      return out_of_range("site_weights", std::to_string(weight) + " in one entry", "1 to 64");
    }
  }
  if (options.rack_size != 0 && (options.rack_size < 2 || options.rack_size > kChildrenMax)) {
    return out_of_range("rack_size", std::to_string(options.rack_size), "0, or 2 to 256");
  }
  const int children = options.world / std::max(options.rack_size, 1) +
                       (options.world % std::max(options.rack_size, 1) != 0 ? 1 : 0);
  if (children > kChildrenMax) {
    return out_of_range("rack_size", std::to_string(options.rack_size),
                        "with " + std::to_string(options.world) +
                            " ranks, racks of a size that makes 256 of them or fewer");
  }
  if (options.mtu_bytes < kMtuMin || options.mtu_bytes > kMtuMax) {
    return out_of_range("mtu_bytes", std::to_string(options.mtu_bytes), "1280 to 9216");
  }
  if (options.wire > WireFormat::digits) {
    return out_of_range("wire", std::to_string(static_cast<int>(options.wire)), "a WireFormat");
  }
  if (options.deadline.count() <= 0) {
    return out_of_range("deadline", std::to_string(options.deadline.count()) + " ns",
                        "more than zero");
  }
  return check_faults(options.faults);
}

}  // namespace

LocalGroup::LocalGroup() = default;
LocalGroup::LocalGroup(LocalGroup&& other) noexcept = default;
LocalGroup& LocalGroup::operator=(LocalGroup&& other) noexcept = default;
LocalGroup::~LocalGroup() = default;

Result<LocalGroup> LocalGroup::create(const LocalGroupOptions& options) {
  if (auto error = check(options)) return tl::unexpected(std::move(*error));
  try {
    LocalGroup group;
    group.network_ = io::owned_by_process(std::make_unique<rank::LocalNetwork>(options));
    for (rank::LocalNetwork::RankEnd& end : group.network_->take_ends()) {
      rank::MemberOptions member;
      member.worker = std::move(end.worker);
      member.wire = options.wire;
      member.deadline = options.deadline;
      member.membership = group.network_;
      member.verify = options.verify;
      group.members_.push_back(
          rank::Member::make(std::move(member), rank::one_driver(std::move(end.endpoint))));
      group.communicators_.emplace_back(group.members_.back());
    }
    return group;
  } catch (const std::system_error& error) {
    return tl::unexpected(Error{Code::resource_exhausted,
                                std::string("no thread for every rank: ") + error.what(), -1, ""});
  } catch (const std::bad_alloc&) {
    return tl::unexpected(
        Error{Code::resource_exhausted, "no memory for the ranks' queues and slots", -1, ""});
  }
}

Communicator& LocalGroup::operator[](int rank) {
  const bool known = rank >= 0 && rank < world();
  return known ? communicators_[static_cast<std::size_t>(rank)] : none_;
}

int LocalGroup::world() const { return static_cast<int>(communicators_.size()); }

NetworkStatistics LocalGroup::network() const {
  io::EndpointCounters counters;
  const bool is_child = !members_.empty() && members_.front()->refuse_child();
  if (network_ && !is_child) counters += network_->endpoint_counters();
  for (const auto& member : members_) counters += member->endpoint_counters();
  return {counters.sent, counters.lost, counters.duplicated, counters.reordered,
          counters.overflowed};
}

}  // namespace infold
