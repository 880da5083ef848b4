// SPDX-License-Identifier: Apache-2.0
//
// What the end of a job costs the packet program, however often it is told of it.
#ifdef INFOLD_XDP

#include <gtest/gtest.h>

#include "tests/conformance/xdp_plane.h"

namespace infold::conformance {
namespace {

constexpr std::uint16_t kJob = 9;
constexpr std::uint16_t kSlots = 200;

core::AggregatorOptions job_below_a_parent() {
  core::AggregatorOptions job;
  job.job = kJob;
  job.epoch = 3;
  job.slot_count = kSlots;
  job.world = 4;
  job.workers = {{0, 1}, {1, 1}};
  job.parent_worker = std::uint8_t{1};
  return job;
}

std::vector<std::byte> datagram_of(core::Kind kind, std::uint8_t worker, std::uint16_t slot = 0) {
  core::Header header;
  header.kind = kind;
  header.worker = worker;
  header.job = kJob;
  header.epoch = 3;
  header.slot = slot;
  const bool ends = kind == core::Kind::abort || kind == core::Kind::aborted;
  if (!ends) {
    header.round = 1;
    header.words = {16, INFOLD_DTYPE_I32 << 4 | INFOLD_FORMAT_I32, 0, 16};
  }
  std::vector<std::byte> datagram(INFOLD_HEADER_BYTES + (ends ? sizeof(infold_abort) : 0));
  core::write_header(header, datagram);
  if (ends) {
    core::write_abort({core::AbortReason::left, 0, 0, {}, {}},
                      datagram.data() + INFOLD_HEADER_BYTES);
  }
  return datagram;
}

// A10. Each ABORTED from the parent was a look at all slots, 150 us of a processor.
TEST(XdpEnding, EachCopyIsLookedAtOnceAfterTheEnd) {
  std::string why_not;
  XdpPlane* const plane = XdpPlane::shared(&why_not);
  if (plane == nullptr) GTEST_SKIP() << why_not;
  plane->remove_all();
  plane->add(job_below_a_parent());
  constexpr std::uint16_t kOpen = 77;  // worker 1 will not come any more
  plane->inject(datagram_of(core::Kind::skip, 0, kOpen), Plane::From::worker);
  plane->inject(datagram_of(core::Kind::abort, 0), Plane::From::worker);
  EXPECT_EQ(plane->verdict(), "job_ended");
  EXPECT_EQ(plane->program().copies_settled(kJob), 0U);
  for (int repeat = 0; repeat < 3; ++repeat) {
    plane->inject(datagram_of(core::Kind::aborted, 0), Plane::From::parent);
    EXPECT_EQ(plane->verdict(), "answered_ended");
    EXPECT_EQ(plane->program().copies_settled(kJob), 2U * kOpen + 1) << "up to the open copy";
  }

  plane->add(job_below_a_parent());
  plane->inject(datagram_of(core::Kind::abort, 0), Plane::From::worker);
  plane->inject(datagram_of(core::Kind::aborted, 0), Plane::From::parent);
  EXPECT_EQ(plane->program().copies_settled(kJob), 2U * kSlots) << "none is open";
  plane->remove_all();
}

}  // namespace
}  // namespace infold::conformance

#endif
