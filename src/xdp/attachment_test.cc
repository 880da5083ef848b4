// SPDX-License-Identifier: Apache-2.0
//
// What is attached to an interface of a network namespace of this test's own, above all as on
// kernels before 6.6, whose ingress has no links. tests/network has the rest, in real processes.
#include "xdp/attachment.h"

#include <cstdlib>
#include <memory>
#include <net/if.h>
#include <sched.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/clock.h"
#include "xdp/claim.h"
#include "xdp/host_check.h"
#include "xdp/program.h"

namespace infold::xdp {
namespace {

using testing::HasSubstr;

// The filter of ours at the ingress, 0 if there is none.
std::uint32_t filter_at(const Interface& interface) {
  bpf_tc_hook hook{};
  hook.sz = sizeof(hook);
  hook.ifindex = static_cast<int>(interface.index);
  hook.attach_point = BPF_TC_INGRESS;
  bpf_tc_opts there{};
  there.sz = sizeof(there);
  there.handle = 0x1f0d;
  there.priority = 0x1f0d;
  return bpf_tc_query(&hook, &there) == 0 ? there.prog_id : 0;
}

std::uint32_t packets_at(const Interface& interface) {
  std::uint32_t id = 0;
  bpf_xdp_query_id(static_cast<int>(interface.index), 0, &id);
  return id;
}

class AttachmentTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "needs root";
    if (std::system("ip link add near type veth peer name far") != 0) {
      GTEST_SKIP() << "the kernel refuses veth";
    }
    if (const auto able = check_host(); !able) GTEST_SKIP() << able.error();
    near_ = *find_interface("near");
    program_ = load();
    ASSERT_NE(program_, nullptr);
  }

  static std::unique_ptr<Program> load() {
    ProgramOptions options;
    options.addresses = {*io::SocketAddress::parse("10.0.0.1:7700", "test")};
    options.slots_max = 2;
    auto program = Program::load(options);
    return program ? std::make_unique<Program>(std::move(*program)) : nullptr;
  }

  static AttachOptions as_before_6_6(const Program& program) {
    return {.packets_program = program.packets_program(),
            .ingress_program = program.ingress_program(),
            .use_tcx = false};
  }

  Interface near_;
  std::unique_ptr<Program> program_;
};

TEST_F(AttachmentTest, AFilterGoesWithItsAttachment) {
  {
    const auto attached = Attachment::attach(near_, as_before_6_6(*program_));
    ASSERT_TRUE(attached.has_value()) << attached.error();
    EXPECT_TRUE(attached->ingress_outlives_us());
    EXPECT_TRUE(attached->is_native());
    EXPECT_NE(filter_at(near_), 0U);
    EXPECT_NE(packets_at(near_), 0U);
  }
  EXPECT_EQ(filter_at(near_), 0U);
  EXPECT_EQ(packets_at(near_), 0U);
}

// As a killed process leaves it.
TEST_F(AttachmentTest, AFilterThatWasLeftBehindIsReplaced) {
  bpf_tc_hook hook{};
  hook.sz = sizeof(hook);
  hook.ifindex = static_cast<int>(near_.index);
  hook.attach_point = BPF_TC_INGRESS;
  ASSERT_EQ(bpf_tc_hook_create(&hook), 0);
  bpf_tc_opts left{};
  left.sz = sizeof(left);
  left.handle = 0x1f0d;
  left.priority = 0x1f0d;
  left.prog_fd = program_->ingress_program();
  ASSERT_EQ(bpf_tc_attach(&hook, &left), 0);
  const std::uint32_t before = filter_at(near_);
  ASSERT_NE(before, 0U);

  const auto next = load();
  ASSERT_NE(next, nullptr);
  const auto attached = Attachment::attach(near_, as_before_6_6(*next));
  ASSERT_TRUE(attached.has_value()) << attached.error();
  EXPECT_NE(filter_at(near_), 0U);
  EXPECT_NE(filter_at(near_), before);
}

TEST_F(AttachmentTest, LinksOfTheKernelLeaveNoFilter) {
  AttachOptions options = as_before_6_6(*program_);
  options.use_tcx = true;
  const auto attached = Attachment::attach(near_, options);
  ASSERT_TRUE(attached.has_value()) << attached.error();
  if (attached->ingress_outlives_us()) GTEST_SKIP() << "this kernel has no links at the ingress";
  EXPECT_EQ(filter_at(near_), 0U);
  EXPECT_NE(packets_at(near_), 0U);
}

TEST_F(AttachmentTest, AnotherProgramIsNotReplaced) {
  const auto first = Attachment::attach(near_, as_before_6_6(*program_));
  ASSERT_TRUE(first.has_value());
  const std::uint32_t before = packets_at(near_);
  const std::uint32_t filter_before = filter_at(near_);
  const auto other = load();
  const auto second = Attachment::attach(near_, as_before_6_6(*other));
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error(), HasSubstr("near has the program of another infold switch"));
  EXPECT_EQ(packets_at(near_), before);
  EXPECT_EQ(filter_at(near_), filter_before);
}

TEST_F(AttachmentTest, AnInterfaceIsClaimedOnce) {
  {
    const auto first = Claim::take(near_);
    ASSERT_TRUE(first.has_value());
    const auto second = Claim::take(near_);
    ASSERT_FALSE(second.has_value());
    EXPECT_THAT(second.error(), HasSubstr("process " + std::to_string(getpid())));
    EXPECT_TRUE(Claim::take(*find_interface("far")).has_value());
  }
  EXPECT_TRUE(Claim::take(near_).has_value());
}

TEST_F(AttachmentTest, AnInterfaceIsUpDownOrGone) {
  EXPECT_EQ(state_of(near_), LinkState::down);
  ASSERT_EQ(std::system("ip link set near up && ip link set far up"), 0);
  // The kernel reports a carrier when it gets round to it.
  for (int i = 0; i < 5000 && state_of(near_) != LinkState::up; ++i) {
    io::rest(base::milliseconds(1));
  }
  EXPECT_EQ(state_of(near_), LinkState::up);
  EXPECT_TRUE(near_.is_veth());
  EXPECT_EQ(near_.mtu, 1500U);
  ASSERT_EQ(std::system("ip link del near && ip link add near type bridge"), 0);
  EXPECT_EQ(state_of(near_), LinkState::gone);  // another one of that name
  EXPECT_FALSE(find_interface("a name that is too long for any").has_value());
}

}  // namespace
}  // namespace infold::xdp
