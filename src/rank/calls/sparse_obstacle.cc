// SPDX-License-Identifier: Apache-2.0
#include "rank/calls/sparse_obstacle.h"

#include "core/format.h"

namespace infold::rank {
namespace {

// The sets of blocks are words of this format.
constexpr core::WireFormat kSetFormat = core::WireFormat::i32;

}  // namespace

std::string find_sparse_obstacle(const core::WorkerOptions& worker,
                                 std::span<const std::string> site_names) {
  if (worker.formats.has(kSetFormat)) return "";
  std::string site = "a switch between this rank and the others";
  for (std::size_t i = 0; i < worker.sites.size() && i < site_names.size(); ++i) {
    if (worker.sites[i].formats.has(kSetFormat)) continue;
    site = "the site at " + site_names[i];
    break;
  }
  return site + " does not sum " + core::format_name(kSetFormat);
}

std::optional<Error> refuse_sparse(const CallRequest& request, const codec::FormatChoice& format,
                                   const std::string& obstacle) {
  if (format.exchange == codec::Exchange::exponents) {
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
