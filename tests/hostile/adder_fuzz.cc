// SPDX-License-Identifier: Apache-2.0
//
// Runs the pipeline that only adds beside the aggregator. Both get the same honest and hostile
// packets, and must give the same packets and verdicts.
#include "base/check.h"
#include "core/adder/side_by_side_testing.h"
#include "tests/hostile/datagrams.h"
#include "tests/hostile/operations.h"

namespace {

using namespace infold;
using namespace infold::hostile;

constexpr int kPackets = 400;

Datagram near_the_open_round(Operations& operations, std::uint32_t newest) {
  const auto worker = static_cast<std::uint8_t>(operations.below(kWorkers));
  const auto slot = static_cast<std::uint16_t>(operations.below(kSlots));
  const std::uint32_t round = newest + operations.below(5) - 2;
  switch (operations.below(8)) {
    case 0: return bare_datagram(core::Kind::skip, worker, slot, round);
    case 1: return bare_datagram(core::Kind::query, worker, slot, round);
    default: break;
  }
  std::vector<std::int32_t> elements(kElements);
  for (std::int32_t& element : elements) element = static_cast<std::int32_t>(operations.byte());
  return add_datagram(worker, slot, round, elements);
}

Datagram altered(Operations& operations, Datagram datagram) {
  for (std::uint32_t flips = operations.below(3); flips > 0; --flips) {
    datagram[operations.byte() % datagram.size()] ^= static_cast<std::byte>(operations.byte());
  }
  if (operations.below(8) == 0) datagram.resize(operations.byte() % (datagram.size() + 4));
  return datagram;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Operations operations(data, size);
  core::AggregatorOptions options = aggregator_options();
  options.pending = core::PendingForm::bits;
  core::Adder adder(options);
  core::Aggregator aggregator(options);
  static const std::vector<Datagram> samples = samples_to_aggregator();
  std::uint32_t newest = 1;
  for (int left = kPackets; left > 0 && !operations.done(); --left) {
    const std::uint32_t choice = operations.below(8);
    if (choice == 0) ++newest;
    Datagram datagram = near_the_open_round(operations, newest);
    if (choice == 1) {
      const auto count = static_cast<std::uint32_t>(samples.size());
      datagram = altered(operations, samples[operations.below(count)]);
    } else if (choice == 2) {
      datagram = altered(operations, datagram);
    }
    if (!core::is_summed_by_both(datagram)) continue;
    CHECK(core::deliver_to_both(adder, aggregator, datagram).empty());
  }
  return 0;
}
