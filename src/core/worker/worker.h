// SPDX-License-Identifier: Apache-2.0
//
// A worker of one job streams tensors as chunks to the job's aggregators and receives the sums
// (spec sections 6 and 7). It is pure: time and bytes come in as arguments, and the caller polls
// for datagrams, deadlines and events. The constructor allocates all memory. Not thread-safe.
//
// Call one input, such as submit() or handle_datagram(). Then drain poll_transmit(), read
// poll_timeout() and drain poll_event(), in this order. Time never goes back. All ranks submit the
// same transfers in the same order, and that order numbers the chunks.
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

// Names a submitted transfer. Numbers rise by one with each submit(), and 0 means none.
enum class TransferId : std::uint64_t { none = 0 };

struct SiteOptions {
  std::uint8_t worker = 0;   // this worker's number at that aggregator
  std::uint16_t weight = 1;  // its share of the chunks, at most 64
  // The numbers by which that aggregator knows the job; each aggregator has its own.
  std::uint16_t job = 0;
  std::uint32_t epoch = 0;
  // The aggregator is in the worker's own process, or in one that shares memory with it. Nothing
  // queues on the way, so only slots limit how much is in flight.
  bool in_memory = false;
  // The aggregator takes contributions that leave out blocks of zeros.
  bool takes_sparse = false;
  FormatSet formats = FormatSet::all();  // the formats that it sums, for errors that name the site
  // Elements in its packets are big-endian. Such a site takes only integers, and only
  // packets that contain all elements.
  bool is_big_endian = false;
  ReductionSet reductions = ReductionSet::all();  // the reductions that it takes
};

// A set of the job's sites, with a bit for each.
using SiteSet = std::uint64_t;

struct WorkerOptions {
  std::uint16_t rank = 0;
  std::uint16_t world = 1;
  ChunkLimits limits;
  FormatSet formats = FormatSet::all();  // the formats that all sites sum; other calls are refused
  FloatTypes native_types;               // types that all sites sum as native, if not in formats
  std::vector<SiteOptions> sites;        // 1 to 64 aggregators
  // The sites that this worker exchanges packets with. A rank may have several workers, each with
  // some of the sites (team/joint_transfers.h). Each worker knows all `sites`, which say where a
  // chunk goes.
  SiteSet drives = ~SiteSet{0};
  // Slots at each site. The first slots carry small tensors, so that these never queue behind large
  // ones. A tensor is small if the small stream has a slot for each of its chunks.
  std::uint16_t small_slots = 64;
  std::uint16_t bulk_slots = 448;
  // The most chunks in flight per site and stream; the path usually allows fewer.
  std::uint16_t window_max = 65535;
  std::uint32_t transfers_max = 1024;
  std::uint64_t seed = 0;  // for random delays of retransmissions
  // Checks all invariants after every check_period inputs, in time that grows with slots and
  // transfers. With 0 only cheap invariants are checked. The simulator, the fuzzers and the
  // exhaustive search set it.
  std::uint32_t check_period = 0;
  // The wall clock's time minus the instants that the caller gives, so that workers pause together
  // (lull.h).
  base::Duration wall_clock_offset;

  // Returns the types that all sites sum as native.
  FloatTypes native() const { return native_types_of(formats, native_types); }
  bool takes(Reduction reduction) const {
    return std::all_of(sites.begin(), sites.end(), [reduction](const SiteOptions& site) {
      return site.reductions.has(reduction);
    });
  }
  // Returns whether all sites sum elements of this layout.
  bool sums(ElementLayout asked) const {
    const ElementLayout layout = layout_on_wire(formats, asked);
    return layout.is_native() ? native().has(layout.dtype) : formats.has(layout.format);
  }
};

// Returns whether a transfer of `chunks` chunks travels in the small stream. The answer is the same
// on all ranks.
bool is_small(const WorkerOptions& options, Priority priority, std::uint64_t chunks);

