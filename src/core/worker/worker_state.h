// SPDX-License-Identifier: Apache-2.0
//
// The inside of Worker, which the files that implement it share: worker_transfers.cc (from
// submission to event), worker_send.cc (what is sent, and when), worker_sparse.cc (contributions
// without zeros), worker_receive.cc (what is received), worker_end.cc (the job's end) and
// worker_invariants.cc. A stream is an order of chunks; a flow is the part of a stream that one
// site sums, with its own slots and window. No other file may include this header.
#pragma once

#include <array>
#include <vector>

#include "base/aligned.h"
#include "base/check.h"
#include "base/prng.h"
#include "core/packet/sparse_body.h"
#include "core/stripe.h"
#include "core/worker/lull.h"
#include "core/worker/slot_list.h"
#include "core/worker/window.h"
#include "core/worker/worker.h"

namespace infold::core {

class Worker::State {
 public:
  explicit State(const WorkerOptions& options);

  base::Result<TransferId> submit(const TransferRequest& request);
  bool has_room_for(std::uint32_t transfers) const;
  void release(TransferId id);
  void set_size(TransferId id, std::uint64_t elements, const std::uint32_t* present);
  void hear_end(base::Instant now, const Abort& abort);
  void end_job(base::Instant now, const Failure& failure, const Abort& said);
  void handle_datagram(base::Instant now, std::uint8_t site, std::span<const std::byte> datagram);
  void handle(base::Instant now, std::uint8_t site, const Packet& packet);
  void expect(std::uint8_t site, std::span<const std::byte> datagram) const;
  void handle_timeout(base::Instant now);
  std::optional<Transmit> poll_transmit(base::Instant now, std::span<std::byte> out,
                                        Payload payload);
  std::optional<base::Instant> poll_timeout() const;
  std::optional<Event> poll_event();
  bool has_event() const { return event_count_ > 0; }
  std::uint64_t digest() const;
  std::size_t memory_bytes() const;

  // Each public function that changes the worker holds one of these, which checks the invariants
  // before and after.
  class Inputs {
   public:
    explicit Inputs(State& state);
    Inputs(const Inputs&) = delete;
    Inputs& operator=(const Inputs&) = delete;
    ~Inputs();

   private:
    State& state_;
  };
  // Checks all invariants after every check_period inputs (WorkerOptions::check_period). On all
  // other inputs, functions that are called for every packet check only the flow that they touch.
  void count_input() {
    if (options_.check_period != 0 && ++inputs_ % options_.check_period == 0) assert_all();
  }

  static constexpr std::uint8_t kWholeBlocks = 16;
  // The value of own_chunks while a transfer's chunks have no numbers.
  static constexpr std::uint64_t kNotKnown = ~std::uint64_t{0};
  static constexpr std::uint8_t kBackoffMax = 12;  // doublings of a wait
  // One packet per this time is not a load on any path, and a person does not notice the delay.
  static constexpr base::Duration kSilenceMax = base::milliseconds(20);

  enum StreamName : std::uint8_t { small_stream, bulk_stream, stream_count };

  struct Transfer {
    TransferRequest request;        // its layout is the one on the wire
    std::uint32_t codec_bytes = 0;  // bytes of an integer from the codec, if the wire's are wider
    TransferId id = TransferId::none;
    std::uint64_t first_chunk = 0;  // in the stream's order
    std::uint64_t chunk_count = 0;
    std::uint64_t own_chunks = 0;  // chunks for the sites that this worker drives, once known
    std::uint64_t done_chunks = 0;
    std::uint32_t chunk_elements = 0;
    StreamName after_stream = small_stream;
    std::uint64_t after_transfer = 0;  // one past its place in that stream's order; 0: none
    bool contributes = false;
    bool waits_for_release = false;
    bool has_size = true;
    bool done = false;
    bool announced = false;       // it is not done before its announcement is
    std::uint64_t announces = 0;  // one past the place of the bulk tensor that it announces
    std::uint16_t ranks_summed = 0;
    RankRanges missing;  // the ranks that an aggregator last named for one of its chunks, and when
    base::Instant missing_at;
    ChunkSignature signature;  // the last chunk has another element count

    bool is_widened() const {
      return !request.layout.has_partial_sums() && codec_bytes != request.layout.element_bytes();
    }
  };

  // Transfers in the order of submission, in a ring that is indexed by their place in that order.
  struct Stream {
    std::vector<Transfer> ring;
    std::uint64_t first = 0;  // the oldest transfer that is not done, or end
    std::uint64_t end = 0;
    std::uint64_t numbered = 0;  // the chunks of transfers before this one have numbers
    std::uint64_t next_chunk = 0;
    std::uint64_t abreast_until = 0;  // chunks before this one are not too far ahead

    // The ring's length is a power of two, because a division here would cost as much as a chunk's
    // header.
    Transfer& at(std::uint64_t place) { return ring[place & (ring.size() - 1)]; }
    const Transfer& at(std::uint64_t place) const { return ring[place & (ring.size() - 1)]; }
    bool is_done(std::uint64_t place) const { return place < first || at(place).done; }
  };

