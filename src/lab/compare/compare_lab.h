// SPDX-License-Identifier: Apache-2.0
//
// Runs the implementations of a comparison one after the other, in a lab or on this host alone.
// One thread. A lab needs root.
#pragma once

#include <chrono>

#include "lab/compare/compare.h"
#include "lab/compare/lab.h"

namespace infold::lab {

class CompareLab {
 public:
  // Throws std::runtime_error if another process measures on this machine, or a program is missing.
  CompareLab(const Conditions& conditions, const Places& places);

  // Makes the lab for this many ranks, or throws std::runtime_error with what is needed. Ranks of
  // one host need no lab.
  void up(std::uint64_t world);
  void down() {
    if (lab_.has_links()) lab_.down();
  }

  // Measures one size. Returns early, with an error, after Ctrl-C or SIGTERM.
  Sample measure(const Implementation& implementation, std::uint64_t bytes, unsigned round);

 private:
  unsigned iterations_of(std::uint64_t bytes) const;
  std::chrono::seconds limit_of(const Implementation& implementation, std::uint64_t bytes) const;
  Launch launch(const Implementation& implementation, std::uint64_t bytes,
                const std::filesystem::path& folder) const;

  Conditions conditions_;
  Lab lab_;
  std::uint64_t world_ = 0;
};

}  // namespace infold::lab
