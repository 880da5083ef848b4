// SPDX-License-Identifier: Apache-2.0
//
// A switch whose sums are made by a P4 pipeline: a device with the program of p4, and this
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
#include "p4/pipeline_job.h"
#include "p4/program.h"
#include "p4/targets/limits.h"
#include "p4/targets/registers.h"
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
  std::uint32_t slots = ~0U;         // that all jobs use together, as far as the program has them
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
  std::uint32_t slots_of_job_max() const override { return kSlotsOfJob; }
  std::uint32_t jobs_max() const override { return kJobsMax; }
  std::uint32_t datagram_bytes_max() const override;
  bool takes_host_groups() const override { return false; }
  control::Answer<void> start_job(const control::JobTerms& terms) override;
  void end_job(std::uint16_t job, const core::Abort& abort) override;
  void forget_job(std::uint16_t job) override;

 private:
  using Job = PipelineJob;

  PipelineSwitch(const PipelineSwitchOptions& options, Program program, io::UdpSocket socket);
  base::Attempt<void> prepare_device();
  base::Attempt<void> delete_groups();

  void hear_packet(const v1::PacketIn& packet) override { registers_->hear(packet); }
  void hear_digests(const v1::DigestList& list) override;

  // These require that mutex_ is held.
  control::Answer<Job*> make_job(const control::JobTerms& terms);
  std::optional<std::uint16_t> free_index() const;
  std::vector<v1::Update> entries_beside(const Job& job, v1::Update::Type type) const;
  base::Attempt<void> insert_entries(const Job& job);
  bool delete_entries(const Job& job);
  void forget(std::uint16_t number);
  void write_again();
  bool delete_place(Job& job, std::uint8_t worker);
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
  bool fits_limits(const core::ChunkSignature& signature) const;
  std::optional<core::Verdict> look_for_mismatch(const core::Header& header, const Job& job);
  void take_out(const Job& job, const core::Header& header, const ChunkView& view);
  std::optional<Job> find_job(const core::Header& header);
  bool some_chunk_waits_for(const Job& job, std::uint8_t worker);

  const PipelineSwitchOptions options_;
  const Program program_;
  const TargetLimits& limits_ = limits_of(program_.target());
  const std::unique_ptr<Registers> registers_ = make_registers(program_);
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
