// SPDX-License-Identifier: Apache-2.0
//
// The aggregator of one job: a pool of slots that sums chunks and sends the result to every worker
// (spec section 5). It is pure: it has no clock, timer or I/O, and does not allocate after the
// constructor. What it sends depends only on what arrived. It is not thread-safe; a copy is an
// independent aggregator.
//
//   copy of a slot    contribution that completes      result of the parent
//   idle/done ------> collecting ------> done          (root: no parent)
//                     collecting ------> forwarded --> done
//
// A copy takes a newer chunk only when three conditions hold: the copy is done, the slot's
// other copy is done with the chunk in between, and the newer chunk is exactly two rounds ahead.
// Everything else is dropped and counted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned.h"
#include "base/zeroed_array.h"
#include "core/aggregator/arithmetic.h"
#include "core/aggregator/worker_set.h"
#include "core/exact/exact_sums.h"
#include "core/packet/exact_body.h"
#include "core/packet/packet.h"

namespace infold::core {

// What became of a datagram. Each verdict has a counter.
enum class Verdict : std::uint8_t {
  contributed,       // a new contribution; the chunk is not complete yet
  completed,         // a contribution that completed the chunk
  replayed,          // a repeat: the stored result went to its sender
  answered_pending,  // a repeat or query: the missing ranks went to its sender
  forwarded_again,   // a repeat below a parent: our own contribution went up again
  delivered,         // the parent's answer went to all workers
  job_ended,         // a rank left the job, or gave up
  answered_ended,    // the job is over; the sender was told
  dropped_malformed,
  dropped_foreign_job,
  dropped_stale_epoch,
  dropped_tag,        // tagged, in a job without keys
  dropped_wrong_way,  // a kind that does not travel in this direction
  dropped_bad_worker,
  dropped_wrong_source,  // from a source that is not the worker's
  dropped_bad_slot,
  dropped_stale_round,  // for a chunk whose result every worker has
  dropped_early_round,  // for a chunk whose turn has not come
  // A repeat of the parent's answer, of an exact sum's part or of a bundle, or a question while
  // another worker's is under way.
  dropped_repeat,
  dropped_limits,  // more elements than the job's chunks have
  dropped_part,    // a later part of a sum whose first part alone is answered
  count_,
};
const char* verdict_name(Verdict verdict);
using VerdictCounters = std::array<std::uint64_t, static_cast<std::size_t>(Verdict::count_)>;

struct AggregatorOptions {
  std::uint16_t job = 0;
  std::uint32_t epoch = 0;
  std::uint16_t slot_count = 1;
  std::uint32_t world = 1;  // ranks in the whole job
  // One entry per direct worker: the ranks that it speaks for, which are one rank or the ranks of a
  // child aggregator.
  std::vector<RankRange> workers;
  // The numbers of workers that are aggregators although they speak for only one rank.
  std::vector<std::uint8_t> aggregators_of_one;
  // This aggregator's worker number at its parent; empty at the root.
  std::optional<std::uint8_t> parent_worker;
  std::uint32_t datagram_bytes_max = 1472;
  std::uint32_t elements_max = INFOLD_ELEMENTS_MAX;
  PendingForm pending = PendingForm::either;  // how it names the missing ranks
  bool brief_results = false;  // all ranks take RESULTs without their own elements
  bool is_big_endian = false;  // elements are big-endian; only a core::Adder heeds it
  const Arithmetic* arithmetic = nullptr;  // null: the scalar loops
  // Checks all invariants after every check_period inputs, in time that grows with the number of
  // slots. With 0 only the invariants of the packet's slot are checked. The simulator, the fuzzers
  // and the exhaustive search set it.
  std::uint32_t check_period = 0;

