// SPDX-License-Identifier: Apache-2.0
//
// SOCK_SEQPACKET preserves message boundaries, so a message is either complete or wrong. The host
// greets the members one after another, and then makes the memory of all links. If a member stops
// answering, the deadline passes and the meeting fails.
#include "io/memory/shared_memory_meeting.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <sys/socket.h>
#include <sys/un.h>

#include "io/host/clock.h"
#include "io/host/entropy.h"

namespace infold::io {
namespace {

using base::Code;

constexpr std::uint32_t kGreeting = 0x1F01D001;
constexpr std::uint32_t kOffer = 0x1F01D002;
constexpr std::uint32_t kMapped = 0x1F01D003;
constexpr int kBacklog = 256;
constexpr std::size_t kFilesMax = 2;

struct Message {
  std::uint32_t kind = 0;
  std::uint32_t member = 0;
  std::uint64_t ticket = 0;
  QueueShape shape;
};

union Ancillary {
  cmsghdr header;
  char room[CMSG_SPACE(kFilesMax * sizeof(int))];
};

tl::unexpected<base::Error> fail(const char* detail, std::int64_t value = 0) {
  return base::fail(Code::unavailable, "shared memory", detail, value);
}

// In the abstract namespace, a name begins with a 0 byte, and its length is part of it.
std::pair<sockaddr_un, socklen_t> address_of(const std::string& name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::size_t bytes = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), bytes);
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes)};
}

bool wait_readable(const FileDescriptor& socket, base::Instant deadline) {
  for (;;) {
    pollfd polled = {socket.get(), POLLIN, 0};
    const std::int64_t left = (deadline - monotonic_now()).ns;
    if (left <= 0) return false;
    const int ready = poll(&polled, 1, static_cast<int>(left / 1'000'000 + 1));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// Makes connect() and send() give up at the deadline.
void limit_time(const FileDescriptor& socket, base::Instant deadline) {
  const std::int64_t left = std::max<std::int64_t>(1'000'000, (deadline - monotonic_now()).ns);
  const timeval time = {left / 1'000'000'000, left / 1'000 % 1'000'000};
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
}

bool is_same_user(const FileDescriptor& socket) {
  ucred other = {};
  socklen_t bytes = sizeof(other);
  return getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &other, &bytes) == 0 &&
         other.uid == geteuid();
}

bool send_message(const FileDescriptor& socket, Message message, std::span<const int> files) {
  iovec part = {&message, sizeof(message)};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  Ancillary ancillary = {};
  if (!files.empty()) {
    header.msg_control = &ancillary;
    header.msg_controllen = CMSG_SPACE(files.size_bytes());
    ancillary.header.cmsg_level = SOL_SOCKET;
    ancillary.header.cmsg_type = SCM_RIGHTS;
    ancillary.header.cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(&ancillary.header), files.data(), files.size_bytes());
  }
  return sendmsg(socket.get(), &header, MSG_NOSIGNAL) == sizeof(message);
}

struct Arrived {
  Message message;
  std::vector<FileDescriptor> files;
};