  // How far the next packet's chunks have been counted. For chunks that wait to fill a packet,
  // counting continues from here instead of starting again with each result.
  struct BundlePlan {
    std::uint32_t chunks = 0;
    std::size_t bytes = 0;
    Stripe::Cursor next;
  };

  struct Flow {
    explicit Flow(Window first_window) : window(first_window) {}

    std::uint8_t site = 0;
    StreamName stream = small_stream;
    std::uint16_t first_slot = 0;
    std::vector<WorkerSlot> slots;
    std::vector<std::uint16_t> floors;  // blocks_max for each slot
    Stripe::Cursor next_chunk;          // the site's next chunk of this stream
    std::uint16_t next_slot = 0;        // the slot of that chunk
    std::uint64_t next_transfer = 0;    // where to look for its transfer
    bool next_waits = false;            // the next chunk waits for another transfer's result
    BundlePlan plan;
    // The bytes that quarters took the last time, relative to whole blocks, in units of 1 /
    // kWholeBlocks.
    std::uint8_t grain = kWholeBlocks;
    std::uint32_t in_flight = 0;
    bool burst_confirmed = false;  // something has come back since the flow was idle
    SlotList waiting;              // in the order they were sent
    SlotList resending;
    Window window;
    base::Instant timeout_at = base::Instant::never();
    std::uint8_t backoff = 0;
    bool other_is_late = false;  // the last answer said so, so silence is not the network's fault
    base::Instant skewed_until;  // chunks sent before this waited for a late worker
  };

  struct Site {
    std::uint8_t worker = 0;
    std::uint16_t job = 0;
    std::uint32_t epoch = 0;
    RoundTrip path;
    Lull lull;
    std::uint32_t unclear_results = 0;  // since the last result that measured the path
    Shortest unclear_wait;              // from a first send to its result, among these results
    bool abort_due = false;             // the site must still hear of the job's end, or confirm it
    std::uint8_t aborts_sent = 0;
    base::Instant abort_at;
    bool answered = false;  // something valid has come from it
  };

  // A chunk on its slot, looked up once.
  struct Chunk {
    Flow& flow;
    WorkerSlot& slot;
    std::uint16_t index;  // the slot's index within the flow
    Transfer& transfer;
    ChunkRange range;
  };

  bool drives(std::size_t site) const { return (options_.drives >> site & 1) != 0; }
  bool drives_all() const { return driven_.size() == sites_.size(); }
  Flow& flow(StreamName stream, std::size_t site) { return flows_[stream * sites_.size() + site]; }
  const Flow& flow(StreamName stream, std::size_t site) const {
    return flows_[stream * sites_.size() + site];
  }
  Chunk chunk_on(Flow& flow, std::uint16_t index);
  ChunkSignature signature_of(const Chunk& chunk) const;
  Contributors expected_contributors(const Transfer& transfer) const;

  // worker_invariants.cc
  void assert_invariants() const;
  // Checks a flow after one of its packets has been handled or written.
  void assert_flow(const Flow& flow) const {
    CHECK_THAT(flow.in_flight, <=, flow.slots.size());
    const bool is_idle = flow.in_flight == 0;
    CHECK((flow.waiting.empty() && flow.resending.empty()) == is_idle);
    CHECK((flow.timeout_at == base::Instant::never()) == is_idle);
  }
  void assert_all() const;
  void assert_stream(const Stream& stream) const;
  void assert_slots(const Flow& flow) const;

  // worker_transfers.cc
  base::Result<void> check(const TransferRequest& request) const;
  bool has_room(StreamName name) const;
  Transfer& enqueue(const TransferRequest& request, StreamName name, std::uint32_t chunk_elements,
                    std::uint64_t chunk_count);
  void number_chunks(Stream& stream);
  void count_own_chunks(Transfer& transfer) const;
  bool announce(const TransferRequest& request);
  void end_if_done(Transfer& transfer, StreamName name);
  void pop_done(StreamName name);
  void find_predecessor(Transfer& transfer);
  void finish_chunk(Chunk chunk, const Contributors& contributors);

