// SPDX-License-Identifier: Apache-2.0
//
// SOCK_SEQPACKET keeps the bounds of messages, so a message is complete or wrong. The host serves
// one member after the other. A member that stops uses up the deadline, and the meeting fails.
#include "io/memory/shared_memory_meeting.h"

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

union Control {
  cmsghdr header;
  char room[CMSG_SPACE(kFilesMax * sizeof(int))];
};

tl::unexpected<base::Error> fail(const char* detail, std::int64_t value = 0) {
  return base::fail(Code::unavailable, "shared memory", detail, value);
}

// In the abstract namespace, the first byte of a name is 0, and the length is part of the name.
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

// Limits connect() and send() to the deadline.
void limit_time(const FileDescriptor& socket, base::Instant deadline) {
  const std::int64_t left = std::max<std::int64_t>(1'000'000, (deadline - monotonic_now()).ns);
  const timeval time = {left / 1'000'000'000, left / 1'000 % 1'000'000};
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
}

bool is_same_user(const FileDescriptor& socket) {
  ucred peer = {};
  socklen_t bytes = sizeof(peer);
  return getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
         peer.uid == geteuid();
}

bool send_message(const FileDescriptor& socket, Message message, std::span<const int> files) {
  iovec part = {&message, sizeof(message)};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  Control control = {};
  if (!files.empty()) {
    header.msg_control = &control;
    header.msg_controllen = CMSG_SPACE(files.size_bytes());
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(&control.header), files.data(), files.size_bytes());
  }
  return sendmsg(socket.get(), &header, MSG_NOSIGNAL) == sizeof(message);
}

struct Arrived {
  Message message;
  std::vector<FileDescriptor> files;
};

// Returns a complete message of this kind with so many files, or nothing. Closes files that it does
// not return.
std::optional<Arrived> receive_message(const FileDescriptor& socket, std::uint32_t kind,
                                       std::size_t files, base::Instant deadline) {
  if (!wait_readable(socket, deadline)) return std::nullopt;
  Arrived arrived;
  iovec part = {&arrived.message, sizeof(arrived.message)};
  Control control = {};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = &control;
  header.msg_controllen = sizeof(control);
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
  std::uint32_t member = 0;
  SharedMemoryLink link;
};

// Makes a link from a connection. Nothing if the guest does not belong to the meeting, or gives up.
base::Result<std::optional<Guest>> receive_guest(const FileDescriptor& socket,
                                                 const MeetingTerms& terms, const Doorbell& own,
                                                 base::Instant deadline) {
  if (!is_same_user(socket)) return std::nullopt;
  limit_time(socket, deadline);
  auto greeting = receive_message(socket, kGreeting, 1, deadline);
  if (!greeting || greeting->message.ticket != terms.ticket) return std::nullopt;
  if (!(greeting->message.shape == terms.shape)) return fail("a rank has queues of another shape");
  auto bell = Doorbell::adopt(std::move(greeting->files[0]));
  if (!bell) return std::nullopt;
  auto memory = SharedMemory::create(SharedMemoryLink::memory_bytes(terms.shape));
  if (!memory) return tl::unexpected(memory.error());
  const int files[] = {memory->descriptor(), own.descriptor()};
  if (!send_message(socket, {kOffer, 0, terms.ticket, terms.shape}, files)) return std::nullopt;
  const auto mapped = receive_message(socket, kMapped, 0, deadline);
  if (!mapped) return std::nullopt;
  return Guest{greeting->message.member,
               {std::make_shared<SharedMemory>(std::move(*memory)), SharedMemoryLink::Side::host,
                std::move(*bell)}};
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
                                                                      std::uint32_t first,
                                                                      std::uint32_t count,
                                                                      const Doorbell& own,
                                                                      base::Instant deadline) {
  std::vector<std::optional<SharedMemoryLink>> places(count);
  for (std::uint32_t here = 0; here < count;) {
    if (!wait_readable(listener_, deadline))
      return fail("some ranks of the host are missing", here);
    const FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.is_open()) continue;
    auto guest = receive_guest(socket, terms, own, deadline);
    if (!guest) return tl::unexpected(guest.error());
    if (!*guest) continue;
    const std::uint32_t place = (*guest)->member - first;
    if (place >= count || places[place]) continue;
    places[place] = std::move((*guest)->link);
    ++here;
  }
  std::vector<SharedMemoryLink> links;
  for (std::optional<SharedMemoryLink>& each : places) links.push_back(std::move(*each));
  return links;
}

base::Result<SharedMemoryLink> SharedMemoryMeeting::attend(const std::string& name,
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
  auto offer = receive_message(socket, kOffer, 2, deadline);
  if (!offer) return fail("the host's first rank offers no memory");
  auto bell = Doorbell::adopt(std::move(offer->files[1]));
  if (!bell) return tl::unexpected(bell.error());
  auto memory =
      SharedMemory::map(std::move(offer->files[0]), SharedMemoryLink::memory_bytes(terms.shape));
  if (!memory) return tl::unexpected(memory.error());
  if (!send_message(socket, {kMapped, member, terms.ticket, terms.shape}, {})) {
    return fail("the host's first rank has gone", errno);
  }
  return SharedMemoryLink{std::make_shared<SharedMemory>(std::move(*memory)),
                          SharedMemoryLink::Side::member, std::move(*bell)};
}

}  // namespace infold::io
