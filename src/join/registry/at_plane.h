// SPDX-License-Identifier: Apache-2.0
//
// How registries start a job at their plane.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "join/registry/plane.h"

namespace infold::join {

// Whether the plane has a job. `leaving`: it is about to forget the job.
enum class AtPlane : std::uint8_t { no, starting, yes, leaving };

// Turns an exception into a refusal, because the memory for the slots may be missing.
inline Answer<void> start_job(Plane& plane, const JobTerms& terms) {
  try {
    return plane.start_job(terms);
  } catch (const std::exception& error) {
    return tl::unexpected(Refusal{RefusalReason::full,
                                  std::string("the switch cannot start the job: ") + error.what() +
                                      "; with fewer slots it may",
                                  -1});
  }
}

}  // namespace infold::join
