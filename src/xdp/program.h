// SPDX-License-Identifier: Apache-2.0
//
// The packet program of bpf/, loaded into the kernel: an aggregator of several jobs. Loads it,
// sets jobs up and reads counters; attaches it to nothing. What it sums is not touched from here
// while a job runs. Not thread-safe, but for test_run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bpf/state.h"
#include "core/aggregator.h"
#include "io/socket_address.h"

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
  // that goes back arrives only where the peer runs a program of its own.
  bool grows = true;
  bool bounces = true;
  bool can_rewind = false;     // for measurements
  bool can_fill = false;       // for tests
  std::string* log = nullptr;  // what the kernel's verifier says, if it refuses
};

using Counters = std::array<std::uint64_t, INFOLD_XDP_COUNTERS>;
// As core::verdict_name, and the few that only this plane has.
std::string_view counter_name(std::size_t counter);

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

  // Starts the job afresh, also if there is one of this number.
  base::Result<void> add_job(const core::AggregatorOptions& options);
  void remove_job(std::uint16_t job);
  Counters counters() const;
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
  };

  Program() = default;
  int map(const char* name) const;
  base::Result<std::uint32_t> find_slots(std::uint32_t count) const;

  struct Close {
    void operator()(bpf_object* object) const;
  };
  std::unique_ptr<bpf_object, Close> object_;
  base::Result<TestRun> run(int program, std::span<const std::byte> frame, std::uint32_t repeat);

  int entry_ = -1;  // the first program of each packet
  int fill_ = -1;
  std::uint32_t slots_max_ = 0;
  std::uint32_t elements_max_ = 0;
  std::uint32_t datagram_bytes_max_ = 0;
  std::vector<Table> jobs_;
};

}  // namespace infold::xdp
