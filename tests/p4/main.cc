// SPDX-License-Identifier: Apache-2.0
//
// Prints packets, and what core::Adder does with each: the packets of spec/vectors, and the packets
// of drawn scenarios with altered ones between them. bmv2_test.py and tna_test.py give them to the
// P4 programs. Run it in the repository's root.
//
//   job NUMBER EPOCH SLOTS ELEMENTS RANK...    with the rank of each worker
//   in worker|parent|elsewhere BYTES           where the packet comes from
//   verdict NUMBER NAME
//   out all|WORKER BYTES
//
// Jobs are as the program has them, with 256 slots and at least two ranks. core::Adder does not see
// contributions and queries that the program does not sum: formats other than i32, and with `tna`
// reductions other than sums and maxima. They are printed as packets for the host.
//
// Usage: infold_p4_packets ELEMENTS SCENARIOS [tna]
#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "study/sim/scenario/draw.h"
#include "study/sim/simulation.h"
#include "tests/conformance/plane_runner.h"
#include "tests/conformance/planes/adder_plane.h"

namespace infold::conformance {
namespace {

// A scenario may have thousands of packets, and a model of a chip is slow.
constexpr int kPacketsOfScenario = 500;
constexpr std::uint64_t kBetweenAltered = 6;
// The sizes that planes/p4/pipeline/ reserves for each job, and the number that its types.p4 gives
// to a packet for the host.
constexpr std::uint16_t kSlots = 256;
constexpr int kToHost = 255;

std::string plain_hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte each : bytes) text += fmt::format("{:02x}", std::to_integer<int>(each));
  return text;
}

bool tofino_has(core::Reduction reduction) {
  return reduction == core::Reduction::sum || reduction == core::Reduction::average ||
         reduction == core::Reduction::max;
}

// Whether the program sums the packet. Nobody may leave out elements of a maximum or a minimum,
// because such a sum would begin with zeros there.
bool is_summed(std::span<const std::byte> datagram, bool is_tofino) {
  core::Packet packet;
  if (core::parse_at_aggregator(datagram, packet) != core::Malformed::none) return true;
  const core::Header& header = packet.header;
  const bool is_skip = header.kind == core::Kind::skip;
  if (!is_skip && header.kind != core::Kind::add && header.kind != core::Kind::query) return true;
  if (header.signature.layout().format != core::WireFormat::i32) return false;
  const core::Reduction reduction = header.signature.reduction();
  if (is_tofino && !tofino_has(reduction)) return false;
  const bool is_extreme = reduction == core::Reduction::min || reduction == core::Reduction::max;
  return !is_skip || !is_extreme || header.signature.elements == 0;
}

class PrintedPlane final : public Plane {
 public:
  PrintedPlane(std::uint32_t elements_max, bool is_tofino)
      : elements_max_(elements_max), is_tofino_(is_tofino) {}

  std::string configure(const PlaneJob& job) override {
    PlaneJob own = job;
    if (own.workers.size() < 2) return "a lone rank's part would not show in its slot";
    own.elements_max = elements_max_;
    own.datagram_bytes_max = PlaneJob().datagram_bytes_max;
    own.slots = kSlots;
    std::string refusal = plane_.configure(own);
    if (!refusal.empty()) return refusal;
    fmt::print("job {} {} {} {}", own.job, own.epoch, own.slots, own.elements_max);
    for (const Ranks& worker : own.workers) fmt::print(" {}", worker.first);
    fmt::print("\n");
    return "";
  }

  void inject(std::span<const std::byte> datagram, From from, std::uint16_t port) override {
    constexpr const char* kSides[] = {"worker", "parent", "elsewhere"};
    fmt::print("in {} {}\n", kSides[static_cast<int>(from)], plain_hex(datagram));
    if (!is_summed(datagram, is_tofino_)) {
      fmt::print("verdict {} to_host\n", kToHost);
      return;
    }
    plane_.inject(datagram, from, port);
    fmt::print("verdict {} {}\n", static_cast<int>(plane_.verdict()),
               core::verdict_name(plane_.verdict()));
    for (const Outgoing& out : plane_.sent()) {
      const bool is_to_all = out.to == Outgoing::To::all_workers;
      fmt::print("out {} {}\n", is_to_all ? "all" : std::to_string(out.worker),
                 plain_hex(out.datagram));
    }
  }
  std::vector<Outgoing> collect() override { return plane_.collect(); }
  std::optional<std::string> drop_reason() override { return plane_.drop_reason(); }

 private:
  std::uint32_t elements_max_;
  bool is_tofino_;
  AdderPlane plane_{core::Adder::Controller::hears_too_late};
};

