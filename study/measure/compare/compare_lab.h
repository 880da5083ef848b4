// SPDX-License-Identifier: Apache-2.0
//
// Runs the implementations of a comparison one after the other, in a lab or on this host alone.
// Used by one thread. A lab needs root.
#pragma once

#include <chrono>

#include "study/measure/compare/compare.h"
#include "study/measure/compare/lab.h"

namespace infold::measure {

class CompareLab {
 public:
  // Throws std::runtime_error if another process measures on this machine, or a program is missing.
  CompareLab(const Conditions& conditions, const Places& places);

  // Builds the lab for this many ranks, or throws std::runtime_error that names what is missing.
  // Ranks of one host do not need a lab.
  void up(std::uint64_t world);
  void down() {
    if (lab_.has_links()) lab_.down();
  }

  // Measures one size. After Ctrl-C or SIGTERM it returns early with an error.
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

}  // namespace infold::measure
