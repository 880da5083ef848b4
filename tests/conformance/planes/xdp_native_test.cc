// SPDX-License-Identifier: Apache-2.0
//
// Tests which jobs sum native elements in the kernel, and how much memory they take.
// tests/replay/floats.cc compares the sums themselves.
#ifdef INFOLD_XDP

#include <gtest/gtest.h>

#include "tests/conformance/planes/xdp_plane.h"

namespace infold::conformance {
namespace {

class XdpNative : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why_not;
    plane_ = XdpPlane::shared(&why_not);
    if (plane_ == nullptr) GTEST_SKIP() << why_not;
    plane_->use_ipv6(false);
    plane_->remove_all();
  }

  static core::AggregatorOptions job_of(std::uint16_t number, std::uint16_t slots) {
    core::AggregatorOptions options;
    options.job = number;
    options.epoch = 3;
    options.slot_count = slots;
    options.datagram_bytes_max = 1472;
    options.world = 2;
    options.workers = {{0, 1}, {1, 1}};
    return options;
  }

  // Returns what the program counts for a contribution of this many elements.
  std::string counted(core::DataType type, std::uint16_t elements) {
    const core::ElementLayout layout = {core::WireFormat::native, type};
    core::Header header;
    header.kind = core::Kind::add;
    header.job = 7;
    header.epoch = 3;
    header.round = 1;
    header.signature.elements = elements;
    header.signature.format = static_cast<std::uint8_t>(static_cast<unsigned>(type) << 4 |
                                                        static_cast<unsigned>(layout.format));
    header.contributors = {1, 1, core::rank_digest(0)};
    std::vector<std::byte> datagram(core::datagram_bytes(core::Kind::add, layout, elements, false));
    core::write_header(header, datagram);
    plane_->inject(datagram);
    return plane_->verdict();
  }

  XdpPlane* plane_ = nullptr;
};

TEST_F(XdpNative, OnlyItsJobsTakeMemoryForRowsAndOnlyAsLongAsTheyRun) {
  xdp::Program& program = plane_->program();
  const std::size_t before = program.memory_bytes();
  ASSERT_TRUE(program.add_job(job_of(7, 8)).has_value());
  EXPECT_EQ(program.memory_bytes(), before) << "a job without native";
  ASSERT_TRUE(program.add_job(job_of(9, 8), {}, true).has_value());
  EXPECT_EQ(program.memory_bytes(), before + 8 * program.native_slot_bytes());
  ASSERT_TRUE(program.add_job(job_of(9, 3), {}, true).has_value()) << "in the place of the old";
  EXPECT_EQ(program.memory_bytes(), before + 3 * program.native_slot_bytes());
  program.remove_job(7);
  program.remove_job(9);
  EXPECT_EQ(program.memory_bytes(), before);
}

TEST_F(XdpNative, TypesAreThoseOfTheRecord) {
  plane_->add(job_of(7, 1));
  const core::FloatTypes types = plane_->program().record().native();
  for (const core::DataType type :
       {core::DataType::f32, core::DataType::f16, core::DataType::bf16, core::DataType::f64}) {
    plane_->add(job_of(7, 1));
    EXPECT_EQ(counted(type, 16), types.has(type) ? "contributed" : "dropped_malformed");
  }
}

TEST_F(XdpNative, JobsWithoutRowsDropIt) {
  ASSERT_TRUE(plane_->program().add_job(job_of(7, 1)).has_value());
  EXPECT_EQ(counted(core::DataType::f32, 16), "dropped_malformed");
  EXPECT_EQ(counted(core::DataType::f32, 0), "dropped_malformed");
  core::AggregatorOptions below = job_of(7, 1);
  below.parent_worker = 1;
  plane_->add(below);
  EXPECT_EQ(counted(core::DataType::f32, 16), "dropped_malformed");
  plane_->program().remove_job(7);
}

}  // namespace
}  // namespace infold::conformance

#endif
