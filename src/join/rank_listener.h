// SPDX-License-Identifier: Apache-2.0
//
// Both directions between a rank and a join server, without the connection between them. A
// server's stream listens for its rank, and a client's stream for the rank's program. A rack's
// relay passes the calls of one to the other.
//
// A listener hears, in this order:
//
//   all_here  ->  all_ready  ->  ended (if the job ends first)  ->  dismissed
//
// or refused() in place of any step up to and with all_ready. The last call is refused() or
// dismissed(): exactly one of the two, once.
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
  // The groups in use. The rank may send packets from now on.
  virtual void all_ready(const std::vector<HostGroup>& groups) = 0;
  // Last: the rank is not in the job. It need not leave.
  virtual void refused(const Refusal& refusal) = 0;
  // The job is over for this rank, which still has to leave.
  virtual void ended(const JobEnd& end) = 0;
  // Last: the rank has left, and no other rank needs it any more.
  virtual void dismissed() = 0;
};

// A rank's messages to a join server. If it goes without leave(), the rank counts as lost.
class RankLink {
 public:
  virtual ~RankLink() = default;
  virtual void ready(const ReadyReport& report) = 0;
  virtual void leave(const Parting& parting) = 0;
  // Of rank 0, where the terms ask for it.
  virtual void tell(const CallNote&) {}
};

}  // namespace infold::join
