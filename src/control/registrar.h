// SPDX-License-Identifier: Apache-2.0
//
// Whom a rank meets when it joins: what it says, what it is told, and the calls in which that
// happens. Knows nothing of connections: a caller brings each rank's words, and its listener hears
// the answers. Behind it is a JobRegistry, which decides, or at a rack's switch a RackRelay, which
// asks one.
//
// Any thread may call anything, and no call blocks.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "control/host_groups.h"
#include "core/packet/packet.h"
#include "core/site_record.h"
#include "io/address/socket_address.h"

namespace infold::control {

// Of proto/infold/v1, said by both ends.
inline constexpr std::uint32_t kProtocolVersion = 1;

struct SiteAddress {
  std::string address;
  std::uint32_t weight = 0;  // 0: as the ranks choose
  bool at_rank = false;      // which others reach themselves, whatever racks there are
  core::SiteRecord record = {};
};

// What a rack's switch says of itself for each of its ranks.
struct RackHello {
  std::string identity;  // of its process, in this life
  std::string address;   // where its ranks join, for people
  std::uint32_t sites = 0;
  core::SiteRecord record = {};   // of each of them
  io::SocketAddress source = {};  // as Hello::source, of the switch
};

// Of both kinds together: a packet numbers its slot in 15 bits.
inline constexpr std::uint32_t kSlotsMax = (1U << 15) - 1;

// What a rank says when it comes. Whoever takes it from a peer makes it with parse_hello().
struct Hello {
  std::string job;
  std::uint32_t rank = 0;
  std::uint32_t world = 0;
  std::uint32_t datagram_bytes_max = 0;
  std::uint32_t small_slots = 0;
  std::uint32_t bulk_slots = 0;
  std::optional<SiteAddress> site;  // its own aggregator
  std::optional<RankHost> host;     // none: it shares no memory
  std::uint32_t element_bytes = 4;  // on the wire, of what it will mostly send
  bool always_shares = false;       // whether or not that saves bytes
  std::chrono::milliseconds patience{};
  std::optional<RackHello> rack;  // through whose switch it comes; none: by itself
  std::string peer;  // the address that its connection comes from; empty: of this process
  // The host that the rank's packets come from, as its connection vouches. Unset: anywhere.
  io::SocketAddress source = {};
};

enum class RefusalReason : std::uint8_t {
  invalid,
  in_use,
  mismatch,
  full,
  too_late,
  stopping,
  given_up,  // by the rank itself
  broken,    // the other side said nonsense
};

struct Refusal {
  RefusalReason reason = RefusalReason::invalid;
  std::string message;
  int rank = -1;  // to look at
};

// What it says when it has met the others.
struct ReadyReport {
  bool shares_memory = false;  // with all of its group
  std::uint64_t site_order =
      0;  // a hash of the sites, their order and weights as it has them; 0: not said
  std::optional<bool> verifies;  // whether it compares results, by further calls; none: not said
  // Of a job that comes back: all calls up to this one are finished, and beyond it those that have
  // this hash.
  std::uint64_t calls_finished = 0;
  std::uint64_t calls_beyond = 0;
  std::optional<Refusal> obstacle;  // why its rack's switch cannot take the job after all
};

// Where a switch stands in a job whose root is elsewhere.
struct BelowParent {
  core::RankRange rack;
  std::vector<std::string> sites;  // the parent's, in the order of ours
};

// What all ranks are told.
struct JobTerms {
  std::uint16_t job = 0;
  std::uint32_t epoch = 0;
  std::uint32_t world = 0;
  std::uint32_t datagram_bytes_max = 0;
  std::uint32_t elements_max = 0;
  core::FormatSet formats = core::FormatSet::all();  // that all sites sum, also those of racks
  std::uint16_t small_slots = 0;
  std::uint16_t bulk_slots = 0;
  std::vector<SiteAddress> sites;
  std::vector<HostGroup> groups;                // proposed, and after ready() those in use
  std::vector<core::RankRange> racks;           // each below a switch of its own, in rising order
  std::vector<io::SocketAddress> rank_sources;  // by rank; unset, or none at all: anywhere
  std::vector<io::SocketAddress> rack_sources;  // in the order of racks, likewise
  std::string parent;                // of the switch that says this, for errors; empty: none
  std::optional<BelowParent> below;  // said to the plane of a rack's switch
};

template <typename T>
using Answer = tl::expected<T, Refusal>;

struct JobStatus {
  std::string name;
  std::uint16_t job = 0;
  std::uint32_t world = 0;
  std::uint32_t ranks = 0;  // that have come and not left
  std::uint32_t slots = 0;
  bool running = false;
};

// Why a job is over for those that have not left it.
struct JobEnd {
  std::optional<std::uint32_t> lost_rank;
  std::string lost_switch;           // else its address; empty: the one that says so
  std::optional<core::Abort> abort;  // else what ended it for a rank that has left since
};

// How a rank goes.
struct Parting {
  enum Way : std::uint8_t {
    in_order,
    lost,
    with_switch,  // the rack's, through which it came
  };
  Parting(Way how, const std::optional<core::Abort>& failure = {}) : way(how), abort(failure) {}

  Way way;
  std::optional<core::Abort> abort;  // of one in order: why its calls failed, if they did
  // Of one in order, before all are ready: why it gives joining up, as another switch refused it.
  // All other ranks are refused for this reason.
  std::optional<Refusal> why = {};
};

class RankListener;

class Registrar {
 public:
  // A rank's place in a job. No number is given twice; one that is over is ignored.
  enum class Entry : std::uint64_t {};

  virtual ~Registrar() = default;

  // The listener hears what comes of it (control/rank_listener.h), also if that is a refusal.
  virtual Entry enter(const Hello& hello, std::shared_ptr<RankListener> listener) = 0;
  // The rank can receive packets. A group is in use if all its ranks share memory.
  virtual void ready(Entry entry, const ReadyReport& report) = 0;
  // The listener is dismissed: at once, or where this rank aggregates for others when they have
  // left, or after a moment, in which they fetch their last results.
  virtual void leave(Entry entry, const Parting& parting) = 0;
  // All are told; all that come later are refused.
  virtual void stop() = 0;
  virtual std::vector<JobStatus> status() const = 0;
};

}  // namespace infold::control
