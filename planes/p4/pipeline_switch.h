// SPDX-License-Identifier: Apache-2.0
//
// A switch whose sums are made in a P4 pipeline. It consists of a device that runs our program, and
// this process, the device's controller. The join server sets up jobs here, as at any switch. This
// process writes the pipeline's tables, multicast groups and registers. It runs on a host behind
// one of the device's ports. Only packets that the pipeline cannot decide about come here: ABORT,
// calls that differ, and packets of jobs that have ended.
//
// Packets use a single IPv4 address, which is this host's. The pipeline takes the packets to the
// port of `listen`, and forwards all others as an Ethernet switch does.
//
// The pipeline reports where a worker's packets come from, and answers to all workers go there. A
// worker that has not sent a packet yet misses such answers, and asks for them.
//
// One thread owns a switch and calls watch(). The join server's threads call the methods of
// join::Plane. The device's thread calls the methods of DeviceListener. Registers are read without
// mutex_, because the device's thread brings the answers. A job cannot be forgotten while a packet
// is being handled.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "base/instant.h"
#include "base/mutex.h"
#include "core/aggregator/aggregator.h"
#include "io/address/neighbour_table.h"
#include "io/udp/path_probe.h"
#include "io/udp/udp_socket.h"
#include "join/registrar.h"
#include "join/registry/plane.h"
#include "join/service/join_server.h"
#include "planes/p4/device.h"
#include "planes/p4/pipeline_job.h"
#include "planes/p4/program.h"
#include "planes/p4/targets/limits.h"
#include "planes/p4/targets/registers.h"
#include "site/packet_counts.h"
#include "status/switch_metrics.h"

namespace infold::p4 {

// The datagram size for an Ethernet frame of the usual length.
inline constexpr std::uint32_t kDatagramBytesMax = 1472;

struct PipelineSwitchOptions {
  io::SocketAddress listen;  // an IPv4 address of this host that workers reach through the device
  io::SocketAddress join_address;  // unset: the same address, over TCP
  std::uint32_t datagram_bytes_max = kDatagramBytesMax;
  DeviceOptions device;
  std::vector<std::uint32_t> ports;  // its ports; packets to unknown stations go to all
  std::uint32_t slots = ~0U;         // for all jobs together, at most as many as the program has
  join::ServerOptions joining = {};  // how ranks join
  // The Ethernet address of a host behind the device, if this host knows it.
  std::function<std::optional<std::uint64_t>(const io::SocketAddress&)> find_mac =
      [](const io::SocketAddress& host) { return io::find_ethernet_address(host); };
};

class PipelineSwitch final : public join::Plane, private DeviceListener {
 public:
  // Loads the program into the device, which discards its earlier entries.
  static base::Attempt<std::unique_ptr<PipelineSwitch>> start(const PipelineSwitchOptions& options,
                                                              Program program);
  ~PipelineSwitch() override;  // ends all jobs

  io::SocketAddress join_address() const { return join_server_->address(); }
  join::JoinServer::Budget join_budget() const { return join_server_->budget(); }
  status::SwitchMetrics metrics();  // from any thread

  // Handles packets for this host, for at most this long. Repeats writes that the device has
  // refused or not answered.
  void watch(base::Duration duration);
  std::string why_lost() const { return device_->why_lost(); }

  std::vector<join::SiteAddress> sites() const override;
  std::uint32_t slots_total() const override { return options_.slots; }
  std::uint32_t slots_of_job_max() const override { return kSlotsOfJob; }
  std::uint32_t jobs_max() const override { return kJobsMax; }
  std::uint32_t datagram_bytes_max() const override;
  bool takes_host_groups() const override { return false; }
  join::Answer<void> start_job(const join::JobTerms& terms) override;
  std::optional<core::Abort> end_job(std::uint16_t job, const core::Abort& abort) override;
  void forget_job(std::uint16_t job) override;

 private:
  using Job = PipelineJob;

