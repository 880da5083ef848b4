// SPDX-License-Identifier: Apache-2.0
//
// The formats and the chunk length of a job, from the records of its sites. No other code decides
// them. A registry calls it for the sites that it knows, a rank for those of all switches. Pure.
//
// Leaving zeros out is not decided here: a worker does it at each site that takes it, and
// the other sites do not matter.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/site_record.h"
#include "join/registrar.h"

namespace infold::join {

struct SiteOfJob {
  std::string name;  // for errors, as in "the site at 10.0.0.1:7700"
  core::SiteRecord record;
  std::uint32_t workers = 1;  // that the job has there, at most
  std::uint32_t world = 1;
};

struct JobUse {
  core::FormatSet formats = core::FormatSet::all();
  core::FloatTypes native =
      core::FloatTypes::all();  // types that it may sum as native without trees
  std::uint32_t elements_max = INFOLD_ELEMENTS_MAX;  // of a chunk
};

// Formats and native types are those of all sites, elements the least. Native counts as asked for
// and found where all sites sum some type so. A site is refused by name that does not
// verify checksums, has too many workers, names missing ranks in bits that end before the world
// does, lacks a format that is asked for, or has none in common
// with those before it.
Answer<JobUse> job_use(const std::string& job, std::span<const SiteOfJob> sites,
                       core::FormatSet asked = {});

}  // namespace infold::join
