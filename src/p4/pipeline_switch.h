// SPDX-License-Identifier: Apache-2.0
//
// A switch whose sums are made by a P4 pipeline: a device with the program of p4/, and this
// process, its controller. The control plane sets jobs up here, as at any switch. This process
// writes the pipeline's tables, multicast groups and registers. It is a host behind one of the
// device's ports, and is on no packet's path but those that the pipeline cannot decide about:
// ABORT, calls that differ, and packets of jobs that have ended.
//
// Packets use one IPv4 address, that of this host. The pipeline takes those to the port of
// `listen`, and forwards all others as an Ethernet switch does.
//
// The pipeline tells where a worker's packets come from, and that is where answers to all workers
// go. Until a worker has sent its first packet, such answers miss it, and it asks.
//
// One thread owns a switch and calls watch(). The control plane's threads call the methods of
// control::Plane. The device's thread calls those of DeviceListener. Registers are read without
// mutex_, because that thread brings the answers. A job is not forgotten while a packet is heard.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "base/instant.h"
#include "control/registrar.h"
#include "control/registry/plane.h"
#include "control/service/control_server.h"
#include "core/aggregator/aggregator.h"
#include "io/udp/path_probe.h"
#include "io/udp/udp_socket.h"
#include "p4/device.h"
#include "p4/program.h"
#include "p4/registers.h"
#include "site/switch_status.h"

namespace infold::p4 {

// That of an Ethernet frame of the usual length.
inline constexpr std::uint32_t kDatagramBytesMax = 1472;

struct PipelineSwitchOptions {
  io::SocketAddress listen;   // an IPv4 address of this host that workers reach through the device
  io::SocketAddress control;  // unset: the same, over TCP
  std::uint32_t datagram_bytes_max = kDatagramBytesMax;
  DeviceOptions device;
  std::vector<std::uint32_t> ports;  // of the device, that packets to unknown stations go to
  std::uint32_t slots = kSlotsMax;   // of all jobs together
};

class PipelineSwitch final : public control::Plane, private DeviceListener {
 public:
  // The device takes the program, and forgets all that it had.
  static base::Attempt<std::unique_ptr<PipelineSwitch>> start(const PipelineSwitchOptions& options,
                                                              Program program);
  ~PipelineSwitch() override;  // ends all jobs

  io::SocketAddress control_address() const { return control_->address(); }
  control::ControlServer::Budget control_budget() const { return control_->budget(); }
  site::SwitchStatus status();  // from any thread

  // Serves the packets that are for this host, for at most this long. Writes again what the device
  // has refused, or has not answered.
  void watch(base::Duration duration);
  std::string why_lost() const { return device_->why_lost(); }

  std::vector<control::SiteAddress> sites() const override;
  std::uint32_t slots_total() const override { return options_.slots; }
  std::uint32_t jobs_max() const override { return kJobsMax; }
  std::uint32_t datagram_bytes_max() const override;
  bool takes_host_groups() const override { return false; }
  control::Answer<void> start_job(const control::JobTerms& terms) override;
  void end_job(std::uint16_t job, const core::Abort& abort) override;
  void forget_job(std::uint16_t job) override;

 private:
  // Where a worker's packets come from.
  struct Place {
    std::uint64_t mac = 0;
    std::uint16_t udp_port = 0;
    std::uint32_t port = 0;  // of the device
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct Worker {
    io::SocketAddress source;
    std::optional<Place> place;  // none: it has sent nothing yet
  };
  struct Job {
    core::AggregatorOptions options;
    std::uint16_t index = 0;
    std::uint32_t first_slot = 0;
    bool is_in_tables = false;
    bool has_ended = false;  // as the table says
    std::vector<Worker> workers;
    std::optional<core::Abort> end;

    // In a slot's set of contributors.
    std::uint32_t bit_of(std::uint8_t worker) const {
      return std::uint32_t{1} << options.workers[worker].first;
    }
    std::uint32_t all_bits() const {
      std::uint32_t all = 0;
      for (std::uint8_t worker = 0; worker < workers.size(); ++worker) all |= bit_of(worker);
      return all;
    }
  };

  PipelineSwitch(const PipelineSwitchOptions& options, Program program, io::UdpSocket socket);
  base::Attempt<void> prepare_device();
  base::Attempt<void> delete_groups();

  void hear_packet(const v1::PacketIn& packet) override { registers_.hear(packet); }
  void hear_digests(const v1::DigestList& list) override;

  // These require that mutex_ is held.
  control::Answer<Job*> make_job(const control::JobTerms& terms);
  std::vector<v1::Update> entries_beside(const Job& job, v1::Update::Type type) const;
  base::Attempt<void> insert_entries(const Job& job);
  bool delete_entries(const Job& job);
  void forget(std::uint16_t number);
  void write_again();
  v1::Update job_entry(const Job& job, v1::Update::Type type) const;
  v1::Update sender_entry(const Job& job, std::uint8_t worker, v1::Update::Type type) const;
  void learn(const StationNote& note);
  void learn(const WorkerNote& note);
  bool write(const std::vector<v1::Update>& updates);  // logs what the device refuses
  void mark_ended(Job& job);
  void tell_all(Job& job, const core::Abort& abort);

  void tell(const Job& job, std::uint8_t worker, const io::SocketAddress& to);

  // Packets for the host. These take the mutexes that they need.
  void hear(const io::UdpSocket::Arrival& arrival);
  void count_stray(const io::SocketAddress& from);
  // None: it came past the pipeline.
  std::optional<core::Verdict> verdict_on(const io::SocketAddress& from,
                                          const core::Packet& packet);
  core::Verdict hear_abort(const io::SocketAddress& from, const core::Packet& packet,
                           const Job& job);
  std::optional<core::Verdict> look_for_mismatch(const core::Header& header, const Job& job);
  void take_out(const Job& job, const core::Header& header, const RegisterView& view);
  std::optional<Job> find_job(const core::Header& header);
  std::optional<RegisterView> view_of(const Job& job, const core::Header& header);
  bool some_chunk_waits_for(const Job& job, std::uint8_t worker);

  const PipelineSwitchOptions options_;
  const Program program_;
  Registers registers_{program_};
  std::unique_ptr<Device> device_;
  std::mutex hearing_;                               // taken before mutex_
  std::mutex mutex_;                                 // of the next four
  std::map<std::uint16_t, Job> jobs_;                // by number
  std::vector<Job> forgotten_;                       // of which the device may still have entries
  base::Instant again_at_;                           // when to write again what failed
  std::map<std::uint64_t, std::uint32_t> stations_;  // ports of MAC addresses
  std::mutex sending_;                               // of all below to the socket; taken last
  site::PacketCounts heard_{};                       // packets for the host
  site::PacketCounts counted_{};                     // by the pipeline, when it was last read
  io::ProbeEcho echo_;
  io::UdpSocket socket_;
  std::unique_ptr<control::Registrar> registrar_;
  std::unique_ptr<control::ControlServer> control_;
};

}  // namespace infold::p4
