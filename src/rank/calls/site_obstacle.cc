// SPDX-License-Identifier: Apache-2.0
#include "rank/calls/site_obstacle.h"

#include <algorithm>

#include "core/format.h"

namespace infold::rank {
namespace {

// Sets of blocks travel as words of this format.
constexpr core::WireFormat kSetFormat = core::WireFormat::i32;

// The name of the first site for which `can` is false.
template <typename Can>
std::string find_site(const core::WorkerOptions& worker, std::span<const std::string> site_names,
                      Can can) {
  for (std::size_t i = 0; i < worker.sites.size() && i < site_names.size(); ++i) {
    if (!can(worker.sites[i])) return "the site at " + site_names[i];
  }
  return "a switch between this rank and the others";
}

}  // namespace

std::optional<Error> refuse_reduction(Reduction reduction, const core::WorkerOptions& worker,
                                      std::span<const std::string> site_names) {
  const auto takes = [reduction](const core::SiteOptions& site) {
    return site.reductions.has(reduction);
  };
  const auto lacking = std::find_if_not(worker.sites.begin(), worker.sites.end(), takes);
  if (lacking == worker.sites.end()) return std::nullopt;
  return Error{Code::unsupported,
               find_site(worker, site_names, takes) + " does not take " +
                   reduction_name(reduction) + "; it takes " + core::names_of(lacking->reductions),
               -1, ""};
}

std::string find_sparse_obstacle(const core::WorkerOptions& worker,
                                 std::span<const std::string> site_names) {
  if (!worker.formats.has(kSetFormat)) {
    const auto sums = [](const core::SiteOptions& site) { return site.formats.has(kSetFormat); };
    return find_site(worker, site_names, sums) + " does not sum " + core::format_name(kSetFormat);
  }
  const auto refused = refuse_reduction(Reduction::bit_or, worker, site_names);
  return refused ? refused->message : "";
}

std::optional<Error> refuse_sparse(const CallRequest& request, const encoding::FormatChoice& format,
                                   const std::string& obstacle) {
  if (format.exchange == encoding::Exchange::exponents) {
    return Error{Code::unsupported,
                 std::string(format.name) + " cannot leave out zeros; choose another wire format",
                 -1, ""};
  }
  if (obstacle.empty()) return std::nullopt;
  return Error{Code::unsupported,
               obstacle +
                   ", in which ranks join what they have, so that no zeros can be left out; " +
                   (request.rows ? "pass the whole tensor" : "make the layout dense"),
               -1, ""};
}

}  // namespace infold::rank
