// SPDX-License-Identifier: Apache-2.0
//
// The packet program of bpf/, loaded into the kernel: an aggregator of several jobs. Loads it,
// sets jobs up and reads counters; xdp/attach/attachment.h attaches it. What it sums is not touched
// from here while a job runs. Not thread-safe, but for test_run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bpf/state.h"
#include "core/aggregator/aggregator.h"
#include "core/site_record.h"
#include "io/address/socket_address.h"
#include "site/neighbours.h"

struct bpf_map;
struct bpf_object;

namespace infold::xdp {

struct ProgramOptions {
  // Datagrams to these addresses are ours, all at the port of the first. At most
  // INFOLD_XDP_ADDRESSES_MAX, and one at least.
  std::vector<io::SocketAddress> addresses;
  std::uint32_t jobs_max = 16;
  std::uint32_t slots_max = 1024;  // of all jobs together
  std::uint32_t datagram_bytes_max = 1472;
  std::uint32_t elements_max = 1472;
  // What the driver does. Of veth neither holds: frames have no room behind them, and a frame
  // that goes back arrives only where the peer runs a program of its own or coalesces packets.
  bool grows = true;
  bool bounces = true;
  bool can_rewind = false;     // for measurements
  bool can_bounce = false;     // likewise
  bool can_fill = false;       // for tests
  std::string* log = nullptr;  // what the kernel's verifier says, if it refuses
};

using Counters = std::array<std::uint64_t, INFOLD_XDP_COUNTERS>;
// As site::count_name.
std::string_view counter_name(std::size_t counter);

// A direct worker of a job, as far as the program has heard of it.
struct Place {
  core::RankRange ranks;
  unsigned interface = 0;       // its index; 0: not heard of yet
  io::SocketAddress address{};  // unset likewise
};

// A packet that was not from its worker's source.
struct WrongSource {
  std::uint16_t job = 0;
  std::uint8_t worker = 0;
  io::SocketAddress address;  // without a port
};

// What became of one frame.
struct TestRun {
  std::uint32_t action = 0;  // enum xdp_action
  infold_xdp_note note{};    // magic 0 if there is none
  std::vector<std::byte> frame;
  std::uint32_t duration_ns = 0;  // mean over the repeats
};

class Program {
 public:
  // Nothing, or why this process on this kernel cannot load it. Needs no privileges to ask.
  static base::Result<Program> load(const ProgramOptions& options);
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  core::SiteRecord record() const;  // what it can, whoever joins

  // Starts the job afresh, also if there is one of this number.
  // A parent that is not named may be anybody who answers as one.
  base::Result<void> add_job(const core::AggregatorOptions& options,
                             const site::Neighbours& neighbours = {});
  // Its slots may then be another job's. Requires: no packet of it is on its way through the
  // program, which holds after close_job() and wait_for_packets(), or where nothing is attached.
  void remove_job(std::uint16_t job);
  // From now on its packets are those of a foreign job.
  void close_job(std::uint16_t job);
  // Until the program is through with every packet that it had when this was called.
  static base::Result<void> wait_for_packets();
  // The end that the job's workers are told of, which is the first that anybody has said;
  // nothing if there is no such job. Sends nothing.
  std::optional<infold_abort> end_job(std::uint16_t job, const core::Abort& abort);
  // Of all its workers, by their numbers; empty if there is no such job.
  std::vector<Place> places(std::uint16_t job) const;
  // By which interface the job's parent was heard, by its index; 0: not yet, or there is no job.
  unsigned interface_of_parent(std::uint16_t job) const;

  // The last such packet; empty before the first.
  std::optional<WrongSource> last_wrong_source() const;

  int packets_program() const { return entry_; }  // for interfaces
  int ingress_program() const { return ingress_; }
  // In place of the first, for comparison: send each packet back, or drop it. Requires: can_bounce.
  int bounce_program() const { return bounce_; }
  int discard_program() const { return discard_; }
  // What this program's tables take in the kernel.
  std::size_t memory_bytes() const;

  // Of all packets since the start; from any thread.
  Counters counters() const;
  infold_xdp_traffic traffic() const;
  // Of a job's since it was added; nothing if there is no such job.
  std::optional<Counters> counters_of_job(std::uint16_t job) const;
  // Lets the kernel run the program on a frame, `repeat` times on the same bytes.
  base::Result<TestRun> test_run(std::span<const std::byte> frame);
  // Of a frame that went up with a note: what the program at the ingress sends to this member, a
  // worker's number or INFOLD_XDP_PARENT. Requires: can_fill.
  base::Result<std::vector<std::byte>> ingress_run(std::span<const std::byte> frame,
                                                   const infold_xdp_note& note,
                                                   std::uint32_t member);
  // Times test_run: many times, each time from the slot's present state; or only what sets that up.
  // Requires: can_rewind, and that the frame belongs to this slot of this job.
  base::Result<double> time_run(std::span<const std::byte> frame, std::uint16_t job,
                                std::uint16_t slot, std::uint32_t repeat, bool only_rewind);

 private:
  struct Table {
    bool used = false;
    std::uint16_t number = 0;
    std::uint32_t slot_first = 0;
    std::uint32_t slot_count = 0;
    Counters counted_before{};  // in its place, for jobs before it
  };

  Program() = default;
  Counters counters_of(std::uint32_t job_index) const;
  int map(const char* name) const;
  std::optional<std::uint32_t> index_of(std::uint16_t job) const;
  base::Result<std::uint32_t> find_slots(std::uint32_t count) const;

  struct Close {
    void operator()(bpf_object* object) const;
  };
  std::unique_ptr<bpf_object, Close> object_;
  base::Result<TestRun> run(int program, std::span<const std::byte> frame, std::uint32_t repeat);

  int entry_ = -1;  // the first program of each packet
  int ingress_ = -1;
  int end_ = -1;
  int fill_ = -1;
  int bounce_ = -1;
  int discard_ = -1;
  std::uint32_t slots_max_ = 0;
  std::uint32_t elements_max_ = 0;
  std::uint32_t datagram_bytes_max_ = 0;
  std::vector<Table> jobs_;
};

}  // namespace infold::xdp