  PipelineSwitch(const PipelineSwitchOptions& options, Program program, io::UdpSocket socket);
  base::Attempt<void> prepare_device();
  base::Attempt<void> delete_groups();
  base::Attempt<void> try_registers();

  void hear_packet(const v1::PacketIn& packet) override { registers_->hear(packet); }
  void hear_digests(const v1::DigestList& list) override;

  join::Answer<Job*> make_job(const join::JobTerms& terms) REQUIRES(mutex_);
  std::optional<std::uint16_t> free_index() const REQUIRES(mutex_);
  // Where the host is, if that is a port of a pipe that does not sum.
  std::optional<std::uint32_t> port_beyond_sums(const io::SocketAddress& host) const
      REQUIRES(mutex_);
  std::vector<v1::Update> entries_beside(const Job& job, v1::Update::Type type) const;
  base::Attempt<void> insert_entries(const Job& job) REQUIRES(mutex_);
  bool delete_entries(const Job& job) REQUIRES(mutex_);
  void forget(std::uint16_t number) REQUIRES(mutex_);
  void write_again() REQUIRES(mutex_);
  bool delete_place(Job& job, std::uint8_t worker) REQUIRES(mutex_);
  void learn(const StationNote& note) REQUIRES(mutex_);
  void learn(const WorkerNote& note) REQUIRES(mutex_);
  bool write(const std::vector<v1::Update>& updates);  // logs what the device refuses
  void mark_ended(Job& job) REQUIRES(mutex_);
  void tell_all(Job& job, const core::Abort& abort) REQUIRES(mutex_);

  void tell(const Job& job, std::uint8_t worker, const io::SocketAddress& to);

  // These handle packets for the host, and take the mutexes that they need.
  void hear(const io::UdpSocket::Arrival& arrival);
  void count_stray(const io::SocketAddress& from) REQUIRES(sending_);
  // Returns nothing if the packet bypassed the pipeline.
  std::optional<core::Verdict> verdict_on(const io::SocketAddress& from,
                                          const core::Packet& packet);
  core::Verdict hear_abort(const io::SocketAddress& from, const core::Packet& packet,
                           const Job& job);
  bool fits_limits(const core::ChunkSignature& signature) const;
  std::optional<core::Verdict> look_for_mismatch(const core::Header& header, const Job& job);
  std::optional<core::Verdict> end_beyond_sums(const io::SocketAddress& from,
                                               const core::Header& header);
  void take_out(const Job& job, const core::Header& header, const ChunkView& view);
  std::optional<Job> find_job(const core::Header& header);
  bool some_chunk_waits_for(const Job& job, std::uint8_t worker);

  const PipelineSwitchOptions options_;
  const Program program_;
  const TargetLimits& limits_ = limits_of(program_.target());
  const std::unique_ptr<Registers> registers_ = make_registers(program_);
  std::unique_ptr<Device> device_;
  base::Mutex hearing_;  // guards no data: its holder handles a packet or forgets a job
  base::Mutex mutex_ ACQUIRED_AFTER(hearing_);
  std::map<std::uint16_t, Job> jobs_ GUARDED_BY(mutex_);  // by number
  std::vector<Job> forgotten_ GUARDED_BY(mutex_);  // jobs whose entries may still be in the device
  base::Instant again_at_ GUARDED_BY(mutex_);      // when to repeat writes that failed
  std::map<std::uint64_t, std::uint32_t> stations_ GUARDED_BY(mutex_);  // ports of MAC addresses
  // Its holder may send with the socket. One thread receives from the socket without holding it.
  base::Mutex sending_ ACQUIRED_AFTER(mutex_);
  site::PacketCounts heard_ GUARDED_BY(sending_){};    // packets for the host
  site::PacketCounts counted_ GUARDED_BY(sending_){};  // as last read from the pipeline
  io::ProbeEcho echo_ GUARDED_BY(sending_);
  io::UdpSocket socket_;
  std::unique_ptr<join::Registrar> registrar_;
  std::unique_ptr<join::JoinServer> join_server_;
};

}  // namespace infold::p4
