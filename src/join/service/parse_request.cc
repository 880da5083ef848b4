// SPDX-License-Identifier: Apache-2.0
#include "join/service/parse_request.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/plain_text.h"
#include "core/stripe.h"
#include "core/world.h"
#include "io/address/socket_address.h"
#include "join/messages/end_message.h"
#include "join/messages/record_message.h"
#include "join/messages/refusal_message.h"
#include "join/refusals.h"
#include "wire/infold_wire.h"

namespace infold::join {
namespace {

using namespace sentences;

// Fits the smallest MTU that every host must support, after headers, and holds a block of every
// format.
constexpr std::uint32_t kDatagramBytesMin = 512;
constexpr std::uint32_t kDatagramBytesMax = 65'507;  // the most for UDP over IPv4
constexpr std::uint32_t kElementBytesMax = 8;
constexpr std::size_t kNameBytesMax = 128;
// Has room for "host:port", where a host's name has at most 253 bytes.
constexpr std::size_t kAddressBytesMax = 262;

// Control characters could split a line of a log or an error into several lines, or reorder it.
bool is_plain(std::string_view text, std::size_t bytes_max) {
  return text.size() <= bytes_max && base::is_plain_line(text);
}

Answer<SiteAddress> parse_site(const v1::Hello& hello) {
  const std::string& text = hello.site_address();
  if (hello.site_weight() > core::Stripe::kWeightMax) {
    return refused(kSiteWeight, hello.rank(), hello.site_weight(), core::Stripe::kWeightMax);
  }
  const bool is_short = is_plain(text, kAddressBytesMax);
  const auto address = io::SocketAddress::parse_number(is_short ? text : "", "a site");
  if (!address || address->is_any() || address->is_multicast() || address->port() == 0) {
    return refused(kSiteAddress, hello.rank(), is_short ? text : "...");
  }
  const auto record = record_of(hello.has_site_record() ? &hello.site_record() : nullptr);
  if (!record) return refused(kSiteRecord, hello.rank(), record.error());
  return SiteAddress{address->text(), hello.site_weight(), true, *record};
}

// Returns the address that the rank's packets come from: the one that the rank names, or else the
// connection's.
Answer<io::SocketAddress> parse_source(const std::string& text, const io::SocketAddress& from) {
  if (text.empty()) return from;
  const bool is_short = is_plain(text, kAddressBytesMax);
  const auto address = io::SocketAddress::parse_host(is_short ? text : "", "a source");
  if (!address || address->is_any() || address->is_multicast()) {
    return refused(kSource, is_short ? text : "...");
  }
  return *address;
}

Answer<RackHello> parse_rack(const v1::RackSwitch& rack, const io::SocketAddress& from) {
  if (rack.identity().empty() || !is_plain(rack.identity(), kNameBytesMax) ||
      !is_plain(rack.address(), kAddressBytesMax)) {
    return refused(kRackNames);
  }
  if (rack.sites() == 0 || rack.sites() > core::Stripe::kSitesMax) {
    return refused(kRackSites, rack.address(), rack.sites(), core::Stripe::kSitesMax);
  }
  const auto record = record_of(rack.has_record() ? &rack.record() : nullptr);
  if (!record) {
    return refused(kRackRecord, rack.address(), record.error());
  }
  const Answer<io::SocketAddress> source = parse_source(rack.source(), from);
  if (!source) return tl::unexpected(source.error());
  return RackHello{rack.identity(), rack.address(), rack.sites(), *record, *source};
}

Answer<void> check_numbers(const v1::Hello& hello) {
  if (hello.world() == 0 || hello.world() > core::kWorldMax || hello.rank() >= hello.world()) {
    return refused(kRankOutOfRange, hello.rank(), hello.world(), core::kWorldMax);
  }
  if (hello.datagram_bytes_max() < kDatagramBytesMin) {
    return refused(kShortDatagrams, hello.datagram_bytes_max(), kDatagramBytesMin);
  }
  if (hello.datagram_bytes_max() > kDatagramBytesMax) {
    return refused(kLongDatagrams, hello.datagram_bytes_max(), kDatagramBytesMax);
  }
  if (hello.small_slots() == 0 && hello.bulk_slots() == 0) {
    return refused(kAsksForNoSlots);
  }
  if (hello.small_slots() > kSlotsMax || hello.bulk_slots() > kSlotsMax - hello.small_slots()) {
    return refused(kAsksForManySlots, hello.small_slots(), hello.bulk_slots(), kSlotsMax);
  }
  if (hello.element_bytes() > kElementBytesMax) {
    return refused(kNoElement, hello.element_bytes());
  }
  return {};
}

// Limits the message to the length of an error for people, and to one line.
Refusal parse_refusal(const v1::Refused& refused) {
  constexpr std::size_t kMessageBytesMax = 1024;
  Refusal refusal = refusal_of(refused);
  std::size_t bytes = std::min(refusal.message.size(), kMessageBytesMax);
  // Does not cut within a character, because no message could pass that on.
  while (bytes < refusal.message.size() && (refusal.message[bytes] & 0xC0) == 0x80) --bytes;
  refusal.message.resize(bytes);
  std::replace_if(
      refusal.message.begin(), refusal.message.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  if (refusal.rank < -1 || refusal.rank >= int{core::kWorldMax}) refusal.rank = -1;
  return refusal;
}

}  // namespace

Answer<Hello> parse_hello(const v1::Hello& message, std::string address,
                          const io::SocketAddress& from) {
  if (message.protocol_version() != kProtocolVersion) {
    return refused(kOtherVersion, kProtocolVersion);
  }
  if (message.job().empty() || !is_plain(message.job(), kNameBytesMax)) {
    return refused(kJobName, kNameBytesMax);
  }
  if (Answer<void> checked = check_numbers(message); !checked) {
    return tl::unexpected(checked.error());
  }
  Hello hello;
  hello.job = message.job();
  hello.rank = message.rank();
  hello.world = message.world();
  hello.datagram_bytes_max = message.datagram_bytes_max();
  hello.small_slots = message.small_slots();
  hello.bulk_slots = message.bulk_slots();
  if (!message.site_address().empty()) {
    Answer<SiteAddress> site = parse_site(message);
    if (!site) return tl::unexpected(site.error());
    hello.site = std::move(*site);
  }
  if (!message.host_identity().empty()) {
    if (!is_plain(message.host_identity(), kNameBytesMax) ||
        !is_plain(message.host_meeting(), kNameBytesMax)) {
      return refused(kHostNames, kNameBytesMax);
    }
    hello.host = RankHost{message.host_identity(), message.host_meeting()};
  }
  hello.always_shares = message.always_shares();
  hello.wants_native = message.wants_native();
  hello.takes_brief = message.takes_brief();
  if (message.element_bytes() != 0) hello.element_bytes = message.element_bytes();
  hello.patience = std::chrono::milliseconds(message.patience_ms());
  if (message.has_rack()) {
    Answer<RackHello> rack = parse_rack(message.rack(), from);
    if (!rack) return tl::unexpected(rack.error());
    hello.rack = std::move(*rack);
  }
  Answer<io::SocketAddress> source = parse_source(message.source(), from);
  if (!source) return tl::unexpected(source.error());
  hello.source = *source;
  hello.address = std::move(address);
  return hello;
}

Answer<ReadyReport> parse_ready(const v1::Ready& ready) {
  ReadyReport report;
  report.shares_memory = ready.shares_memory();
  report.site_order = ready.site_order();
  if (ready.has_verifies()) report.verifies = ready.verifies();
  report.calls_finished = ready.calls_finished();
  report.calls_beyond = ready.calls_beyond();
  if (ready.has_obstacle()) report.obstacle = parse_refusal(ready.obstacle());
  return report;
}

Answer<Parting> parse_leave(const v1::Leave& leave) {
  Parting parting = Parting::in_order;
  if (!leave.abort().empty()) {
    parting.abort = abort_of(leave);
    if (!parting.abort) return refused(kMalformedAbort);
  }
  if (leave.has_why()) parting.why = parse_refusal(leave.why());
  return parting;
}

// The worker checks whether the fields fit each other.
Answer<TransferNote> parse_transfer(const v1::Transfer& transfer) {
  const bool exists = transfer.collective() <= INFOLD_COLLECTIVE_BARRIER &&
                      transfer.reduction() <= static_cast<unsigned>(core::Reduction::bit_or) &&
                      transfer.format() <= INFOLD_FORMAT_NATIVE &&
                      transfer.type() <= static_cast<unsigned>(core::DataType::i64) &&
                      transfer.root() < core::kWorldMax && transfer.encoding() <= 0xFFFF &&
                      transfer.priority() <= static_cast<unsigned>(core::Priority::background);
  if (!exists) return tl::unexpected(pointing_at(0, refusal(kMalformedTransfer)));
  return TransferNote{.collective = static_cast<core::Collective>(transfer.collective()),
                      .reduction = static_cast<core::Reduction>(transfer.reduction()),
                      .layout = {static_cast<core::WireFormat>(transfer.format()),
                                 static_cast<core::DataType>(transfer.type())},
                      .elements = transfer.elements(),
                      .root = static_cast<std::uint16_t>(transfer.root()),
                      .encoding = static_cast<std::uint16_t>(transfer.encoding()),
                      .priority = static_cast<core::Priority>(transfer.priority()),
                      .after = transfer.after(),
                      .sized_later = transfer.sized_later(),
                      .has_codes = transfer.has_codes()};
}

}  // namespace infold::join
