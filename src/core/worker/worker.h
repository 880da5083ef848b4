// SPDX-License-Identifier: Apache-2.0
//
// A worker of one job: streams tensors as chunks to the job's aggregators and receives the sums
// (spec sections 6 and 7). Pure: time and bytes come in as arguments, datagrams, deadlines and
// events go out by polling, all memory is taken by the constructor. Not thread-safe.
//
// Call one input (submit, set_size, cancel, handle_datagram, handle_timeout), then drain
// poll_transmit, then read poll_timeout, then drain poll_event. Time never goes back. All ranks
// submit the same transfers in the same order; that order is what numbers the chunks.
//
//   slot:  idle -> waiting -> idle          a result ends the wait
//                  waiting -> resending     lost, realigned, or asked for: poll_transmit sends
//                  resending -> waiting
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "core/packet/packet.h"
#include "core/site_record.h"
#include "core/tensor_codec.h"

namespace infold::core {

// Names a submitted transfer; numbers rise by one with each submit. 0 is none.
enum class TransferId : std::uint64_t { none = 0 };

struct SiteOptions {
  std::uint8_t worker = 0;   // this worker's number at that aggregator
  std::uint16_t weight = 1;  // its share of the chunks, at most 64
  // What that aggregator calls the job; each gives its own numbers.
  std::uint16_t job = 0;
  std::uint32_t epoch = 0;
  // The worker's own process sums there, or one that shares memory with it. Nothing queues on the
  // way, so slots alone limit how much is in flight.
  bool in_memory = false;
  // It takes contributions that leave out blocks of zeros.
  bool takes_sparse = false;
  FormatSet formats = FormatSet::all();  // that it sums; for errors, which name the site
  // Elements of its packets are big-endian. It takes integers alone, with all zeros.
  bool is_big_endian = false;
  ReductionSet reductions = ReductionSet::all();  // that it takes
};

// Sites of a job, as bits.
using SiteSet = std::uint64_t;

struct WorkerOptions {
  std::uint16_t rank = 0;
  std::uint16_t world = 1;
  ChunkLimits limits;
  FormatSet formats = FormatSet::all();  // that all sites sum; other calls are refused
  FloatTypes native_types;               // likewise as native, where that is not among formats
  std::vector<SiteOptions> sites;        // 1 to 64 aggregators
  // Those that this worker exchanges packets with. A rank may have several workers, each with some
  // of the sites (team/joint_transfers.h). Each has all `sites`, which say where a chunk goes.
  SiteSet drives = ~SiteSet{0};
  // Slots at each site: the first ones carry small tensors, so that these never queue behind
  // large ones. A tensor is small when its chunks fit the small stream's slots once.
  std::uint16_t small_slots = 64;
  std::uint16_t bulk_slots = 448;
  // Never more chunks in flight per site and stream than this; the path usually allows less.
  std::uint16_t window_max = 65535;
  std::uint32_t transfers_max = 1024;
  std::uint64_t seed = 0;  // spreads resends
  // After every so many inputs all invariants are checked, in time that grows with slots and
  // transfers. 0: never, only those that cost next to nothing are. The simulator, the fuzzers and
  // the exhaustive search set it.
  std::uint32_t check_period = 0;
  // The wall clock's time less the instants handed in, so that workers pause together (lull.h).
  base::Duration wall_clock_offset;

