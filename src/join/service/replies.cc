// SPDX-License-Identifier: Apache-2.0
#include "join/service/replies.h"

#include <algorithm>

#include "join/messages/end_message.h"
#include "join/messages/record_message.h"
#include "join/messages/refusal_message.h"

namespace infold::join {
namespace {

template <typename Message>
void add_groups(const std::vector<HostGroup>& groups, Message& message) {
  for (const HostGroup& group : groups) {
    v1::HostGroup& each = *message.add_groups();
    each.set_first(group.ranks.first);
    each.set_count(group.ranks.count);
    each.set_meeting(group.meeting);
  }
}

}  // namespace

v1::JoinReply reply_of(const JobTerms& terms) {
  v1::JoinReply reply;
  v1::Joined& joined = *reply.mutable_joined();
  joined.set_job(terms.job);
  joined.set_epoch(terms.epoch);
  joined.set_datagram_bytes_max(terms.datagram_bytes_max);
  joined.set_elements_max(terms.elements_max);
  joined.set_formats(terms.formats.bits());
  joined.set_native_types(terms.native_types.bits());
  joined.set_small_slots(terms.small_slots);
  joined.set_bulk_slots(terms.bulk_slots);
  for (const SiteAddress& site : terms.sites) {
    v1::Site& each = *joined.add_sites();
    each.set_address(site.address);
    each.set_weight(site.weight);
    each.set_at_rank(site.at_rank);
    *each.mutable_record() = message_of(site.record);
  }
  add_groups(terms.groups, joined);
  for (const core::RankRange rack : terms.racks) {
    v1::Rack& each = *joined.add_racks();
    each.set_first(rack.first);
    each.set_count(rack.count);
  }
  joined.set_parent(terms.parent);
  joined.set_wants_transfers(terms.wants_transfers);
  joined.set_brief_results(terms.brief_results);
  // Only aggregators elsewhere need the sources: ranks that sum, and a rack's switch.
  const bool is_needed =
      !terms.racks.empty() || std::any_of(terms.sites.begin(), terms.sites.end(),
                                          [](const SiteAddress& site) { return site.at_rank; });
  if (!is_needed) return reply;
  for (const io::SocketAddress& source : terms.rank_sources) {
    joined.add_rank_sources(source.is_set() ? source.host_text_elsewhere() : "");
  }
  return reply;
}

v1::JoinReply reply_of(const std::vector<HostGroup>& groups) {
  v1::JoinReply reply;
  add_groups(groups, *reply.mutable_go());
  return reply;
}

v1::JoinReply reply_of(const Refusal& refusal) {
  v1::JoinReply reply;
  *reply.mutable_refused() = refused_of(refusal);
  return reply;
}

v1::JoinReply reply_of(const JobEnd& end) {
  v1::JoinReply reply;
  *reply.mutable_ended() = ended_of(end);
  return reply;
}

}  // namespace infold::join
