// SPDX-License-Identifier: Apache-2.0
//
// Lets emulated ranks join each job beside its real ranks. They come with the first real rank, say
// what it says, and leave with the last one. Each rank's hello also says which rack's switch and
// which host the rank is emulated at. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/registrar.h"
#include "control/registry/job_registry.h"
#include "emulate/placement.h"

namespace infold::emulate {

// Of each job the first ranks are real.
struct RankCounts {
  std::uint32_t ranks = 0;
  std::uint32_t real = 0;
  bool all_sum = false;  // each brings a site
};
// Why no real rank may say so, or nothing.
std::optional<control::Refusal> refuse_rank(const control::Hello& hello, RankCounts counts);
// One line of the log, as the registry has it for the ranks that it refuses.
void log_refused(const control::Hello& hello, const control::Refusal& refusal);
// What emulated ranks report, of which this one is the first, where a real rank reports this. They
// share no memory.
control::ReadyReport report_of_emulated(const control::ReadyReport& real, std::uint32_t first);

struct EmulatedRanksOptions {
  std::uint32_t ranks = 0;
  std::uint32_t real = 0;  // the first ones
  Placement placement;
  io::SocketAddress address;  // where real ranks join
  // By real rank: the ports of the switch that the rank is below, one for each site.
  std::vector<std::vector<control::SiteAddress>> sites = {};
  // Where ranks sum, by rank: where the other ranks, if they are real, find the rank's site.
  std::vector<io::SocketAddress> rank_portals = {};
};

// As ranks take it. An address of all interfaces is a port alone.
std::string text_for_ranks(const io::SocketAddress& address);

class EmulatedRanks final : public control::Registrar {
 public:
  EmulatedRanks(control::Plane& plane, EmulatedRanksOptions options)
      : registry_(&plane), options_(std::move(options)) {}

  Entry enter(const control::Hello& hello,
              std::shared_ptr<control::RankListener> listener) override;
  void ready(Entry entry, const control::ReadyReport& report) override;
  void leave(Entry entry, const control::Parting& parting) override;
  bool note_call(Entry entry, const control::CallNote& note) override {
    return registry_.note_call(entry, note);
  }
  void stop() override { registry_.stop(); }
  std::vector<control::JobStatus> status() const override { return registry_.status(); }

 private:
  class Listener;
  class AtSwitch;
  struct Group {
    std::set<Entry> real;         // ranks that have not left
    std::vector<Entry> emulated;  // likewise, by rank
    bool is_ready = false;
  };

  RankCounts counts() const {
    return {options_.ranks, options_.real, options_.placement.ranks_sum};
  }
  control::Hello placed(const control::Hello& hello) const;
  std::optional<control::SiteAddress> site_of(const control::Hello& hello) const;
  void add_emulated(const control::Hello& real);

  control::JobRegistry registry_;
  const EmulatedRanksOptions options_;
  std::mutex mutex_;
  std::map<std::string, Group, std::less<>> groups_;  // by the job's name
  std::map<Entry, std::string> names_;                // of real ranks' jobs
};

}  // namespace infold::emulate
