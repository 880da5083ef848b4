// SPDX-License-Identifier: Apache-2.0
//
// Two processors run the program at the same time, as with two receive queues. Exactly one of them
// completes each chunk, its sum has each contribution once, and no answer mixes two chunks.
#ifdef INFOLD_XDP

#include <atomic>
#include <bit>
#include <cstring>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "planes/xdp/program/frame.h"
#include "tests/conformance/planes/xdp_plane.h"

namespace infold::conformance {
namespace {

constexpr std::uint16_t kSlots = 2;
#ifdef INFOLD_SANITIZED  // The races are in the kernel, which no sanitizer sees.
constexpr std::uint32_t kRounds = 300;
#else
constexpr std::uint32_t kRounds = 3000;
#endif
constexpr std::uint32_t kElements = 352;
constexpr std::uint8_t kThreads = 2;

struct Wire {
  const char* name;
  std::uint8_t format;
};

// Returns the rank's contribution to a chunk: one number, so that a lost or doubled addition shows.
std::int32_t value_of(std::uint8_t rank, std::uint16_t slot, std::uint32_t round) {
  return static_cast<std::int32_t>((round * 7 + slot + 1) << (rank * 14) & 0xfffffff);
}

core::Header header_of(const Wire& wire, core::Kind kind, std::uint8_t rank, std::uint16_t slot,
                       std::uint32_t round) {
  core::Header header;
  header.kind = kind;
  header.worker = rank;
  header.job = 7;
  header.slot = slot;
  header.epoch = 3;
  header.round = round;
  header.signature = {kElements, wire.format, INFOLD_REDUCTION_SUM, kElements};
  if (kind == core::Kind::add) header.contributors = {1, 1, core::rank_digest(rank)};
  return header;
}

// Returns the answer's datagram. An answer to the sender is a whole frame. An answer to all does
// not have its headers yet.
std::optional<std::vector<std::byte>> answer_in(const xdp::TestRun& run) {
  constexpr std::uint32_t kDrop = 1;  // enum xdp_action
  constexpr std::uint32_t kPass = 2;
  constexpr std::ptrdiff_t kDatagramAt = 14 + 20 + 8;
  if (run.action == kDrop) return std::nullopt;
  if (run.action != kPass) return xdp::read_frame(run.frame);
  const auto start = run.frame.begin() + kDatagramAt;
  return std::vector<std::byte>(start, start + run.note.answer_bytes);
}

class Rank {
 public:
  Rank(XdpPlane& plane, const Wire& wire, std::uint8_t number, std::atomic<bool>& stop)
      : plane_(plane), wire_(wire), number_(number), stop_(stop) {}

  void run() {
    for (std::uint32_t round = 1; round <= kRounds && wrong.empty(); ++round) {
      for (std::uint16_t slot = 0; slot < kSlots && wrong.empty(); ++slot) sum(slot, round);
    }
    if (!wrong.empty()) stop_ = true;
  }

  std::uint64_t completed = 0;
  std::string wrong;

 private:
  std::vector<std::byte> contribution(std::uint16_t slot, std::uint32_t round) const {
    const core::Header header = header_of(wire_, core::Kind::add, number_, slot, round);
    const core::ElementLayout layout = header.signature.layout();
    std::vector<std::byte> datagram(
        core::datagram_bytes(core::Kind::add, layout, kElements, false));
    core::write_header(header, datagram);
    std::byte* const codes = datagram.data() + INFOLD_HEADER_BYTES;
    const std::uint32_t code_bytes = layout.exponent_bytes(kElements);
    std::memset(codes, 120, layout.is_block_float() ? layout.block_count(kElements) : 0);
    const std::int32_t whole = value_of(number_, slot, round);
    const std::int32_t value =
        layout.is_native() ? std::bit_cast<std::int32_t>(static_cast<float>(whole)) : whole;
    for (std::uint32_t i = 0; i < kElements; ++i) {
      std::memcpy(codes + code_bytes + std::size_t{i} * 4, &value, 4);
    }
    return datagram;
  }

