// SPDX-License-Identifier: Apache-2.0
//
// For tests of the other end: a join connection by hand, with calls that wait.
#pragma once

#include <cstdint>
#include <string>
#include <sys/socket.h>
#include <sys/time.h>
#include <utility>

#include <gtest/gtest.h>

#include "io/address/socket_address.h"
#include "io/host/file_descriptor.h"
#include "join/connection/frames.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join::testing {

class OtherEnd {
 public:
  explicit OtherEnd(io::FileDescriptor connected) : socket_(std::move(connected)) {}
  // The socket is not open if `from` is no address of this host or nobody listens.
  explicit OtherEnd(const io::SocketAddress& there, const char* from = "127.0.0.1:0")
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const io::SocketAddress here = *io::SocketAddress::parse_number(from, "test");
    if (bind(socket_.get(), here.data(), here.bytes()) != 0 ||
        connect(socket_.get(), there.data(), there.bytes()) != 0) {
      socket_ = io::FileDescriptor();
    }
  }

  bool is_open() const { return socket_.is_open(); }
  int descriptor() const { return socket_.get(); }

  // False: the connection has broken.
  bool say_bytes(const std::string& bytes) const {
    return send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  bool say(const google::protobuf::MessageLite& message) const {
    return say_bytes(frame_of(message));
  }

  // The next message; false: none came before the end. Answers to keepalives are passed over.
  template <typename Message>
  bool hear(Message& message) {
    for (;;) {
      std::string length(kLengthBytes, '\0');
      if (!receive(length)) return false;
      std::uint32_t bytes = 0;
      for (const char byte : length) bytes = bytes << 8 | static_cast<std::uint8_t>(byte);
      if (bytes == 0) continue;
      std::string body(bytes, '\0');
      return receive(body) && message.ParseFromString(body);
    }
  }
  v1::JoinReply hear() {
    v1::JoinReply reply;
    hear(reply);
    return reply;
  }
  bool hears_the_end() {
    char byte = 0;
    return recv(socket_.get(), &byte, 1, 0) <= 0;
  }

  // Reads for as long as something comes, and for a second at least. A connection that is closed
  // with bytes unread is reset, and the other end may not read what was sent before.
  void drain() {
    const timeval second = {1, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
    while (!hears_the_end()) {
    }
  }
  void close_half() const { shutdown(socket_.get(), SHUT_WR); }
  // Ends the connection for both ends, also while another thread waits here.
  void cut() const {
    const linger at_once = {1, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    shutdown(socket_.get(), SHUT_RDWR);
  }

 private:
  bool receive(std::string& bytes) const {
    return bytes.empty() || recv(socket_.get(), bytes.data(), bytes.size(), MSG_WAITALL) ==
                                static_cast<ssize_t>(bytes.size());
  }

  io::FileDescriptor socket_;
};

}  // namespace infold::join::testing