// Returns a complete message of this kind that carries this number of files, or nothing. Closes the
// files that it does not return.
std::optional<Arrived> receive_message(const FileDescriptor& socket, std::uint32_t kind,
                                       std::size_t files, base::Instant deadline) {
  if (!wait_readable(socket, deadline)) return std::nullopt;
  Arrived arrived;
  iovec part = {&arrived.message, sizeof(arrived.message)};
  Ancillary ancillary = {};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = &ancillary;
  header.msg_controllen = sizeof(ancillary);
  const ssize_t bytes = recvmsg(socket.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  for (cmsghdr* each = bytes < 0 ? nullptr : CMSG_FIRSTHDR(&header); each != nullptr;
       each = CMSG_NXTHDR(&header, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= each->cmsg_len; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(each) + at, sizeof(fd));
      arrived.files.emplace_back(fd);
    }
  }
  const bool is_whole =
      bytes == sizeof(arrived.message) && (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  const bool fits = arrived.message.kind == kind && arrived.files.size() == files;
  if (!is_whole || !fits) return std::nullopt;
  return arrived;
}

struct Guest {
  FileDescriptor socket;
  Doorbell bell;
};

// Returns nothing if the guest does not belong to the meeting or gives up.
base::Result<std::optional<std::pair<std::uint32_t, Guest>>> greet_guest(FileDescriptor socket,
                                                                         const MeetingTerms& terms,
                                                                         base::Instant deadline) {
  if (!is_same_user(socket)) return std::nullopt;
  limit_time(socket, deadline);
  auto greeting = receive_message(socket, kGreeting, 1, deadline);
  if (!greeting || greeting->message.ticket != terms.ticket) return std::nullopt;
  if (!(greeting->message.shape == terms.shape)) return fail("a rank has queues of another shape");
  auto bell = Doorbell::adopt(std::move(greeting->files[0]));
  if (!bell) return std::nullopt;
  return std::pair{greeting->message.member, Guest{std::move(socket), std::move(*bell)}};
}

// The host's side of the meeting. It collects the other members, then makes all links, including
// those of the host itself.
class Introduction {
 public:
  Introduction(const MeetingTerms& terms, const Doorbell& own) : terms_(terms), own_(own) {
    guests_.resize(terms.members - std::size_t{1});
  }

  // Returns false if that member is here already, or if the meeting has no such member.
  bool add(std::uint32_t member, Guest guest) {
    if (member == 0 || member >= terms_.members || guest_of(member)) return false;
    guest_of(member) = std::move(guest);
    return true;
  }

  // Offers each guest its links in the order of members, and returns the host's own links.
  base::Result<std::vector<SharedMemoryLink>> link_all(base::Instant deadline) {
    for (std::uint32_t one = 0; one < std::min(terms_.hubs, terms_.members); ++one) {
      for (std::uint32_t other = one + 1; other < terms_.members; ++other) {
        if (auto linked = link(one, other); !linked) return tl::unexpected(linked.error());
      }
    }
    for (const std::optional<Guest>& guest : guests_) {
      const auto mapped = receive_message(guest->socket, kMapped, 0, deadline);
      if (!mapped) return fail("a rank of the host has gone");
    }
    std::vector<SharedMemoryLink> links;
    for (std::size_t i = 0; i < own_memory_.size(); ++i) {
      links.push_back({std::make_shared<SharedMemory>(std::move(own_memory_[i])),
                       SharedMemoryLink::Side::host, std::move(guests_[i]->bell)});
    }
    return links;
  }

 private:
  std::optional<Guest>& guest_of(std::uint32_t member) { return guests_[member - 1]; }

  base::Result<void> link(std::uint32_t one, std::uint32_t other) {
    auto memory = SharedMemory::create(SharedMemoryLink::memory_bytes(terms_.shape));
    if (!memory) return tl::unexpected(memory.error());
    const bool is_own = one == 0;
    const Doorbell& bell = is_own ? own_ : guest_of(one)->bell;
    const bool told = (is_own || offer(one, other, *memory, guest_of(other)->bell)) &&
                      offer(other, one, *memory, bell);
    if (!told) return fail("a rank of the host has gone");
    if (is_own) own_memory_.push_back(std::move(*memory));
    return {};
  }

  bool offer(std::uint32_t to, std::uint32_t member, const SharedMemory& memory,
             const Doorbell& bell) {
    const int files[] = {memory.descriptor(), bell.descriptor()};
    return send_message(guest_of(to)->socket, {kOffer, member, terms_.ticket, terms_.shape}, files);
  }

  const MeetingTerms& terms_;
  const Doorbell& own_;
  std::vector<std::optional<Guest>> guests_;  // members from 1 on
  std::vector<SharedMemory> own_memory_;      // the memory of the host's links to the guests
};

base::Result<SharedMemoryLink> take_offer(const FileDescriptor& socket, const MeetingTerms& terms,
                                          std::uint32_t member, std::uint32_t other,
                                          base::Instant deadline) {
  auto offer = receive_message(socket, kOffer, 2, deadline);
  if (!offer || offer->message.member != other) {
    return fail("the host's first rank offers no memory");
  }
  auto bell = Doorbell::adopt(std::move(offer->files[1]));
  if (!bell) return tl::unexpected(bell.error());
  auto memory =
      SharedMemory::map(std::move(offer->files[0]), SharedMemoryLink::memory_bytes(terms.shape));
  if (!memory) return tl::unexpected(memory.error());
  return SharedMemoryLink{
      std::make_shared<SharedMemory>(std::move(*memory)),
      member < other ? SharedMemoryLink::Side::host : SharedMemoryLink::Side::member,
      std::move(*bell)};
}

}  // namespace

base::Result<SharedMemoryMeeting> SharedMemoryMeeting::open() {
  FileDescriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener.is_open()) return fail("cannot open a local socket", errno);
  char text[48];
  std::snprintf(text, sizeof(text), "infold-%016llx%016llx",
                static_cast<unsigned long long>(fresh_number()),
                static_cast<unsigned long long>(fresh_number()));
  const auto [address, bytes] = address_of(text);
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0 ||
      listen(listener.get(), kBacklog) != 0) {
    return fail("cannot listen at a local socket", errno);
  }
  return SharedMemoryMeeting(std::move(listener), text);
}

base::Result<std::vector<SharedMemoryLink>> SharedMemoryMeeting::host(const MeetingTerms& terms,
                                                                      const Doorbell& own,
                                                                      base::Instant deadline) {
  Introduction introduction(terms, own);
  for (std::uint32_t here = 1; here < terms.members;) {
    if (!wait_readable(listener_, deadline)) {
      return fail("some ranks of the host are missing", here);
    }
    FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.is_open()) continue;
    auto guest = greet_guest(std::move(socket), terms, deadline);
    if (!guest) return tl::unexpected(guest.error());
    if (*guest && introduction.add((*guest)->first, std::move((*guest)->second))) ++here;
  }
  return introduction.link_all(deadline);
}

base::Result<std::vector<SharedMemoryLink>> SharedMemoryMeeting::attend(const std::string& name,
                                                                        const MeetingTerms& terms,
                                                                        std::uint32_t member,
                                                                        const Doorbell& own,
                                                                        base::Instant deadline) {
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return fail("cannot open a local socket", errno);
  limit_time(socket, deadline);
  const auto [address, bytes] = address_of(name);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0) {
    return fail("the host's first rank is not there", errno);
  }
  if (!is_same_user(socket)) return fail("the host's first rank has another user");
  const int own_bell[] = {own.descriptor()};
  if (!send_message(socket, {kGreeting, member, terms.ticket, terms.shape}, own_bell)) {
    return fail("the host's first rank does not listen", errno);
  }
  std::vector<SharedMemoryLink> links;
  for (std::uint32_t other = 0; other < terms.members; ++other) {
    if (!terms.are_linked(member, other)) continue;
    auto link = take_offer(socket, terms, member, other, deadline);
    if (!link) return tl::unexpected(link.error());
    links.push_back(std::move(*link));
  }
  if (!send_message(socket, {kMapped, member, terms.ticket, terms.shape}, {})) {
    return fail("the host's first rank has gone", errno);
  }
  return links;
}

}  // namespace infold::io
