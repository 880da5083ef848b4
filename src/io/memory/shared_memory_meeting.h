// SPDX-License-Identifier: Apache-2.0
//
// Sets up shared memory between processes of one host. One process hosts the meeting and listens at
// a local socket. The others connect to it. Each gets memory of its own, maps it, and confirms. The
// socket is in the abstract namespace: it leaves no file behind, and processes in other network
// namespaces cannot reach it. The host refuses processes of other users.
//
//   member:  greeting + its doorbell ............. mapped
//   host:                    offer + memory, its doorbell
//
// All calls block until a deadline. One thread.
#pragma once

#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "io/memory/shared_memory_endpoint.h"

namespace infold::io {

// Both sides must have equal terms.
struct MeetingTerms {
  std::uint64_t ticket = 0;  // identifies the meeting
  QueueShape shape;
};

class SharedMemoryMeeting {
 public:
  // Listens from now on, under an unpredictable name.
  static base::Result<SharedMemoryMeeting> open();
  const std::string& name() const { return name_; }

  // Waits for members first to first + count - 1. Returns a link to each, in this order. The
  // members ring the doorbell `own`.
  base::Result<std::vector<SharedMemoryLink>> host(const MeetingTerms& terms, std::uint32_t first,
                                                   std::uint32_t count, const Doorbell& own,
                                                   base::Instant deadline);
  // Connects to the meeting of that name.
  static base::Result<SharedMemoryLink> attend(const std::string& name, const MeetingTerms& terms,
                                               std::uint32_t member, const Doorbell& own,
                                               base::Instant deadline);

 private:
  SharedMemoryMeeting(FileDescriptor listener, std::string name)
      : listener_(std::move(listener)), name_(std::move(name)) {}

  FileDescriptor listener_;
  std::string name_;
};

}  // namespace infold::io
