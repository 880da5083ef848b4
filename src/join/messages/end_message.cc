// SPDX-License-Identifier: Apache-2.0
#include "join/messages/end_message.h"

#include <span>
#include <string>

namespace infold::join {
namespace {

std::string bytes_of(const core::Abort& abort) {
  std::string bytes(sizeof(infold_abort), '\0');
  core::write_abort(abort, reinterpret_cast<std::byte*>(bytes.data()));
  return bytes;
}

std::optional<core::Abort> abort_of(const std::string& bytes) {
  return core::read_abort(std::as_bytes(std::span(bytes)));
}

v1::Ended::Reason reason_of(const JobEnd& end) {
  if (end.abort) return v1::Ended::ABORTED;
  if (!end.lost_switch.empty()) return v1::Ended::SWITCH_LOST;
  return end.lost_rank ? v1::Ended::RANK_LOST : v1::Ended::STOPPING;
}

}  // namespace

v1::Leave leave_of(const std::optional<core::Abort>& abort) {
  v1::Leave leave;
  if (abort) leave.set_abort(bytes_of(*abort));
  return leave;
}

std::optional<core::Abort> abort_of(const v1::Leave& leave) { return abort_of(leave.abort()); }

v1::Ended ended_of(const JobEnd& end) {
  v1::Ended ended;
  ended.set_reason(reason_of(end));
  ended.set_rank(end.lost_rank.value_or(0));
  ended.set_address(end.lost_switch);
  if (end.abort) ended.set_abort(bytes_of(*end.abort));
  return ended;
}

JobEnd end_of(const v1::Ended& ended) {
  switch (ended.reason()) {
    case v1::Ended::RANK_LOST: return {ended.rank(), {}, {}};
    case v1::Ended::SWITCH_LOST: return {std::nullopt, ended.address(), {}};
    case v1::Ended::ABORTED: return {std::nullopt, {}, abort_of(ended.abort())};
    default: return {};
  }
}

}  // namespace infold::join
