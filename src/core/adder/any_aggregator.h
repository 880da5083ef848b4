// SPDX-License-Identifier: Apache-2.0
//
// An aggregator of either kind, for programs that try both: the search, the simulator and the
// replay.
#pragma once

#include <variant>

#include "core/adder/adder.h"
#include "core/aggregator/aggregator.h"

namespace infold::core {

class AnyAggregator {
 public:
  // If `only_adds` is set, this is an Adder. Requires: in that case, adder_refusal() returns null
  // for the job.
  AnyAggregator(const AggregatorOptions& options, bool only_adds)
      : machine_(only_adds ? Machine(Adder(options)) : Machine(Aggregator(options))) {}

  Verdict handle_datagram(std::span<const std::byte> datagram, Source source = {}) {
    return visit(machine_,
                 [&](auto& machine) { return machine.handle_datagram(datagram, source); });
  }
  void end(const Abort& abort) {
    visit(machine_, [&](auto& machine) { machine.end(abort); });
  }
  std::optional<Aggregator::Transmit> poll_transmit() {
    return visit(machine_, [](auto& machine) { return machine.poll_transmit(); });
  }
  const VerdictCounters& counters() const {
    return visit(machine_,
                 [](const auto& machine) -> const VerdictCounters& { return machine.counters(); });
  }
  std::size_t memory_bytes() const {
    return visit(machine_, [](const auto& machine) { return machine.memory_bytes(); });
  }
  std::uint64_t digest() const {
    return visit(machine_, [](const auto& machine) { return machine.digest(); });
  }

 private:
  using Machine = std::variant<Aggregator, Adder>;

  // Does what std::visit() does, but without exceptions. Neither constructor throws, so the variant
  // always holds one of the two.
  template <typename Held, typename Use>
  static auto visit(Held& machine, Use use) -> decltype(use(*std::get_if<Adder>(&machine))) {
    if (auto* const adder = std::get_if<Adder>(&machine)) return use(*adder);
    return use(*std::get_if<Aggregator>(&machine));
  }

  Machine machine_;
};

}  // namespace infold::core