  // Types that all sites sum as native.
  FloatTypes native() const { return native_types_of(formats, native_types); }
  bool takes(Reduction reduction) const {
    return std::all_of(sites.begin(), sites.end(), [reduction](const SiteOptions& site) {
      return site.reductions.has(reduction);
    });
  }
  // Whether all sites sum such elements.
  bool sums(ElementLayout asked) const {
    const ElementLayout layout = layout_on_wire(formats, asked);
    return layout.is_native() ? native().has(layout.dtype) : formats.has(layout.format);
  }
};

// Whether a transfer of so many chunks travels in the small stream; the same on all ranks.
bool is_small(const WorkerOptions& options, Priority priority, std::uint64_t chunks);

struct TransferRequest {
  Collective collective = Collective::all_reduce;
  Reduction reduction = Reduction::sum;
  ElementLayout layout;        // of what the codec makes
  std::uint64_t elements = 0;  // 0 for a barrier
  std::uint16_t root = 0;
  // Stands for how elements are encoded beyond type and format; ranks that differ have a mismatch.
  std::uint16_t encoding = 0;
  const TensorCodec* codec = nullptr;  // required when elements > 0
  // What the codec gets beside the tensor; null for a codec that needs nothing. Where its codec has
  // no use for input and output, both are null.
  void* context = nullptr;
  // All of them live, and the input is unchanged, until the transfer's event. Input and output may
  // be the same memory, but then a failed transfer leaves a mix of inputs and results. output may
  // be null where the result is not wanted; input may be null where this rank contributes nothing.
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  // Agreed exponent codes, one per block, or null. `after` names the transfer that brings them.
  const std::uint16_t* codes = nullptr;
  // A bit for each block in which this rank has something, the lowest of a word first; the others
  // are zeros, and are left out where sites take that. Null: all. Read like the input; of a sum or
  // an or, without agreed codes.
  const std::uint32_t* present = nullptr;
  Priority priority = Priority::automatic;
  // Sends nothing before that transfer is done. With `codes`, each chunk waits only for the chunks
  // that bring its blocks' codes, two elements of that transfer to a block.
  TransferId after = TransferId::none;
  // Takes its place in the order of calls at once, behind which later ones of its stream wait, and
  // is sent when set_size() has said how many elements it has. `elements` are for ranks to compare.
  bool sized_later = false;
  base::Instant deadline = base::Instant::never();

  bool wants_result() const { return output != nullptr || context != nullptr; }
};

// Why a job ended, for a person: which rank did or lacks what.
struct Failure {
  base::Error error;
  std::uint16_t rank = 0;   // who gave the reason
  std::uint16_t other = 0;  // whom it names: the first missing rank, or the rank it disagrees with
  RankRanges missing;      // of a deadline: whom the chunk waited for, as far as an aggregator said
  const char* field = "";  // of a mismatch: "size", "type", "operation", "root", "wire format",
                           // "encoding", "priority": 1 among the large tensors, 0 among the small
  std::int64_t rank_value = 0;   // of a mismatch: the field at `rank`
  std::int64_t other_value = 0;  // and at `other`
  bool values_known = true;      // a rank that has not made the call may know the field only
  std::uint8_t site = 0;         // of silence: the aggregator that never answered
};

struct Event {
  TransferId id = TransferId::none;
  std::optional<Failure> failure;  // empty: the transfer is complete
  std::uint16_t ranks_summed = 0;  // whose data is in the result
};

struct WorkerCounters {
  std::uint64_t sent_data = 0;        // first sends with elements
  std::uint64_t sent_skip = 0;        // first sends without
  std::uint64_t sent_bundled = 0;     // of the former: several to a packet
  std::uint64_t resent = 0;           // contributions to a chunk and round that went out before
  std::uint64_t resent_timeout = 0;   // nothing came back in time, not even to a query
  std::uint64_t resent_asked = 0;     // an aggregator lacks it, or asked for coarser units
  std::uint64_t asked_overtaken = 0;  // queries because later chunks came back first
  std::uint64_t sent_query = 0;       // all queries
  std::uint64_t received_result = 0;
  std::uint64_t received_realign = 0;
  std::uint64_t received_pending = 0;
  std::uint64_t dropped_malformed = 0;
  std::uint64_t dropped_foreign = 0;     // another job, epoch, site or direction
  std::uint64_t dropped_repeat = 0;      // of a chunk that is done
  std::uint64_t dropped_unexpected = 0;  // of a chunk never sent, or not as it was sent

