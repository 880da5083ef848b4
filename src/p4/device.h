// SPDX-License-Identifier: Apache-2.0
//
// The connection to a device that runs a P4 program, over P4Runtime. This side is the device's
// primary controller as long as the connection lasts.
//
// One thread of the connection calls the listener. Any thread may call the other methods.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "proto/p4/p4runtime.grpc.pb.h"

namespace infold::p4 {

namespace v1 = ::p4::v1;

struct DeviceOptions {
  std::string address;  // of its P4Runtime server, HOST:PORT
  std::uint64_t id = 0;
  std::chrono::milliseconds patience = std::chrono::seconds(10);  // with each answer
};

class DeviceListener {
 public:
  virtual ~DeviceListener() = default;
  virtual void hear_packet(const v1::PacketIn& packet) = 0;
  virtual void hear_digests(const v1::DigestList& list) = 0;
};

class Device {
 public:
  // Fails where another controller is the primary.
  static base::Attempt<std::unique_ptr<Device>> connect(const DeviceOptions& options);
  ~Device();

  // `listener` hears what the device tells from now on. What came before is about an earlier
  // program.
  void listen(DeviceListener& listener);
  // Afterwards the listener hears nothing more, and may end.
  void disconnect();

  // Gives the device its program. The device forgets all that it had.
  base::Attempt<void> load(const v1::ForwardingPipelineConfig& program);
  // The device takes the updates in any order. After an error some of them may be in effect.
  base::Attempt<void> write(const std::vector<v1::Update>& updates);
  // Deletes what is there of these.
  base::Attempt<void> remove(const std::vector<v1::Update>& deletions);
  base::Attempt<std::vector<v1::Entity>> read(const std::vector<v1::Entity>& wanted);
  // To the program, as a packet. It may get lost.
  void send(const v1::PacketOut& packet);
  void acknowledge(const v1::DigestList& list);

  // Ends the connection if a message to the program has waited for longer than `patience`. Call it
  // now and then, from a thread that sends none.
  void watch();
  // Why the device cannot be used any more: its connection broke, or another controller is primary.
  // Empty: it can.
  std::string why_lost() const;
  const std::string& address() const;

 private:
  class Link;
  explicit Device(std::unique_ptr<Link> link);
  std::unique_ptr<Link> link_;
};

}  // namespace infold::p4