void print_vectors(PrintedPlane& plane) {
  for (const VectorCase& vector : all_vectors()) {
    PlaneRunner runner(plane);
    if (!runner.configure({vector.where, {"job"}}).empty()) continue;
    for (const Step& step : vector.steps) {
      const std::string& word = step.tokens.at(0);
      try {
        if (word == "job" && !runner.configure(step).empty()) break;
        if (word != "job") runner.run(step);
      } catch (const VectorError&) {
        break;  // The bytes have another format, or are not a packet.
      }
    }
  }
}

// Gives a plane what arrives at the aggregator of the first site.
class FirstSite final : public sim::Observer {
 public:
  FirstSite(const sim::Scenario& scenario, const sim::Wiring& wiring, Plane& plane)
      : plane_(plane), node_(wiring.aggregator_nodes[0][0]), random_(scenario.seed ^ 0xB32) {
    PlaneJob job{.job = scenario.job, .epoch = scenario.epoch};
    job.slots = static_cast<std::uint16_t>(scenario.plan.small_slots + scenario.plan.bulk_slots);
    job.world = scenario.plan.world;
    job.workers.clear();
    for (std::uint16_t rank = 0; rank < job.world; ++rank) job.workers.push_back({rank, 1});
    job.datagram_bytes_max = scenario.plan.datagram_bytes_max;
    job.pending_bits = true;
    const std::string refusal = plane_.configure(job);
    if (!refusal.empty()) left_ = 0;
  }

  void on_send(base::Instant, const sim::Path&, std::span<const std::byte>,
               std::uint64_t) override {}
  void on_drop(base::Instant, const sim::Path&, std::span<const std::byte>,
               sim::DropCause) override {}
  void on_arrival(base::Instant, const sim::Path& path, std::span<const std::byte> bytes) override {
    if (path.destination() != node_ || left_-- <= 0) return;
    plane_.inject(bytes);
    if (random_.below(kBetweenAltered) != 0) return;
    std::vector<std::byte> copy(bytes.begin(), bytes.end());
    copy[random_.below(std::min<std::size_t>(copy.size(), INFOLD_HEADER_BYTES))] ^=
        static_cast<std::byte>(1U << random_.below(8));
    plane_.inject(copy);
  }

 private:
  Plane& plane_;
  sim::NodeId node_;
  base::Prng random_;
  int left_ = kPacketsOfScenario;
};

void fit(sim::Scenario& scenario, bool is_tofino) {
  plan::Plan& plan = scenario.plan;
  plan.small_slots = std::min<std::uint16_t>(plan.small_slots, kSlots / 2);
  plan.bulk_slots = std::min<std::uint16_t>(plan.bulk_slots, kSlots / 2);
  for (sim::CallPlan& call : scenario.calls) {
    if (is_tofino && !tofino_has(call.reduction)) {
      const bool is_or = call.reduction == core::Reduction::bit_or;
      call.reduction = is_or ? core::Reduction::sum : core::Reduction::max;
    }
    if (call.layout.format == core::WireFormat::i32) continue;
    call.layout = {core::WireFormat::i32, core::DataType::i32};
    call.values.dtype = core::DataType::i32;
    call.digits = false;
    call.agreed = false;
  }
}

void print_scenarios(PrintedPlane& plane, std::uint32_t elements_max, std::uint64_t count,
                     bool is_tofino) {
  for (std::uint64_t seed = 1; count > 0; ++seed) {
    sim::Scenario scenario = sim::draw_scenario(seed);
    if (!sim::only_add(scenario)) continue;
    fit(scenario, is_tofino);
    --count;
    scenario.plan.elements_max = elements_max;
    sim::Simulation simulation(scenario);
    FirstSite first(scenario, simulation.wiring(), plane);
    simulation.wiring().network->add_observer(&first);
    simulation.run_network();
  }
}

}  // namespace
}  // namespace infold::conformance

int main(int count, char** words) {
  std::uint32_t numbers[2] = {};
  const bool is_tofino = count == 4 && std::string_view(words[3]) == "tna";
  for (int i = 0; i < 2; ++i) {
    const std::string_view word = count == 3 || is_tofino ? words[i + 1] : "";
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), numbers[i]);
    if (error != std::errc() || end != word.data() + word.size()) return 2;
  }
  infold::conformance::PrintedPlane plane(numbers[0], is_tofino);
  infold::conformance::print_vectors(plane);
  infold::conformance::print_scenarios(plane, numbers[0], numbers[1], is_tofino);
  return 0;
}
