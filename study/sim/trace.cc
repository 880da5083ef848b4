// SPDX-License-Identifier: Apache-2.0
//
// Writes one line per packet event.
#include "study/sim/trace.h"

#include <fmt/format.h>

#include "core/packet/packet.h"

namespace infold::sim {
namespace {

const char* kind_name(core::Kind kind) {
  switch (kind) {
    case core::Kind::add: return "ADD";
    case core::Kind::skip: return "SKIP";
    case core::Kind::partial: return "PARTIAL";
    case core::Kind::overrange: return "OVERRANGE";
    case core::Kind::query: return "QUERY";
    case core::Kind::abort: return "ABORT";
    case core::Kind::result: return "RESULT";
    case core::Kind::realign: return "REALIGN";
    case core::Kind::pending: return "PENDING";
    case core::Kind::aborted: return "ABORTED";
  }
  return "?";
}

// Returns the fields of this kind of packet, without its place.
std::string details(const core::Packet& packet) {
  const core::Header& header = packet.header;
  if (header.kind == core::Kind::pending) {
    std::string text = " missing";
    const core::RankRanges missing =
        core::read_missing(packet, 1U << 16).value_or(core::RankRanges{});
    for (std::uint32_t i = 0; i < missing.count; ++i) {
      const core::RankRange range = missing.range[i];
      text += range.count == 1 ? fmt::format(" {}", range.first)
                               : fmt::format(" {}-{}", range.first, range.first + range.count - 1);
    }
    return text;
  }
  if (header.kind == core::Kind::abort || header.kind == core::Kind::aborted) {
    const auto abort = core::read_abort(packet.body);
    if (!abort) return "";
    return fmt::format(" reason {} rank {} other {}", static_cast<int>(abort->reason), abort->rank,
                       abort->other);
  }
  return fmt::format(" {} elements of {} ranks", header.signature.elements,
                     header.contributors.count);
}

}  // namespace

Trace::Trace(const Wiring& wiring, Style style, Sink sink)
    : names_(wiring.network->node_count(), "stale"), style_(style), sink_(std::move(sink)) {
  for (std::size_t rank = 0; rank < wiring.worker_nodes.size(); ++rank) {
    names_[wiring.worker_nodes[rank]] = fmt::format("rank {}", rank);
  }
  for (std::size_t site = 0; site < wiring.aggregator_nodes.size(); ++site) {
    const auto& nodes = wiring.aggregator_nodes[site];
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      names_[nodes[i]] = i == 0 ? fmt::format("site {}", site) : fmt::format("site {}.{}", site, i);
    }
  }
}

void Trace::on_send(base::Instant now, const Path& path, std::span<const std::byte> bytes,
                    std::uint64_t) {
  write(now, "sent", path, bytes);
}

void Trace::on_arrival(base::Instant now, const Path& path, std::span<const std::byte> bytes) {
  write(now, "arrived", path, bytes);
}

void Trace::on_drop(base::Instant now, const Path& path, std::span<const std::byte> bytes,
                    DropCause cause) {
  write(now, drop_cause_name(cause), path, bytes);
}

void Trace::write(base::Instant now, const char* what, const Path& path,
                  std::span<const std::byte> bytes) {
  const std::string& from = names_[path.source];
  const std::string& to = names_[path.destination()];
  core::Packet packet;
  const bool parsed = core::parse(bytes, packet) == core::Malformed::none;
  const core::Header& header = packet.header;
  if (style_ == Style::json) {
    sink_(fmt::format(R"({{"ns":{},"event":"{}","from":"{}","to":"{}","kind":"{}","job":{},)"
                      R"("epoch":{},"slot":{},"round":{},"worker":{},"elements":{},"bytes":{}}})",
                      now.ns, what, from, to, parsed ? kind_name(header.kind) : "unreadable",
                      header.job, header.epoch, header.slot, header.round, header.worker,
                      header.signature.elements, bytes.size()));
    return;
  }
  if (!parsed) {
    sink_(fmt::format("{:>12} ns  {:<15} {} -> {}: unreadable, {} bytes", now.ns, what, from, to,
                      bytes.size()));
    return;
  }
  sink_(fmt::format("{:>12} ns  {:<15} {} -> {}: {} slot {} round {}{}", now.ns, what, from, to,
                    kind_name(header.kind), header.slot, header.round, details(packet)));
}

}  // namespace infold::sim
