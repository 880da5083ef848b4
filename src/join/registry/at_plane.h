// SPDX-License-Identifier: Apache-2.0
//
// How registries start a job at their plane.
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>

#include "join/refusals.h"
#include "join/registry/plane.h"

namespace infold::join {

// Whether the plane has a job. `leaving`: it is about to forget the job.
enum class AtPlane : std::uint8_t { no, starting, yes, leaving };

// Turns an exception into a refusal, so that the ranks hear of it and the switch goes on. Only
// memory that is missing has a remedy: the slots of the job take nearly all memory of a start.
inline Answer<void> start_job(Plane& plane, const JobTerms& terms) {
  const auto cannot = [](const char* why) { return refused(sentences::kCannotStart, why); };
  constexpr const char* kNoMemory = "its memory is used up; with fewer slots it may";
  try {
    return plane.start_job(terms);
  } catch (const std::bad_alloc&) {
    return cannot(kNoMemory);
  } catch (const std::length_error&) {  // a container that no memory could hold
    return cannot(kNoMemory);
  } catch (const std::exception& error) {
    return cannot(error.what());
  }
}

}  // namespace infold::join
