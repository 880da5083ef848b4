// SPDX-License-Identifier: Apache-2.0
//
// Bytes become messages of several ranks, connections that break and time that passes, and go
// through the same parser as a server's into a registry. Invariants: no two living jobs have one
// number, slots are conserved, every listener gets exactly one last call, and no rank waits beyond
// its own deadline.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "join/registry/fuzzing.h"
#include "join/registry/job_registry.h"
#include "join/service/parse_request.h"

namespace infold::join::fuzzing {
namespace {

struct PatientRank : DrawnRank {
  base::Instant deadline;
};

class Run {
 public:
  explicit Run(Choices choices) : choices_(choices), ranks_(12) {
    plane_.while_starting = [this] { start_meanwhile(); };
  }

  void all() {
    while (choices_.are_left()) {
      step();
      if (choices_.below(4) != 0) work();
    }
    lose_all(registry_, ranks_);
    work();
    for (const DrawnRank& rank : ranks_) CHECK(!rank.ear || rank.ear->is_over());
    CHECK(registry_.status().empty());
    CHECK(registry_.slots_free() == plane_.slots_total());
    CHECK(plane_.living.empty());
  }

 private:
  void work() {
    do {  // again, as the agenda does: deadlines may pass while the plane starts a job
      registry_.work();
    } while (registry_.next_deadline() <= now_);
    for (const PatientRank& rank : ranks_) {
      CHECK(!rank.ear || !rank.ear->waits() || now_ < rank.deadline);
    }
  }

  void step() {
    PatientRank& rank = ranks_[choices_.below(static_cast<std::uint32_t>(ranks_.size()))];
    std::uint8_t how = 0;
    switch (choices_.below(8)) {
      case 0:
      case 1: hello(rank, hello_from(choices_)); return;
      case 2: raw_hello(rank); return;
      case 3: say_ready(registry_, choices_, rank); return;
      case 4: say_leave(registry_, choices_, rank); return;
      case 5:
        if (rank.ear) {
          registry_.leave(rank.entry,
                          choices_.below(2) == 0 ? Parting::lost : Parting::with_switch);
        }
        return;
      case 6:
        now_ = now_ + base::milliseconds(choices_.of<5>({1, 10, 1'000, 70'000, 4'000'000}));
        return;
      default:
        plane_.next_start = static_cast<int>(choices_.below(3));
        how = choices_.byte();
        if (how == 255) registry_.stop();
        steps_meanwhile_ = how % 4;
    }
  }

  void raw_hello(PatientRank& rank) {
    const auto bytes = choices_.some();
    v1::JoinRequest request;
    if (request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      hello(rank, request.hello());
    }
  }

  // The plane takes its time, and calls of listeners wait for the end of this call of work().
  void start_meanwhile() {
    is_starting_ = true;
    std::uint32_t steps = std::exchange(steps_meanwhile_, 0);
    for (; steps > 0 && choices_.are_left(); --steps) step();
    is_starting_ = false;
  }

  // On a new stream; the one that the rank had before breaks.
  void hello(PatientRank& rank, const v1::Hello& hello) {
    if (rank.ear) {
      registry_.leave(rank.entry, Parting::lost);
      if (is_starting_) return;  // the rank hears of it later
      registry_.work();
      CHECK(rank.ear->is_over());
    }
    rank.ear = nullptr;
    const std::string from = choices_.below(2) == 0 ? "10.0.0.1" : "10.0.0.2";
    auto parsed = parse_hello(hello, from, *io::SocketAddress::parse_host(from, "fuzz"));
    if (!parsed) return;
    parsed->grant = grant_from(choices_);
    CHECK(parsed->source.is_set());
    const base::Duration patience = {std::chrono::nanoseconds(parsed->patience).count()};
    rank.deadline = now_ + std::min(patience, base::seconds(3600));
    rank.ear = std::make_shared<CheckedEar>(*parsed);
    rank.entry = registry_.enter(*parsed, rank.ear);
  }

  RegistryOptions options() {
    RegistryOptions options;
    options.clock = [this] { return now_; };
    options.entropy = [this] { return entropy_ += 0x9E3779B97F4A7C15ULL; };
    options.on_event = [](const JoinEvent&) {};
    options.has_threads = false;
    options.limits.jobs_max = 6;
    options.limits.jobs_of_address_max = 4;
    return options;
  }

  Choices choices_;
  base::Instant now_{1};
  std::uint64_t entropy_ = 0;
  CheckedPlane plane_;
  JobRegistry registry_{&plane_, options()};
  std::vector<PatientRank> ranks_;
  std::uint32_t steps_meanwhile_ = 0;  // when the plane starts the next job
  bool is_starting_ = false;
};

}  // namespace
}  // namespace infold::join::fuzzing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace infold::join::fuzzing;
  Run(Choices({data, size})).all();
  return 0;
}
