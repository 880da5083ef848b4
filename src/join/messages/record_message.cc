// SPDX-License-Identifier: Apache-2.0
#include "join/messages/record_message.h"

#include <algorithm>

#include <fmt/format.h>

#include "wire/infold_wire.h"

namespace infold::join {
namespace {

constexpr std::uint32_t kSendsRanges = 1U << 0;
constexpr std::uint32_t kSendsBits = 1U << 1;

// The formats whose elements can have either byte order.
constexpr core::FormatSet kIntegers = {core::WireFormat::i8, core::WireFormat::i16,
                                       core::WireFormat::i32, core::WireFormat::i64};

}  // namespace

v1::SiteRecord message_of(const core::SiteRecord& record) {
  v1::SiteRecord message;
  if (record.is_big_endian) {
    message.set_formats_big_endian(record.formats.bits());
  } else {
    message.set_formats(record.formats.bits());
  }
  message.set_reductions_lacking((core::ReductionSet::all() - record.reductions).bits());
  message.set_native_types(record.native_types.bits());
  message.set_elements_max(record.elements_max);
  message.set_workers_max(record.workers_max);
  message.set_takes_sparse(record.takes_sparse);
  message.set_verifies_checksums(record.verifies_checksums);
  message.set_pending_forms((record.sends_ranges ? kSendsRanges : 0) |
                            (record.sends_bits ? kSendsBits : 0));
  return message;
}

tl::expected<core::SiteRecord, std::string> record_of(const v1::SiteRecord* message) {
  if (message == nullptr) {
    return tl::unexpected<std::string>("no record of what it can, as older versions have none");
  }
  core::SiteRecord record;
  record.is_big_endian = message->formats_big_endian() != 0;
  if (record.is_big_endian && message->formats() != 0) {
    return tl::unexpected<std::string>("formats of both byte orders; a site has one of them");
  }
  const std::uint32_t formats = message->formats() | message->formats_big_endian();
  record.formats = core::FormatSet(formats);
  record.reductions = core::ReductionSet::all() - core::ReductionSet(message->reductions_lacking());
  record.native_types = core::FloatTypes(message->native_types());
  record.elements_max = std::min<std::uint32_t>(message->elements_max(), INFOLD_ELEMENTS_MAX);
  record.workers_max = std::min<std::uint32_t>(message->workers_max(), INFOLD_WORKERS_MAX);
  record.takes_sparse = message->takes_sparse();
  record.verifies_checksums = message->verifies_checksums();
  record.sends_ranges = (message->pending_forms() & kSendsRanges) != 0;
  record.sends_bits = (message->pending_forms() & kSendsBits) != 0;
  if (record.is_big_endian) {
    record.formats = record.formats & kIntegers;
    record.native_types = {};
    record.takes_sparse = false;
  }
  if (record.formats.is_empty()) {
    return tl::unexpected<std::string>(
        fmt::format("formats of {:#x}, none of which this version knows", formats));
  }
  if (record.elements_max < INFOLD_BLOCK_ELEMENTS) {
    return tl::unexpected<std::string>(fmt::format(
        "elements_max of {}; a block has {}", record.elements_max, int{INFOLD_BLOCK_ELEMENTS}));
  }
  if (record.workers_max == 0) return tl::unexpected<std::string>("workers_max of 0");
  if (!record.sends_ranges && !record.sends_bits) {
    return tl::unexpected<std::string>(fmt::format(
        "pending_forms of {:#x}, none of which this version reads", message->pending_forms()));
  }
  return record;
}

}  // namespace infold::join
