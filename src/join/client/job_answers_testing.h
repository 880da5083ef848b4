// SPDX-License-Identifier: Apache-2.0
//
// For tests of a rank's reaction to answers: honest answers for a test to spoil, and a host that
// sends a test's answers.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "join/messages/record_message.h"
#include "proto/infold/v1/control.grpc.pb.h"

namespace infold::join::testing {

// Makes the terms for rank 0 of `world`, in a job with a site at a switch and two sites at ranks.
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

class ScriptedHost {
 public:
  using Stream = grpc::ServerReaderWriter<v1::JoinReply, v1::JoinRequest>;
  using Script = std::function<void(Stream&)>;

  // Runs the script for each stream. The stream ends when the script does.
  explicit ScriptedHost(Script script) : service_(std::move(script)) {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    EXPECT_NE(port, 0);
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  ~ScriptedHost() { server_->Shutdown(std::chrono::system_clock::now()); }
  const std::string& address() const { return address_; }

 private:
  class Service final : public v1::Control::Service {
   public:
    explicit Service(Script script) : script_(std::move(script)) {}
    grpc::Status Join(grpc::ServerContext*, Stream* stream) override {
      script_(*stream);
      return grpc::Status::OK;
    }

   private:
    Script script_;
  };

  Service service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

// Answers nothing until the rank has gone.
inline void stay_silent(ScriptedHost::Stream& stream) {
  v1::JoinRequest request;
  while (stream.Read(&request)) {
  }
}

}  // namespace infold::join::testing
