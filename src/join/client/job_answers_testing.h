// SPDX-License-Identifier: Apache-2.0
//
// For tests of a rank's reaction to answers: honest ones, to be spoilt, and a host that sends the
// answers of a test.
#pragma once

#include <functional>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "io/host/file_descriptor.h"
#include "join/connection/other_end_testing.h"
#include "join/messages/record_message.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join::testing {

// To rank 0 of `world`, of a job at a switch and at two ranks' sites.
inline v1::JoinReply joined_reply(std::uint32_t world = 4) {
  v1::JoinReply reply;
  v1::Joined& joined = *reply.mutable_joined();
  joined.set_job(7);
  joined.set_epoch(0xC0FFEE);
  joined.set_datagram_bytes_max(1472);
  joined.set_elements_max(8192);
  joined.set_small_slots(64);
  joined.set_bulk_slots(448);
  joined.set_formats(core::FormatSet::all().bits());
  joined.add_sites()->set_address(":7700");
  for (const char* const address : {"127.0.0.1:9000", "[::1]:9001"}) {
    v1::Site& site = *joined.add_sites();
    site.set_address(address);
    site.set_weight(64);
    site.set_at_rank(true);
  }
  for (v1::Site& site : *joined.mutable_sites()) {
    *site.mutable_record() = message_of(core::SiteRecord());
  }
  v1::HostGroup& group = *joined.add_groups();
  group.set_first(0);
  group.set_count(2);
  group.set_meeting("meeting");
  v1::Rack& rack = *joined.add_racks();
  rack.set_first(0);
  rack.set_count(world - 1);
  return reply;
}

inline v1::JoinReply go_reply() {
  v1::JoinReply reply;
  reply.mutable_go();
  return reply;
}

// A host that takes one connection after the other. Its end of each follows the script, after which
// the rank hears the end.
class ScriptedHost {
 public:
  using Script = std::function<void(OtherEnd&)>;

  explicit ScriptedHost(Script script) : script_(std::move(script)) {
    sockaddr_in own = {};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof(own);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&own), bytes), 0);
    EXPECT_EQ(listen(listener_.get(), 8), 0);
    EXPECT_EQ(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&own), &bytes), 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~ScriptedHost() {
    shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  const std::string& address() const { return address_; }

 private:
  void serve() {
    for (;;) {
      io::FileDescriptor next(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!next.is_open()) return;
      OtherEnd rank(std::move(next));
      script_(rank);
      rank.close_half();
      rank.drain();
    }
  }

  const Script script_;
  const io::FileDescriptor listener_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::string address_;
  std::thread thread_;
};

// Until the rank has gone, in answer to nothing.
inline void stay_silent(OtherEnd& rank) {
  v1::JoinRequest request;
  while (rank.hear(request)) {
  }
}

}  // namespace infold::join::testing