  WorkerCounters& operator+=(const WorkerCounters& other);
};

class Worker {
 public:
  struct Transmit {
    std::uint8_t site = 0;
    std::size_t bytes = 0;  // in `out`
    // What follows these bytes in the datagram, in the transfer's input. It stays as it is until
    // the next poll_event(). Empty if all is in `out`.
    std::span<const std::byte> payload = {};
  };
  // Where the caller takes payloads. Those that need no encoding may stay in the input.
  enum class Payload : std::uint8_t { in_out, in_input };

  // Requires: 1 to 64 sites, rank < world, limits that hold at least one block of every layout.
  explicit Worker(const WorkerOptions& options);
  Worker(const Worker& other);
  Worker(Worker&&) noexcept;
  Worker& operator=(const Worker&) = delete;
  Worker& operator=(Worker&&) noexcept;
  ~Worker();

  // Numbers the transfer's chunks. Fails when the request is not valid, the table is full
  // (resource_exhausted) or the job is over (aborted).
  [[nodiscard]] base::Result<TransferId> submit(base::Instant now, const TransferRequest& request);
  // Whether so many more can be submitted, whatever they are.
  bool has_room_for(std::uint32_t transfers) const;
  // Whether the last transfer submitted has, or may have, packets for the sites that this worker
  // drives. One that has none is done here without an event.
  bool takes_part() const;
  // The transfer is done at all workers of the rank. One that is to be sent `after` it may go now,
  // for which a worker that does not drive all sites waits.
  void release(TransferId id);
  // Of a transfer that waits for its size, or of any in a job that has ended. All ranks say the
  // same; what has no element is done once all have called it. `present` as in the request.
  void set_size(TransferId id, std::uint64_t elements, const std::uint32_t* present = nullptr);
  // Ends the job for all ranks, because the others count on this rank's contribution.
  void cancel(base::Instant now);
  // The same, said in good order by a rank that will not call again.
  void leave(base::Instant now);
  // Ends it because another rank, or an aggregator, is known to be gone.
  void lose_rank(base::Instant now, std::uint16_t rank);
  void lose_site(base::Instant now, std::uint8_t site);
  // Ends it because the path to that site no longer carries this job's datagrams.
  void find_narrow_path(base::Instant now, std::uint8_t site, std::uint32_t mtu_bytes);
  // Ends it as another rank says that it has ended, which aggregators may never get to say.
  void hear_end(base::Instant now, const Abort& abort);
  // Ends it as another worker of this rank has ended it.
  void end_alike(base::Instant now, const Failure& failure, const Abort& said);

  // Will be handled soon: brings near what that writes. Changes nothing.
  void expect(std::uint8_t site, std::span<const std::byte> datagram) const;
  void handle_datagram(base::Instant now, std::uint8_t site, std::span<const std::byte> datagram);
  // The same, of one that parse() has taken.
  void handle(base::Instant now, std::uint8_t site, const Packet& packet);
  void handle_timeout(base::Instant now);

  // Writes the next datagram to `out`, which has room for limits.datagram_bytes_max bytes.
  std::optional<Transmit> poll_transmit(base::Instant now, std::span<std::byte> out,
                                        Payload payload = Payload::in_out);
  std::optional<base::Instant> poll_timeout() const;
  std::optional<Event> poll_event();
  bool has_event() const;

  // Set once the job has ended; every later submit fails with it.
  const std::optional<Failure>& failure() const;
  // What this worker says of the end to others, where there is a failure.
  std::optional<Abort> end_said() const;
  // Ranks that a transfer in flight was last said to wait for, or, while nothing was said about
  // it, one that was submitted before it; empty while none is known to be late.
  RankRanges waiting_for(TransferId id) const;
  const WorkerCounters& counters() const;
  // Chunks in flight and the present window over all sites, for tests and displays.
  std::uint32_t in_flight() const;
  std::uint32_t window() const;
  // How long answers may lie unread without slowing anything down: nothing while a small tensor,
  // the end of a large one, or a chunk that needs another's result waits for them.
  base::Duration patience() const;
  std::size_t memory_bytes() const;
  // Hash of all that decides future behaviour but time, for state-space search.
  std::uint64_t digest() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace infold::core
