// SPDX-License-Identifier: Apache-2.0
//
// The interface through which a rank joins a job, and the values that it passes: hello, terms,
// ready report, refusals and ends. It does not depend on connections: a caller passes on a rank's
// messages, and the rank's listener hears the answers. A JobRegistry implements the interface and
// makes the decisions. At a rack's switch, a RackRelay implements it and asks the parent's
// registry.
//
// Any thread may call any method, and no method blocks.
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
#include "keys/token/token.h"
#include "status/switch_metrics.h"

namespace infold::join {

// The version in a rank's Hello (proto/infold/v1). A join server refuses all other versions.
inline constexpr std::uint32_t kProtocolVersion = 1;

struct SiteAddress {
  std::string address;
  std::uint32_t weight = 0;  // 0: the ranks choose the weight
  bool at_rank = false;      // all other ranks reach it directly, even ranks in racks
  core::SiteRecord record = {};
};

// How a rack's switch describes itself in the hello of each of its ranks.
struct RackHello {
  std::string identity;  // identifies the switch's process; new after a restart
  std::string address;   // where its ranks join, for messages
  std::uint32_t sites = 0;
  core::SiteRecord record = {};   // the record of each of its sites
  io::SocketAddress source = {};  // like Hello::source, for the switch
};

// The most slots of both kinds together, because a packet numbers its slot in 15 bits.
inline constexpr std::uint32_t kSlotsMax = (1U << 15) - 1;

// The first message of a rank. parse_hello() makes it from the rank's message, and checks all
// limits.
struct Hello {
  std::string job;
  std::uint32_t rank = 0;
  std::uint32_t world = 0;
  std::uint32_t datagram_bytes_max = 0;
  std::uint32_t small_slots = 0;
  std::uint32_t bulk_slots = 0;
  std::optional<SiteAddress> site;  // the rank's own aggregator, if it has one
  std::optional<RankHost> host;     // empty: the rank does not share memory
  std::uint32_t element_bytes = 4;  // size on the wire of most elements that it will send
  bool always_shares = false;       // the rank shares memory even if that saves no bytes
  bool wants_native = false;        // the rank may sum in format native
  bool takes_brief = false;         // accepts RESULTs without elements that it has sent
  std::chrono::milliseconds patience{};
  std::optional<RackHello> rack;  // the switch where the rank joined; empty: it joined here
  // Proves to the host that the rank may join, and is secret. Only the rank itself has it; the host
  // has what it permits.
  std::string token;
  std::optional<keys::Grant> grant;  // empty: the host uses no keys
  std::string address;               // where its connection comes from; empty: from this process
  // The host that the rank's packets come from, as its connection vouches. Unset: any host.
  io::SocketAddress source = {};
};

enum class RefusalReason : std::uint8_t {
  invalid,
  in_use,
  mismatch,
  full,
  too_late,
  stopping,
  not_permitted,  // by the rank's token
  given_up,       // the rank itself gave up
  broken,         // the other side sent a message that makes no sense
};

struct Refusal {
  RefusalReason reason = RefusalReason::invalid;
  std::string message;
  int rank = -1;  // the rank to look at, or -1
};

// A rank's message that it is ready to send packets.
struct ReadyReport {
  bool shares_memory = false;  // with all ranks of its group
  // A hash of the job's sites, with their order and weights, as this rank knows them; 0: unknown.
  std::uint64_t site_order = 0;
  std::optional<bool> verifies;  // whether it compares results, which adds calls; empty: unknown
  // For a job that comes back after a lost switch: the rank has finished the first calls_finished
  // calls, and later calls with the hash calls_beyond.
  std::uint64_t calls_finished = 0;
  std::uint64_t calls_beyond = 0;
  std::optional<Refusal> obstacle;  // why its rack's switch cannot take the job
};

// The place of a rack's switch in a job whose root is at the parent.
struct BelowParent {
  core::RankRange rack;
  std::vector<std::string> sites;  // the parent's sites, in the order of ours
};

// The terms of a job, which all of its ranks hear.
struct JobTerms {
  std::uint16_t job = 0;
  std::uint32_t epoch = 0;
  std::uint32_t world = 0;
  std::uint32_t datagram_bytes_max = 0;
  std::uint32_t elements_max = 0;
  core::FormatSet formats = core::FormatSet::all();  // formats that all sites sum, also in racks
  // Types that the job sums as native although `formats` lacks native. Only a job without racks and
  // without host groups has such types.
  core::FloatTypes native_types = {};
  std::uint16_t small_slots = 0;
  std::uint16_t bulk_slots = 0;
  std::vector<SiteAddress> sites;
  std::vector<HostGroup> groups;                // proposed groups; after ready(), the groups in use
  std::vector<core::RankRange> racks;           // racks with a switch of their own, in rising order
  std::vector<io::SocketAddress> rank_sources;  // by rank; unset or missing: any host
  std::vector<io::SocketAddress> rack_sources;  // in the order of `racks`, likewise
  std::string parent;  // the parent of the switch that sends this, for errors; empty: none
  std::optional<BelowParent> below;  // set for the plane of a rack's switch
  bool brief_results = false;        // all ranks accept brief RESULTs
  bool wants_transfers = false;      // rank 0 must report its transfers, because an emulator asks
};

template <typename T>
using Answer = tl::expected<T, Refusal>;

using status::JobMetrics;

// Why a job is over, for the ranks that have not left it. If no field is set, the switch that sends
// this is stopping or was lost.
struct JobEnd {
  std::optional<std::uint32_t> lost_rank;
  std::string lost_switch;           // the address of a lost switch, if it is another one
  std::optional<core::Abort> abort;  // why calls failed, as a rank that left or aggregators say
};

// How a rank leaves a job.
struct Parting {
  enum Way : std::uint8_t {
    in_order,
    lost,
    with_switch,  // it was lost together with its rack's switch
  };
  Parting(Way how, const std::optional<core::Abort>& failure = {}) : way(how), abort(failure) {}

  Way way;
  std::optional<core::Abort> abort;  // for in_order: why the rank's calls failed, if they did
  // For in_order, before all ranks are ready: why the rank gives up joining, for example because
  // another switch refused it. All other ranks are refused for this reason.
  std::optional<Refusal> why = {};
};

class RankListener;

class Registrar {
 public:
  // Identifies a rank that has entered. An entry is never given twice, and calls with an old one do
  // nothing.
  enum class Entry : std::uint64_t {};

  virtual ~Registrar() = default;

  // The listener hears all answers (join/rank_listener.h), including an immediate refusal.
  virtual Entry enter(const Hello& hello, std::shared_ptr<RankListener> listener) = 0;
  // Says that the rank can receive packets. A host group is used only if all its ranks share
  // memory.
  virtual void ready(Entry entry, const ReadyReport& report) = 0;
  // The listener is dismissed at once, unless this rank aggregates for others. Then it is dismissed
  // when they have left, or after a moment in which they can fetch their last results.
  virtual void leave(Entry entry, const Parting& parting) = 0;
  // Passes on a transfer of rank 0. Returns false if the job's terms do not ask for it, or the job
  // has not started.
  virtual bool note_call(Entry, const CallNote&) { return false; }
  // Ends or refuses all jobs. Every rank that is here hears of it, and every rank that comes later
  // is refused.
  virtual void stop() = 0;
  virtual std::vector<JobMetrics> status() const = 0;
};

}  // namespace infold::join
