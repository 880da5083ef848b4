// SPDX-License-Identifier: Apache-2.0
//
// Tests attaching programs in a network namespace of its own, mainly as on kernels before 6.6,
// whose ingress does not have links. tests/network tests the rest with real processes.
#include "planes/xdp/attach/attachment.h"

#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "io/host/clock.h"
#include "planes/xdp/attach/claim.h"
#include "planes/xdp/attach/native_mode.h"
#include "planes/xdp/program/program.h"
#include "planes/xdp/testing.h"

namespace infold::xdp {
namespace {

using ::testing::HasSubstr;

class AttachmentTest : public testing::OwnNamespace {
 protected:
  // All tests of a process share two programs, because loading them takes longer than the tests.
  static const Program& program() {
    static const std::unique_ptr<Program> loaded = load();
    return *loaded;
  }
  static const Program& another_program() {
    static const std::unique_ptr<Program> loaded = load();
    return *loaded;
  }
  static std::unique_ptr<Program> load() {
    ProgramOptions options;
    options.addresses = {*io::SocketAddress::parse("10.0.0.1:7700", "test")};
    options.slots_max = 2;
    auto program = Program::load(options);
    CHECK(program.has_value());
    return std::make_unique<Program>(std::move(*program));
  }

  static AttachOptions as_before_6_6(const Program& program) {
    return {.packets_program = program.packets_program(),
            .ingress_program = program.ingress_program(),
            .use_tcx = false};
  }

