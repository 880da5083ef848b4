// SPDX-License-Identifier: Apache-2.0
//
// A socket and the aggregators behind it, of any number of jobs. A worker's packets come from one
// host. Answers go to the port of the worker's last valid packet, so a worker may be behind
// a NAT and needs no open port. One worker may be in this process. Packets between it and its
// aggregator do not pass through a socket.
//
// Has no thread and no lock. The owner calls serve() when a datagram has arrived.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/aggregator/aggregator.h"
#include "io/udp/path_probe.h"
#include "io/udp/udp_socket.h"
#include "site/neighbours.h"
#include "site/serve_loop.h"
#include "site/switch_status.h"

namespace infold::site {

struct SiteStatistics {
  PacketCounts packets{};  // of all jobs, also the removed ones
  io::UdpCounters socket;
  std::vector<JobPackets> jobs;  // of present jobs
};

class AggregationSite final : public PacketServer {
 public:
  explicit AggregationSite(io::UdpSocket socket);

  // Reserves the memory of the job's slots. The kernel provides pages when packets first use them.
  // Slots below `small_slots` are for small tensors, whose ranks wait for every answer. The
  // aggregator sends its sums to the parent, and takes answers from the parent's address alone.
  class Job {
   public:
    Job(const core::AggregatorOptions& options, std::uint16_t small_slots,
        const Neighbours& neighbours = {});

   private:
    friend class AggregationSite;
    // The worker in this process is last, because it has no address.
    std::size_t place_of(std::uint8_t worker) const;
    std::size_t remote_count() const { return addresses.size() - (own ? 1 : 0); }
    bool is_known(std::uint8_t worker, const io::SocketAddress& from) const;
    bool may_come(std::uint8_t worker, const io::SocketAddress& from) const;

    core::Aggregator aggregator;
    std::uint16_t small_slots;
    std::vector<io::SocketAddress> addresses;  // unset until the worker's first packet
    std::size_t known = 0;
    std::optional<std::uint8_t> own;
    std::array<io::SocketAddress, 1> parent;
    std::vector<core::RankRange> workers;
    std::vector<io::SocketAddress> sources;  // by worker; unset: any host
  };

  bool has_job(std::uint16_t number) const { return jobs_[number] != nullptr; }
  // Sets the job of that number and gives back the one before. Null stands for no job.
  void swap_job(std::uint16_t number, std::unique_ptr<Job>& job);
  // Tells the job's workers of the end. The aggregator stays and repeats that answer until the job
  // is removed.
  void end_job(std::uint16_t number, const core::Abort& abort);
  void end_all_jobs(const core::Abort& abort);
  SiteStatistics statistics() const;

  std::size_t serve() override;
  bool last_was_small() const override { return last_was_small_; }
  void wait(base::Instant deadline) override { socket_.wait(deadline); }
  void wake() override { socket_.wake(); }

  // From now on that worker of that job is in this process, and packets of it from the socket are
  // dropped.
  void adopt(std::uint16_t job, std::uint8_t worker);
  // Takes a datagram from that worker. Answers to others go out with serve() or flush().
  void handle_own(std::span<const std::byte> datagram);
  bool has_answers() const { return !answers_.places.empty(); }
  // The answers to that worker. Valid until the next call.
  std::span<const std::span<const std::byte>> take_answers();

  void flush() { socket_.flush(); }
  int descriptor() const { return socket_.descriptor(); }
  io::SocketAddress address() const { return address_; }
  bool uses_trains() const { return socket_.sends_trains() && socket_.receives_trains(); }

 private:
  // As many as a socket's queue in the kernel holds. More are dropped, as there.
  static constexpr std::size_t kAnswersMax = 2048;

  // Datagrams one after the other.
  struct Answers {
    std::vector<std::byte> bytes;
    std::vector<std::pair<std::size_t, std::size_t>> places;  // where each begins, and its length
  };

  void handle(std::span<const std::byte> datagram, const io::SocketAddress* from);
  void count_malformed(std::span<const std::byte> datagram);
  void learn(Job& job, std::uint8_t worker, const io::SocketAddress& from);
  static void warn_of(const Job& job, const core::Header& header, const io::SocketAddress& from);
  void send(Job& job);
  void send_to(const Job& job, std::size_t place, std::span<const std::byte> datagram);
  void send_to_all(const Job& job, const core::Aggregator::Transmit& transmit);
  void send_to_places(const Job& job, std::size_t first, std::size_t end,
                      std::span<const std::byte> datagram);
  void answer_own(std::span<const std::byte> datagram);

  io::UdpSocket socket_;
  io::SocketAddress address_;
  std::vector<std::unique_ptr<Job>> jobs_;  // by number
  std::vector<std::uint16_t> numbers_;      // of present jobs
  PacketCounts past_{};                     // of removed jobs, and of packets of no job
  bool last_was_small_ = false;
  io::ProbeEcho echo_;

  Answers answers_;
  Answers taken_;
  std::vector<std::span<const std::byte>> taken_spans_;
};

}  // namespace infold::site