  void sum(std::uint16_t slot, std::uint32_t round) {
    std::vector<std::byte> question = contribution(slot, round);
    for (bool first = true; !stop_; first = false) {
      const auto run = plane_.program().test_run(plane_.frame_of(question));
      if (!run) {
        wrong = "the test-run failed";
        return;
      }
      const std::optional<std::vector<std::byte>> answer = answer_in(*run);
      if (answer && (std::to_integer<int>((*answer)[1]) & 15) == INFOLD_KIND_RESULT) {
        completed += first ? 1 : 0;
        check(*answer, slot, round);
        return;
      }
      question.resize(INFOLD_HEADER_BYTES);
      core::write_header(header_of(wire_, core::Kind::query, number_, slot, round), question);
    }
  }

  void check(const std::vector<std::byte>& answer, std::uint16_t slot, std::uint32_t round) {
    core::Packet packet;
    if (core::parse(answer, packet) != core::Malformed::none) {
      wrong = "an answer that is not a packet";
      return;
    }
    std::int32_t expected = 0;
    float rounded = 0;  // only once, because there are two ranks
    for (std::uint8_t rank = 0; rank < kThreads; ++rank) {
      expected += value_of(rank, slot, round);
      rounded += static_cast<float>(value_of(rank, slot, round));
    }
    const bool is_native = packet.header.signature.layout().is_native();
    if (is_native) expected = std::bit_cast<std::int32_t>(rounded);
    for (std::uint32_t i = 0; i < kElements; ++i) {
      std::int32_t got;
      std::memcpy(&got, packet.elements + std::size_t{i} * 4, 4);
      const auto code = packet.exponents != packet.elements
                            ? std::to_integer<int>(packet.exponents[i / 32])
                            : 120;
      // In a block float the sum comes back in its own unit, without a remainder.
      const std::int64_t whole =
          code >= 120 ? std::int64_t{got} << (code - 120) : std::int64_t{got} >> (120 - code);
      if (whole == expected) continue;
      wrong = "slot " + std::to_string(slot) + " round " + std::to_string(round) + " element " +
              std::to_string(i) + ": " + std::to_string(whole) + ", not " +
              std::to_string(expected);
      return;
    }
  }

  XdpPlane& plane_;
  const Wire& wire_;
  std::uint8_t number_;
  std::atomic<bool>& stop_;  // the other thread found an error
};

TEST(XdpParallel, TwoProcessorsSumEveryContributionOnce) {
  std::string why_not;
  XdpPlane* const plane = XdpPlane::shared(&why_not);
  if (plane == nullptr) GTEST_SKIP() << why_not;
  plane->use_ipv6(false);
  static constexpr Wire kWires[] = {
      {"i32", INFOLD_DTYPE_I32 << 4 | INFOLD_FORMAT_I32},
      {"bfp32", INFOLD_DTYPE_F32 << 4 | INFOLD_FORMAT_BFP32},
      {"native", INFOLD_DTYPE_F32 << 4 | INFOLD_FORMAT_NATIVE},
  };
  for (const Wire& wire : kWires) {
    PlaneJob job;
    job.slots = kSlots;
    ASSERT_EQ(plane->configure(job), "");
    std::atomic<bool> stop{false};
    std::vector<Rank> ranks;
    for (std::uint8_t rank = 0; rank < kThreads; ++rank)
      ranks.emplace_back(*plane, wire, rank, stop);
    std::vector<std::thread> threads;
    for (Rank& rank : ranks) threads.emplace_back([&rank] { rank.run(); });
    for (std::thread& thread : threads) thread.join();
    std::uint64_t completed = 0;
    for (const Rank& rank : ranks) {
      EXPECT_EQ(rank.wrong, "") << wire.name;
      completed += rank.completed;
    }
    EXPECT_EQ(completed, std::uint64_t{kRounds} * kSlots) << wire.name;
  }
}

}  // namespace
}  // namespace infold::conformance

#endif
