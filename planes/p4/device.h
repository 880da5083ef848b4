// SPDX-License-Identifier: Apache-2.0
//
// The connection to a device that runs a P4 program, over P4Runtime. As long as the connection
// lasts, this side is the device's primary controller.
//
// A thread of the connection calls the listener. Any thread may call the other methods.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "proto/p4/p4runtime.grpc.pb.h"

namespace infold::p4 {

namespace v1 = ::p4::v1;

// Encrypts the connection, and proves both ends to each other. The texts are in PEM form.
struct DeviceTls {
  std::string authorities;  // who may have signed the server's certificate
  std::string server_name;  // that the server's certificate must have; empty: its address
  std::string certificate;  // what this side shows; empty: nothing, which many servers accept
  std::string key;          // belongs to this certificate
};

struct DeviceOptions {
  std::string address;  // the address of the device's P4Runtime server, HOST:PORT
  std::uint64_t id = 0;
  std::optional<DeviceTls> tls;  // without it, everybody on the path can read and change all
  std::chrono::milliseconds patience = std::chrono::seconds(10);  // for each answer
};

class DeviceListener {
 public:
  virtual ~DeviceListener() = default;
  virtual void hear_packet(const v1::PacketIn& packet) = 0;
  virtual void hear_digests(const v1::DigestList& list) = 0;
};

class Device {
 public:
  // Fails if another controller is the primary.
  static base::Attempt<std::unique_ptr<Device>> connect(const DeviceOptions& options);
  ~Device();

  // From now on, `listener` gets what the device reports. Earlier messages are about an earlier
  // program.
  void listen(DeviceListener& listener);
  // After this call, the listener is not called any more and may be destroyed.
  void disconnect();

  // Gives the device its program. The device discards its entries and registers.
  base::Attempt<void> load(const v1::ForwardingPipelineConfig& program);
  // The device may take the updates in any order. After an error, some of them may be in effect.
  base::Attempt<void> write(const std::vector<v1::Update>& updates);
  // Deletes those entries that exist.
  base::Attempt<void> remove(const std::vector<v1::Update>& deletions);
  base::Attempt<std::vector<v1::Entity>> read(const std::vector<v1::Entity>& wanted);
  // Sends a packet to the program. It may get lost.
  void send(const v1::PacketOut& packet);
  void acknowledge(const v1::DigestList& list);

  // Ends the connection if a message to the program has waited for longer than `patience`. Call it
  // regularly from a thread that does not send such messages.
  void watch();
  // Why the device cannot be used any more: its connection broke, or another controller is the
  // primary. Empty if it can be used.
  std::string why_lost() const;
  const std::string& address() const;

 private:
  class Link;
  explicit Device(std::unique_ptr<Link> link);
  std::unique_ptr<Link> link_;
};

}  // namespace infold::p4
