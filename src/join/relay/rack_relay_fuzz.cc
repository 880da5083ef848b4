// SPDX-License-Identifier: Apache-2.0
//
// Bytes become messages of a rack's ranks, the parent's answers on each link, and ends of links.
// Invariants: listeners get exactly one last call, slots are conserved, the plane has no number
// twice, and a link is called no more after its last call.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "join/registry/fuzzing.h"
#include "join/relay/rack_relay.h"
#include "join/service/parse_request.h"

namespace infold::join::fuzzing {
namespace {

class FixedUplink final : public Uplink {
 public:
  Answer<std::uint32_t> datagram_bytes_max() const override { return 8972; }
  Answer<void> reach(const std::vector<std::string>&, std::uint32_t) override {
    if (std::exchange(is_unreachable, false)) {
      return tl::unexpected(Refusal{RefusalReason::too_late, "nothing comes back", -1});
    }
    return {};
  }
  bool is_unreachable = false;
};

constexpr const char* kFrom = "10.0.0.1";
constexpr const char* kSource = "10.0.0.8";  // of the rack's own packets

// Unset for an address that no host can have.
io::SocketAddress host_of(const char* text) {
  const auto host = io::SocketAddress::parse_host(text, "fuzz");
  return host && !host->is_any() && !host->is_multicast() ? *host : io::SocketAddress();
}

// The parent's end of one link. Keeps to the order of rank_listener.h.
struct Above {
  std::shared_ptr<RankListener> listener;
  Hello hello;
  bool said_terms = false, was_ready = false, said_go = false, said_end = false;
  bool has_left = false, is_over = false;
};

class Link final : public RankLink {
 public:
  explicit Link(std::shared_ptr<Above> above) : above_(std::move(above)) {}
  ~Link() override { above_->is_over = true; }
  void ready(const ReadyReport&) override { above_->was_ready = true; }
  void leave(const Parting&) override { above_->has_left = true; }

 private:
  std::shared_ptr<Above> above_;
};

class Run {
 public:
  explicit Run(Choices choices) : choices_(choices), ranks_(8) {
    plane_.while_starting = [this] { start_meanwhile(); };
  }

  void all() {
    while (choices_.are_left()) {
      step();
      if (choices_.below(4) != 0) relay_.work();
    }
    lose_all(relay_, ranks_);
    relay_.work();
    for (const auto& above : above_) end_link(*above);
    relay_.work();
    for (const DrawnRank& rank : ranks_) CHECK(!rank.ear || rank.ear->is_over());
    for (const JobMetrics& job : relay_.status()) CHECK(job.ranks == 0);
    CHECK(relay_.status().empty());
    CHECK(plane_.living.empty());
  }

 private:
  void step() {
    DrawnRank& rank = ranks_[choices_.below(static_cast<std::uint32_t>(ranks_.size()))];
    std::uint8_t how = 0;
    switch (choices_.below(8)) {
      case 0:
      case 1: hello(rank); return;
      case 2: say_ready(relay_, choices_, rank); return;
      case 3: say_leave(relay_, choices_, rank); return;
      case 4:
        how = choices_.byte();
        if (how == 255) relay_.stop();
        steps_meanwhile_ = how % 4;
        uplink_.is_unreachable = choices_.below(4) == 0;
        plane_.next_start = static_cast<int>(choices_.below(3));
        return;
      default:
        if (!above_.empty()) answer(*above_[choices_.byte() % above_.size()]);
    }
  }

  // The plane takes its time, and calls of listeners wait for the end of this call of work().
  void start_meanwhile() {
    is_starting_ = true;
    std::uint32_t steps = std::exchange(steps_meanwhile_, 0);
    for (; steps > 0 && choices_.are_left(); --steps) step();
    is_starting_ = false;
  }

  void hello(DrawnRank& rank) {
    if (rank.ear && !rank.ear->is_over()) return;
    rank.ear = nullptr;
    auto parsed = parse_hello(hello_from(choices_), kFrom, host_of(kFrom));
    if (!parsed) return;
    parsed->grant = grant_from(choices_);
    rank.ear = std::make_shared<CheckedEar>();
    rank.entry = relay_.enter(*parsed, rank.ear);
  }

  // One step further, or the last call.
  void answer(Above& above) {
    if (above.is_over) return;
    if (above.has_left || choices_.below(8) == 0) {
      end_link(above);
    } else if (!above.said_terms) {
      above.said_terms = true;
      above.listener->all_here(terms_for(above.hello));
    } else if (above.was_ready && !above.said_go) {
      above.said_go = true;
      above.listener->all_ready({});
    } else if (above.said_go && !std::exchange(above.said_end, true)) {
      JobEnd end;
      if (choices_.below(2) == 0) end.lost_rank = 0;
      above.listener->ended(end);
    }
  }

  void end_link(Above& above) {
    if (std::exchange(above.is_over, true)) return;
    if (above.has_left) {
      above.listener->dismissed();
    } else if (!above.said_go) {
      above.listener->refused({RefusalReason::too_late, "refused", -1});
    } else {
      above.is_over = false;  // it ends, and waits for the relay to leave
      if (!std::exchange(above.said_end, true)) above.listener->ended({});
      if (!is_starting_) relay_.work();
    }
  }

  JobTerms terms_for(const Hello& hello) {
    JobTerms terms;
    terms.job = static_cast<std::uint16_t>(1 + choices_.below(2));
    const std::uint8_t epoch = choices_.byte();  // and where the ranks' packets come from
    terms.epoch = epoch % 2;
    terms.world = hello.world;
    for (std::uint32_t rank = 0; rank < terms.world && (epoch & 2) != 0; ++rank) {
      terms.rank_sources.push_back(host_of(source_from(epoch / 4 + rank)));
    }
    terms.datagram_bytes_max = hello.datagram_bytes_max;
    terms.elements_max = choices_.of<2>({1056, 8192});
    terms.small_slots = static_cast<std::uint16_t>(hello.small_slots);
    terms.bulk_slots = static_cast<std::uint16_t>(hello.bulk_slots);
    if (terms.small_slots + terms.bulk_slots == 0) terms.small_slots = 1;
    terms.formats = core::FormatSet(choices_.of<3>({0x7F, 0x04, 0x10}));
    terms.sites = {{":7700", 0}, {":7701", 0}};
    const auto world = static_cast<std::uint16_t>(hello.world);
    if (choices_.below(4) != 0) terms.racks = {{0, world}};
    return terms;
  }

  RackRelayOptions options() {
    RackRelayOptions options;
    options.parent = *io::SocketAddress::parse_number("10.0.0.9:7700", "parent");
    options.address = "10.0.0.8:7700";
    options.identity = "rack-1";
    options.source = host_of(kSource);
    options.on_event = [](const JoinEvent&) {};
    options.has_threads = false;
    options.link = [this](const Hello& hello, std::shared_ptr<RankListener> listener) {
      const auto above = std::make_shared<Above>();
      above->listener = std::move(listener);
      above->hello = hello;
      CHECK(hello.source.is_set() && hello.rack->source == host_of(kSource));
      above_.push_back(above);
      return std::make_unique<Link>(above);
    };
    return options;
  }

  Choices choices_;
  CheckedPlane plane_;
  FixedUplink uplink_;
  std::vector<std::shared_ptr<Above>> above_;
  RackRelay relay_{plane_, uplink_, options()};
  std::vector<DrawnRank> ranks_;
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
