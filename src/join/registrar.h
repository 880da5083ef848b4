// SPDX-License-Identifier: Apache-2.0
//
// The interface that a rank joins a job through, and the values that go in and out: hello, terms,
// ready report, refusals and ends. It knows nothing of connections: a caller brings a rank's
// messages, and the rank's listener hears the answers. A JobRegistry implements it and decides. At
// a rack's switch a RackRelay implements it and asks the parent's registry.
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

#include "core/packet/packet.h"
#include "core/site_record.h"
#include "io/address/socket_address.h"
#include "join/host_groups.h"
#include "join/transfer_note.h"
#include "status/switch_metrics.h"

namespace infold::join {

// Of proto/infold/v1; both ends send it.
inline constexpr std::uint32_t kProtocolVersion = 1;

struct SiteAddress {
  std::string address;
  std::uint32_t weight = 0;  // 0: as the ranks choose
  bool at_rank = false;      // all other ranks reach it themselves, also those in racks
  core::SiteRecord record = {};
};

// A rack's switch, as it describes itself in the hello of each of its ranks.
struct RackHello {
  std::string identity;  // of its process, in this life
  std::string address;   // where its ranks join, for messages
  std::uint32_t sites = 0;
  core::SiteRecord record = {};   // of each of them
  io::SocketAddress source = {};  // as Hello::source, of the switch
};

// Of both kinds together: a packet numbers its slot in 15 bits.
inline constexpr std::uint32_t kSlotsMax = (1U << 15) - 1;

// The first message of a rank. parse_hello() makes it from the rank's message, with all limits
// kept.
struct Hello {
  std::string job;
  std::uint32_t rank = 0;
  std::uint32_t world = 0;
  std::uint32_t datagram_bytes_max = 0;
  std::uint32_t small_slots = 0;
  std::uint32_t bulk_slots = 0;
  std::optional<SiteAddress> site;  // its own aggregator
  std::optional<RankHost> host;     // none: it shares no memory
  std::uint32_t element_bytes = 4;  // on the wire, of most elements that it will send
  bool always_shares = false;       // shares memory even if that saves no bytes
  bool wants_native = false;        // it may sum in format native
  bool takes_brief = false;         // RESULTs without the elements that it has sent
  std::chrono::milliseconds patience{};
  std::optional<RackHello> rack;  // whose switch the rank joined at; none: it joined here itself
  std::string address;  // the address that its connection comes from; empty: of this process
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

// A rank's message when it could send packets.
struct ReadyReport {
  bool shares_memory = false;  // with all of its group
  // A hash of the sites, their order and weights as the rank has them; 0: unknown.
  std::uint64_t site_order = 0;
  std::optional<bool> verifies;  // whether it compares results, by further calls; none: unknown
  // Of a job that comes back: all calls up to this one are finished, and beyond it the calls that
  // have this hash.
  std::uint64_t calls_finished = 0;
  std::uint64_t calls_beyond = 0;
  std::optional<Refusal> obstacle;  // the reason why its rack's switch cannot take the job
};

// A rack's switch in a job whose root is at the parent.
struct BelowParent {
  core::RankRange rack;
  std::vector<std::string> sites;  // the parent's, in the order of ours
};

// The terms of a job, as all of its ranks hear them.
struct JobTerms {
  std::uint16_t job = 0;
  std::uint32_t epoch = 0;
  std::uint32_t world = 0;
  std::uint32_t datagram_bytes_max = 0;
  std::uint32_t elements_max = 0;
  core::FormatSet formats = core::FormatSet::all();  // that all sites sum, also those of racks
  // Where that lacks native: types that all sites sum as native in a job without trees, as this is
  // one as far as is known here.
  core::FloatTypes native_types = {};
  std::uint16_t small_slots = 0;
  std::uint16_t bulk_slots = 0;
  std::vector<SiteAddress> sites;
  std::vector<HostGroup> groups;                // proposed, and after ready() those in use
  std::vector<core::RankRange> racks;           // each below a switch of its own, in rising order
  std::vector<io::SocketAddress> rank_sources;  // by rank; unset, or none at all: anywhere
  std::vector<io::SocketAddress> rack_sources;  // in the order of racks, likewise
  std::string parent;                // of the switch that sends this, for errors; empty: none
  std::optional<BelowParent> below;  // for the plane of a rack's switch
  bool brief_results = false;        // all ranks take such RESULTs
  bool wants_transfers = false;      // rank 0 is to tell its transfers, as an emulator asks
};

template <typename T>
using Answer = tl::expected<T, Refusal>;

using status::JobMetrics;

// The reason why a job is over, for the ranks that have not left it.
struct JobEnd {
  std::optional<std::uint32_t> lost_rank;
  std::string lost_switch;           // else its address; empty: the switch that sends this
  std::optional<core::Abort> abort;  // else the end of a rank's calls, which has left since
};

// How a rank leaves.
struct Parting {
  enum Way : std::uint8_t {
    in_order,
    lost,
    with_switch,  // it was lost together with its rack's switch
  };
  Parting(Way how, const std::optional<core::Abort>& failure = {}) : way(how), abort(failure) {}

  Way way;
  std::optional<core::Abort> abort;  // in order: why the rank's calls failed, if they did
  // In order, before all ranks are ready: why the rank gives up joining, for example because
  // another switch refused it. All other ranks are refused for this reason.
  std::optional<Refusal> why = {};
};

class RankListener;

class Registrar {
 public:
  // Identifies a rank that has entered. Never given twice; calls with an old one do nothing.
  enum class Entry : std::uint64_t {};

  virtual ~Registrar() = default;

  // The listener hears all answers (join/rank_listener.h), also an immediate refusal.
  virtual Entry enter(const Hello& hello, std::shared_ptr<RankListener> listener) = 0;
  // The rank can receive packets. A group is in use if all its ranks share memory.
  virtual void ready(Entry entry, const ReadyReport& report) = 0;
  // The listener is dismissed at once. If this rank aggregates for others, it is dismissed when
  // they have left, or after a moment in which they fetch their last results.
  virtual void leave(Entry entry, const Parting& parting) = 0;
  // A transfer of rank 0. Returns false if the job's terms do not ask for it, or the job has not
  // started.
  virtual bool note_call(Entry, const CallNote&) { return false; }
  // Every rank that is here hears of it. Every rank that comes later is refused.
  virtual void stop() = 0;
  virtual std::vector<JobMetrics> status() const = 0;
};

}  // namespace infold::join