  // Waits for work that the kernel does later.
  static void wait_until(const std::function<bool()>& condition) {
    for (int i = 0; i < 5000 && !condition(); ++i) io::rest(base::milliseconds(1));
    EXPECT_TRUE(condition());
  }
};

TEST_F(AttachmentTest, AFilterGoesWithItsAttachment) {
  {
    const auto attached = Attachment::attach(near_, as_before_6_6(program()));
    ASSERT_TRUE(attached.has_value()) << attached.error();
    EXPECT_TRUE(attached->ingress_outlives_us());
    EXPECT_TRUE(attached->is_native());
    EXPECT_NE(ingress_filter_at(near_), 0U);
    EXPECT_NE(packets_program_at(near_), 0U);
  }
  EXPECT_EQ(ingress_filter_at(near_), 0U);
  EXPECT_EQ(packets_program_at(near_), 0U);
}

// The state after a process was killed: no destructor has run.
TEST_F(AttachmentTest, AFilterThatWasLeftBehindIsReplaced) {
  const pid_t killed = fork();
  if (killed == 0) {
    const auto attached = Attachment::attach(near_, as_before_6_6(program()));
    _exit(attached ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(killed, &status, 0), killed);
  ASSERT_EQ(status, 0);
  wait_until([this] {
    return packets_program_at(near_) == 0;
  });  // the kernel removes the link a moment later
  const std::uint32_t before = ingress_filter_at(near_);
  ASSERT_NE(before, 0U);

  const auto attached = Attachment::attach(near_, as_before_6_6(another_program()));
  ASSERT_TRUE(attached.has_value()) << attached.error();
  EXPECT_NE(ingress_filter_at(near_), 0U);
  EXPECT_NE(ingress_filter_at(near_), before);
}

TEST_F(AttachmentTest, WhatIsPinnedStaysUntilItIsTakenOver) {
  for (const bool use_tcx : {true, false}) {
    const auto attach = [&](const Program& program, bool pin) {
      AttachOptions options = as_before_6_6(program);
      options.use_tcx = use_tcx;
      options.pin = pin;
      return Attachment::attach(near_, options);
    };
    std::uint32_t before = 0;
    std::uint32_t filter_before = 0;
    {
      const auto first = attach(program(), true);
      ASSERT_TRUE(first.has_value()) << first.error();
      EXPECT_FALSE(first->took_over());
      before = packets_program_at(near_);
      filter_before = ingress_filter_at(near_);
      EXPECT_EQ(filter_before != 0, first->ingress_outlives_us());
    }
    EXPECT_EQ(packets_program_at(near_), before);
    EXPECT_EQ(ingress_filter_at(near_), filter_before);
    {
      const auto second = attach(another_program(), true);
      ASSERT_TRUE(second.has_value()) << second.error();
      EXPECT_TRUE(second->took_over());
      EXPECT_TRUE(second->is_native());
      EXPECT_NE(packets_program_at(near_), before);
      EXPECT_EQ(ingress_filter_at(near_) != 0, filter_before != 0);
      EXPECT_TRUE(filter_before == 0 || ingress_filter_at(near_) != filter_before);
    }
    EXPECT_NE(packets_program_at(near_), 0U);
    {
      const auto third = attach(another_program(), false);
      ASSERT_TRUE(third.has_value()) << third.error();
      EXPECT_FALSE(third->took_over());
    }
    EXPECT_EQ(packets_program_at(near_), 0U);
    EXPECT_EQ(ingress_filter_at(near_), 0U);
  }
}

TEST_F(AttachmentTest, NothingIsPinnedWithoutItsFileSystem) {
  ASSERT_EQ(mount("none", "/sys/fs/bpf", "tmpfs", 0, nullptr), 0);
  AttachOptions options = as_before_6_6(program());
  options.pin = true;
  const auto attached = Attachment::attach(near_, options);
  ASSERT_FALSE(attached.has_value());
  EXPECT_THAT(attached.error(), HasSubstr("mount -t bpf bpf /sys/fs/bpf"));
  EXPECT_EQ(packets_program_at(near_), 0U);
}

TEST_F(AttachmentTest, LinksOfTheKernelNeedNoFilter) {
  AttachOptions options = as_before_6_6(program());
  options.use_tcx = true;
  const auto attached = Attachment::attach(near_, options);
  ASSERT_TRUE(attached.has_value()) << attached.error();
  // Before Linux 6.6, the ingress does not have links.
  EXPECT_EQ(ingress_filter_at(near_) != 0, attached->ingress_outlives_us());
  EXPECT_NE(packets_program_at(near_), 0U);
}

TEST_F(AttachmentTest, AnotherProgramIsNotReplaced) {
  const auto first = Attachment::attach(near_, as_before_6_6(program()));
  ASSERT_TRUE(first.has_value());
  const std::uint32_t before = packets_program_at(near_);
  const std::uint32_t filter_before = ingress_filter_at(near_);
  const auto second = Attachment::attach(near_, as_before_6_6(another_program()));
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error(), HasSubstr("near has the program of another infold switch"));
  EXPECT_EQ(packets_program_at(near_), before);
  EXPECT_EQ(ingress_filter_at(near_), filter_before);
}

// Tests veth, and a bridge, whose driver does not run packet programs.
TEST_F(AttachmentTest, TheModeIsKnownBeforeWhereTheKernelTells) {
  ASSERT_EQ(std::system("ip link add across type bridge"), 0);
  for (const char* name : {"near", "across"}) {
    const auto interface = find_interface(name);
    ASSERT_TRUE(interface.has_value()) << interface.error();
    const std::optional<bool> expected = offers_native_mode(*interface);
    const auto attached = Attachment::attach(*interface, as_before_6_6(program()));
    ASSERT_TRUE(attached.has_value()) << attached.error();
    EXPECT_EQ(expected.value_or(attached->is_native()), attached->is_native()) << name;
    EXPECT_EQ(attached->is_native(), interface->is_veth());
    const HostFinding finding = inspect_interface(*interface);
    EXPECT_EQ(finding.found.starts_with("generic mode"), expected == false) << finding.found;
    EXPECT_EQ(finding.ok, !interface->is_veth() && !expected) << finding.found;
    if (!finding.ok) {
      EXPECT_THAT(finding.advice, HasSubstr(interface->is_veth() ? "tx off" : "bridge"));
    }
  }
  Interface none;
  none.index = 1'000'000;
  EXPECT_EQ(offers_native_mode(none), std::nullopt);
}

TEST_F(AttachmentTest, AnInterfaceIsClaimedOnce) {
  {
    const auto first = Claim::take(near_);
    ASSERT_TRUE(first.has_value());
    const auto second = Claim::take(near_);
    ASSERT_FALSE(second.has_value());
    EXPECT_THAT(second.error(), HasSubstr("process " + std::to_string(getpid())));
    const auto far = find_interface("far");
    ASSERT_TRUE(far.has_value()) << far.error();
    EXPECT_TRUE(Claim::take(*far).has_value());
  }
  EXPECT_TRUE(Claim::take(near_).has_value());
}

TEST_F(AttachmentTest, AnInterfaceIsUpDownOrGone) {
  EXPECT_EQ(state_of(near_), LinkState::down);
  ASSERT_EQ(std::system("ip link set near up && ip link set far up"), 0);
  wait_until([this] { return state_of(near_) == LinkState::up; });
  EXPECT_TRUE(near_.is_veth());
  EXPECT_EQ(near_.mtu, 1500U);
  ASSERT_EQ(std::system("ip link del near && ip link add near type bridge"), 0);
  EXPECT_EQ(state_of(near_), LinkState::gone);  // this is another interface of the same name
  EXPECT_FALSE(find_interface("a name that is too long for any").has_value());
}

}  // namespace
}  // namespace infold::xdp
