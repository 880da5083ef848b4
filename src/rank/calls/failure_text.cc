// SPDX-License-Identifier: Apache-2.0
//
// One function per kind of failure. Each sentence begins with the call's name.
#include "rank/calls/failure_text.h"

#include <cstdio>
#include <string_view>

#include <infold/options.h>
#include <infold/tensor.h>

namespace infold::rank {
namespace {

const char* collective_name(std::int64_t collective) {
  switch (static_cast<core::Collective>(collective)) {
    case core::Collective::all_reduce: return "all_reduce";
    case core::Collective::reduce: return "reduce";
    case core::Collective::broadcast: return "broadcast";
    case core::Collective::barrier: return "barrier";
  }
  return "an unknown collective";
}

const char* wire_name(std::int64_t format) {
  if (format == INFOLD_FORMAT_I16) return "fixed32 or digits (what comes first)";
  if (format == INFOLD_FORMAT_I32) return "fixed32 or digits";
  if (format < 0 || format >= INFOLD_FORMAT_COUNT) return "an unknown format";
  return core::format_name(static_cast<core::WireFormat>(format));
}

std::string rank_text(std::uint16_t rank) { return "rank " + std::to_string(rank); }

std::string site_text(std::uint8_t site, const FailedCall& call) {
  const std::string name = "aggregator " + std::to_string(site);
  return site < call.site_names.size() ? name + " at " + call.site_names[site] : name;
}

std::string seconds_text(base::Duration duration) {
  char text[32];
  const double seconds = static_cast<double>(duration.ns) * 1e-9;
  std::snprintf(text, sizeof(text), seconds < 1 ? "%.3f s" : "%.1f s", seconds);
  return text;
}

struct Field {
  const char* verb;
  std::string at_rank;
  std::string at_other;
  const char* rule;
};

// A layout that leaves zeros out first joins sets of blocks by the operation `or`. If only one of
// two ranks has this operation, they may have chosen different layouts.
Field operations(Reduction a, Reduction b) {
  if ((a == Reduction::bit_or) == (b == Reduction::bit_or)) {
    return {"asked for", reduction_name(a), reduction_name(b),
            "all ranks must ask for the same operation"};
  }
  const auto name = [](Reduction each) {
    return each == Reduction::bit_or ? std::string("or, as layouts that leave zeros out begin with")
                                     : std::string(reduction_name(each));
  };
  return {"asked for", name(a), name(b),
          "all ranks must ask for the same operation and the same layout"};
}

Field field_of(const core::Failure& failure) {
  const std::string_view field = failure.field;
  const std::int64_t a = failure.rank_value;
  const std::int64_t b = failure.other_value;
  if (field == "size") {
    return {"passed", std::to_string(a) + " elements", std::to_string(b) + " elements",
            "all ranks must pass the same size"};
  }
  if (field == "type") {
    return {"passed", data_type_name(static_cast<DataType>(a)),
            data_type_name(static_cast<DataType>(b)), "all ranks must pass the same type"};
  }
  if (field == "operation") {
    return operations(static_cast<Reduction>(a), static_cast<Reduction>(b));
  }
  if (field == "root") {
    return {"named", "root " + std::to_string(a), "root " + std::to_string(b),
            "all ranks must name the same root"};
  }
  if (field == "wire format") {
    return {"chose", wire_name(a), wire_name(b), "all ranks must choose the same wire format"};
  }
  if (field == "encoding") {
    return {"used", "encoding " + std::to_string(a), "encoding " + std::to_string(b),
            "all ranks must encode a call's elements in the same way"};
  }
  if (field == "priority") {
    const auto place = [](std::int64_t is_large) { return is_large != 0 ? "large" : "small"; };
    return {"sent it among", std::string("the ") + place(a) + " tensors",
            std::string("the ") + place(b) + " tensors", "all ranks must choose the same priority"};
  }
  if (field == "collective") {
    return {"called", collective_name(a), collective_name(b),
            "all ranks must make the same calls in the same order"};
  }
  return {"had", std::string(field) + " " + std::to_string(a),
          std::string(field) + " " + std::to_string(b), "all ranks must have the same limits"};
}

std::string mismatch_text(const core::Failure& failure, const FailedCall& call) {
  const Field field = field_of(failure);
  if (!failure.values_known) {
    return " ended with another call: " + rank_text(failure.rank) + " and " +
           rank_text(failure.other) + " " + field.verb + " different " + failure.field + "s; " +
           field.rule;
  }
  const bool is_size = std::string_view(failure.field) == "size";
  const auto elements = static_cast<std::int64_t>(call.elements);
  const bool is_own_size = failure.rank_value == elements || failure.other_value == elements;
  if (is_size && call.composed && !is_own_size) {
    const std::string ranks = ": " + rank_text(failure.rank) + " and " + rank_text(failure.other);
    if (!call.exchanges) return ranks + " passed different sizes; " + field.rule;
    return ranks + " passed different sizes or chose different wire formats; all ranks must pass " +
           "the same size and choose the same wire format";
  }
  const char* const introduction = is_size && !is_own_size ? " ended with another call: " : ": ";
  return introduction + rank_text(failure.rank) + " " + field.verb + " " + field.at_rank + ", " +
         rank_text(failure.other) + " " + field.verb + " " + field.at_other + "; " + field.rule;
}

std::string deadline_text(const core::Failure& failure, const FailedCall& call) {
  const std::string missing = ranks_text(failure.missing);
  if (failure.rank != call.rank) {
    const std::string cause = missing.empty() ? std::string() : " waiting for " + missing;
    return " ended because " + rank_text(failure.rank) + " gave up" + cause +
           " when its deadline had passed";
  }
  const std::string start = " gave up after " + seconds_text(call.elapsed) + ": ";
  if (missing.empty()) {
    return start + failure.error.detail + " (" + site_text(failure.site, call) + ")";
  }
  const bool one = failure.missing.count == 1 && failure.missing.range[0].count == 1;
  // In a tree, an aggregator's ranks all count as missing until the last of them has contributed.
  return start + "waiting for " + missing + ", " +
         (one ? "which has not contributed" : "whose contributions are not complete");
}

std::string rest_text(const core::Failure& failure, const FailedCall& call) {
  const bool own = failure.rank == call.rank;
  if (failure.error.code == Code::cancelled) {
    return own ? " ended because this rank gave a call up"
               : " ended because " + rank_text(failure.rank) +
                     " gave a call up (its own error says why, or the emulator's log if the "
                     "rank is emulated)";
  }
  if (failure.error.code == Code::aborted) {
    return own ? " ended because this rank's communicator was destroyed"
               : " ended because " + rank_text(failure.rank) + " left the job";
  }
  if (failure.error.code == Code::unavailable && failure.missing.count > 0) {
    return " ended because " + ranks_text(failure.missing) +
           " is gone: its process has ended or cannot be reached";
  }
  if (is_site_lost(failure)) {
    const std::string lost = call.lost_switch.empty()
                                 ? site_text(failure.site, call)
                                 : "the switch at " + std::string(call.lost_switch);
    return " ended because " + lost + " has stopped or cannot be reached";
  }
  if (failure.error.code == Code::unsupported) {
    return " failed: " + std::string(failure.error.detail) + " (" + site_text(failure.site, call) +
           ", MTU now " + std::to_string(failure.error.value) + " bytes)";
  }
  return std::string(" failed: ") + failure.error.detail;
}

int rank_to_look_at(const core::Failure& failure, const FailedCall& call) {
  if (failure.missing.count > 0) return failure.missing.range[0].first;
  const bool mismatch = failure.error.code == Code::mismatch;
  if (mismatch && failure.rank == call.rank) return failure.other;
  return failure.rank;
}

}  // namespace

std::string call_text(CallName name) {
  if (name.number == 0) return "the job";
  const char* const parts_name =
      name.collective == core::Collective::broadcast ? "all_gather" : "reduce_scatter";
  const char* const whole_name = collective_name(static_cast<std::int64_t>(name.collective));
  return std::string(name.in_parts ? parts_name : whole_name) + " #" + std::to_string(name.number);
}

std::string ranks_text(const core::RankRanges& ranges) {
  std::string text;
  std::uint32_t ranks = 0;
  for (std::uint32_t i = 0; i < ranges.count; ++i) {
    const core::RankRange range = ranges.range[i];
    if (i > 0) text += i + 1 == ranges.count ? " and " : ", ";
    text += std::to_string(range.first);
    if (range.count > 1) {
      text += (range.count == 2 ? " and " : " to ") + std::to_string(range.first + range.count - 1);
    }
    ranks += range.count;
  }
  if (ranks == 0) return {};
  return (ranks == 1 ? "rank " : "ranks ") + text;
}

bool is_site_lost(const core::Failure& failure) {
  return failure.error.code == Code::unavailable && failure.missing.count == 0;
}

Error describe(const core::Failure& failure, const FailedCall& call) {
  Error error{failure.error.code, call_text(call.name), rank_to_look_at(failure, call), ""};
  switch (failure.error.code) {
    case Code::mismatch:
      error.field = failure.field;
      error.message += mismatch_text(failure, call);
      break;
    case Code::deadline_exceeded: error.message += deadline_text(failure, call); break;
    case Code::aborted: error.code = Code::cancelled; [[fallthrough]];
    default: error.message += rest_text(failure, call); break;
  }
  return error;
}

Error describe_row_lengths(const sparse::BlockSum::RowLengths& lengths) {
  const std::string message =
      "rank " + std::to_string(lengths.rank) + " passed rows of " +
      std::to_string(lengths.elements) + " elements, rank " + std::to_string(lengths.other) +
      " of " + std::to_string(lengths.other_elements) +
      "; all ranks that pass rows must pass them of the same size, or as elements or as a whole";
  return {Code::mismatch, message, static_cast<int>(lengths.rank), "row size"};
}

Error describe_pending(CallName name, base::Duration waited, const core::RankRanges& missing) {
  std::string message = call_text(name) + " is not done after " + seconds_text(waited);
  message += missing.count == 0 ? ", and no rank is known to be late"
                                : ": waiting for " + ranks_text(missing);
  return {Code::pending, message + "; it goes on", missing.count == 0 ? -1 : missing.range[0].first,
          ""};
}

}  // namespace infold::rank
