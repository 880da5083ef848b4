// SPDX-License-Identifier: Apache-2.0
//
// Limits connections, streams and Hellos, for each address and in total. Any thread may call it.
#pragma once

#include <cstdint>
#include <string>

#include "base/mutex.h"
#include "join/join_event.h"
#include "join/registrar.h"
#include "join/service/address_limits.h"

namespace infold::join {

struct StreamLimits {
  // Each rank of a job has one stream, so this allows 4 jobs of 1024 ranks, 16 of 256, or 64 of 64.
  std::uint32_t streams_max = 4096;
  std::uint32_t streams_of_address_max = 3072;
  // A host that starts 50 groups on 8 ranks sends 400 at once.
  std::uint32_t hellos_per_second = 512;
  std::uint32_t hellos_at_once = 2048;
  // Every rank opens a stream, even one that is refused or gives up before its Hello.
  std::uint32_t openings_per_second = 1024;
  std::uint32_t openings_at_once = 2304;
};

class StreamGate {
 public:
  StreamGate(const StreamLimits& limits, EventListener on_event);

  // Returns false for an address that has opened more streams than its rate allows, until enough
  // time has passed. Its connections are closed meanwhile, because refusing a stream costs as much
  // as taking it.
  bool may_connect(const std::string& address);
  // A refusal names the limit. close() gives back a stream that open() has let in.
  Answer<void> open(const std::string& address);
  void close(const std::string& address);
  Answer<void> hello(const std::string& address);

 private:
  tl::unexpected<Refusal> refuse(const std::string& address, std::string message);

  const StreamLimits limits_;
  const EventListener on_event_;
  base::Mutex mutex_;
  AddressCounts streams_ GUARDED_BY(mutex_);
  AddressRates hellos_ GUARDED_BY(mutex_);
  AddressRates openings_ GUARDED_BY(mutex_);
};

}  // namespace infold::join
