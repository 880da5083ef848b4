// SPDX-License-Identifier: Apache-2.0
#include "join/job_use.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "join/refusals.h"
#include "wire/infold_wire.h"

namespace infold::join {
namespace {

constexpr std::uint32_t kBitsOfPending = 8 * INFOLD_PENDING_BYTES_MAX;

// Returns an ability that the job needs and the site lacks, as in "does not sum bfp8".
std::optional<std::string> find_lack(const SiteOfJob& site, const JobUse& before,
                                     core::FormatSet asked) {
  const core::SiteRecord& can = site.record;
  if (!can.verifies_checksums) return "does not verify payload checksums, as R-001 requires";
  if (site.workers > can.workers_max) {
    return fmt::format(
        "takes {} workers, and the job has {} there; put the ranks into racks, or into more racks "
        "(infold switch --parent), and let no rank sum",
        can.workers_max, site.workers);
  }
  if (!can.sends_ranges && site.world > kBitsOfPending) {
    return fmt::format("names missing ranks in {} bits, and the job has {} ranks", kBitsOfPending,
                       site.world);
  }
  core::FormatSet lacking = asked - can.formats;
  if (!(before.native & can.native()).is_empty()) {
    lacking = lacking - core::FormatSet::of(core::WireFormat::native);
  }
  if (!lacking.is_empty()) {
    return fmt::format("does not sum {}, which the job asks for; it sums {}", names_of(lacking),
                       names_of(can.formats));
  }
  if ((before.formats & can.formats).is_empty()) {
    return fmt::format("sums {}, and the sites before it have only {} in common",
                       names_of(can.formats), names_of(before.formats));
  }
  return std::nullopt;
}

}  // namespace

Answer<JobUse> job_use(const std::string& job, std::span<const SiteOfJob> sites,
                       core::FormatSet asked) {
  JobUse use;
  for (const SiteOfJob& site : sites) {
    if (const auto lack = find_lack(site, use, asked)) {
      return refused(sentences::kSiteLacks, job, site.name, *lack);
    }
    use.formats = use.formats & site.record.formats;
    use.native = use.native & site.record.native();
    use.elements_max = std::min(use.elements_max, site.record.elements_max);
  }
  return use;
}

}  // namespace infold::join