  // Appends a worker that is an aggregator.
  void add_aggregator(RankRange ranks) {
    if (ranks.count == 1) aggregators_of_one.push_back(static_cast<std::uint8_t>(workers.size()));
    workers.push_back(ranks);
  }
};

// Returns the contributors that a contribution of all these ranks names.
Contributors contributors_of(RankRange ranks);
// Returns whether a worker is an aggregator, which may send exact sums.
bool is_aggregator(const AggregatorOptions& options, std::size_t worker);

// Where a datagram came from, as far as its receiver knows.
struct Source {
  enum class Side : std::uint8_t { unknown, below, above };
  Side side = Side::unknown;
  std::optional<std::uint8_t> worker;  // the worker at the other end of a link
  bool is_elsewhere = false;           // not from the source of the worker that it names
};

// Checks steps 2 to 7 of R-007. Returns nothing if the packet passes them.
std::optional<Verdict> turn_away(const Header& header, Source source,
                                 const AggregatorOptions& options);

// Does what parse() does, and also refuses RESULTs that an aggregator never takes. An aggregator
// never sends SPARSE to a parent, so it takes no RESULT with SPARSE. Its ranks need the
// elements, so it takes no brief RESULT, and workers take none with PARTIAL.
Malformed parse_at_aggregator(std::span<const std::byte> datagram, Packet& packet);

class Aggregator {
 public:
  enum class To : std::uint8_t { worker, all_workers, parent };
  struct Transmit {
    To to = To::worker;
    std::uint8_t worker = 0;
    std::span<const std::byte> datagram;  // valid until the next packet
    // If it goes to all workers: the worker that gets only the header.
    std::optional<std::uint8_t> brief_for;

    std::span<const std::byte> datagram_for(std::size_t receiver) const {
      const bool is_brief = brief_for && *brief_for == receiver;
      return is_brief ? datagram.first(INFOLD_HEADER_BYTES) : datagram;
    }
  };

  // Requires: 1 to 256 workers, slot_count > 0, datagram_bytes_max holds a header.
  explicit Aggregator(const AggregatorOptions& options);

  // Takes one packet from a worker or the parent, which parse_at_aggregator() has found to be
  // well-formed. Drain poll_transmit() before the next packet. If a packet has several chunks, each
  // one is counted, and the verdict of the last chunk that was not dropped is returned, if there is
  // one.
  Verdict handle(const Packet& packet, Source source = {});
  // Counts a malformed datagram that names this job.
  Verdict count_malformed();
  // Parses the datagram, and then calls one of the two functions above.
  Verdict handle_datagram(std::span<const std::byte> datagram, Source source = {});
  // Ends the job for a reason that no packet brought. Drain poll_transmit() as above.
  void end(const Abort& abort);
  std::optional<Transmit> poll_transmit();

  const VerdictCounters& counters() const { return counters_; }
  // The memory that the aggregator holds, all of it allocated by the constructor.
  std::size_t memory_bytes() const;
  // The part of memory_bytes() that is touched only by exact sums that need more than two doubles.
  std::size_t bins_bytes() const { return exact_.bins_bytes(); }
  // How the job ended, once it has.
  const std::optional<Abort>& aborted() const { return abort_; }
  // Returns a hash of everything that decides future behaviour, for state-space search.
  std::uint64_t digest() const;

 private:
  enum class Phase : std::uint8_t { done, collecting, forwarded };

  struct Copy {
    Phase phase = Phase::done;
    bool overrange = false;  // exponents lie too far apart for exact lanes
    bool has_lanes = false;  // some contribution had elements
    bool has_specials = false;
    bool came_whole = false;        // some contribution left out no zeros
    bool came_in_quarters = false;  // some contribution left out quarters
    LaneWidth lane_width = LaneWidth::bits64;
    // For an exact sum that goes to the parent: its rows of digits, from `first` to before `end`.
    struct {
      std::uint8_t first = 0;
      std::uint8_t end = 0;
    } exact_rows;
    std::uint32_t round = 0;
    ChunkSignature signature;
    std::uint8_t first_worker = 0;
    std::optional<std::uint8_t> brief_for;  // for a result: its only sender
    std::uint32_t stored_bytes = 0;         // bytes of the datagram kept for repeats; 0: none yet
    std::uint8_t repeats = 0;               // times that a sum in parts went up again, modulo 256
    Contributors contributors;
    WorkerSet seen;
  };

  // The addresses of a copy's arrays, found once per datagram.
  struct Arrays {
    std::byte* datagram;        // the result, the realign, or what went to the parent
    std::byte* lanes;           // for block floats only; integers are summed in the datagram
    std::uint16_t* low_codes;   // for each block: the code of the lanes' unit; 0: empty
    std::uint16_t* high_codes;  // for each block: the largest code seen
    std::uint64_t* plus_infinity;
    std::uint64_t* minus_infinity;
  };

