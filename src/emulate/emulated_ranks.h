// SPDX-License-Identifier: Apache-2.0
//
// Lets emulated ranks join each job beside its real ranks. They come with the first real rank, say
// what it says, and leave with the last one. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "control/registrar.h"
#include "control/registry/job_registry.h"

namespace infold::emulate {

class EmulatedRanks final : public control::Registrar {
 public:
  // Of each job the first `real` of `ranks` are real.
  EmulatedRanks(control::Plane& plane, std::uint32_t ranks, std::uint32_t real)
      : registry_(&plane), ranks_(ranks), real_(real) {}

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
  struct Group {
    std::set<Entry> real;         // ranks that have not left
    std::vector<Entry> emulated;  // likewise
    bool is_ready = false;
  };

  std::string find_obstacle(const control::Hello& hello) const;
  void add_emulated(const control::Hello& real);

  control::JobRegistry registry_;
  const std::uint32_t ranks_;
  const std::uint32_t real_;
  std::mutex mutex_;
  std::map<std::string, Group, std::less<>> groups_;  // by the job's name
  std::map<Entry, std::string> names_;                // of real ranks' jobs
};

}  // namespace infold::emulate
