// SPDX-License-Identifier: Apache-2.0
//
// The calls in both directions between a rank and a join server, without the connection between
// them. A server's stream listens for its rank, and a client's stream listens for the rank's
// program. A rack's relay passes the calls of each side on to the other.
//
// A listener hears, in this order:
//
//   all_here  ->  all_ready  ->  ended (if the job ends first)  ->  dismissed
//
// refused() may come in place of any step up to and including all_ready. The last call is either
// refused() or dismissed(), and comes exactly once.
//
// No call of either interface blocks. A listener gets one call at a time, from any thread, while
// the caller holds no lock. It may call the other direction from there.
#pragma once

#include <vector>

#include "join/registrar.h"

namespace infold::join {

class RankListener {
 public:
  virtual ~RankListener() = default;
  virtual void all_here(const JobTerms& terms) = 0;
  // Tells the groups in use. The rank may send packets from now on.
  virtual void all_ready(const std::vector<HostGroup>& groups) = 0;
  // The last call: the rank is not in the job, and need not leave it.
  virtual void refused(const Refusal& refusal) = 0;
  // The job is over for this rank, which still has to leave.
  virtual void ended(const JobEnd& end) = 0;
  // The last call: the rank has left, and no other rank needs it any more.
  virtual void dismissed() = 0;
};

// A rank's messages to a join server. If it is destroyed without leave(), the rank counts as lost.
class RankLink {
 public:
  virtual ~RankLink() = default;
  virtual void ready(const ReadyReport& report) = 0;
  virtual void leave(const Parting& parting) = 0;
  // Reports a transfer of rank 0, if the terms ask for that.
  virtual void tell(const CallNote&) {}
};

}  // namespace infold::join