  // How much of a child aggregator's exact sum has arrived.
  struct Parts {
    std::uint32_t seen = 0;  // one bit for each part
    std::uint8_t count = 0;
  };
  enum class PartNews : std::uint8_t { malformed, repeat, some, all };
  // The most parts of all exact sums that one packet can complete, without each sum's part 0. Part
  // 0 of f64 takes 16 bytes for each element and fits in a datagram, so every further part has room
  // for at least four rows of 4 bytes for each element.
  static constexpr std::uint32_t kRowPartsMax = INFOLD_SPARSE_CHUNKS_MAX * ((kBinRowsMax + 3) / 4);
  static_assert((kBinRowsMax + 3) / 4 < kExactPartsMax);

  // How a chunk's round compares with the round of the copy that it belongs to.
  enum class Turn : std::uint8_t { stale, current, next, early };

  Verdict dispatch(const Packet& packet, Source source);
  bool fits_worker(const Header& header) const;
  Verdict handle_sparse(const Packet& packet);
  Verdict handle_from_below(const Packet& packet);
  Verdict handle_from_parent(const Packet& packet);
  Verdict handle_contribution(const Packet& packet, Copy& copy, Arrays arrays);
  Verdict handle_repeat(const Packet& packet, Copy& copy, Arrays arrays);
  bool may_go_up_again(const Copy& copy, const Header& header);
  static bool is_in_parts(const Copy& copy) { return copy.exact_rows.end > copy.exact_rows.first; }
  void send_to_asking(WorkerSet& asking, std::span<const std::byte> datagram);
  Verdict handle_abort(const Packet& packet);
  Verdict hear_end_from_worker(const Abort& abort, std::uint8_t worker);
  Verdict hear_end_from_parent(const Abort& abort, bool is_news);
  Verdict end_job(const Abort& abort);
  bool some_chunk_waits_for(std::uint8_t worker) const;
  bool some_chunk_is_open() const;
  Turn turn_of(const Packet& packet, const Copy& copy, Copy& other) const;
  bool fits_limits(const Packet& packet) const;

  void begin(const Packet& packet, Copy& copy, Arrays arrays);
  void add_payload(const Packet& packet, Copy& copy, Arrays arrays);
  void add_integers(const Packet& packet, Copy& copy, Arrays arrays);
  void add_present_integers(const Packet& packet, Copy& copy, std::byte* sum);
  void add_blocks(const Packet& packet, Copy& copy, Arrays arrays);
  void add_exact(const Packet& packet, Copy& copy, Arrays arrays);
  static std::uint32_t divisor_of(const Copy& copy);
  PartNews take_exact_part(const Packet& packet, Copy& copy);
  void add_exact_doubles(std::uint32_t sum, DataType dtype, std::uint32_t elements,
                         const ExactBody& body);
  LaneWidth width_for(WireFormat format, std::int32_t reach) const;
  void widen_lanes(Copy& copy, Arrays arrays, LaneWidth wanted) const;
  const std::byte* take_specials(const Packet& packet, Copy& copy, Arrays arrays);

  Verdict complete(Copy& copy, Arrays arrays, std::uint16_t slot, std::uint8_t worker);
  void write_result(Copy& copy, Arrays arrays, Header& header);
  std::uint32_t leave_out_quarters(const Copy& copy, Arrays arrays);
  void write_partial(Copy& copy, Arrays arrays, Header& header);
  bool has_some_part(const Copy& copy, std::uint8_t worker) const;
  void write_exact_result(const Copy& copy, Arrays arrays);
  std::uint32_t write_exact_partial(Copy& copy, Arrays arrays);
  std::uint32_t exact_rows_of_part(std::uint32_t elements) const;
  std::uint32_t exact_parts_of(const Copy& copy) const;
  void send_exact_rows(const Copy& copy, Arrays arrays);
  void send_stored_to_parent(const Copy& copy, Arrays arrays);
  void overlay_specials(const Copy& copy, Arrays arrays, std::byte* mantissas) const;

