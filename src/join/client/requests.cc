// SPDX-License-Identifier: Apache-2.0
#include "join/client/requests.h"

#include "join/messages/end_message.h"
#include "join/messages/record_message.h"
#include "join/messages/refusal_message.h"

namespace infold::join {

v1::JoinRequest hello_request(const Hello& hello) {
  v1::JoinRequest request;
  v1::Hello& message = *request.mutable_hello();
  message.set_protocol_version(kProtocolVersion);
  message.set_job(hello.job);
  message.set_rank(hello.rank);
  message.set_world(hello.world);
  message.set_datagram_bytes_max(hello.datagram_bytes_max);
  message.set_small_slots(hello.small_slots);
  message.set_bulk_slots(hello.bulk_slots);
  if (hello.site) {
    message.set_site_address(hello.site->address);
    message.set_site_weight(hello.site->weight);
    *message.mutable_site_record() = message_of(hello.site->record);
  }
  if (hello.host) {
    message.set_host_identity(hello.host->identity);
    message.set_host_meeting(hello.host->meeting);
  }
  message.set_element_bytes(hello.element_bytes);
  message.set_always_shares(hello.always_shares);
  message.set_wants_native(hello.wants_native);
  message.set_takes_brief(hello.takes_brief);
  message.set_patience_ms(static_cast<std::uint32_t>(hello.patience.count()));
  if (hello.rack) {
    v1::RackSwitch& rack = *message.mutable_rack();
    rack.set_identity(hello.rack->identity);
    rack.set_address(hello.rack->address);
    rack.set_sites(hello.rack->sites);
    *rack.mutable_record() = message_of(hello.rack->record);
    if (hello.rack->source.is_set()) rack.set_source(hello.rack->source.host_text_elsewhere());
  }
  if (hello.source.is_set()) message.set_source(hello.source.host_text_elsewhere());
  message.set_token(hello.token);
  return request;
}

v1::JoinRequest ready_request(const ReadyReport& report) {
  v1::JoinRequest request;
  v1::Ready& ready = *request.mutable_ready();
  ready.set_shares_memory(report.shares_memory);
  ready.set_site_order(report.site_order);
  if (report.verifies) ready.set_verifies(*report.verifies);
  ready.set_calls_finished(report.calls_finished);
  ready.set_calls_beyond(report.calls_beyond);
  if (report.obstacle) *ready.mutable_obstacle() = refused_of(*report.obstacle);
  return request;
}

v1::JoinRequest leave_request(const Parting& parting) {
  v1::JoinRequest request;
  if (parting.way == Parting::lost) {
    request.mutable_lost();
    return request;
  }
  *request.mutable_leave() = leave_of(parting.abort);
  if (parting.why) *request.mutable_leave()->mutable_why() = refused_of(*parting.why);
  return request;
}

v1::JoinRequest note_request(const CallNote& note) {
  v1::JoinRequest request;
  if (const auto* const size = std::get_if<SizeNote>(&note)) {
    request.mutable_transfer_size()->set_transfer(size->transfer);
    request.mutable_transfer_size()->set_elements(size->elements);
    return request;
  }
  const auto& begun = std::get<TransferNote>(note);
  v1::Transfer& transfer = *request.mutable_transfer();
  transfer.set_collective(static_cast<std::uint32_t>(begun.collective));
  transfer.set_reduction(static_cast<std::uint32_t>(begun.reduction));
  transfer.set_format(static_cast<std::uint32_t>(begun.layout.format));
  transfer.set_type(static_cast<std::uint32_t>(begun.layout.dtype));
  transfer.set_elements(begun.elements);
  transfer.set_root(begun.root);
  transfer.set_encoding(begun.encoding);
  transfer.set_priority(static_cast<std::uint32_t>(begun.priority));
  transfer.set_after(begun.after);
  transfer.set_sized_later(begun.sized_later);
  transfer.set_has_codes(begun.has_codes);
  return request;
}

}  // namespace infold::join
