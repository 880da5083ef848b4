// SPDX-License-Identifier: Apache-2.0
//
// The aggregator of one job, as a pipeline that can only add, compare and remember, once in each
// stage. It follows the rules of spec section 5 for match-action hardware, which P4 programs
// describe. It sends the same packets as core::Aggregator, and gives the same verdicts.
//
// It sums i8, i16 and i32, for at most 32 ranks without racks. Floats pass through it as digits
// or with agreed exponents. It takes no packets with SPARSE, and names missing
// ranks by bits.
//
//   stage       register of each      holds
//   slot        slot                  the open round, and who has contributed to it
//   format      copy                  bytes 16 to 19 of the chunk's header
//   shape       copy                  bytes 20 to 23
//   first       copy                  the worker that contributed first
//   count       copy                  contributors
//   digest      copy                  their digest
//   answer      copy                  the round that the copy belongs to; what became of it
//   last        copy                  the worker that completed it
//   elements..  copy, one an element  the sum
//
// A round is open until all ranks have contributed. Then the next round opens, to which nobody has
// contributed yet. One comparison with the open round therefore decides whether a packet is summed,
// and another decides whether it completes the chunk. All other packets are dropped, or answered
// from what is stored.
//
// The controller handles the end of a job, and ranks whose calls differ. It is a program beside the
// pipeline that reads and writes registers, and it acts later than the pipeline. A contribution
// that differs therefore spoils its chunk: nobody gets a result, and all packets of the chunk go to
// the controller until it has acted.
//
// Like core::Aggregator, this class is pure: it has no clock or I/O. A copy is an independent
// machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/adder/pipeline.h"
#include "core/aggregator/aggregator.h"
#include "core/site_record.h"

namespace infold::core {

// A register has one bit for each worker.
inline constexpr std::uint32_t kAdderWorkersMax = 32;

// The record of such a site, which ranks get when they join. `elements_max` is the number of stages
// for elements.
constexpr SiteRecord adder_record(std::uint32_t elements_max) {
  return {.formats = {WireFormat::i8, WireFormat::i16, WireFormat::i32},
          .elements_max = elements_max,
          .workers_max = kAdderWorkersMax,
          .takes_sparse = false,
          .verifies_checksums = false,
          .sends_ranges = false,
          .sends_bits = true};
}

// Returns why such a pipeline cannot run this job, or null if it can.
const char* adder_refusal(const AggregatorOptions& options);

class Adder {
 public:
  using To = Aggregator::To;
  using Transmit = Aggregator::Transmit;

  enum class Controller : std::uint8_t {
    acts_at_once,    // before the next packet
    hears_too_late,  // about calls that differ; for tests of what the pipeline does meanwhile
  };

  // Requires: adder_refusal() returns null. Ignores the arithmetic and the form of PENDING.
  explicit Adder(const AggregatorOptions& options,
                 Controller controller = Controller::acts_at_once);

  Verdict handle(const Packet& packet, Source source = {});
  Verdict handle_datagram(std::span<const std::byte> datagram, Source source = {});
  Verdict count_malformed();
  void end(const Abort& abort);
  std::optional<Transmit> poll_transmit();

  const VerdictCounters& counters() const { return counters_; }
  std::size_t memory_bytes() const;
  const std::optional<Abort>& aborted() const { return abort_; }
  std::uint64_t digest() const;

 private:
  struct SlotState {
    std::uint32_t open = 1;
    std::uint32_t seen = 0;  // workers, by bits
  };
  enum class CopyState : std::uint8_t { not_complete, complete, spoiled };
  struct Answer {
    std::uint32_t round = 0;
    CopyState state = CopyState::not_complete;
    bool is_of(std::uint32_t wanted, CopyState in) const { return round == wanted && state == in; }
  };
  // Where a packet's chunk stands.
  struct Standing {
    bool is_open = false;
    bool is_new = false;  // a contribution that counts
    bool begins = false;
    bool completes = false;
    std::uint32_t seen = 0;  // before the packet
  };
  // A copy's chunk after the packet.
  struct Chunk {
    ChunkSignature signature;
    bool fits = false;  // the packet's signature is the chunk's
    std::uint8_t first = 0;
    bool had_data = false;  // before the packet
    std::uint16_t count = 0;
    std::uint32_t digest = 0;
    Answer answer;
    std::uint8_t last = 0;
  };

  Verdict dispatch(const Packet& packet, Source source);
  bool fits_limits(const ChunkSignature& signature) const;
  Verdict pass_through(const Packet& packet);
  Standing stand(Pass& pass, const Header& header);
  Chunk recall(Pass& pass, const Header& header, const Standing& standing, std::size_t copy);
  void sum(Pass& pass, const Packet& packet, const Chunk& chunk, bool adds, std::size_t copy);
  std::span<const std::byte> write_result(const Header& header, const Chunk& chunk);
  void send_pending(const Header& header, std::uint32_t seen);
  void send(To to, std::uint8_t worker, std::span<const std::byte> datagram);

  // These functions are the controller's.
  Verdict hear_mismatch(const Header& header, const Standing& standing, const Chunk& chunk);
  Verdict handle_abort(const Packet& packet);
  bool some_chunk_waits_for(std::uint8_t worker) const;
  void send_end(To to, std::uint8_t worker);

  Header job_header(Kind kind) const;
  std::uint32_t all_workers() const;

  AggregatorOptions options_;
  Controller controller_;
  std::uint32_t elements_max_;
  RegisterArray<SlotState> slots_;
  RegisterArray<std::uint32_t> formats_;
  RegisterArray<std::uint32_t> shapes_;
  RegisterArray<std::uint8_t> first_workers_;
  RegisterArray<std::uint16_t> counts_;
  RegisterArray<std::uint32_t> digests_;
  RegisterArray<Answer> answers_;
  RegisterArray<std::uint8_t> last_workers_;
  RegisterArrays<std::uint32_t> elements_;

  std::vector<std::byte> result_;
  std::array<std::byte, 64> notice_{};  // PENDING or ABORTED
  std::optional<Transmit> outgoing_;
  std::optional<Abort> abort_;
  VerdictCounters counters_{};
};

}  // namespace infold::core
