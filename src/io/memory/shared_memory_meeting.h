// SPDX-License-Identifier: Apache-2.0
//
// Sets up shared memory between processes of one host. One process hosts the meeting and listens at
// a local socket, to which the others connect. When all have come, the host makes the memory of
// each link and hands it to both ends, which map it and confirm. The socket is in the abstract
// namespace, so it leaves no file behind, and processes in other network namespaces cannot reach
// it. The host refuses processes of other users.
//
//   member:  greeting + its doorbell ..................................... mapped
//   host:                    for each link: offer + memory, the other's doorbell
//
// All calls block, at most until a deadline. Only one thread may call.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "io/memory/shared_memory_endpoint.h"

namespace infold::io {

// All members must have equal terms.
struct MeetingTerms {
  std::uint64_t ticket = 0;  // identifies the meeting
  QueueShape shape;
  std::uint32_t members = 2;  // including the host, which is member 0
  std::uint32_t hubs = 1;     // members 0 to hubs-1 have links to all members, the others to these

  bool are_linked(std::uint32_t one, std::uint32_t other) const {
    return one != other && std::min(one, other) < hubs;
  }
};

class SharedMemoryMeeting {
 public:
  // Starts to listen under an unpredictable name.
  static base::Result<SharedMemoryMeeting> open();
  const std::string& name() const { return name_; }

  // Waits for all members. Returns this member's links, in the order of members. `own` is the
  // doorbell that the other ends ring.
  base::Result<std::vector<SharedMemoryLink>> host(const MeetingTerms& terms, const Doorbell& own,
                                                   base::Instant deadline);
  // Connects to the meeting of that name, and returns this member's links as host() does.
  static base::Result<std::vector<SharedMemoryLink>> attend(const std::string& name,
                                                            const MeetingTerms& terms,
                                                            std::uint32_t member,
                                                            const Doorbell& own,
                                                            base::Instant deadline);

 private:
  SharedMemoryMeeting(FileDescriptor listener, std::string name)
      : listener_(std::move(listener)), name_(std::move(name)) {}

  FileDescriptor listener_;
  std::string name_;
};

}  // namespace infold::io