struct TransferRequest {
  Collective collective = Collective::all_reduce;
  Reduction reduction = Reduction::sum;
  ElementLayout layout;        // the layout of the elements that the codec makes
  std::uint64_t elements = 0;  // 0 for a barrier
  std::uint16_t root = 0;
  // Identifies an encoding of the elements beyond their type and format. If ranks pass different
  // numbers, the job ends with a mismatch.
  std::uint16_t encoding = 0;
  const TensorCodec* codec = nullptr;  // required when elements > 0
  // Passed to the codec in addition to the tensor; null for a codec that needs nothing else. If the
  // codec does not use input and output, both are null.
  void* context = nullptr;
  // All of these must live until the transfer's event, and the input must not change. Input and
  // output may be the same memory, but then a failed transfer leaves a mix of inputs and results.
  // `output` may be null if the result is not wanted, and `input` if this rank contributes nothing.
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  // Agreed exponent codes, one per block, or null. The transfer `after` brings them.
  const std::uint16_t* codes = nullptr;
  // Has a bit for each block, which is set if this rank has a nonzero element in the block. The
  // first block has the lowest bit of the first word. The worker leaves out the other blocks where
  // a site allows that. Null: all blocks are present. The set must stay unchanged as long as the
  // input. It is only allowed for sum, average and or, without agreed codes.
  const std::uint32_t* present = nullptr;
  Priority priority = Priority::automatic;
  // Nothing is sent before this other transfer is done. With `codes`, each chunk waits only for the
  // chunks that bring its blocks' codes, which are two elements of the other transfer per block
  //
  TransferId after = TransferId::none;
  // The transfer takes its place in the order of calls at once, and later transfers of its stream
  // wait behind it. It is sent when set_size() has given its size; `elements` only serves to
  // compare ranks.
  bool sized_later = false;
  base::Instant deadline = base::Instant::never();

  bool wants_result() const { return output != nullptr || context != nullptr; }
};

// Why a job ended, with what an error message needs: which rank did something wrong, or is missing.
struct Failure {
  base::Error error;
  std::uint16_t rank = 0;   // the rank that gave the reason
  std::uint16_t other = 0;  // the first missing rank, or the rank that it disagrees with
  RankRanges missing;       // for a deadline: the missing ranks, as far as an aggregator named them
  const char* field = "";   // for a mismatch: "size", "type", "operation", "root", "wire format",
                            // "encoding" or "priority" (1 if large, 0 if small)
  std::int64_t rank_value = 0;   // for a mismatch: the field at `rank`
  std::int64_t other_value = 0;  // for a mismatch: the field at `other`
  bool values_known = true;      // a rank that has not made the call may know only the field
  std::uint8_t site = 0;         // for silence: the aggregator that never answered
};

struct Event {
  TransferId id = TransferId::none;
  std::optional<Failure> failure;  // empty: the transfer is complete
  std::uint16_t ranks_summed = 0;  // the number of ranks whose data is in the result
};

struct WorkerCounters {
  std::uint64_t sent_data = 0;        // first sends with elements
  std::uint64_t sent_skip = 0;        // first sends without elements
  std::uint64_t sent_bundled = 0;     // part of sent_data: chunks that shared a packet
  std::uint64_t resent = 0;           // retransmitted contributions
  std::uint64_t resent_timeout = 0;   // resent because not even a query was answered in time
  std::uint64_t resent_asked = 0;     // resent because an aggregator asked for it
  std::uint64_t asked_overtaken = 0;  // queries sent because later chunks came back first
  std::uint64_t sent_query = 0;       // all queries
  std::uint64_t received_result = 0;
  std::uint64_t received_realign = 0;
  std::uint64_t received_pending = 0;
  std::uint64_t dropped_malformed = 0;
  std::uint64_t dropped_foreign = 0;     // another job, epoch, site or direction
  std::uint64_t dropped_repeat = 0;      // for a chunk that is done
  std::uint64_t dropped_unexpected = 0;  // for a chunk that was never sent, or was sent differently

  WorkerCounters& operator+=(const WorkerCounters& other);
};