  // worker_send.cc
  std::optional<Transmit> send_abort(base::Instant now, std::span<std::byte> out);
  std::optional<Transmit> send_from(Flow& flow, base::Instant now, std::span<std::byte> out);
  bool is_in_lull(const Flow& flow, base::Instant now);
  bool may_send_next(Flow& flow, bool pauses);
  bool is_too_far_ahead(const Flow& ahead, std::uint64_t chunk);
  bool has_what_it_needs(const Transfer& transfer, std::uint64_t chunk) const;
  bool has_codes(const Transfer& transfer, std::uint64_t chunk) const;
  bool is_chunk_done(StreamName name, std::uint64_t chunk) const;
  std::uint16_t take_next_chunk(Flow& flow, bool pauses);
  Transmit send_chunk(Flow& flow, std::uint16_t index, base::Instant now, std::span<std::byte> out);
  // Returns whether the flow has chunks of large tensors that have not been sent.
  bool has_more(const Flow& flow) const;
  void expect_next_chunk(const Flow& flow) const;
  Header header_of(const Chunk& chunk, Kind kind) const;
  std::size_t write_chunk(const Chunk& chunk, std::span<std::byte> out);
  std::size_t write_whole(const Chunk& chunk, std::span<std::byte> out);
  bool may_stay_in_input(const Chunk& chunk) const;
  std::size_t write_head(const Chunk& chunk, std::span<std::byte> out);
  void note_sent(Flow& flow, std::uint16_t index, base::Instant now);
  // Returns how long to wait for an answer after `repeats` answers that did not come.
  static base::Duration wait_after(const RoundTrip& path, std::uint32_t repeats);
  base::Duration spread(base::Duration wait);
  void arm(Flow& flow, base::Instant now);
  void handle_flow_timeout(Flow& flow, base::Instant now);
  std::uint16_t chunk_to_ask_about(const Flow& flow, base::Instant now) const;

  // worker_sparse.cc
  struct Bundle {
    std::uint32_t chunks = 0;
    bool waits = false;  // waits to become fuller while other chunks are in flight
  };
  bool sends_sparse(const Flow& flow, const Transfer& transfer) const;
  BlockSet present_in(const Transfer& transfer, std::uint64_t chunk) const;
  Bundle plan_bundle(Flow& flow, bool pauses) const;
  static void note_grain(Flow& flow, std::size_t in_quarters, std::size_t in_blocks);
  Transmit send_bundle(Flow& flow, std::uint32_t chunks, bool pauses, base::Instant now,
                       std::span<std::byte> out);
  Transmit finish_bundle(Flow& flow, std::uint16_t first, std::uint32_t chunks, std::size_t body,
                         base::Instant now, std::span<std::byte> out);
  std::size_t take_in_quarters(Flow& flow, std::uint32_t chunks, bool pauses,
                               QuartersWriter& writer);
  bool add_in_quarters(const Chunk& chunk, const BlockSet& present, QuartersWriter& writer);
  std::size_t write_thin(const Chunk& chunk, std::span<std::byte> out);
  std::uint32_t encode_bundle(Flow& flow, std::uint16_t first, std::uint32_t chunks,
                              SparseWriter& writer, std::size_t& in_quarters);
  bool encode_present(const Chunk& chunk, const BlockSet& present, SparseWriter::Part part) const;

  // worker_receive.cc
  void handle_aborted(base::Instant now, std::uint8_t site, const Packet& packet);
  void handle_answer(base::Instant now, std::uint8_t site, const Packet& packet);
  void handle_result(base::Instant now, Chunk chunk, const Packet& packet);
  void take_own_elements(const Chunk& chunk);
  void handle_realign(base::Instant now, Chunk chunk, const Packet& packet);
  void handle_pending(base::Instant now, Chunk chunk, const Packet& packet);
  void note_round_trip(base::Instant now, const Chunk& chunk, const Packet& packet);
  void ask_for_overtaken(Flow& flow, base::Instant now, const WorkerSlot& newer);
  void queue_resend(Flow& flow, std::uint16_t index, bool asks);

  // worker_end.cc
  void explain_again(const TransferRequest& request);
  void fail_all(const Failure& failure);
  RankRanges waiting_for(TransferId id) const;
  TransferId late_transfer() const;
  TransferId call_of(const Transfer& transfer) const;
  Failure deadline_failure() const;

  WorkerOptions options_;
  Stripe stripe_;
  std::uint32_t world_digest_ = 0;
  std::uint32_t blocks_max_ = 0;
  std::vector<Site> sites_;
  std::vector<std::uint8_t> driven_;  // the sites that it exchanges packets with
  std::array<Stream, stream_count> streams_;
  std::vector<Flow> flows_;
  std::uint32_t next_site_ = 0;  // index into driven_: the site whose turn it is to send first
  std::uint32_t live_transfers_ = 0;
  bool takes_part_ = false;
  std::uint64_t last_id_ = 0;
  base::Instant earliest_deadline_ = base::Instant::never();
  // The following belong to the datagram that is being written.
  Payload takes_payload_ = Payload::in_out;
  std::span<const std::byte> payload_;
  base::CacheLineVector<std::byte> chunk_;  // one chunk, with or without its zeros
  std::vector<Event> events_;               // used as a ring
  std::size_t first_event_ = 0;
  std::size_t event_count_ = 0;
  std::optional<Failure> failure_;
  Abort said_;  // what this worker tells the sites about the end
  WorkerCounters counters_;
  base::Prng prng_;
  std::uint32_t inputs_ = 0;  // counted only if check_period is set
};

Failure failure_of(const Abort& abort, const TransferRequest* own, std::uint16_t world);
bool has_root(Collective collective);
std::uint32_t shape_of(const TransferRequest& request);

}  // namespace infold::core
