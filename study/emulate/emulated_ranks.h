// SPDX-License-Identifier: Apache-2.0
//
// Makes emulated ranks join each job beside its real ranks. They come with the first real rank, say
// the same as it does, and leave with the last one. Each rank's hello also says at which rack's
// switch and on which host the rank is emulated. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "join/registrar.h"
#include "join/registry/job_registry.h"
#include "study/emulate/job_shape.h"

namespace infold::emulate {

// The numbers of ranks in each job. Real ranks come first.
struct RankCounts {
  std::uint32_t ranks = 0;
  std::uint32_t real = 0;
  bool all_sum = false;  // each rank brings a site
};
// Returns why a real rank must not join with this hello, or nothing.
std::optional<join::Refusal> refuse_rank(const join::Hello& hello, RankCounts counts);
// Logs one line, in the form that the registry uses for ranks that it refuses.
void log_refused(const join::Hello& hello, const join::Refusal& refusal);
// Returns what emulated ranks report if a real rank reports `real`. `first` is the first emulated
// rank. Emulated ranks do not share memory.
join::ReadyReport report_of_emulated(const join::ReadyReport& real, std::uint32_t first);

struct EmulatedRanksOptions {
  std::uint32_t ranks = 0;
  std::uint32_t real = 0;  // the number of real ranks, which come first
  JobShape shape;
  io::SocketAddress address;  // the address at which real ranks join
  // By real rank: the ports of the switch that the rank is below, one for each site.
  std::vector<std::vector<join::SiteAddress>> sites = {};
  // By rank, if ranks sum: where other real ranks find the rank's site.
  std::vector<io::SocketAddress> rank_portals = {};
};

// Returns the address in the form that ranks accept: an address of all interfaces becomes a port
// alone.
std::string text_for_ranks(const io::SocketAddress& address);

class EmulatedRanks final : public join::Registrar {
 public:
  EmulatedRanks(join::Plane& plane, EmulatedRanksOptions options)
      : registry_(&plane), options_(std::move(options)) {}

  Entry enter(const join::Hello& hello, std::shared_ptr<join::RankListener> listener) override;
  void ready(Entry entry, const join::ReadyReport& report) override;
  void leave(Entry entry, const join::Parting& parting) override;
  bool note_call(Entry entry, const join::CallNote& note) override {
    return registry_.note_call(entry, note);
  }
  void stop() override { registry_.stop(); }
  std::vector<join::JobMetrics> status() const override { return registry_.status(); }

 private:
  class Listener;
  class AtSwitch;
  struct Group {
    std::set<Entry> real;         // ranks that have not left
    std::vector<Entry> emulated;  // ranks that have not left, by rank
    bool is_ready = false;
  };

  RankCounts counts() const { return {options_.ranks, options_.real, options_.shape.ranks_sum}; }
  join::Hello placed(const join::Hello& hello) const;
  std::optional<join::SiteAddress> site_of(const join::Hello& hello) const;
  void add_emulated(const join::Hello& real);

  join::JobRegistry registry_;
  const EmulatedRanksOptions options_;
  base::Mutex mutex_;
  std::map<std::string, Group, std::less<>> groups_ GUARDED_BY(mutex_);  // by the job's name
  std::map<Entry, std::string> names_ GUARDED_BY(mutex_);                // the job names of real
                                                                         // ranks
};

}  // namespace infold::emulate
