// SPDX-License-Identifier: Apache-2.0
//
// Finds the formats and the chunk length of a job from the records of its sites. No other code
// decides them. A registry calls it for the sites that it knows, and a rank for the sites of all
// switches. Pure.
//
// This code does not decide whether zeros are left out, because a worker does that at each
// site that takes it, whatever the other sites do.
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
  std::uint32_t workers = 1;  // the most workers that the job has there
  std::uint32_t world = 1;
};

struct JobUse {
  core::FormatSet formats = core::FormatSet::all();
  core::FloatTypes native =
      core::FloatTypes::all();  // types that the job may sum as native without trees
  std::uint32_t elements_max = INFOLD_ELEMENTS_MAX;  // of a chunk
};

// The formats and native types are those that all sites have in common, and elements_max is the
// smallest of all. The job is refused if a site does not verify checksums, has too many workers,
// names missing ranks in fewer bits than there are ranks, lacks a format of `asked`, or has no
// format in common with the sites before it. The refusal names the site. No site counts as lacking
// native if all sites sum some type as native.
Answer<JobUse> job_use(const std::string& job, std::span<const SiteOfJob> sites,
                       core::FormatSet asked = {});

}  // namespace infold::join
