// SPDX-License-Identifier: Apache-2.0
//
// The packet program of planes/xdp/bpf/, loaded into the kernel: an aggregator for several jobs.
// This class loads the program, sets up jobs and reads counters; planes/xdp/attach/attachment.h
// attaches it. This class does not touch sums while a job runs. Not thread-safe, except for
// counters(), traffic() and test_run().
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
#include "core/aggregator/aggregator.h"
#include "core/site_record.h"
#include "io/address/socket_address.h"
#include "planes/xdp/bpf/state.h"
#include "planes/xdp/program/native_rows.h"
#include "site/neighbours.h"

struct bpf_map;
struct bpf_object;

namespace infold::xdp {

struct ProgramOptions {
  // The program takes datagrams to these addresses, at the port of the first one. There are 1 to
  // INFOLD_XDP_ADDRESSES_MAX addresses.
  std::vector<io::SocketAddress> addresses;
  std::uint32_t jobs_max = 16;
  std::uint32_t slots_max = 1024;  // for all jobs together
  std::uint32_t datagram_bytes_max = 1472;
  std::uint32_t elements_max = 1472;
  // Abilities of the driver. veth has neither: its frames do not have room at their end, and a
  // frame that goes back arrives only if the other end runs a packet program or coalesces packets.
  bool grows = true;
  bool bounces = true;
  bool can_rewind = false;     // for measurements
  bool can_bounce = false;     // for measurements
  bool can_fill = false;       // for tests
  std::string* log = nullptr;  // the output of the kernel's verifier, if it refuses
};

using Counters = std::array<std::uint64_t, INFOLD_XDP_COUNTERS>;
// Returns the name that site::count_name gives.
std::string_view counter_name(std::size_t counter);

// A direct worker of a job, as the program knows it.
struct Place {
  core::RankRange ranks;
  unsigned interface = 0;       // index; 0: no packet yet
  io::SocketAddress address{};  // unset: no packet yet
};

// A packet that did not come from its worker's source.
struct WrongSource {
  std::uint16_t job = 0;
  std::uint8_t worker = 0;
  io::SocketAddress address;  // without a port
};

// The outcome for one frame.
struct TestRun {
  std::uint32_t action = 0;  // enum xdp_action
  infold_xdp_note note{};    // magic 0 if there is none
  std::vector<std::byte> frame;
  std::uint32_t duration_ns = 0;  // mean of the repeats
};

class Program {
 public:
  // Loads the program. The error says why this process on this kernel cannot load it.
  static base::Result<Program> load(const ProgramOptions& options);
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  core::SiteRecord record() const;  // its abilities, for all jobs

  // Starts the job, and replaces a job of the same number. If no parent is given, the program
  // accepts a parent's answers from any sender. With `sums_native`, the job may send native floats
  // of the types in record().native_types, and the kernel provides memory for their rows until the
  // job is removed. In that case a parent is not allowed.
  base::Result<void> add_job(const core::AggregatorOptions& options,
                             const site::Neighbours& neighbours = {}, bool sums_native = false);
  // Frees the job's slots for other jobs. Requires: no packet of the job is inside the program.
  // This holds after close_job() and wait_for_packets(), or while the program is not attached.
  void remove_job(std::uint16_t job);
  // From now on, the program drops the job's packets like those of an unknown job.
  void close_job(std::uint16_t job);
  // Waits until the program has finished every packet that was inside it at the time of the call.
  static base::Result<void> wait_for_packets();
  // Ends the job. Returns the reason that workers get, which is the first one reported, or
  // nothing if there is no such job. Does not send anything.
  std::optional<infold_abort> end_job(std::uint16_t job, const core::Abort& abort);
  // Returns all workers of the job, by number, or none if there is no such job.
  std::vector<Place> places(std::uint16_t job) const;
  // Returns the index of the interface through which the parent's packets came. Returns 0 if no
  // such packet has come, or if there is no such job.
  unsigned interface_of_parent(std::uint16_t job) const;

  // Returns the last packet from a wrong source, if there was one.
  std::optional<WrongSource> last_wrong_source() const;

  int packets_program() const { return entry_; }  // to attach at interfaces
  int ingress_program() const { return ingress_; }
  // Programs to compare the packet program with: one sends each packet back, and the other drops
  // it. Requires: can_bounce.
  int bounce_program() const { return bounce_; }
  int discard_program() const { return discard_; }
  // The memory of the program's maps in the kernel, including rows.
  std::size_t memory_bytes() const;
  // The memory for the rows of one slot in a job that sums native elements.
  std::size_t native_slot_bytes() const { return std::size_t{2} * rows_.copy_bytes(); }

  // Counts all packets since the start. Any thread may call these.
  Counters counters() const;
  infold_xdp_traffic traffic() const;
  // Counts a job's packets since it was added. Returns nothing if there is no such job.
  std::optional<Counters> counters_of_job(std::uint16_t job) const;
  // Runs the program in the kernel on one frame.
  base::Result<TestRun> test_run(std::span<const std::byte> frame);
  // Runs the program at the ingress on a frame with a note. Returns the frame that it sends to this
  // member: a worker's number or INFOLD_XDP_PARENT. Requires: can_fill.
  base::Result<std::vector<std::byte>> ingress_run(std::span<const std::byte> frame,
                                                   const infold_xdp_note& note,
                                                   std::uint32_t member);
  // Measures many runs, each from the slot's present state, or only the reset to that state.
  // Requires: can_rewind, and a frame of this slot of this job.
  base::Result<double> time_run(std::span<const std::byte> frame, std::uint16_t job,
                                std::uint16_t slot, std::uint32_t repeat, bool only_rewind);

 private:
  struct Table {
    bool used = false;
    std::uint16_t number = 0;
    std::uint32_t slot_first = 0;
    std::uint32_t slot_count = 0;
    bool sums_native = false;
    Counters counted_before{};  // counts of earlier jobs in this place
  };

  Program() = default;
  Counters counters_of(std::uint32_t job_index) const;
  int map(const char* name) const;
  std::optional<std::uint32_t> index_of(std::uint16_t job) const;
  base::Result<std::uint32_t> find_slots(std::uint32_t count) const;
  base::Result<void> add_rows(std::uint32_t index, std::uint32_t slots);

  struct Close {
    void operator()(bpf_object* object) const;
  };
  std::unique_ptr<bpf_object, Close> object_;
  base::Result<TestRun> run(int program, std::span<const std::byte> frame, std::uint32_t repeat);

  int entry_ = -1;  // the first program for each packet
  int ingress_ = -1;
  int end_ = -1;
  int fill_ = -1;
  int bounce_ = -1;
  int discard_ = -1;
  std::uint32_t slots_max_ = 0;
  std::uint32_t elements_max_ = 0;
  std::uint32_t datagram_bytes_max_ = 0;
  RowLayout rows_;
  std::vector<Table> jobs_;
};

}  // namespace infold::xdp
