// SPDX-License-Identifier: Apache-2.0
//
// A socket and the aggregators behind it, for any number of jobs. Each worker's packets come from
// one host. Answers go to the port that the worker's last valid packet came from, so a
// worker may be behind a NAT and needs no open port. One worker may be in this process; its packets
// then bypass the socket in both directions.
//
// This class has no thread and no lock. Its owner calls serve() when a datagram has arrived.
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
#include "site/packet_counts.h"
#include "site/serve_loop.h"

namespace infold::site {

// The counters of one job.
struct JobPackets {
  std::uint16_t job = 0;
  core::VerdictCounters verdicts{};
  std::size_t memory_bytes = 0;
};

struct SiteStatistics {
  PacketCounts packets{};  // for all jobs, including removed ones
  io::UdpCounters socket;
  std::vector<JobPackets> jobs;  // one entry for each present job
};

class AggregationSite final : public PacketServer {
 public:
  explicit AggregationSite(io::UdpSocket socket);

  // Reserves the memory of the job's slots, whose pages the kernel provides when packets first use
  // them. Slots below `small_slots` are for small tensors, whose ranks wait for every answer. An
  // aggregator with a parent sends its sums there and accepts answers from the parent's address
  // only.
  class Job {
   public:
    Job(const core::AggregatorOptions& options, std::uint16_t small_slots,
        const Neighbours& neighbours = {});

   private:
    friend class AggregationSite;
    // A worker's index in `addresses`. The worker in this process has no address, so it comes last.
    std::size_t place_of(std::uint8_t worker) const;
    std::size_t remote_count() const { return addresses.size() - (own ? 1 : 0); }
    bool is_known(std::uint8_t worker, const io::SocketAddress& from) const;
    bool may_come(std::uint8_t worker, const io::SocketAddress& from) const;

    core::Aggregator aggregator;
    std::uint16_t small_slots;
    std::vector<io::SocketAddress> addresses;  // unset until a worker's first packet
    std::size_t known = 0;
    std::optional<std::uint8_t> own;
    std::array<io::SocketAddress, 1> parent;
    std::vector<core::RankRange> workers;
    std::vector<io::SocketAddress> sources;  // for each worker; unset: any host
  };

  bool has_job(std::uint16_t number) const { return jobs_[number] != nullptr; }
  // Replaces the job of that number and hands back the previous one in `job`. Null stands for no
  // job.
  void swap_job(std::uint16_t number, std::unique_ptr<Job>& job);
  // Tells the job's workers that the job has ended. The aggregator stays and repeats that answer
  // until the job is removed.
  void end_job(std::uint16_t number, const core::Abort& abort);
  // Returns how the job has ended, once it has.
  std::optional<core::Abort> end_of(std::uint16_t number) const;
  void end_all_jobs(const core::Abort& abort);
  SiteStatistics statistics() const;

  std::size_t serve() override;
  bool last_was_small() const override { return last_was_small_; }
  void wait(base::Instant deadline) override { socket_.wait(deadline); }
  void wake() override { socket_.wake(); }

  // From now on, that worker of the job is in this process. Packets that claim to come from it are
  // dropped if they arrive at the socket.
  void adopt(std::uint16_t job, std::uint8_t worker);
  // Handles a datagram from that worker. Answers to other workers go out with serve() or flush().
  void handle_own(std::span<const std::byte> datagram);
  bool has_answers() const { return !answers_.places.empty(); }
  // Returns the answers to that worker, which are valid until the next call.
  std::span<const std::span<const std::byte>> take_answers();

  void flush() { socket_.flush(); }
  int descriptor() const { return socket_.descriptor(); }
  io::SocketAddress address() const { return address_; }
  bool uses_trains() const { return socket_.sends_trains() && socket_.receives_trains(); }

 private:
  // The most answers that wait for take_answers(), about as many as a socket's queue in the kernel
  // holds. Further answers are dropped, as they would be by the kernel.
  static constexpr std::size_t kAnswersMax = 2048;

  // Datagrams, stored one after another.
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
  std::vector<std::unique_ptr<Job>> jobs_;  // indexed by job number
  std::vector<std::uint16_t> numbers_;      // the numbers of present jobs
  PacketCounts past_{};                     // counts of removed and unknown jobs
  bool last_was_small_ = false;
  io::ProbeEcho echo_;

  Answers answers_;
  Answers taken_;
  std::vector<std::span<const std::byte>> taken_spans_;
};

}  // namespace infold::site
