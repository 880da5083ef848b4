// SPDX-License-Identifier: Apache-2.0
//
// How processes of one host come to share memory: one is the host of the meeting and waits at a
// local socket, the others come there; each is handed memory of its own, maps it, and says so. The
// socket lives in the abstract namespace, so that it leaves no file behind and processes in
// different network namespaces do not meet. Processes of other users are turned away.
//
//   member:  greeting + its doorbell ............. mapped
//   host:                    offer + memory, its doorbell
//
// All calls block, until a deadline. One thread.
#pragma once

#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "io/memory/shared_memory_endpoint.h"

namespace infold::io {

// What both sides must know already, and agree on.
struct MeetingTerms {
  std::uint64_t ticket = 0;  // tells this meeting from others
  QueueShape shape;
};

class SharedMemoryMeeting {
 public:
  // Open from now on, under a name that nobody can guess.
  static base::Result<SharedMemoryMeeting> open();
  const std::string& name() const { return name_; }

  // Waits for members first to first + count - 1; a link to each, in this order. `own` is the bell
  // that they are to ring.
  base::Result<std::vector<SharedMemoryLink>> host(const MeetingTerms& terms, std::uint32_t first,
                                                   std::uint32_t count, const Doorbell& own,
                                                   base::Instant deadline);
  // Goes to the meeting of that name.
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
