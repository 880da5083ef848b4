// SPDX-License-Identifier: Apache-2.0
//
// Tests the connection to devices that do less than they should.
#include "planes/p4/device.h"

#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

namespace infold::p4 {
namespace {

// Makes the first controller the primary, and then reads nothing from the stream.
class DeafDevice final : private v1::P4Runtime::Service {
 public:
  DeafDevice() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~DeafDevice() override {
    end_.count_down();
    server_->Shutdown();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  using Stream = grpc::ServerReaderWriter<v1::StreamMessageResponse, v1::StreamMessageRequest>;
  grpc::Status StreamChannel(grpc::ServerContext*, Stream* stream) override {
    v1::StreamMessageRequest wanted;
    if (!stream->Read(&wanted)) return grpc::Status::OK;
    v1::StreamMessageResponse settled;
    *settled.mutable_arbitration() = wanted.arbitration();
    stream->Write(settled);
    end_.wait();
    return grpc::Status::OK;
  }

  int port_ = 0;
  std::latch end_{1};
  std::unique_ptr<grpc::Server> server_;
};

TEST(P4Device, ADeviceThatReadsNothingIsGivenUp) {
  DeafDevice deaf;
  DeviceOptions options;
  options.address = deaf.address();
  options.patience = std::chrono::seconds(2);
  auto device = Device::connect(options);
  ASSERT_TRUE(device.has_value()) << device.error();
  (*device)->watch();
  EXPECT_EQ((*device)->why_lost(), "");
  std::atomic<bool> has_ended = false;
  std::thread sender([&] {
    v1::PacketOut packet;
    packet.set_payload(std::string(1 << 20, 'x'));
    while ((*device)->why_lost().empty()) (*device)->send(packet);
    has_ended = true;
  });
  while (!has_ended) {
    (*device)->watch();
    std::this_thread::yield();
  }
  sender.join();
  EXPECT_THAT((*device)->why_lost(), ::testing::HasSubstr("reads no message"));
}

}  // namespace
}  // namespace infold::p4
