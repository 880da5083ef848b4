// SPDX-License-Identifier: Apache-2.0
//
// Asks the kernel's netdev family of generic netlink what a device can do. The first request gets
// the family's id, which changes with each boot. The second request asks about the device.
#include "planes/xdp/attach/native_mode.h"

#include <array>
#include <cstring>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <span>
#include <sys/socket.h>
#include <sys/time.h>

#include "io/host/file_descriptor.h"

namespace infold::xdp {
namespace {

// Numbers from the kernel's <linux/netdev.h> of 6.3, because the headers may be older.
constexpr char kFamily[] = "netdev";
constexpr std::uint8_t kGetDevice = 1;
constexpr std::uint16_t kIndexAttribute = 1;
constexpr std::uint16_t kFeaturesAttribute = 3;
constexpr std::uint64_t kRunsPrograms = 1;

constexpr std::size_t kHeaderBytes = NLMSG_HDRLEN + GENL_HDRLEN;
using Room = std::array<char, 8192>;

// The value of an answer's attribute of this kind, or empty if it is missing.
std::span<const char> find_attribute(std::span<const char> answer, std::uint16_t kind) {
  for (std::size_t at = kHeaderBytes; at + NLA_HDRLEN <= answer.size();) {
    nlattr head;
    std::memcpy(&head, answer.data() + at, sizeof(head));
    if (head.nla_len < NLA_HDRLEN || at + head.nla_len > answer.size()) break;
    if ((head.nla_type & NLA_TYPE_MASK) == kind) {
      return answer.subspan(at + NLA_HDRLEN, head.nla_len - std::size_t{NLA_HDRLEN});
    }
    at += NLA_ALIGN(head.nla_len);
  }
  return {};
}

struct Question {
  std::uint16_t family;
  std::uint8_t command;
  std::uint16_t attribute;
  std::span<const char> value;
};

// Sends the request and reads the single message of the answer into `room`. Returns nothing if the
// kernel refuses.
std::span<const char> ask(int netlink, const Question& question, Room& room) {
  const std::size_t attribute_bytes = NLA_HDRLEN + question.value.size();
  room = {};
  nlmsghdr head = {static_cast<std::uint32_t>(kHeaderBytes + NLA_ALIGN(attribute_bytes)),
                   question.family, NLM_F_REQUEST, 1, 0};
  const genlmsghdr command = {question.command, 1, 0};
  const nlattr attribute = {static_cast<std::uint16_t>(attribute_bytes), question.attribute};
  std::memcpy(room.data(), &head, sizeof(head));
  std::memcpy(room.data() + NLMSG_HDRLEN, &command, sizeof(command));
  std::memcpy(room.data() + kHeaderBytes, &attribute, sizeof(attribute));
  std::memcpy(room.data() + kHeaderBytes + NLA_HDRLEN, question.value.data(),
              question.value.size());
  if (send(netlink, room.data(), head.nlmsg_len, 0) < 0) return {};
  const ssize_t bytes = recv(netlink, room.data(), room.size(), 0);
  if (bytes < static_cast<ssize_t>(kHeaderBytes)) return {};
  std::memcpy(&head, room.data(), sizeof(head));
  if (head.nlmsg_type != question.family || head.nlmsg_len > static_cast<std::size_t>(bytes)) {
    return {};  // usually an error
  }
  return std::span<const char>(room).first(head.nlmsg_len);
}

}  // namespace

std::optional<bool> offers_native_mode(const Interface& interface) {
  const io::FileDescriptor netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC));
  const timeval patience = {1, 0};
  setsockopt(netlink.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  Room room;
  const auto family = find_attribute(
      ask(netlink.get(), {GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, kFamily}, room),
      CTRL_ATTR_FAMILY_ID);
  std::uint16_t number = 0;
  if (family.size() != sizeof(number)) return std::nullopt;
  std::memcpy(&number, family.data(), sizeof(number));

  std::array<char, sizeof(std::uint32_t)> index;
  const auto wanted = static_cast<std::uint32_t>(interface.index);
  std::memcpy(index.data(), &wanted, sizeof(wanted));
  const auto features = find_attribute(
      ask(netlink.get(), {number, kGetDevice, kIndexAttribute, index}, room), kFeaturesAttribute);
  std::uint64_t bits = 0;
  if (features.size() != sizeof(bits)) return std::nullopt;
  std::memcpy(&bits, features.data(), sizeof(bits));
  return (bits & kRunsPrograms) != 0;
}

}  // namespace infold::xdp
