// SPDX-License-Identifier: Apache-2.0
#include "join/token_use.h"

#include <algorithm>

#include "join/refusals.h"

namespace infold::join {

std::optional<Refusal> TokenUse::find_lack(const keys::Grant& grant, const OfJob* job,
                                           std::uint32_t world) const {
  if (job != nullptr && job->held.contains(grant.id)) return std::nullopt;
  const auto found = uses_.find(grant.id);
  const std::uint64_t used = found == uses_.end() ? 0 : found->second.ranks;
  if (world > grant.ranks_max) {
    return refusal(sentences::kTokenForFewerRanks, grant.ranks_max, world);
  }
  if (used + world <= grant.ranks_max) return std::nullopt;
  return refusal(sentences::kRanksOfTokenUsed, grant.ranks_max, used, world);
}

void TokenUse::enter(OfJob& job, const keys::Grant& grant) {
  OfJob::Held& held = job.held[grant.id];
  if (held.ranks++ > 0) return;
  held.grant = grant;
  Use& use = uses_[grant.id];
  use.ranks += job.world;
  use.slots += job.slots;
}

void TokenUse::leave(OfJob& job, const keys::Grant& grant) {
  const auto found = job.held.find(grant.id);
  if (found == job.held.end() || --found->second.ranks > 0) return;
  forget(job, grant.id);
  job.held.erase(found);
}

std::optional<std::uint32_t> TokenUse::slots_free(const OfJob& job) const {
  std::optional<std::uint32_t> least;
  for (const auto& [id, held] : job.held) {
    if (held.grant.slots_max == keys::Grant::kUnlimited) continue;
    const std::uint64_t used = uses_.at(id).slots - job.slots;
    const std::uint64_t most = held.grant.slots_max;
    const auto free = static_cast<std::uint32_t>(most - std::min(most, used));
    least = std::min(least.value_or(free), free);
  }
  return least;
}

void TokenUse::set_slots(OfJob& job, std::uint32_t slots) {
  for (const auto& [id, held] : job.held) uses_.at(id).slots += std::uint64_t{slots} - job.slots;
  job.slots = slots;
}

void TokenUse::give_back(OfJob& job) {
  for (const auto& [id, held] : job.held) forget(job, id);
  job.held.clear();
  job.slots = 0;
}

void TokenUse::forget(const OfJob& job, std::uint64_t id) {
  const auto use = uses_.find(id);
  use->second.ranks -= job.world;
  use->second.slots -= job.slots;
  if (use->second.ranks == 0) uses_.erase(use);
}

}  // namespace infold::join