  Header job_header(Kind kind) const;
  void send(To to, std::uint8_t worker, std::span<const std::byte> datagram,
            std::optional<std::uint8_t> brief_for = {});
  std::optional<std::uint8_t> only_sender(const Header& header) const;
  void send_pending(const Packet& packet, const Copy& copy);
  std::span<const std::byte> write_end(Kind kind, std::uint8_t worker);
  void send_end(To to, std::uint8_t worker);
  bool has_all(const Copy& copy) const { return copy.seen == expected_; }
  bool has_parent() const { return options_.parent_worker.has_value(); }
  Copy& copy_of(std::uint16_t slot, std::uint32_t round) {
    return copies_[slot * 2U + (round & 1)];
  }
  std::uint32_t number_of(const Copy& copy) const {
    return static_cast<std::uint32_t>(&copy - copies_.data());
  }
  // The elements of a stored datagram begin on a cache line, after its header.
  static constexpr std::size_t kBeforeDatagrams = base::kCacheLineBytes - INFOLD_HEADER_BYTES;
  std::byte* datagram_of(std::size_t copy) {
    return datagrams_.data() + kBeforeDatagrams + copy * stored_bytes_max_;
  }
  const std::byte* datagram_of(std::size_t copy) const {
    return datagrams_.data() + kBeforeDatagrams + copy * stored_bytes_max_;
  }
  Arrays arrays_of(std::uint16_t slot, std::uint32_t round);
  void assert_invariants(const Copy& copy) const;
  static void assert_turns(const Copy& copy, const Copy& other);
  void assert_copy(const Copy& copy) const;
  void assert_all() const;
  // Checks all invariants after every check_period inputs (AggregatorOptions::check_period).
  void count_input() {
    if (options_.check_period != 0 && ++inputs_ % options_.check_period == 0) assert_all();
  }

  AggregatorOptions options_;
  const Arithmetic* arithmetic_;
  WorkerSet expected_;
  // For each worker, the contributors that its contribution names if all its ranks contribute
  //
  std::vector<Contributors> spoken_for_;
  WorkerSet aggregators_;
  // For bfp8, bfp16 and bfp32, by lane width: how far apart codes may lie; negative if the lanes
  // never fit.
  std::array<std::array<std::int32_t, kLaneWidths>, 3> spread_{};
  std::vector<Copy> copies_;
  // Below a parent, for each slot: the workers whose repeat of the forwarded chunk went up and has
  // no answer yet. Only one copy of a slot is forwarded at a time.
  std::vector<WorkerSet> asking_;
  // For a sum in several parts, this set holds the workers whose repeat came since the parts
  // last went up.
  std::vector<WorkerSet> asked_since_;
  // After the job's end: the workers whose repeat on any slot, or whose ABORT, went up and has no
  // answer yet.
  WorkerSet asking_for_end_;

  // Each of these arrays has one stretch per copy, in the order of copies_.
  std::uint32_t elements_max_;
  std::uint32_t blocks_max_;
  std::uint32_t stored_bytes_max_;
  base::ZeroedArray<std::byte> datagrams_;
  base::ZeroedArray<std::uint16_t> codes_;
  base::ZeroedArray<std::uint64_t> specials_;
  // Its memory() also holds the lanes of block formats, with room for 64 bits per element. Narrower
  // lanes fill only the front of it.
  ExactSums exact_;
  // The parts of each copy and worker. Empty if no worker is an aggregator.
  std::vector<Parts> parts_;

  // Scratch memory for the handling of one datagram, and small answers that no slot stores.
  std::vector<std::byte> cleaned_;
  std::vector<std::byte> whole_;  // a result before zeros are left out
  std::vector<double> lows_;      // second doubles of an exact sum
  // Below a parent: the parts after part 0 of all exact sums that one packet completes, until they
  // are sent.
  base::ZeroedArray<std::byte> part_datagrams_;
  std::uint32_t row_parts_ = 0;
  std::vector<BlockStep> steps_;
  std::vector<std::uint16_t> packet_codes_;
  std::array<std::byte, 64> answer_{};
  std::array<std::byte, 64> notice_{};

  // Has room for the packets that each chunk of a packet may cause, or for an answer to each worker
  // that asked. It also has room for the end of the job, to the workers and to the parent.
  std::vector<Transmit> outbox_;
  std::uint32_t outbox_count_ = 0;
  std::uint32_t outbox_sent_ = 0;
  std::optional<Abort> abort_;
  bool root_knows_ = false;  // about the job's end
  VerdictCounters counters_{};
  std::uint32_t inputs_ = 0;  // counted only if check_period is set
};

}  // namespace infold::core
