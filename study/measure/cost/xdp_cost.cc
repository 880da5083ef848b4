// SPDX-License-Identifier: Apache-2.0
//
// The cases, and the state of the slot when each packet arrives.
#include "study/measure/cost/xdp_cost.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/prng.h"
#include "planes/xdp/program/frame.h"
#include "planes/xdp/program/program.h"
#include "study/measure/cost/spread.h"

namespace infold::measure {
namespace {

constexpr std::size_t kSamples = 21;
constexpr std::uint16_t kWorkers = 8;
constexpr std::uint32_t kRound = 3;
// With this many slots, the time would show it if the program looked at every slot.
constexpr std::uint16_t kManySlots = 4096;

// What the ranks of a case send.
enum class Sent { usual, spread, mean };

// The frame, and the slot's state before it comes.
struct Case {
  const char* name;
  std::uint16_t workers_before;
  std::uint16_t worker;
  std::uint32_t round;
  bool damaged;
  const char* counted;
  const char* meaning;
  bool elsewhere = false;  // the frame does not come from the worker's address
  Sent sent = Sent::usual;
};
constexpr Case kCases[] = {
    {"stale", 0, 0, kRound - 4, false, "dropped_stale_round", "parse, and drop for its round"},
    {"elsewhere", 0, 0, kRound, false, "dropped_wrong_source", "parse, and drop for its source",
     true},
    {"damaged", 0, 0, kRound, true, "dropped_checksum", "parse, and drop for its checksum"},
    {"first", 0, 0, kRound, false, "contributed", "store as a chunk's first contribution"},
    {"add", 1, 1, kRound, false, "contributed", "add to earlier contributions"},
    {"result", kWorkers - 1, kWorkers - 1, kRound, false, "completed",
     "add, encode, write result for all"},
    {"pending", 2, 0, kRound, false, "answered_pending",
     "a repeat: answer with the missing workers"},
    {"repeat", kWorkers, 0, kRound, false, "replayed", "a repeat: send the stored result back"},
};

// Cases for native floats: sums that do not fit two rows, and a divisor of 7.
constexpr Case kNativeCases[] = {
    {"spread", kWorkers - 1, kWorkers - 1, kRound, false, "completed",
     "a result of numbers of any exponent", false, Sent::spread},
    {"mean", kWorkers - 1, kWorkers - 1, kRound, false, "completed", "a result divided by 7", false,
     Sent::mean},
};

xdp::FrameAddresses addresses(bool elsewhere = false) {
  const auto source =
      io::SocketAddress::parse(elsewhere ? "10.0.0.3:9000" : "10.0.0.2:9000", "bench");
  const auto target = io::SocketAddress::parse("10.0.0.1:7700", "bench");
  CHECK(source.has_value() && target.has_value());
  return {*source, *target};
}

std::vector<std::byte> frame_of(std::vector<std::byte> datagram, std::uint32_t round,
                                bool elsewhere = false) {
  const infold_be32 wire = infold_to_be32(round);
  std::memcpy(&datagram[offsetof(infold_header, round)], &wire, sizeof(wire));
  return xdp::make_frame(addresses(elsewhere), datagram);
}

// Adds the job that all cases use. Its workers have sent the rounds before the measured one.
void add_bench_job(xdp::Program& program, std::uint16_t slots,
                   std::span<const std::vector<std::byte>> ranks) {
  const core::AggregatorOptions job = plan::aggregator_options(bench_plan(kWorkers, slots), 0, 0);
  const std::vector<io::SocketAddress> sources(kWorkers, addresses().source);
  CHECK(program.add_job(job, {.workers = sources}, true).has_value());
  // After these rounds the program knows all workers, and the measured round is not the first.
  for (std::uint32_t round = 1; round < kRound; ++round) {
    for (const auto& rank : ranks) CHECK(program.test_run(frame_of(rank, round)).has_value());
  }
}

std::vector<std::vector<std::byte>> bench_ranks(core::ElementLayout layout) {
  std::vector<std::vector<std::byte>> ranks;
  for (std::uint16_t rank = 0; rank < kWorkers; ++rank) {
    ranks.push_back(make_bench_contribution(layout, rank));
  }
  return ranks;
}

// Gives every element an arbitrary exponent, but makes no NaN.
void spread_exponents(core::ElementLayout layout, std::uint16_t rank,
                      std::vector<std::byte>& datagram) {
  base::Prng prng(rank);
  for (std::size_t at = INFOLD_HEADER_BYTES; at < datagram.size(); at += layout.element_bytes()) {
    const auto bits = static_cast<std::uint32_t>(prng.next());
    const std::uint32_t unset = layout.dtype == core::DataType::f32    ? 1U << 23
                                : layout.dtype == core::DataType::bf16 ? 1U << 7
                                                                       : 1U << 10;
    const std::uint32_t finite = bits & ~unset;
    std::memcpy(&datagram[at], &finite, layout.element_bytes());
  }
}

// The first rank takes part without elements, so that the divisor is not a power of two.
void average(std::vector<std::vector<std::byte>>& ranks) {
  for (std::vector<std::byte>& rank : ranks) {
    core::Packet packet;
    CHECK(core::parse(rank, packet) == core::Malformed::none);
    core::Header header = packet.header;
    header.signature.operation = INFOLD_REDUCTION_AVERAGE;
    if (&rank == &ranks.front()) {
      header.kind = core::Kind::skip;
      header.contributors = {};
      rank.resize(INFOLD_HEADER_BYTES);
    }
    core::write_header(header, rank);
  }
}

// Measures one frame. The program must count all packets as `counted`.
XdpCost time_frame(xdp::Program& program, std::span<const std::byte> frame,
                   std::string_view counted, std::uint32_t packets) {
  const xdp::Counters before = program.counters();
  std::vector<double> samples;
  double least_all = 1e9;
  double least_rewind = 1e9;
  for (std::size_t i = 0; i < kSamples; ++i) {
    const auto all = program.time_run(frame, 0, 0, packets, false);
    const auto rewind = program.time_run(frame, 0, 0, packets, true);
    CHECK(all.has_value() && rewind.has_value());
    samples.push_back(*all - *rewind);
    least_all = std::min(least_all, *all);
    least_rewind = std::min(least_rewind, *rewind);
  }
  const xdp::Counters after = program.counters();
  for (std::size_t i = 0; i < after.size(); ++i) {
    CHECK(after[i] == before[i] || xdp::counter_name(i) == counted);
  }
  const Spread spread = spread_of(samples);
  return {.ns_min = least_all - least_rewind, .ns_median = spread.median, .ns_mad = spread.mad};
}

XdpCost named(XdpCost cost, const char* packet, const char* meaning) {
  cost.packet = packet;
  cost.meaning = meaning;
  return cost;
}

XdpCost measure(xdp::Program& program, core::ElementLayout layout, const Case& what,
                std::uint32_t packets) {
  std::vector<std::vector<std::byte>> ranks = bench_ranks(layout);
  if (what.sent == Sent::mean) average(ranks);
  for (std::uint16_t rank = 0; rank < kWorkers && what.sent == Sent::spread; ++rank) {
    spread_exponents(layout, rank, ranks[rank]);
  }
  add_bench_job(program, 1, ranks);
  for (std::uint16_t rank = 0; rank < what.workers_before; ++rank) {
    CHECK(program.test_run(frame_of(ranks[rank], kRound)).has_value());
  }
  std::vector<std::byte> frame = frame_of(ranks[what.worker], what.round, what.elsewhere);
  if (what.damaged) frame.back() ^= std::byte{1};
  // The first repeat of an answer computes the answer's checksum, so only later repeats are
  // measured.
  if (what.worker < what.workers_before) CHECK(program.test_run(frame).has_value());
  return named(time_frame(program, frame, what.counted, packets), what.name, what.meaning);
}

std::vector<std::byte> frame_without_elements(const core::Header& header,
                                              std::span<const std::byte> body = {}) {
  std::vector<std::byte> datagram(INFOLD_HEADER_BYTES + body.size());
  std::copy(body.begin(), body.end(), datagram.begin() + INFOLD_HEADER_BYTES);
  core::write_header(header, datagram);
  return frame_of(std::move(datagram), header.round);
}

}  // namespace

base::Result<void> measure_xdp(const BenchWire& wire, std::uint32_t packets,
                               const std::function<void(const XdpCost&)>& report) {
  xdp::ProgramOptions options;
  options.addresses = {addresses().target};
  options.slots_max = 1;
  options.can_rewind = true;
  auto program = xdp::Program::load(options);
  if (!program) return tl::unexpected(program.error());
  for (const Case& each : kCases) report(measure(*program, wire.layout, each, packets));
  if (!wire.layout.is_native()) return {};
  for (const Case& each : kNativeCases) report(measure(*program, wire.layout, each, packets));
  return {};
}

base::Result<void> measure_xdp_without_elements(std::uint32_t packets,
                                                const std::function<void(const XdpCost&)>& report) {
  xdp::ProgramOptions options;
  options.addresses = {addresses().target};
  options.slots_max = kManySlots;
  options.can_rewind = true;
  auto program = xdp::Program::load(options);
  if (!program) return tl::unexpected(program.error());
  const std::vector<std::vector<std::byte>> ranks = bench_ranks(bench_wires()[0].layout);
  add_bench_job(*program, kManySlots, ranks);
  CHECK(program->test_run(frame_of(ranks[1], kRound)).has_value());

  core::Packet packet;
  CHECK(core::parse(ranks[0], packet) == core::Malformed::none);
  core::Header header = packet.header;
  header.round = kRound;
  header.contributors = {};
  const auto time = [&](const std::vector<std::byte>& frame, const char* counted, const char* name,
                        const char* meaning) {
    report(named(time_frame(*program, frame, counted, packets), name, meaning));
  };
  header.kind = core::Kind::query;
  time(frame_without_elements(header), "answered_pending", "query",
       "answer with the missing workers");
  core::Header end;
  end.kind = core::Kind::abort;
  end.epoch = kBenchEpoch;
  time(frame_without_elements(end), "dropped_malformed", "malformed", "parse, and drop: no body");
  std::array<std::byte, sizeof(infold_abort)> body = {};
  core::write_abort({}, body.data());
  const std::vector<std::byte> abort = frame_without_elements(end, body);
  end.job = 1;
  time(frame_without_elements(end, body), "dropped_foreign_job", "foreign",
       "parse, and drop for its job");
  CHECK(program->test_run(abort).has_value());  // ends the job; only later repeats count
  time(abort, "answered_ended", "abort", "answer that the job has ended");
  return {};
}

}  // namespace infold::measure
