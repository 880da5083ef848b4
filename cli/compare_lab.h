// SPDX-License-Identifier: Apache-2.0
//
// Runs implementations in a lab of its own, one after the other: makes the lab through
// tools/lab/lab.py, starts a process for each rank on its host, waits, reads what rank 0 printed.
// All that it started and made is gone when it is destroyed. One thread; needs root.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "cli/child.h"
#include "cli/compare.h"

namespace infold::cli {

// Where the programs are.
struct Places {
  std::filesystem::path lab;     // tools/lab/lab.py
  std::filesystem::path infold;  // this program
  std::filesystem::path peers;   // the folder of infold-peer-gloo and infold-peer-openmpi

  // Looks beside and above the running program. Throws std::runtime_error if there is no lab.
  static Places find();
};

class CompareLab {
 public:
  // Throws std::runtime_error if somebody else compares on this machine, or a program is missing.
  CompareLab(const Conditions& conditions, Places places);
  ~CompareLab();
  CompareLab(const CompareLab&) = delete;
  CompareLab& operator=(const CompareLab&) = delete;

  // Makes the lab for this many ranks, or throws std::runtime_error with what is needed.
  void up(std::uint64_t world);
  void down();

  // Measures one size. Returns early, with an error, when the user wants to stop.
  Sample measure(const Implementation& implementation, std::uint64_t bytes, unsigned round);

 private:
  struct Launch {
    Words daemon;              // on the switch, before the ranks; empty for none
    std::vector<Words> ranks;  // the first one prints the result
  };

  unsigned iterations_of(std::uint64_t bytes) const;
  std::chrono::seconds limit_of(const Implementation& implementation, std::uint64_t bytes) const;
  Words at(const std::string& node, const Words& words) const;
  Launch launch(const Implementation& implementation, std::uint64_t bytes,
                const std::filesystem::path& folder) const;
  Launch launch_infold(const Implementation& implementation, std::uint64_t bytes) const;
  Launch launch_gloo(const Implementation& implementation, std::uint64_t bytes,
                     const std::filesystem::path& folder) const;
  Launch launch_openmpi(const Implementation& implementation, std::uint64_t bytes) const;
  void run(const Launch& launch, std::chrono::seconds limit, const std::filesystem::path& folder,
           Sample& sample) const;

  Conditions conditions_;
  Places places_;
  std::uint64_t world_ = 0;  // 0: no lab
  int lock_ = -1;
  std::filesystem::path scratch_;
};

}  // namespace infold::cli
