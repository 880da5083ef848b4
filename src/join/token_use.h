// SPDX-License-Identifier: Apache-2.0
//
// Counts what the jobs of each token use at a switch. A job counts for each token that any of its
// ranks has joined with: with all of its ranks, whether they have come or not, and with the slots
// that it holds. So a token's limits hold for all of its living jobs together, however they share
// their ranks out over tokens.
//
// Pure. Used under its owner's lock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "join/registrar.h"
#include "keys/token/token.h"

namespace infold::join {

class TokenUse {
 public:
  // One job's part. A job whose ranks have no tokens has none.
  struct OfJob {
    struct Held {
      keys::Grant grant;
      std::uint32_t ranks = 0;  // that are here
    };
    std::uint32_t world = 0;
    std::uint32_t slots = 0;
    std::map<std::uint64_t, Held> held;  // by the token's id
  };

  // Why no rank may come to this job with this token, because all of the job would then count for
  // it. The job may be null if it does not exist yet.
  std::optional<Refusal> find_lack(const keys::Grant& grant, const OfJob* job,
                                   std::uint32_t world) const;
  void enter(OfJob& job, const keys::Grant& grant);
  // A rank that entered has gone before the job began, and the job goes on without this token if it
  // was its last rank.
  void leave(OfJob& job, const keys::Grant& grant);

  // The most slots that the job may take for all of its tokens; none: no token limits them.
  std::optional<std::uint32_t> slots_free(const OfJob& job) const;
  // The job has this many slots from now on.
  void set_slots(OfJob& job, std::uint32_t slots);
  // The job is over.
  void give_back(OfJob& job);

  bool is_empty() const { return uses_.empty(); }

 private:
  struct Use {
    std::uint64_t ranks = 0;
    std::uint64_t slots = 0;
  };
  void forget(const OfJob& job, std::uint64_t id);

  std::map<std::uint64_t, Use> uses_;
};

}  // namespace infold::join