class Worker {
 public:
  struct Transmit {
    std::uint8_t site = 0;
    std::size_t bytes = 0;  // in `out`
    // The bytes of the transfer's input that follow `out` in the datagram. They stay unchanged
    // until the next poll_event(). Empty if everything is in `out`.
    std::span<const std::byte> payload = {};
  };
  // Where poll_transmit() puts payloads. With in_input, a payload that needs no encoding stays in
  // the transfer's input (Transmit::payload).
  enum class Payload : std::uint8_t { in_out, in_input };

  // Requires: 1 to 64 sites, rank < world, and limits that hold at least one block of every layout.
  explicit Worker(const WorkerOptions& options);
  Worker(const Worker& other);
  Worker(Worker&&) noexcept;
  Worker& operator=(const Worker&) = delete;
  Worker& operator=(Worker&&) noexcept;
  ~Worker();

  // Accepts a transfer and numbers its chunks. Fails if the request is not valid, if the table is
  // full (resource_exhausted) or if the job is over (aborted).
  [[nodiscard]] base::Result<TransferId> submit(base::Instant now, const TransferRequest& request);
  // Returns whether `transfers` more transfers of any kind can be submitted.
  bool has_room_for(std::uint32_t transfers) const;
  // Returns whether the last submitted transfer has, or may have, packets for the sites that this
  // worker drives. A transfer without such packets is done here without an event.
  bool takes_part() const;
  // Says that the transfer is done at all workers of the rank, so that transfers `after` it may be
  // sent. A worker that does not drive all sites waits for this.
  void release(TransferId id);
  // Sets the size of a transfer that waits for it; has no effect in a job that has ended. All ranks
  // must give the same size. A transfer without elements is done once all ranks have called it.
  // `present` is as in the request.
  void set_size(TransferId id, std::uint64_t elements, const std::uint32_t* present = nullptr);
  // Ends the job for all ranks, because the others rely on this rank's contribution.
  void cancel(base::Instant now);
  // Ends the job in good order, for a rank that will not make another call.
  void leave(base::Instant now);
  // End the job because another rank, or an aggregator, is known to be gone.
  void lose_rank(base::Instant now, std::uint16_t rank);
  void lose_site(base::Instant now, std::uint8_t site);
  // Ends the job because the path to that site no longer carries the job's datagrams.
  void find_narrow_path(base::Instant now, std::uint8_t site, std::uint32_t mtu_bytes);
  // Ends the job for the reason that another rank gave, in case no aggregator can pass that on.
  void hear_end(base::Instant now, const Abort& abort);
  // Ends the job for the reason that ended it at another worker of this rank.
  void end_alike(base::Instant now, const Failure& failure, const Abort& said);

  // Announces a datagram that will be handled soon, so that the memory that it touches is
  // prefetched. Does not change the worker.
  void expect(std::uint8_t site, std::span<const std::byte> datagram) const;
  void handle_datagram(base::Instant now, std::uint8_t site, std::span<const std::byte> datagram);
  // Does the same for a packet that parse() has accepted.
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
  // Returns what this worker tells others about the end of the job, if there is a failure.
  std::optional<Abort> end_said() const;
  // Returns the ranks that a transfer in flight waits for, as an aggregator last reported them. If
  // no aggregator has reported on this transfer, returns the report on a transfer that was
  // submitted before it. Empty if no rank is known to be late.
  RankRanges waiting_for(TransferId id) const;
  const WorkerCounters& counters() const;
  // Return the chunks in flight and the present window, summed over all sites, for tests and
  // displays.
  std::uint32_t in_flight() const;
  std::uint32_t window() const;
  // Returns how long answers may stay unread without slowing anything down. Returns zero while a
  // small tensor, the end of a large one, or a chunk that needs another's result waits for answers,
  // and while only few chunks are in flight.
  base::Duration patience() const;
  std::size_t memory_bytes() const;
  // Returns a hash of everything except time that decides future behaviour, for state-space search.
  std::uint64_t digest() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace infold::core
