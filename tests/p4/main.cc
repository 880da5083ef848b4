// SPDX-License-Identifier: Apache-2.0
//
// Prints packets, and what core::Adder does with each: those of spec/vectors, and those of drawn
// scenarios, altered ones between them. bmv2_test.py gives them to the P4 program. Run in the
// repository's root.
//
//   job NUMBER EPOCH SLOTS ELEMENTS RANK...    with the rank of each worker
//   in worker|parent|elsewhere BYTES           where the packet comes from
//   verdict NUMBER NAME
//   out all|WORKER BYTES
//
// Usage: infold_p4_packets ELEMENTS SCENARIOS
#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "sim/scenario/draw.h"
#include "sim/simulation.h"
#include "tests/conformance/plane_runner.h"
#include "tests/conformance/planes/adder_plane.h"

namespace infold::conformance {
namespace {

// A scenario may have thousands of packets, and a model of a chip is slow.
constexpr int kPacketsOfScenario = 500;
constexpr std::uint64_t kBetweenAltered = 6;

std::string plain_hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte each : bytes) text += fmt::format("{:02x}", std::to_integer<int>(each));
  return text;
}

class PrintedPlane final : public Plane {
 public:
  explicit PrintedPlane(std::uint32_t elements_max) : elements_max_(elements_max) {}

  std::string configure(const PlaneJob& job) override {
    PlaneJob own = job;
    own.elements_max = std::min(job.elements_max, elements_max_);
    std::string refusal = plane_.configure(own);
    if (!refusal.empty()) return refusal;
    fmt::print("job {} {} {} {}", own.job, own.epoch, own.slots, own.elements_max);
    for (const Ranks& worker : own.workers) fmt::print(" {}", worker.first);
    fmt::print("\n");
    return "";
  }

  void inject(std::span<const std::byte> datagram, From from, std::uint16_t port) override {
    plane_.inject(datagram, from, port);
    constexpr const char* kSides[] = {"worker", "parent", "elsewhere"};
    fmt::print("in {} {}\nverdict {} {}\n", kSides[static_cast<int>(from)], plain_hex(datagram),
               static_cast<int>(plane_.verdict()), core::verdict_name(plane_.verdict()));
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
        break;  // of another format, or no packet
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

void print_scenarios(PrintedPlane& plane, std::uint32_t elements_max, std::uint64_t count) {
  for (std::uint64_t seed = 1; count > 0; ++seed) {
    sim::Scenario scenario = sim::draw_scenario(seed);
    if (!sim::only_add(scenario)) continue;
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
  for (int i = 0; i < 2; ++i) {
    const std::string_view word = count == 3 ? words[i + 1] : "";
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), numbers[i]);
    if (error != std::errc() || end != word.data() + word.size()) return 2;
  }
  infold::conformance::PrintedPlane plane(numbers[0]);
  infold::conformance::print_vectors(plane);
  infold::conformance::print_scenarios(plane, numbers[0], numbers[1]);
  return 0;
}
