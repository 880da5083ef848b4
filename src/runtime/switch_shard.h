// SPDX-License-Identifier: Apache-2.0
//
// One thread of a switch: a socket and the aggregators behind it, of any number of jobs. Nothing on
// the packet path is shared with other shards; to a job each shard is an aggregation site of its
// own. Workers are known by their numbers and answer where their last valid packet came from, so
// that they may sit behind a NAT and need no open port.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/aggregator.h"
#include "io/udp_socket.h"
#include "runtime/polling.h"
#include "runtime/switch_status.h"

namespace infold::runtime {

struct ShardStatistics {
  PacketCounts packets{};  // of all jobs there have been
  io::UdpCounters socket;
  std::vector<JobPackets> jobs;  // of those there are
};

class SwitchShard {
 public:
  // Throws std::system_error without a thread.
  explicit SwitchShard(io::UdpSocket socket);
  ~SwitchShard();  // tells every job that this aggregator has stopped

  // All of these are for any thread, and have taken effect when they return.
  // Slots below `small_slots` are for small tensors, whose ranks wait for every answer.
  void add_job(const core::AggregatorOptions& options, std::uint16_t small_slots);
  // Tells the job's workers. Its aggregator stays, to repeat the answer, until it is removed.
  void end_job(std::uint16_t job, const core::Abort& abort);
  void remove_job(std::uint16_t job);
  ShardStatistics statistics();

  io::SocketAddress address() const { return address_; }
  bool uses_trains() const { return uses_trains_; }

 private:
  struct Job {
    Job(const core::AggregatorOptions& options, std::uint16_t small)
        : aggregator(options), small_slots(small), workers(options.workers.size()) {}
    core::Aggregator aggregator;
    std::uint16_t small_slots;
    std::vector<io::SocketAddress> workers;  // unset until a worker has been heard of
    std::size_t known = 0;
  };

  void run();
  void run_commands();
  void command(std::function<void()> action);
  void handle(const io::UdpSocket::Arrival& arrival);
  void echo(const io::UdpSocket::Arrival& probe);
  void learn(Job& job, std::uint8_t worker, const io::SocketAddress& from);
  void send(Job& job);

  io::UdpSocket socket_;
  io::SocketAddress address_;
  bool uses_trains_ = false;
  std::vector<std::unique_ptr<Job>> jobs_;  // by number
  std::vector<std::uint16_t> numbers_;      // of those there are
  PacketCounts past_{};                     // of jobs that have been removed, and of none
  Polling polling_;
  bool last_was_small_ = false;
  std::array<io::SocketAddress, 1> echo_to_;
  std::vector<std::byte> echo_;

  std::mutex mutex_;  // of the commands
  std::vector<std::function<void()>> commands_;
  std::atomic<bool> has_commands_{false};
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace infold::runtime
